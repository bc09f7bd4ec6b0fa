"""tf.data from TFRecord files, partial decode, no antialiasing (with it, it is slower)."""

import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from bench.input.loaders import BATCH, SHUFFLE, Data, Epoch
from bench.input.workload import MEAN, SIZE, STD

NAME = "tf.data, TFRecord, no antialias"
_FILES = 20


def opened(data: Data, workers: int) -> Epoch:
    """One private pool of `workers` threads."""
    tf.config.threading.set_intra_op_parallelism_threads(workers)
    tf.config.threading.set_inter_op_parallelism_threads(workers)
    folder = data.written("tfrecord", lambda folder: _write(data, folder))
    options = tf.data.Options()
    options.threading.private_threadpool_size = workers
    files = tf.data.Dataset.from_tensor_slices(sorted(map(str, folder.iterdir()))).shuffle(_FILES)
    dataset = tf.data.TFRecordDataset(files).shuffle(SHUFFLE).map(_sample, num_parallel_calls=workers)
    dataset = dataset.batch(BATCH).prefetch(2).with_options(options)
    return lambda: (images for images, _ in dataset)


def _write(data: Data, folder: Path) -> None:
    folder.mkdir()
    samples = list(data.samples())
    for number in range(_FILES):
        with tf.io.TFRecordWriter(str(folder / f"{number:05d}.tfrecord")) as writer:
            for file, label in samples[number::_FILES]:
                features = {
                    "jpg": tf.train.Feature(bytes_list=tf.train.BytesList(value=[file])),
                    "cls": tf.train.Feature(int64_list=tf.train.Int64List(value=[label])),
                }
                example = tf.train.Example(features=tf.train.Features(feature=features))
                writer.write(example.SerializeToString())


def _sample(record: Any) -> Any:
    features = {"jpg": tf.io.FixedLenFeature([], tf.string), "cls": tf.io.FixedLenFeature([], tf.int64)}
    parsed = tf.io.parse_single_example(record, features)
    begin, size, _ = tf.image.sample_distorted_bounding_box(
        tf.io.extract_jpeg_shape(parsed["jpg"]),
        tf.zeros([1, 0, 4]),
        area_range=(0.08, 1.0),
        aspect_ratio_range=(3 / 4, 4 / 3),
        max_attempts=10,
        use_image_if_no_bounding_boxes=True,
    )
    image = tf.io.decode_and_crop_jpeg(parsed["jpg"], tf.concat([begin[:2], size[:2]], 0), channels=3)
    image = tf.image.random_flip_left_right(tf.image.resize(image, [SIZE, SIZE]))
    image = (image - tf.constant(np.array(MEAN, np.float32) * 255)) / tf.constant(np.array(STD, np.float32) * 255)
    return tf.transpose(image, [2, 0, 1]), parsed["cls"]
