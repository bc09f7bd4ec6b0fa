"""An InputStream's batches as tensors of torch, TensorFlow or JAX. Each imports its framework when it is called."""

import importlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from trainer.data.buffers import Number, PixelFormat, Shape
from trainer.data.stream import InputStream
from trainer.errors import ConfigError


def torch_memory(shape: Shape, number: Number) -> Any:
    """For `InputStream(allocate=…)`: a torch tensor, pinned where a GPU is there to copy from it."""
    torch = importlib.import_module("torch")
    return torch.empty(shape, dtype=getattr(torch, number), pin_memory=torch.cuda.is_available())


def torch_batches(stream: InputStream, device: Any = "cpu") -> Iterator[tuple[Any, Any]]:
    """(images, class_ids) on `device`. The stream's memory is `torch_memory`'s, or numpy's.

    Copies to a GPU run beside whatever it computes; the next batch is asked for when the copy has ended. On a CPU the
    images are the stream's own memory, valid until the next batch.
    """
    torch = importlib.import_module("torch")
    target = torch.device(device)
    for batch in stream:
        own = batch.images if isinstance(batch.images, torch.Tensor) else torch.from_numpy(batch.images)
        images = own.to(target, non_blocking=True)
        class_ids = torch.from_numpy(batch.class_ids).to(target)
        copied = torch.cuda.Event() if target.type == "cuda" else None
        if copied is not None:
            copied.record()
        yield images, class_ids
        if copied is not None:
            copied.synchronize()


def tensorflow_dataset(stream: InputStream) -> Any:
    """A tf.data.Dataset of (images, class_ids), which reads from where the stream stands.

    TensorFlow takes numpy's memory without a copy and keeps it as long as it likes, so the stream must have been opened
    with `reuse="unused"`. Raises ConfigError where it was not.
    """
    _must_not_reuse(stream)
    tf = importlib.import_module("tensorflow")
    numbers = tf.bfloat16 if stream.pixels.number == "bfloat16" else tf.as_dtype(stream.pixels.number)

    def batches() -> Iterator[tuple[Any, Any]]:
        for batch in stream:
            yield _as_numbers(batch.images, stream.pixels), batch.class_ids

    shape = stream.shape
    signature = (tf.TensorSpec(shape, numbers), tf.TensorSpec(shape[:1], tf.int64))
    return tf.data.Dataset.from_generator(batches, output_signature=signature)


def jax_batches(stream: InputStream, sharding: Any = None) -> Iterator[tuple[Any, Any]]:
    """(images, class_ids) as JAX arrays on the default device, or laid out by `sharding`.

    On a CPU JAX may take numpy's memory without a copy and keeps it, so the stream must have been opened with
    `reuse="unused"`. Raises ConfigError where it was not.
    """
    _must_not_reuse(stream)
    jax = importlib.import_module("jax")
    for batch in stream:
        yield jax.device_put((_as_numbers(batch.images, stream.pixels), batch.class_ids), sharding)


def _must_not_reuse(stream: InputStream) -> None:
    if stream.reuse != "unused":
        raise ConfigError(
            "this framework keeps batches without copying them", where="reuse", remedy='open the stream with "unused"'
        )


def _as_numbers(images: Any, pixels: PixelFormat) -> Any:
    """numpy's bits of bfloat16 with the type that both frameworks know."""
    if pixels.number != "bfloat16":
        return images
    return np.asarray(images).view(importlib.import_module("ml_dtypes").bfloat16)
