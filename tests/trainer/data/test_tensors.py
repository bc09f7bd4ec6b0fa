"""The same batches in torch, TensorFlow and JAX, where they are installed; and safe when a framework keeps them."""

import importlib.util
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from trainer.data.buffers import PixelFormat
from trainer.data.snapshot import Rows
from trainer.data.stream import InputStream
from trainer.data.tensors import jax_batches, tensorflow_dataset, torch_batches, torch_memory
from trainer.errors import ConfigError

NUMBERS = ["uint8", "float32", "float16", "bfloat16"]


def stream(rows: Rows, **changes: Any) -> InputStream:
    return InputStream(rows, **{"batch_size": 8, "size": 24, "seed": 2, "epochs": 2, **changes})


def expected(rows: Rows, **changes: Any) -> list[tuple[Any, Any]]:
    """Images as numpy has them (bfloat16 as float32), and class ids."""
    with stream(rows, **changes) as opened:
        found = [(batch.images.copy(), batch.class_ids) for batch in opened]
    if "pixels" in changes and changes["pixels"].number == "bfloat16":
        return [((bits.astype(np.uint32) << 16).view(np.float32), ids) for bits, ids in found]
    return found


def wide(images: Any) -> Any:
    """For numpy: bfloat16 as float32."""
    return np.asarray(images).astype(np.float32) if "bfloat16" in str(images.dtype) else np.asarray(images)


@pytest.mark.parametrize("number", NUMBERS)
def test_torch(rows: Rows, number: Any) -> None:
    torch = pytest.importorskip("torch")
    pixels = PixelFormat(number=number)
    with stream(rows, pixels=pixels, allocate=torch_memory) as opened:
        for (images, class_ids), (same, ids) in zip(torch_batches(opened), expected(rows, pixels=pixels), strict=True):
            assert images.dtype == getattr(torch, number)
            plain = images.float() if number == "bfloat16" else images
            np.testing.assert_array_equal(plain.numpy(), same)
            np.testing.assert_array_equal(class_ids.numpy(), ids)


def test_torch_over_numpys_memory(rows: Rows) -> None:
    pytest.importorskip("torch")
    with stream(rows) as opened:
        for (images, _), (same, _) in zip(torch_batches(opened), expected(rows), strict=True):
            np.testing.assert_array_equal(images.numpy(), same)


@pytest.mark.parametrize("number", NUMBERS)
def test_tensorflow(rows: Rows, number: Any) -> None:
    tf = pytest.importorskip("tensorflow")
    pixels = PixelFormat(number=number, channels_last=True)
    with stream(rows, pixels=pixels, reuse="unused") as opened:
        dataset = tensorflow_dataset(opened).prefetch(3)
        assert dataset.element_spec[0] == tf.TensorSpec((8, 24, 24, 3), number)
        found = list(dataset)
    for (images, class_ids), (same, ids) in zip(found, expected(rows, pixels=pixels), strict=True):
        np.testing.assert_array_equal(wide(images.numpy()), same)
        np.testing.assert_array_equal(class_ids.numpy(), ids)


@pytest.mark.parametrize("number", NUMBERS)
def test_jax(rows: Rows, number: Any) -> None:
    pytest.importorskip("jax")
    pixels = PixelFormat(number=number, channels_last=True)
    with stream(rows, pixels=pixels, reuse="unused") as opened:
        found = list(jax_batches(opened))
    for (images, class_ids), (same, ids) in zip(found, expected(rows, pixels=pixels), strict=True):
        assert str(images.dtype) == number
        np.testing.assert_array_equal(wide(images), same)
        np.testing.assert_array_equal(class_ids, ids)


def test_a_stream_that_uses_memory_again_is_refused_where_frameworks_keep_it(rows: Rows) -> None:
    with stream(rows) as opened:
        with pytest.raises(ConfigError, match="unused"):
            tensorflow_dataset(opened)
        with pytest.raises(ConfigError, match="unused"):
            next(jax_batches(opened))


@pytest.mark.parametrize("other", ["torch", "cv2", "PIL.Image", "tensorflow", "jax"])
def test_it_works_beside_other_libraries_in_either_order(rows: Rows, other: str) -> None:
    """In a process of its own; libraries that bring their own libjpeg are the dangerous ones."""
    if importlib.util.find_spec(other.split(".")[0]) is None:
        pytest.skip(f"{other} is not installed")
    for order in (f"import {other}, trainer.data.stream", f"import trainer.data.stream, {other}"):
        program = f"{order}\nfrom trainer.data import native\npool = native.open_pool(2)\npool.close()"
        assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_the_stream_imports_no_framework() -> None:
    program = (
        "import sys, trainer.data.stream, trainer.data.tars, trainer.data.tensors\n"
        "sys.exit(any(name in sys.modules for name in ('torch', 'tensorflow', 'jax', 'google.cloud.storage')))"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
