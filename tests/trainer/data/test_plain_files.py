"""Prediction's files go through evaluation's pixels: equal numbers, orientation applied, bad files named."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from jpeg_files import jpeg, picture
from loading import eval_loader
from trainer.data import native, reference
from trainer.data.crops import evaluation_boxes
from trainer.data.loader import load_images
from trainer.data.snapshot import Rows
from trainer.errors import ConfigError


def load(paths: list[Path], size: int = 32, threads: int = 2) -> tuple[NDArray[np.float32], tuple[str, ...]]:
    loaded = load_images(
        paths, size=size, resize_shorter_side=36, mean=(0.5, 0.5, 0.5), std=(0.25, 0.25, 0.25), threads=threads
    )
    return loaded.images, loaded.statuses


def test_files_and_shards_give_equal_pixels(rows: Rows, tmp_path: Path) -> None:
    paths = []
    for i in range(len(rows)):
        shard = Path(rows.paths[rows.shard[i]]).read_bytes()
        paths.append(tmp_path / f"{i}.jpg")
        paths[-1].write_bytes(shard[rows.offset[i] : rows.offset[i] + rows.size[i]])
    images, statuses = load(paths)
    assert set(statuses) == {"ok"}
    with eval_loader(rows) as loader:
        for batch in loader:
            np.testing.assert_array_equal(batch.images, images[batch.indices])


def oriented(orientation: int, endian: str) -> bytes:
    exif = Image.Exif()
    exif.endian = endian  # type: ignore[attr-defined]
    exif[0x0112] = orientation
    upright = Image.fromarray(picture(3, 120, 84))
    turn = {2: 0, 3: 3, 4: 1, 5: 5, 6: 2, 7: 6, 8: 4}  # Pillow's transpositions that undo each orientation
    stored = upright.transpose(Image.Transpose(turn[orientation])) if orientation > 1 else upright
    return jpeg(stored, exif=exif.tobytes(), quality=100, subsampling="4:4:4")


@pytest.mark.parametrize("endian", ["<", ">"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_every_exif_orientation_is_applied(tmp_path: Path, orientation: int, endian: str) -> None:
    path = tmp_path / "x.jpg"
    path.write_bytes(oriented(orientation, endian))
    (image,), statuses = load([path])
    upright = jpeg(picture(3, 120, 84), quality=100, subsampling="4:4:4")
    (box,) = evaluation_boxes(np.array([120], np.int32), np.array([84], np.int32), 32, 36)
    expected = reference.reference_sample(upright, tuple(box), 32)
    assert statuses == ("ok",)
    assert np.abs((image * 0.25 + 0.5) * 255 - expected).mean() < 1


@pytest.mark.parametrize("exif", [b"Exif\x00\x00nonsense", b"Exif\x00\x00II*\x00\xff\xff\xff\xff", b"Exif\x00\x00"])
def test_malformed_exif_counts_as_upright(tmp_path: Path, exif: bytes) -> None:
    plain, odd = tmp_path / "plain.jpg", tmp_path / "odd.jpg"
    plain.write_bytes(jpeg(picture(4)))
    odd.write_bytes(jpeg(picture(4), exif=exif))
    images, statuses = load([plain, odd])
    assert statuses == ("ok", "ok")
    np.testing.assert_array_equal(images[0], images[1])


def test_bad_files_are_named_and_blank_and_the_others_unharmed(tmp_path: Path) -> None:
    good, cut, text, empty = (tmp_path / name for name in ("good.jpg", "cut.jpg", "text.jpg", "empty.jpg"))
    good.write_bytes(jpeg(picture(5)))
    cut.write_bytes(jpeg(picture(5))[:-50])
    text.write_text("hello")
    empty.touch()
    images, statuses = load([cut, good, text, empty, tmp_path / "none.jpg", tmp_path])
    assert statuses == ("truncated", "ok", "not-a-jpeg", "empty", "unreadable", "unreadable")
    assert [bool(image.any()) for image in images] == [False, True, False, False, False, False]


def test_no_files_give_an_empty_array() -> None:
    images, statuses = load([])
    assert images.shape == (0, 3, 32, 32)
    assert statuses == ()


def test_a_size_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="resize_shorter_side"):
        load([tmp_path / "x.jpg"], size=64)


def test_every_status_has_a_name() -> None:
    assert native.STATUSES[0] == "ok"
    assert len(set(native.STATUSES)) == len(native.STATUSES)
