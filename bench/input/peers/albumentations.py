"""albumentations on OpenCV, its usual recipe: it draws its own crops and does not antialias."""

import os

os.environ["NO_ALBUMENTATIONS_UPDATE"] = "1"  # it would ask the network

import albumentations
import cv2
import numpy as np
from albumentations.pytorch import ToTensorV2

from bench.input.peers import each
from bench.input.timing import Run
from bench.input.workload import SIZE, Cut, Workload

VERSIONS = {"albumentations": albumentations.__version__}

cv2.setNumThreads(1)

_TRANSFORM = albumentations.Compose(
    [
        albumentations.RandomResizedCrop((SIZE, SIZE), scale=(0.08, 1.0)),
        albumentations.HorizontalFlip(p=0.5),
        albumentations.Normalize(),
        ToTensorV2(),
    ]
)


def contenders(work: Workload) -> dict[str, Run]:
    """Its RandomResizedCrop interpolates bilinearly between the nearest pixels."""
    return each(work, {"albumentations, no antialias": _made})


def _made(file: bytes, cut: Cut) -> object:
    del cut
    return _TRANSFORM(image=cv2.imdecode(np.frombuffer(file, np.uint8), cv2.IMREAD_COLOR_RGB))["image"]
