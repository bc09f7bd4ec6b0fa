"""What the native decoders leave goes through Pillow: same cut, numbers and layout, counted; damage stays damage."""

import base64
import io
import subprocess
import sys
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from jpeg_files import jpeg, picture
from loading import all_batches, eval_loader, joined, kept, same, train_loader
from other_pictures import encoded, slow_member
from overnight.shards.pixels import eight_bit
from snapshot_files import Member, member, rows_of
from trainer.data import pillow
from trainer.data.buffers import Number, PixelFormat
from trainer.data.crops import CropConfig, evaluation_boxes, random_boxes, random_flips
from trainer.data.loader import BadSamplePolicy, load_images
from trainer.data.native import Normalisation
from trainer.data.plain import PlainLoader
from trainer.data.reference import as_bytes, normalised, reference_sample
from trainer.data.snapshot import Rows
from trainer.errors import BadSampleError

# 40 x 32 pixels, by libjpeg-turbo with arith_code, which Pillow cannot write.
ARITHMETIC = base64.b64decode(
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAMCAgMCAgMDAwMEAwMEBQgFBQQEBQoHBwYIDAoMDAsKCwsNDhIQDQ4RDgsLEBYQERMU"
    "FRUVDA8XGBYUGBIUFRT/2wBDAQMEBAUEBQkFBQkUDQsNFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQU"
    "FBQUFBQUFBT/yQARCAAgACgDASIAAhEBAxEB/8wACgAQEAUBEBEF/9oADAMBAAIRAxEAPwD/AOyMK9WMGfmTHOzbCjrlo1drOCEJ"
    "tFJYhPb9ihed0iwMJzTShQav+uxxS5VGYPgNr3+Wx7L6krcikllT2RBwQuTvim93CQAh/Upux+QZ982XOpBdmOP+Y2QMuz76ELNu"
    "4jEpwnu9iup+VHYuridgtlWovdF8T6Te1npwvgmYGG3lyMlhW0bRRWehxc7A/9k="
)
SLOW = (1, 4, 5, 11, 17)
"""Numbers of members that are no JPEGs in `mixed`."""


@pytest.fixture
def mixed(tmp_path: Path) -> Rows:
    """24 rows, five of them no JPEGs."""
    members = [slow_member(number) if number in SLOW else member(number) for number in range(24)]
    return rows_of(tmp_path, [members[::2], members[1::2]])


def contents(rows: Rows) -> list[bytes]:
    """The pictures' bytes."""
    shards = [Path(path).read_bytes() for path in rows.paths]
    places = zip(rows.shard, rows.offset, rows.size, strict=True)
    return [shards[shard][offset : offset + size] for shard, offset, size in places]


@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("number", ["uint8", "float32", "float16", "bfloat16"])
def test_a_training_sample_is_the_references_in_every_number_and_layout(
    mixed: Rows, number: Number, channels_last: bool
) -> None:
    normalisation = Normalisation((0.4, 0.5, 0.6), (0.2, 0.25, 0.3))
    pixels = PixelFormat(number=number, channels_last=channels_last, normalisation=normalisation)
    bytes_of, met = contents(mixed), 0
    with train_loader(mixed, steps=(0, 6), pixels=pixels) as loader:
        for batch in map(kept, loader):
            sizes = mixed.width[batch.samples], mixed.height[batch.samples]
            boxes = random_boxes(CropConfig(), 5, batch.epochs, batch.samples, *sizes)
            flips = random_flips(CropConfig(), 5, batch.epochs, batch.samples)
            for i in np.flatnonzero(np.isin(batch.samples, SLOW)):
                sample = reference_sample(bytes_of[batch.samples[i]], tuple(boxes[i]), 32, flip=bool(flips[i]))
                found = batch.images[i].transpose(2, 0, 1) if channels_last else batch.images[i]
                met += 1
                if number == "uint8":
                    assert np.abs(found.astype(int) - as_bytes(sample)).max() <= 1
                    assert (found == as_bytes(sample)).mean() > 0.99
                    continue
                if number == "bfloat16":
                    found = (found.astype(np.uint32) << 16).view(np.float32)
                steps = {"float32": 1e-4, "float16": 2e-3, "bfloat16": 1.5e-2}
                np.testing.assert_allclose(found, normalised(sample, normalisation), atol=steps[number])
        assert loader.slow_samples == met > 5
        assert loader.bad_samples == []


@pytest.mark.parametrize(("world_size", "threads"), [(1, 1), (2, 3), (4, 2)])
def test_pixels_do_not_depend_on_workers_or_threads_and_each_counts_its_own(
    mixed: Rows, world_size: int, threads: int
) -> None:
    whole = train_loader(mixed)
    expected = all_batches(whole)
    loaders = [train_loader(mixed, rank=rank, world_size=world_size, threads=threads) for rank in range(world_size)]
    parts = [all_batches(loader) for loader in loaders]
    for step, batch in enumerate(expected):
        assert same(joined([part[step] for part in parts]), batch)
    assert sum(loader.slow_samples for loader in loaders) == whole.slow_samples > 0


def test_a_torch_bfloat16_buffer_is_filled_like_numpys(mixed: Rows) -> None:
    tensors = pytest.importorskip("trainer.data.tensors")
    torch = pytest.importorskip("torch")
    pixels = PixelFormat(number="bfloat16")
    expected = all_batches(train_loader(mixed, pixels=pixels))
    with train_loader(mixed, pixels=pixels, allocate=tensors.torch_memory) as loader:
        for batch, right in zip(loader, expected, strict=True):
            np.testing.assert_array_equal(batch.images.view(torch.uint16).numpy(), right.images)


def test_evaluation_and_files_give_the_references_pixels(mixed: Rows, tmp_path: Path) -> None:
    paths = []
    for i, content in enumerate(contents(mixed)):
        paths.append(tmp_path / f"{i}")
        paths[-1].write_bytes(content)
    loaded = load_images(paths, size=32, resize_shorter_side=36, mean=(0.5, 0.5, 0.5), std=(0.25, 0.25, 0.25))
    assert set(loaded.statuses) == {"ok"}
    assert loaded.slow_samples == len(SLOW)
    boxes = evaluation_boxes(mixed.width, mixed.height, 32, 36)
    with eval_loader(mixed) as loader:
        for batch in loader:
            np.testing.assert_array_equal(batch.images, loaded.images[batch.indices])
            for image, index in zip(batch.images, batch.indices, strict=True):
                expected = reference_sample(contents(mixed)[index], tuple(boxes[index]), 32)
                assert np.abs((image * 0.25 + 0.5) * 255 - expected).mean() < 0.001
        assert loader.slow_samples == len(SLOW)


def test_a_size_that_no_index_knew_is_taken_from_the_picture(mixed: Rows) -> None:
    unknown = np.isin(np.arange(24), SLOW)
    zeros = replace(mixed, width=np.where(unknown, 0, mixed.width), height=np.where(unknown, 0, mixed.height))
    for left, right in zip(all_batches(train_loader(mixed)), all_batches(train_loader(zeros)), strict=True):
        assert same(left, right)
    with eval_loader(mixed) as known, eval_loader(zeros) as loader:
        for left, right in zip(known, loader, strict=True):
            np.testing.assert_array_equal(left.images, right.images)


@pytest.mark.parametrize(
    ("mode", "kind"), [("L", "PNG"), ("1", "PNG"), ("P", "GIF"), ("LA", "PNG"), ("RGBA", "WEBP"), ("CMYK", "TIFF")]
)
def test_every_mode_is_what_pillows_convert_makes_of_it(mode: str, kind: str) -> None:
    content = encoded(Image.fromarray(picture(3)).convert(mode), kind)
    with Image.open(io.BytesIO(content)) as image:
        expected = np.asarray(image.convert("RGB"))
    np.testing.assert_array_equal(pillow.decode(content).pixels, expected)


@pytest.mark.parametrize(("mode", "kind"), [("RGBA", "PNG"), ("RGBA", "WEBP"), ("LA", "PNG"), ("P", "GIF")])
def test_what_is_transparent_is_as_the_shard_writer_makes_it(mode: str, kind: str) -> None:
    image = Image.fromarray(picture(3)).convert("RGBA")
    image.putalpha(Image.linear_gradient("L").resize(image.size))
    content = encoded(image.convert(mode), kind, lossless=True)
    with Image.open(io.BytesIO(content)) as stored:
        expected = np.asarray(eight_bit(stored).convert("RGB"))
    found = pillow.decode(content).pixels
    np.testing.assert_array_equal(found, expected)
    assert found[0].min() > 240 or mode == "P"


def test_an_arithmetic_coded_jpeg_is_read(tmp_path: Path) -> None:
    rows = rows_of(tmp_path, [[Member("k", ARITHMETIC, 0, "train", 40, 32)]])
    (batch,) = all_batches(train_loader(rows, steps=(0, 1), batch_size=1, crop=CropConfig(scale_min=1, flip=False)))
    ramp = batch.images[0].astype(float)
    assert np.abs(ramp[0].mean(0) - np.linspace(3, 230, 32)).mean() < 6
    assert np.abs(ramp[1].mean(1) - np.linspace(3, 245, 32)).mean() < 6


BROKEN = {
    "a cut PNG": (encoded(picture(1), "PNG")[:3000], "not-a-jpeg"),
    "a cut arithmetic JPEG": (ARITHMETIC[:-40], "unsupported"),
    "a cut JPEG": (jpeg(picture(1))[:-300], "truncated"),
    "text": (b"hello, this is text", "not-a-jpeg"),
    "PostScript": (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 90 70\n%%EndComments\nshowpage\n", "not-a-jpeg"),
    "sixteen bits": (encoded(Image.new("I;16", (90, 70), 40000), "PNG"), "not-a-jpeg"),
    "another size": (encoded(picture(1, 30, 30), "PNG"), "wrong-size"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_damage_and_what_is_no_picture_stay_bad_samples(tmp_path: Path, name: str) -> None:
    content, reason = BROKEN[name]
    broken = Member("k/bad", content, 0, "train", 90, 70)
    rows = rows_of(tmp_path, [[broken, *[member(number) for number in range(7)]]])
    with train_loader(rows, steps=(0, 2), policy=BadSamplePolicy("skip", 9)) as loader:
        assert all((batch.images.std(axis=(1, 2, 3)) > 0).all() for batch in loader)
        assert [(bad.key, bad.reason) for bad in loader.bad_samples] == [("k/bad", reason)]
        assert loader.slow_samples == 0
    with eval_loader(rows) as loader, pytest.raises(BadSampleError, match=f"k/bad is {reason}"):
        list(loader)


def test_a_small_file_that_claims_a_huge_picture_costs_no_memory(tmp_path: Path) -> None:
    """A child's peak: 30,000 x 30,000 pixels in RGB would be 3.6 GB."""
    path = tmp_path / "bomb.png"
    huge = bytearray(encoded(Image.new("1", (8, 8)), "PNG"))
    huge[16:24] = (30_000).to_bytes(4, "big") * 2
    huge[29:33] = zlib.crc32(huge[12:29]).to_bytes(4, "big")
    path.write_bytes(huge)
    program = """
import sys
from pathlib import Path
from trainer.data.loader import load_images
def peak():
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1])
before = peak()
loaded = load_images([Path(sys.argv[1])], size=32, resize_shorter_side=36, mean=(0, 0, 0), std=(1, 1, 1))
print(loaded.statuses[0], peak() - before)
"""
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True)
    status, kilobytes = done.stdout.split()
    assert status == "too-large"
    assert int(kilobytes) < 50_000


def test_a_substitute_may_be_slow_too(mixed: Rows) -> None:
    size = mixed.size.copy()
    size[::2] = 20
    broken = replace(mixed, size=size)
    batches = all_batches(train_loader(broken, policy=BadSamplePolicy("skip", 24)))
    assert all((batch.images.std(axis=(1, 2, 3)) > 0).all() for batch in batches)
    again = all_batches(train_loader(broken, policy=BadSamplePolicy("skip", 24), threads=1))
    assert all(same(left, right) for left, right in zip(batches, again, strict=True))


def turned(orientation: int, kind: str) -> bytes:
    exif = Image.Exif()
    exif[0x0112] = orientation
    turn = {2: 0, 3: 3, 4: 1, 5: 5, 6: 2, 7: 6, 8: 4}  # Pillow's transpositions that undo each orientation
    stored = Image.fromarray(picture(3, 120, 84))
    stored = stored.transpose(Image.Transpose(turn[orientation])) if orientation > 1 else stored
    return encoded(stored, kind, exif=exif.tobytes() if kind != "TIFF" else exif, lossless=True)


@pytest.mark.parametrize("kind", ["PNG", "WEBP", "TIFF"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_files_are_turned_upright_once(tmp_path: Path, kind: str, orientation: int) -> None:
    path, plain = tmp_path / "x", tmp_path / "plain"
    path.write_bytes(turned(orientation, kind))
    plain.write_bytes(encoded(picture(3, 120, 84), "PNG"))
    loaded = load_images([plain, path], size=32, resize_shorter_side=36, mean=(0, 0, 0), std=(1, 1, 1))
    assert loaded.statuses == ("ok", "ok")
    np.testing.assert_allclose(loaded.images[0], loaded.images[1], atol=1e-5)


def test_the_reference_loader_makes_nearly_the_same_of_them(mixed: Rows) -> None:
    common: dict[str, Any] = {"steps": (0, 6)}
    native = all_batches(train_loader(mixed, **common))
    loader: Callable[..., Any] = PlainLoader
    with train_loader(mixed, **common) as other:
        plain = all_batches(
            loader(mixed, order=other._order, batch_size=8, rank=0, world_size=1, size_at=lambda _: 32,
                   crop=CropConfig(), seed=5, threads=1, start_step=0, stop_step=6, policy=BadSamplePolicy())
        )  # fmt: skip
    for left, right in zip(native, plain, strict=True):
        assert np.abs(left.images.astype(int) - right.images).mean() < 1.5


@pytest.mark.parametrize(("slow", "said"), [(0, False), (10, False), (11, True)])
def test_more_than_one_in_a_hundred_is_worth_a_word(slow: int, said: bool) -> None:
    word = pillow.word_of(slow, 1000)
    assert (word is not None) == said
    if word is not None:
        assert "11 of 1000 samples (1.1%)" in word
        assert "overnight shards build" in word
