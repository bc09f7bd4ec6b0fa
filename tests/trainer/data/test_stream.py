"""InputStream: epochs that end or not, states of one number, memory of any kind, and pixels of every form."""

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from loading import train_loader
from trainer.data.buffers import PixelFormat
from trainer.data.loader import BadSamplePolicy
from trainer.data.native import Normalisation
from trainer.data.snapshot import Rows
from trainer.data.stream import InputStream
from trainer.errors import ConfigError

NORMALISATION = Normalisation((0.5, 0.4, 0.3), (0.25, 0.2, 0.3))


def stream(rows: Rows, **changes: Any) -> InputStream:
    """32 pixels, batches of 10 of the 48 samples."""
    return InputStream(rows, **{"batch_size": 10, "size": 32, "seed": 5, **changes})


def copied(batches: InputStream, count: int | None = None) -> list[tuple[Any, ...]]:
    """(samples, epochs, class_ids, pixels) of the next batches; all, where no count is given."""
    found = []
    while count is None or len(found) < count:
        batch = next(batches, None)
        if batch is None:
            break
        found.append((batch.samples.tolist(), batch.epochs.tolist(), batch.class_ids.tolist(), batch.images.copy()))
    return found


def equal(left: list[tuple[Any, ...]], right: list[tuple[Any, ...]]) -> bool:
    return len(left) == len(right) and all(
        a[:3] == b[:3] and np.array_equal(a[3], b[3]) for a, b in zip(left, right, strict=True)
    )


@pytest.mark.parametrize(("epochs", "batches"), [(1, 5), (2, 10), (5, 24)])
def test_it_ends_after_its_epochs_and_the_last_batch_is_filled_from_the_next(
    rows: Rows, epochs: int, batches: int
) -> None:
    with stream(rows, epochs=epochs) as opened:
        assert opened.steps_left == batches
        found = copied(opened)
        assert opened.steps_left == 0
    assert len(found) == batches
    assert {pixels.shape for *_, pixels in found} == {(10, 3, 32, 32)}
    own = [sample for samples, of, *_ in found for sample, epoch in zip(samples, of, strict=True) if epoch < epochs]
    assert sorted(own) == sorted(list(range(48)) * epochs)


def test_without_epochs_it_never_ends(rows: Rows) -> None:
    with stream(rows) as opened:
        assert opened.steps_left is None
        assert copied(opened, 30)[-1][1][-1] == 6


def test_for_goes_on_where_the_stream_stands(rows: Rows) -> None:
    with stream(rows, epochs=1) as opened, stream(rows, epochs=1) as whole:
        first = next(iter(opened)).samples.tolist()
        rest = [batch.samples.tolist() for batch in opened]
        assert [first, *rest] == [batch.samples.tolist() for batch in whole]


@pytest.mark.parametrize("taken", [0, 1, 4, 7])
def test_a_state_is_one_position_and_workers_threads_and_batches_may_change(rows: Rows, taken: int) -> None:
    with stream(rows, epochs=4) as opened:
        copied(opened, taken)
        state = opened.state_dict()
        assert state == {"position": taken * 10, "seed": 5, "samples": 48}
        expected = [sample for samples, *_ in copied(opened) for sample in samples]
    parts = []
    for rank in range(3):
        with stream(rows, epochs=4, batch_size=12, rank=rank, world_size=3, threads=rank + 1) as part:
            part.load_state_dict(state)
            parts.append([samples for samples, *_ in copied(part)])
    assert len({len(part) for part in parts}) == 1
    found = [sample for step in zip(*parts, strict=True) for samples in step for sample in samples]
    assert found[: 4 * 48 - taken * 10] == expected[: 4 * 48 - taken * 10]


def test_a_stream_goes_back_to_a_state_with_the_same_pixels(rows: Rows) -> None:
    with stream(rows) as opened:
        copied(opened, 3)
        state = opened.state_dict()
        expected = copied(opened, 4)
        opened.load_state_dict(state)
        assert equal(copied(opened, 4), expected)


def test_a_state_of_another_stream_is_refused(rows: Rows) -> None:
    with stream(rows) as opened:
        state = opened.state_dict()
        with pytest.raises(ConfigError, match="seed"):
            opened.load_state_dict({**state, "seed": 6})
        with pytest.raises(ConfigError, match="samples"):
            opened.load_state_dict({**state, "samples": 47})


def test_a_batch_names_its_samples_keys(rows: Rows) -> None:
    with stream(rows) as opened:
        batch = next(opened)
        assert opened.keys(batch) == [rows.keys[int(sample)].as_py() for sample in batch.samples]


@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("number", ["float32", "float16", "bfloat16"])
def test_normalised_numbers_are_those_of_the_bytes(rows: Rows, number: Any, channels_last: bool) -> None:
    form = PixelFormat(number=number, channels_last=channels_last, normalisation=NORMALISATION)
    with stream(rows) as plain, stream(rows, pixels=form) as formed:
        pixels = next(plain).images.astype(np.float64)
        found = next(formed).images
        if number == "bfloat16":
            found = (found.astype(np.uint32) << 16).view(np.float32)
        assert found.shape == ((10, 32, 32, 3) if channels_last else (10, 3, 32, 32))
        if channels_last:
            found = found.transpose(0, 3, 1, 2)
        mean, std = (np.array(values)[:, None, None] for values in (NORMALISATION.mean, NORMALISATION.std))
        difference = np.abs(found.astype(np.float64) - (pixels / 255 - mean) / std) * std * 255
        assert difference.max() < (6 if number == "bfloat16" else 1.1)  # 8 bits of bfloat16 are a few grey levels


def test_the_callers_memory_is_filled_in_turn(rows: Rows) -> None:
    made: list[Any] = []

    def allocate(shape: tuple[int, ...], number: str) -> Any:
        made.append(np.zeros(shape, dtype=number))
        return made[-1]

    with stream(rows, allocate=allocate, depth=4) as opened:
        used = [
            next(id(own) for own in made if own is batch.images) for _, batch in zip(range(20), opened, strict=False)
        ]
    assert len(made) == 4
    assert set(used) == set(map(id, made))


def test_torchs_memory_is_filled_in_place_and_bad_samples_are_replaced_in_it(rows: Rows) -> None:
    torch = pytest.importorskip("torch")

    def allocate(shape: tuple[int, ...], number: str) -> Any:
        return torch.empty(shape, dtype=getattr(torch, number))

    broken = rows.take(np.arange(len(rows)))
    broken.size[:5] = 3
    form, policy = PixelFormat(number="bfloat16"), BadSamplePolicy("skip", 5)
    with (
        stream(broken, pixels=form, allocate=allocate, policy=policy, epochs=1) as opened,
        stream(broken, pixels=form, policy=policy, epochs=1) as plain,
    ):
        for batch, expected in zip(opened, plain, strict=True):
            assert isinstance(batch.images, torch.Tensor)
            np.testing.assert_array_equal(batch.images.view(torch.uint16).numpy(), expected.images)
            np.testing.assert_array_equal(batch.class_ids, expected.class_ids)
        assert len(opened.bad_samples) == 5


def test_memory_that_somebody_keeps_is_not_used_again(rows: Rows) -> None:
    with stream(rows, reuse="unused", depth=2) as opened, stream(rows) as other:
        kept = [next(opened).images for _ in range(8)]
        parts = [next(opened).images[3:5, 1] for _ in range(8)]
        expected = [pixels for *_, pixels in copied(other, 16)]
    for pixels, same in zip(kept, expected[:8], strict=True):
        np.testing.assert_array_equal(pixels, same)
    for part, whole in zip(parts, expected[8:], strict=True):
        np.testing.assert_array_equal(part, whole[3:5, 1])


def test_memory_that_nobody_keeps_is_used_again(rows: Rows) -> None:
    made = []

    def allocate(shape: tuple[int, ...], number: str) -> Any:
        made.append(shape)
        return np.empty(shape, dtype=number)

    with stream(rows, reuse="unused", depth=3, allocate=allocate) as opened:
        for _ in range(50):
            next(opened)
    assert len(made) == 3


def test_a_stream_is_the_trainers_stream(rows: Rows) -> None:
    with stream(rows, batch_size=8) as opened, train_loader(rows) as loader:
        for batch, expected in zip(opened, loader, strict=False):
            np.testing.assert_array_equal(batch.images, expected.images)


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"size": 0}, "size"),
        ({"epochs": 0}, "epochs"),
        ({"batch_size": 10, "world_size": 3}, "batch_size"),
        ({"reuse": "now"}, "reuse"),
        ({"depth": 1}, "depth"),
    ],
)
def test_arguments_that_cannot_be_are_refused(rows: Rows, wrong: dict[str, Any], field: str) -> None:
    with pytest.raises(ConfigError, match=field):
        stream(rows, **wrong)


def test_numbers_that_are_not_known_are_refused() -> None:
    with pytest.raises(ConfigError, match="float64"):
        PixelFormat(number="float64")  # type: ignore[arg-type]


def test_memory_is_flat_over_fifty_epochs(rows: Rows, resident_bytes: Callable[[], int]) -> None:
    marks = {}
    with stream(rows, epochs=60, pixels=PixelFormat(number="float32")) as opened:
        for batch in opened:
            marks[int(batch.epochs[0])] = resident_bytes()
    gc.collect()
    assert marks[59] <= marks[9] * 1.02
