"""Folders of WebDataset tars: what is a sample, what is left out and counted, and when a tar is scanned again."""

import io
import json
import os
import tarfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from jpeg_files import jpeg, picture
from trainer.data import native
from trainer.data.buffers import PixelFormat
from trainer.data.loader import BadSamplePolicy
from trainer.data.stream import InputStream
from trainer.data.tars import INDEX, TarCounts, open_tars
from trainer.errors import BadSampleError, SnapshotError

JPEG = jpeg(picture(1, 60, 40))


def write(path: Path, members: list[tuple[str, bytes]], dialect: int = tarfile.PAX_FORMAT) -> None:
    with tarfile.open(path, "w", format=dialect) as tar:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))


def samples(tar: int, count: int) -> list[tuple[str, bytes]]:
    return [
        member
        for number in range(count)
        for member in (
            (f"{tar:02d}-{number:04d}.jpg", jpeg(picture(100 * tar + number, 50 + number, 40))),
            (f"{tar:02d}-{number:04d}.cls", str((tar + number) % 7).encode()),
        )
    ]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three tars of six samples."""
    for tar in range(3):
        write(tmp_path / f"train-{tar:06d}.tar", samples(tar, 6))
    return tmp_path


def test_samples_come_by_tar_and_in_file_order(folder: Path) -> None:
    tars = open_tars(folder)
    assert tars.rows.keys.to_pylist() == [f"{tar:02d}-{number:04d}" for tar in range(3) for number in range(6)]
    assert tars.rows.class_ids.tolist() == [(tar + number) % 7 for tar in range(3) for number in range(6)]
    assert tars.rows.shard.tolist() == [0] * 6 + [1] * 6 + [2] * 6
    assert tars.rows.width.tolist() == [50, 51, 52, 53, 54, 55] * 3
    assert set(tars.rows.height.tolist()) == {40}
    assert (tars.classes, tars.total) == ((), TarCounts(samples=18))


def test_the_bytes_are_where_the_index_says(folder: Path) -> None:
    rows = open_tars(folder).rows
    for i in range(len(rows)):
        content = Path(rows.paths[rows.shard[i]]).read_bytes()[rows.offset[i] :][: rows.size[i]]
        assert content == jpeg(picture(100 * int(rows.shard[i]) + i % 6, 50 + i % 6, 40))


def test_a_stream_reads_them(folder: Path) -> None:
    with InputStream(open_tars(folder).rows, batch_size=6, size=24, epochs=2) as stream:
        seen = [key for batch in stream for key in stream.keys(batch)]
    assert sorted(seen) == sorted(open_tars(folder).rows.keys.to_pylist() * 2)


@pytest.mark.parametrize("dialect", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT])
def test_members_may_be_in_any_order_with_others_beside_them(tmp_path: Path, dialect: int) -> None:
    long = "/".join(["folder" * 4] * 12) + "/größe-写真"
    members = [("b.cls", b" 2\n"), ("a.seg.png", b"x"), ("a.jpg", JPEG), ("README", b"x"),
               (f"{long}.json", b'{"label": 3}'), ("b.JPEG", JPEG), (f"{long}.jpg", JPEG), ("._a.jpg", b"x"),
               ("a.cls", b"1"), ("a.json", b'{"label": 9}'), ("v1.2/c.jpg", JPEG), ("v1.2/c.cls", b"4")]  # fmt: skip
    write(tmp_path / "x.tar", members, dialect)
    tars = open_tars(tmp_path)
    assert tars.rows.keys.to_pylist() == ["a", "b", long, "v1.2/c"]
    assert tars.rows.class_ids.tolist() == [1, 2, 3, 4]
    assert tars.rows.row.tolist() == [2, 5, 6, 10]


def test_labels_that_are_names_become_classes(tmp_path: Path) -> None:
    write(tmp_path / "x.tar", [("a.jpg", JPEG), ("a.cls", b"wasp"), ("b.jpg", JPEG), ("b.json", b'{"name": "ant"}')])
    write(tmp_path / "y.tar", [("c.jpg", JPEG), ("c.json", json.dumps({"name": "biene-ä", "label": 1}).encode())])
    tars = open_tars(tmp_path, label_field="name")
    assert tars.classes == ("ant", "biene-ä", "wasp")
    assert tars.rows.class_ids.tolist() == [2, 0, 1]


def test_what_is_no_sample_is_counted(tmp_path: Path) -> None:
    members = [("a.jpg", JPEG), ("b.jpg", JPEG), ("b.json", b"{]"), ("c.jpg", JPEG), ("c.json", b'{"other": 1}'),
               ("d.jpg", JPEG), ("d.cls", b""), ("e.jpg", JPEG), ("e.cls", b"1"), ("e.jpeg", JPEG)]  # fmt: skip
    write(tmp_path / "x.tar", members)
    write(tmp_path / "empty.tar", [])
    tars = open_tars(tmp_path)
    assert tars.rows.keys.to_pylist() == ["e"]
    assert tars.counts["x.tar"] == TarCounts(samples=1, without_label=4, repeated=1)
    assert tars.counts["empty.tar"] == TarCounts()


def test_a_cut_off_tar_is_counted_and_its_whole_members_are_used(folder: Path) -> None:
    path = folder / "train-000001.tar"
    last = native.scan_tar(path)
    path.write_bytes(path.read_bytes()[: int(last.offset[-2]) + 100])  # inside the last picture
    tars = open_tars(folder)
    assert tars.counts[path.name] == TarCounts(samples=5, truncated=1)
    assert tars.total == TarCounts(samples=17, truncated=1)


def test_a_damaged_picture_is_left_to_the_policy(tmp_path: Path) -> None:
    good = [(f"{n}.jpg", JPEG) for n in range(7)] + [(f"{n}.cls", b"0") for n in range(7)]
    write(tmp_path / "x.tar", [("bad.jpg", b"no picture"), ("bad.cls", b"5"), *good])
    rows = open_tars(tmp_path).rows
    assert (rows.width[0], rows.height[0]) == (0, 0)
    with (
        InputStream(rows, batch_size=8, size=16, epochs=1) as stream,
        pytest.raises(BadSampleError, match="bad is not-a-jpeg"),
    ):
        next(stream)
    with InputStream(rows, batch_size=8, size=16, epochs=1, policy=BadSamplePolicy("skip", 1)) as stream:
        assert next(stream).class_ids.tolist() == [0] * 8


def scanned(monkeypatch: pytest.MonkeyPatch, folder: Path, **options: object) -> list[str]:
    """Names of the tars that `open_tars` scans."""
    names: list[str] = []
    original = native.scan_tar
    monkeypatch.setattr(native, "scan_tar", lambda path: (names.append(path.name), original(path))[1])
    open_tars(folder, **options)  # type: ignore[arg-type]
    monkeypatch.setattr(native, "scan_tar", original)
    return sorted(names)


def test_only_new_and_changed_tars_are_scanned_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"train-{tar:06d}.tar" for tar in range(4)]
    assert scanned(monkeypatch, folder) == names[:3]
    first = open_tars(folder)
    assert scanned(monkeypatch, folder) == []
    write(folder / names[3], [("new.jpg", JPEG), ("new.cls", b"owl")])
    os.utime(folder / names[1], ns=(1, 1))
    assert scanned(monkeypatch, folder) == [names[1], names[3]]
    again = open_tars(folder)
    assert again.rows.keys.to_pylist() == [*first.rows.keys.to_pylist(), "new"]
    assert again.classes == ("0", "1", "2", "3", "4", "5", "6", "owl")  # one name makes all of them names
    (folder / names[3]).unlink()
    back = open_tars(folder)
    assert (back.classes, back.counts) == ((), first.counts)
    for name in ("class_ids", "shard", "row", "offset", "size", "width", "height"):
        np.testing.assert_array_equal(getattr(back.rows, name), getattr(first.rows, name))


def test_another_label_field_is_another_scan(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_tars(folder)
    assert len(scanned(monkeypatch, folder, label_field="name")) == 3


def test_an_index_that_is_broken_is_made_again(folder: Path) -> None:
    first = open_tars(folder).rows.keys.to_pylist()
    for content in (b"", b"ARROW1", (folder / INDEX).read_bytes()[:-40]):
        (folder / INDEX).write_bytes(content)
        assert open_tars(folder).rows.keys.to_pylist() == first


def test_the_index_may_stand_in_another_folder(folder: Path, tmp_path: Path) -> None:
    before = sorted(path.name for path in folder.iterdir())
    assert len(open_tars(folder, cache=tmp_path / "deep" / "cache").rows) == 18
    assert sorted(path.name for path in folder.iterdir() if path.name != "deep") == before
    assert [path.name for path in (tmp_path / "deep" / "cache").iterdir()] == [INDEX]


def test_a_folder_that_cannot_hold_the_index_is_said(folder: Path) -> None:
    (folder / "file").write_text("")
    with pytest.raises(SnapshotError, match="name a folder with `cache`"):
        open_tars(folder, cache=folder / "file")


def test_a_folder_without_tars_and_what_is_no_tar_are_said(tmp_path: Path) -> None:
    with pytest.raises(SnapshotError, match=r"no \*\.tar here"):
        open_tars(tmp_path)
    (tmp_path / "x.tar").write_bytes(b"not a tar" * 200)
    with pytest.raises(SnapshotError, match=r"x\.tar"):
        open_tars(tmp_path)


def test_the_index_is_columns_not_objects(folder: Path) -> None:
    rows = open_tars(folder).rows
    assert [type(value).__name__ for value in vars(rows).values()] == [
        "LargeStringArray", "ndarray", "LargeStringArray", "tuple", *["ndarray"] * 6]  # fmt: skip


def test_a_picture_that_is_no_jpeg_is_a_sample_where_its_key_has_no_jpeg(tmp_path: Path) -> None:
    png = io.BytesIO()
    Image.fromarray(picture(4, 60, 44)).save(png, "PNG")
    members = [("a.png", png.getvalue()), ("a.cls", b"0"), ("b.jpg", JPEG), ("b.png", png.getvalue()), ("b.cls", b"1"),
               ("c.png", png.getvalue()), ("c.jpg", JPEG), ("c.cls", b"2"), ("d.seg.png", b"x"), ("d.cls", b"3"),
               ("e.PNG", png.getvalue()), ("e.webp", png.getvalue()), ("e.cls", b"4"), ("f", b"x")]  # fmt: skip
    write(tmp_path / "x.tar", members)
    tars = open_tars(tmp_path)
    assert tars.rows.keys.to_pylist() == ["a", "b", "c", "e"]
    assert (tars.rows.width > 0).tolist() == [False, True, True, False]
    assert tars.total == TarCounts(samples=4, repeated=1)
    common = {"batch_size": 4, "size": 16, "epochs": 1, "pixels": PixelFormat(number="float32")}
    with InputStream(tars.rows, **common) as stream:  # type: ignore[arg-type]
        (batch,) = list(stream)
        assert (batch.images.std(axis=(1, 2, 3)) > 0).all()
        assert (stream.slow_samples, stream.bad_samples) == (2, [])
    assert sorted(batch.class_ids.tolist()) == [0, 1, 2, 4]
