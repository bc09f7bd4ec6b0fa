"""Shard sets with restart markers: the same pictures, coded anew; what cannot be is kept or quarantined."""

import functools
import io
import json
import sys
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from jpeg_files import encode, jpeg, patched, picture, with_frame
from overnight.shards import jpeg as structure
from overnight.shards.errors import ShardError
from overnight.shards.examine import Refused, Rules, Stored, examine
from overnight.shards.marking import marked
from overnight.shards.rewriter import Answer, Rewriter
from overnight.shards.shardset import load
from overnight.shards.verify import full

RULES = Rules(max_shorter_side=0, jpeg_quality=95, max_pixels=1_000_000, restart_markers=True)


@pytest.fixture(scope="module")
def rewriter():
    process = Rewriter()
    yield process
    process.close()


@pytest.fixture
def marking(gallery):
    """The gallery whose sets get restart markers."""
    return replace(gallery, settings=replace(gallery.settings, restart_markers=True))


def judged(data: bytes, rewriter: Rewriter) -> Stored | Refused:
    verdict = examine(data, RULES)
    assert isinstance(verdict, Stored)
    return marked(verdict, rewriter)


def png(seed: int) -> bytes:
    out = io.BytesIO()
    Image.fromarray(picture(seed)).save(out, "PNG")
    return out.getvalue()


@pytest.mark.parametrize(
    ("data", "converted"),
    [
        (jpeg(picture(1)), "restart-markers"),
        (jpeg(Image.fromarray(picture(1)).convert("L")), "restart-markers"),
        (jpeg(picture(1), progressive=True), "baseline,restart-markers"),
        (jpeg(picture(1)) + b"trailer", "trailing-bytes,restart-markers"),
        (png(1), "png,restart-markers"),
        (jpeg(picture(1), restart_marker_blocks=1), "restart-markers"),
        (encode(picture(1), 4, 1), "restart-markers"),
    ],
)
def test_the_word_for_it_comes_after_what_else_was_done(data, converted, rewriter) -> None:
    found = judged(data, rewriter)
    assert isinstance(found, Stored)
    assert found.converted == converted
    assert structure.structure(found.data).frame == 0xC0
    before = examine(data, replace(RULES, restart_markers=False))
    np.testing.assert_array_equal(*(np.asarray(Image.open(io.BytesIO(each.data))) for each in (found, before)))
    assert replace(found, data=b"", converted="") == replace(before, data=b"", converted="")


def test_a_file_that_has_its_markers_stays_untouched(rewriter) -> None:
    once = judged(jpeg(picture(2)), rewriter)
    again = judged(once.data, rewriter)
    assert (again.data, again.converted) == (once.data, "")


def test_a_picture_whose_decoders_disagree_is_quarantined(rewriter) -> None:
    disputed = patched(jpeg(picture(2), quality=100), 0xDB, 1, 255)
    found = judged(disputed, rewriter)
    assert found == Refused(
        "decoders-disagree",
        "the trainer's decoder and libjpeg-turbo make different pictures of it, or rewriting would change it",
    )


class _Answering(Rewriter):
    def __init__(self, status: str) -> None:
        super().__init__()
        self._status = status

    def rewrite(self, picture: bytes) -> Answer:
        return Answer(self._status)


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        ("truncated", "truncated"),
        ("too-large", "too-large"),
        ("corrupt", "unreadable"),
        ("crashed", "unreadable"),
        ("timed-out", "unreadable"),
    ],
)
def test_what_the_trainer_would_not_read_is_quarantined(status: str, reason: str) -> None:
    found = judged(jpeg(picture(3)), _Answering(status))
    assert isinstance(found, Refused)
    assert found.reason == reason


def test_a_picture_that_fits_into_no_single_scan_keeps_its_bytes(rewriter) -> None:
    lossless = with_frame(jpeg(picture(3)), 0xC9)
    stored = Stored(lossless, 90, 70, 0, 1, "")
    assert marked(stored, rewriter) == stored


def test_a_set_is_the_same_bytes_with_any_workers_and_verifies(marking) -> None:
    marking.fill(20)
    marking.put("class-0/drawn.png", png(1))
    marking.put("class-0/disputed.jpg", patched(jpeg(picture(2), quality=100), 0xDB, 1, 255))
    marking.register()
    found = []
    for workers in (0, 1, 2):
        made = marking.build_anew(workers)
        assert full(made, lambda: None) == []
        found.append([(shard.sha256, shard.size) for shard in made.manifest.shards])
    assert found[0] == found[1] == found[2]


def test_the_set_says_what_was_done_and_with_what(marking, rows) -> None:
    marking.fill(4)
    marking.put("class-0/disputed.jpg", patched(jpeg(picture(2), quality=100), 0xDB, 1, 255))
    made = marking.register().build()
    assert {row["converted"] for row in rows(made.index_path)} == {"restart-markers"}
    assert [row["reason"] for row in rows(made.quarantine_path)] == ["decoders-disagree"]
    manifest = json.loads((marking.shards / "0001" / "manifest.json").read_text())
    assert manifest["settings"]["restart_markers"] is True
    assert manifest["made_with"]["trainer_libjpeg_turbo"]
    for row in rows(made.index_path):
        data = made.shard_paths[row["shard"]].read_bytes()[row["offset"] : row["offset"] + row["size"]]
        assert b"\xff\xdd" in data
        assert row["sha256"] != row["source_sha256"]


def test_a_build_without_the_trainer_package_says_so_before_it_begins(marking, monkeypatch) -> None:
    absent = functools.partial(Rewriter, [sys.executable, "-I", "-S", "-m", "trainer.rewrite"])
    monkeypatch.setattr("overnight.shards.build.Rewriter", absent)
    marking.fill(4).register()
    with pytest.raises(ShardError, match=r"trainer package, which is not installed.*restart_markers to false"):
        marking.build()
    assert [path.name for path in marking.shards.iterdir()] == [".lock"]


def test_a_set_of_before_there_were_markers_is_read_verified_and_appended_to(gallery, marking, rows) -> None:
    gallery.fill(8).register().build()
    manifest = gallery.shards / "0001" / "manifest.json"
    said = json.loads(manifest.read_text())
    del said["settings"]["restart_markers"]
    manifest.write_text(json.dumps(said))
    old = load(gallery.shards)
    assert old.manifest.settings.restart_markers is False
    assert full(old, lambda: None) == []
    gallery.fill(2, first=8).register()
    new = marking.append()
    assert full(new, lambda: None) == []
    words = {row["key"][-3:]: row["converted"] for row in rows(new.index_path)}
    assert words == {**{f"{n:03d}": "" for n in range(8)}, "008": "restart-markers", "009": "restart-markers"}
