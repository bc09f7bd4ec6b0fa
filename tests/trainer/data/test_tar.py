"""The tar index: every dialect, cut-off files, and what is no tar at all."""

import io
import tarfile
from pathlib import Path

import pytest

from trainer.data.native import TarMembers, scan_tar
from trainer.errors import SnapshotError

LONG = "/".join(["folder" * 4] * 12) + "/picture.jpg"


def write(path: Path, members: dict[str, bytes], dialect: int) -> Path:
    with tarfile.open(path, "w", format=dialect) as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return path


def contents(path: Path, members: TarMembers) -> dict[str, bytes]:
    data = path.read_bytes()
    names = members.names.to_pylist()
    return {
        name: data[offset : offset + size]
        for name, offset, size in zip(names, members.offset, members.size, strict=True)
    }


@pytest.mark.parametrize("dialect", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT])
def test_long_and_foreign_names_are_read(tmp_path: Path, dialect: int) -> None:
    members = {"a.jpg": b"1", LONG: b"22" * 700, "größe/写真.jpg": b"333", "b.cls": b"", "last.jpg": bytes(512)}
    path = write(tmp_path / "x.tar", members, dialect)
    index = scan_tar(path)
    assert contents(path, index) == members
    assert not index.truncated


def test_a_ustar_prefix_is_part_of_the_name(tmp_path: Path) -> None:
    name = "p" * 60 + "/" + "q" * 80
    path = write(tmp_path / "x.tar", {name: b"x"}, tarfile.USTAR_FORMAT)
    assert scan_tar(path).names.to_pylist() == [name]


def test_members_keep_their_order_and_folders_and_links_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "x.tar"
    with tarfile.open(path, "w") as tar:
        for name, kind in [("z", tarfile.REGTYPE), ("folder", tarfile.DIRTYPE), ("link", tarfile.SYMTYPE),
                           ("a", tarfile.REGTYPE)]:  # fmt: skip
            info = tarfile.TarInfo(name)
            info.type = kind
            tar.addfile(info)
    assert scan_tar(path).names.to_pylist() == ["z", "a"]


def test_an_empty_shard_has_no_members(tmp_path: Path) -> None:
    index = scan_tar(write(tmp_path / "x.tar", {}, tarfile.USTAR_FORMAT))
    assert (len(index), index.truncated) == (0, False)
    (tmp_path / "empty.tar").write_bytes(b"")
    assert len(scan_tar(tmp_path / "empty.tar")) == 0


@pytest.mark.parametrize(("keep", "found"), [(512 + 512 + 512 + 100, 1), (512 + 512 + 100, 1), (1024, 1), (600, 0)])
def test_a_member_that_is_cut_off_is_left_out_and_said(tmp_path: Path, keep: int, found: int) -> None:
    path = write(tmp_path / "x.tar", {"a": bytes([7] * 512), "b": bytes([8] * 512)}, tarfile.USTAR_FORMAT)
    path.write_bytes(path.read_bytes()[:keep])
    index = scan_tar(path)
    assert len(index) == found
    assert index.truncated


def test_a_member_of_over_8_gib_is_read_from_a_sparse_file(tmp_path: Path) -> None:
    size = 9 * 2**30
    path = tmp_path / "x.tar"
    big, small = tarfile.TarInfo("big.bin"), tarfile.TarInfo("small.jpg")
    big.size, small.size = size, 3
    with path.open("wb") as file:
        file.write(big.tobuf(tarfile.GNU_FORMAT))
        file.seek(512 + size)
        file.write(small.tobuf(tarfile.USTAR_FORMAT) + b"abc" + bytes(509 + 1024))
    index = scan_tar(path)
    assert index.names.to_pylist() == ["big.bin", "small.jpg"]
    assert index.size.tolist() == [size, 3]
    assert index.offset.tolist() == [512, 1024 + size]


@pytest.mark.parametrize("dialect", [tarfile.PAX_FORMAT])
def test_a_pax_size_outweighs_the_header(tmp_path: Path, dialect: int) -> None:
    size = 9 * 2**30
    info = tarfile.TarInfo("big.bin")
    info.size = size
    header = info.tobuf(dialect)
    path = tmp_path / "x.tar"
    with path.open("wb") as file:
        file.write(header)
        file.seek(len(header) + size)
        file.write(bytes(1024))
    assert scan_tar(path).size.tolist() == [size]


def test_what_is_no_tar_is_said_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "x.tar").write_bytes(b"not a tar" * 200)
    with pytest.raises(SnapshotError, match="not a tar file"):
        scan_tar(tmp_path / "x.tar")
    with pytest.raises(SnapshotError, match="No such file"):
        scan_tar(tmp_path / "none.tar")
    with pytest.raises(SnapshotError, match="not a file"):
        scan_tar(tmp_path)


def test_a_name_that_is_not_utf8_is_said_in_one_sentence(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "x.tar", "w", format=tarfile.GNU_FORMAT, encoding="latin-1") as tar:
        tar.addfile(tarfile.TarInfo("größe.jpg"))
    with pytest.raises(SnapshotError, match="not UTF-8"):
        scan_tar(tmp_path / "x.tar")
