"""Run inside a trainer image, as its user, on its base: does it hold what it says, and does it work?"""

import ctypes
import io
import json
import os
from pathlib import Path

import numpy as np
import torch
from PIL import Image

import trainer._native

PLUGIN = Path("/opt/reduction-server/plugins/libnccl-net.so")
DRIVERS = ("libcuda.so", "libnvidia-ml.so")
"""Of the driver, which is on machines with GPUs only."""


def main() -> None:
    said = json.loads(Path("/opt/app/image.json").read_bytes())
    assert said["name"] == os.environ["EXPECTED_NAME"], said
    assert said["revision"] == os.environ["EXPECTED_REVISION"], said
    assert os.getuid() != 0, "this runs as root"
    assert not os.access("/opt/app", os.W_OK), "/opt/app can be written"
    check_decoder()
    check_torch()
    check_plugin()
    print(f"{said['name']}: PyTorch {torch.__version__}, extension for {said['cpu']}, user {os.getuid()}: fine")


def check_decoder() -> None:
    """The native extension decodes a picture as Pillow does."""
    gradient = np.add.outer(np.arange(64), np.arange(96)).astype(np.uint8)
    file = io.BytesIO()
    Image.fromarray(np.stack([gradient, gradient // 2, 255 - gradient], axis=-1)).save(file, "JPEG", quality=95)
    pixels, status = trainer._native.decode_region(np.frombuffer(file.getvalue(), np.uint8), 8, (0, 0, 96, 64))
    assert pixels is not None, status
    expected = np.asarray(Image.open(io.BytesIO(file.getvalue())).convert("RGB"), dtype=np.int16)
    assert np.abs(pixels.astype(np.int16) - expected).max() <= 2, "the decoder does not agree with Pillow"


def check_torch() -> None:
    """One step of training."""
    layer = torch.nn.Linear(8, 2)
    layer(torch.ones(4, 8)).sum().backward()
    assert layer.weight.grad is not None


def check_plugin() -> None:
    """Reduction Server's plugin, where it was built in, can be loaded as NCCL loads it."""
    if not PLUGIN.parent.exists():
        return
    try:
        ctypes.CDLL(PLUGIN.name)
    except OSError as error:
        if not any(name in str(error) for name in DRIVERS):
            raise


main()
