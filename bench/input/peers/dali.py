"""DALI's CPU operators: partial decode, antialiased resize, fused crop-mirror-normalise."""

from typing import Any

import numpy as np
import nvidia.dali
from nvidia.dali import fn, pipeline_def, types

from bench.input.timing import Run
from bench.input.workload import MEAN, SIZE, STD, Workload

VERSIONS = {"DALI": nvidia.dali.__version__}


def contenders(work: Workload) -> dict[str, Run]:
    """One pipeline, one thread, one batch at a time; a Python source feeds it the same files and crops."""
    batch = next(size for size in range(min(50, len(work)), 0, -1) if len(work) % size == 0)
    pipeline = _pipeline(work, batch)
    pipeline.build()

    def run() -> None:
        for _ in range(len(work) // batch):
            pipeline.run()

    return {"DALI CPU, image_slice": run}


def _pipeline(work: Workload, batch: int) -> Any:
    files = [np.frombuffer(file, np.uint8) for file in work.files]
    starts = [np.array([cut.top, cut.left], np.int32) for cut in work.cuts]
    shapes = [np.array([cut.height, cut.width], np.int32) for cut in work.cuts]
    flips = [np.array(int(cut.flip), np.int32) for cut in work.cuts]

    def source(info: Any) -> Any:
        number = (info.idx_in_epoch + info.iteration * batch) % len(files)
        return files[number], starts[number], shapes[number], flips[number]

    @pipeline_def(
        batch_size=batch,
        num_threads=1,
        device_id=None,
        prefetch_queue_depth=1,
        exec_dynamic=False,
        exec_pipelined=False,
        exec_async=False,
    )
    def made() -> Any:
        kinds = [types.UINT8, types.INT32, types.INT32, types.INT32]
        file, start, shape, flip = fn.external_source(source, num_outputs=4, batch=False, dtype=kinds)
        image = fn.decoders.image_slice(
            file, start=start, shape=shape, axis_names="HW", device="cpu", output_type=types.RGB
        )
        image = fn.resize(image, size=[SIZE, SIZE], interp_type=types.INTERP_LINEAR, antialias=True)
        return fn.crop_mirror_normalize(
            image,
            mirror=flip,
            dtype=types.FLOAT,
            output_layout="CHW",
            mean=[255 * mean for mean in MEAN],
            std=[255 * std for std in STD],
        )

    return made()
