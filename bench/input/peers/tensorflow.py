"""tf.data with its partial decoder, with and without antialiasing."""

import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

from typing import Any

import numpy as np
import tensorflow as tf

from bench.input.timing import Run
from bench.input.workload import MEAN, SIZE, STD, Workload

VERSIONS = {"TensorFlow": tf.__version__}

tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)


def contenders(work: Workload) -> dict[str, Run]:
    """A dataset each, traced before the first round."""
    return {
        "tf.data decode_and_crop, no antialias": _dataset(work, antialias=False),
        "tf.data decode_and_crop": _dataset(work, antialias=True),
    }


def _dataset(work: Workload, *, antialias: bool) -> Run:
    mean, std = tf.constant(np.array(MEAN, np.float32) * 255), tf.constant(np.array(STD, np.float32) * 255)

    def made(file: Any, window: Any, flip: Any) -> Any:
        image = tf.io.decode_and_crop_jpeg(file, window, channels=3)
        image = tf.image.resize(image, [SIZE, SIZE], antialias=antialias)
        image = tf.cond(flip, lambda: tf.image.flip_left_right(image), lambda: image)
        return tf.transpose((image - mean) / std, [2, 0, 1])

    windows = np.array([[cut.top, cut.left, cut.height, cut.width] for cut in work.cuts], np.int32)
    options = tf.data.Options()
    options.threading.private_threadpool_size = 1
    options.threading.max_intra_op_parallelism = 1
    dataset = tf.data.Dataset.from_tensor_slices((work.files, windows, work.flips.astype(bool)))
    dataset = dataset.map(made, num_parallel_calls=1).batch(50).with_options(options)

    def run() -> None:
        for _ in dataset:
            pass

    return run
