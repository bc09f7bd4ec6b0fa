import errno
import hashlib
import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from dataclasses import replace

import fsspec
import pytest
from PIL import Image

from overnight.files import FolderInUse, locked
from overnight.shards.build import append, build
from overnight.shards.errors import NothingToAdd, ShardError
from overnight.shards.shardset import load, names
from overnight.shards.verify import full

BROKEN = b"\xff\xd8\xff\xe0 not much of a picture"


def test_a_set_holds_every_image_as_the_formats_page_says(gallery, rows):
    made = gallery.fill(20).register().build()
    index = rows(made.index_path)
    assert [row["key"] for row in index] == sorted(f"class-{seed % 3}/image-{seed:03d}" for seed in range(20))
    assert [shard.images for shard in made.manifest.shards] == [7, 7, 6]
    assert sorted(path.name for path in (gallery.shards / "0001").iterdir()) == [
        "index.parquet",
        "manifest.json",
        "quarantine.parquet",
        "shard-000000.tar",
        "shard-000001.tar",
        "shard-000002.tar",
    ]
    for row in index:
        source = (gallery.images / row["source"]).read_bytes()
        data = made.shard_paths[row["shard"]].read_bytes()[row["offset"] : row["offset"] + row["size"]]
        assert data == source
        assert row["sha256"] == row["source_sha256"] == hashlib.sha256(source).digest()
        assert (row["orientation"], row["converted"]) == (1, "")


def test_the_tars_are_ustar_with_members_in_key_order_and_nothing_of_this_machine(gallery, rows):
    made = gallery.fill(20).register().build()
    for number, path in made.shard_paths.items():
        with tarfile.open(path) as archive:
            assert not archive.pax_headers
            members = archive.getmembers()
        keys = [row["key"] for row in sorted(rows(made.index_path), key=lambda r: r["row"]) if row["shard"] == number]
        assert [member.name for member in members] == [f"{key}.jpg" for key in keys] == sorted(m.name for m in members)
        facts = {(m.mode, m.mtime, m.uid, m.gid, m.uname, m.gname, m.isreg()) for m in members}
        assert facts == {(0o644, 0, 0, 0, "", "", True)}


def test_a_shard_is_a_mixture_of_classes(gallery, rows):
    made = gallery.fill(21).register().build()
    classes = {(row["shard"], row["key"].split("/")[0]) for row in rows(made.index_path)}
    assert len(classes) == 9


def test_the_same_images_make_the_same_bytes_anywhere_in_any_order_with_any_workers(make_gallery, tmp_path, contents):
    found = []
    for number, (folder, workers) in enumerate((("one", 1), ("somewhere/else", 2), ("third", 0))):
        each = make_gallery(tmp_path / folder).fill(20)
        each.put("class-0/broken.jpg", BROKEN)
        made = each.register(order_seed=number).build(workers)
        found.append((made.sha256, contents(each.shards / "0001")))
    assert found[0] == found[1] == found[2]
    assert str(tmp_path).encode() not in b"".join(found[0][1].values())


def test_a_second_run_makes_the_same_bytes(gallery, contents):
    gallery.fill(20).register().build(workers=1)
    before = contents(gallery.shards)
    shutil.rmtree(gallery.shards)
    gallery.build(workers=1)
    assert contents(gallery.shards) == before


def test_refused_images_stand_in_the_quarantine_and_leave_no_gap_in_the_rows(gallery, rows):
    gallery.fill(12)
    for position in (3, 5):
        gallery.put(f"class-1/image-{position:03d}.jpg", BROKEN)
    gallery.put("class-0/nothing.jpg", b"")
    gallery.register()
    made = gallery.build()
    quarantined = rows(made.quarantine_path)
    assert [(row["key"], row["reason"]) for row in quarantined] == [
        ("class-0/nothing", "empty"),
        ("class-1/image-003", "truncated"),
        ("class-1/image-005", "truncated"),
    ]
    assert quarantined[0]["source_sha256"] == hashlib.sha256(b"").digest()
    for number in made.shard_paths:
        stored = sorted(row["row"] for row in rows(made.index_path) if row["shard"] == number)
        assert stored == list(range(len(stored)))
    assert full(made, lambda: None) == []


def test_an_image_that_changed_after_the_import_is_quarantined(gallery, rows):
    gallery.fill(8).register()
    gallery.put("class-0/image-000.jpg", 99)
    (gallery.images / "class-1" / "image-001.jpg").unlink()
    made = gallery.build()
    assert [(row["key"], row["reason"], row["detail"]) for row in rows(made.quarantine_path)] == [
        ("class-0/image-000", "changed-since-import", "the file's bytes are not those that were imported"),
        ("class-1/image-001", "unreadable", "no such file or directory"),
    ]


def test_the_settings_decide_what_is_stored_and_stand_in_the_manifest(gallery, rows):
    small = replace(gallery, settings=replace(gallery.settings, max_shorter_side=8, images_per_shard=100))
    made = small.fill(6).register().build()
    assert all(min(row["width"], row["height"]) == 8 for row in rows(made.index_path))
    assert {row["converted"] for row in rows(made.index_path)} == {"resized"}
    manifest = json.loads((gallery.shards / "0001" / "manifest.json").read_text())
    assert manifest["settings"] == {
        "images_per_shard": 100,
        "jpeg_quality": 95,
        "max_pixels": 1_000_000,
        "max_shorter_side": 8,
        "restart_markers": False,
    }


def test_an_append_writes_only_new_and_changed_images(gallery, rows):
    first = gallery.fill(10).register().build()
    before = {path: path.read_bytes() for path in first.shard_paths.values()}
    gallery.fill(3, first=10)
    gallery.put("class-0/image-000.jpg", 500)
    second = gallery.register().append()
    assert second.manifest.previous.sha256 == first.sha256
    assert second.manifest.shards[: len(first.manifest.shards)] == first.manifest.shards
    new = [row["key"] for row in rows(second.index_path) if row["shard"] >= len(first.manifest.shards)]
    assert new == ["class-0/image-000", "class-0/image-012", "class-1/image-010", "class-2/image-011"]
    assert second.manifest.images == second.manifest.index.rows == 13
    assert all(path.read_bytes() == data for path, data in before.items())
    assert full(second, lambda: None) == []


def test_appending_in_weeks_holds_the_same_images_as_building_at_once(make_gallery, tmp_path, rows):
    weekly = make_gallery(tmp_path / "weekly").fill(9).register()
    weekly.build()
    weekly.fill(9, first=9)
    weekly.put("class-1/image-004.jpg", 700)
    weekly.put("class-2/image-005.jpg", BROKEN)
    in_weeks = weekly.register().append()
    once = make_gallery(tmp_path / "once").fill(18)
    once.put("class-1/image-004.jpg", 700)
    once.put("class-2/image-005.jpg", BROKEN)
    at_once = once.register().build()

    def without_place(path):
        return [{k: v for k, v in row.items() if k not in ("shard", "row", "offset")} for row in rows(path)]

    assert without_place(in_weeks.index_path) == without_place(at_once.index_path)
    assert rows(in_weeks.quarantine_path) == rows(at_once.quarantine_path)


def test_an_append_of_nothing_says_so_and_makes_nothing(gallery, contents):
    gallery.fill(8)
    gallery.put("class-0/broken.jpg", BROKEN)
    gallery.register().build()
    before = contents(gallery.shards)
    with pytest.raises(NothingToAdd):
        gallery.append()
    assert contents(gallery.shards) == before


def test_an_image_that_could_not_be_read_is_looked_at_again(gallery, rows):
    gallery.fill(8).register()
    hidden = gallery.images / "class-0" / "image-000.jpg"
    data = hidden.read_bytes()
    hidden.unlink()
    gallery.build()
    with pytest.raises(NothingToAdd):
        gallery.append()
    hidden.write_bytes(data)
    second = gallery.append()
    assert rows(second.quarantine_path) == []
    assert second.manifest.images == 8


def test_images_that_left_the_catalogue_leave_the_index(gallery, rows):
    gallery.fill(8).register().build()
    (gallery.images / "class-0" / "image-000.jpg").unlink()
    second = gallery.register().append()
    assert "class-0/image-000" not in {row["key"] for row in rows(second.index_path)}
    assert second.manifest.images == 7


def test_appending_with_other_settings_is_refused(gallery):
    gallery.fill(8).register().build()
    other = replace(gallery, settings=replace(gallery.settings, jpeg_quality=80))
    with pytest.raises(ShardError, match=r"shards\.jpeg_quality is 80, but shard set 0001 was made with 95.*--anew"):
        other.append()


def test_a_second_build_is_refused_and_building_anew_is_not(gallery):
    first = gallery.fill(8).register().build()
    with pytest.raises(ShardError, match=r"a shard set already \(0001\).*append"):
        gallery.build()
    second = gallery.build_anew()
    assert (second.name, second.manifest.previous) == ("0002", None)
    assert [s.sha256 for s in second.manifest.shards] == [s.sha256 for s in first.manifest.shards]


def test_user_mistakes_are_one_sentence_and_leave_no_set(gallery):
    with pytest.raises(ShardError, match="no image catalogue; run `overnight import` first"):
        gallery.build()
    with pytest.raises(ShardError, match="no shard set yet; make one with `overnight shards build`"):
        gallery.append()
    gallery.put("class-0/a.jpg", BROKEN)
    gallery.put("class-1/b.jpg", b"")
    gallery.register()
    with pytest.raises(ShardError, match="none of the 2 images can be used"):
        gallery.build()
    gallery.catalogue.write_bytes(b"PAR1 but no more")
    with pytest.raises(ShardError, match=r"images\.parquet"):
        gallery.build()
    assert names(gallery.shards) == []
    assert [path.name for path in gallery.shards.iterdir()] == [".lock"]


def test_two_builds_at_once_are_refused(gallery):
    gallery.fill(8).register()
    with locked(gallery.shards, "shard build"), pytest.raises(FolderInUse, match="another shard build is running"):
        gallery.build()


def _build_in_child(gallery):
    gallery.build(workers=1)


def test_a_killed_build_leaves_no_set_and_the_next_one_is_as_if_it_had_not_been(make_gallery, tmp_path, contents):
    killed = make_gallery(tmp_path / "killed").fill(30).register()
    child = multiprocessing.get_context("spawn").Process(target=_build_in_child, args=(killed,))
    child.start()
    deadline = time.monotonic() + 60
    while not list(killed.shards.glob(".0001.*.tmp/shard-*.tar")) and time.monotonic() < deadline:
        time.sleep(0.002)
    os.kill(child.pid, signal.SIGKILL)
    child.join()
    assert names(killed.shards) == []
    assert list(killed.shards.glob(".0001.*.tmp")), "the kill came too late to show anything"
    calm = make_gallery(tmp_path / "calm").fill(30).register()
    assert killed.build(workers=1).sha256 == calm.build(workers=1).sha256
    assert contents(killed.shards) == contents(calm.shards)


def test_a_full_disk_is_one_sentence_and_leaves_no_set(gallery):
    for seed in range(4):
        gallery.put(f"class-0/{seed}.jpg", seed)
    gallery.put("class-1/quiet.jpg", 4)
    Image.effect_noise((400, 400), 80).save(gallery.images / "class-1" / "noise.bmp")
    gallery.register()
    config = gallery.base / "env.yaml"
    config.write_text(f"environment: test\nroot: {gallery.base}\n")
    command = (
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000));"
        "from overnight.cli.main import run; run()"
    )
    result = subprocess.run(
        [sys.executable, "-c", command, "shards", "build", "--workers", "2", "--config", str(config)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 2, result.stderr
    assert result.stderr.splitlines() == [
        f"overnight: {gallery.shards}: {os.strerror(errno.EFBIG).lower()}; "
        "free some space or move `root` to another disk."
    ]
    assert [path.name for path in gallery.shards.iterdir()] == [".lock"]


def test_a_set_in_an_object_store_is_the_same_set(gallery, writer, contents):
    folder = f"memory://bucket-{os.getpid()}/shards"
    gallery.fill(10).register()
    remote = build(gallery.order(folder), writer(1))
    assert remote.sha256 == gallery.build().sha256
    with pytest.raises(NothingToAdd):
        append(gallery.order(folder), writer(1))
    gallery.fill(2, first=10).register()
    assert append(gallery.order(folder), writer(1)).sha256 == gallery.append().sha256
    assert full(load(folder), lambda: None) == []
    store = fsspec.filesystem("memory")
    base = f"/bucket-{os.getpid()}/shards/"
    stored = {path.removeprefix(base): store.cat(path) for path in store.find(base)}
    local = {path: data for path, data in contents(gallery.shards).items() if path != ".lock"}
    assert stored == local
