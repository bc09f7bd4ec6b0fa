import json

import pyarrow.parquet as pq
import pytest

from overnight.files import canonical_json, sha256_bytes
from overnight.shards.errors import ShardError
from overnight.shards.shardset import ShardSet, load
from overnight.shards.verify import full, quick, raise_for


@pytest.fixture
def shards(gallery) -> ShardSet:
    """Two sets: 0002 was appended to 0001."""
    gallery.fill(10).register().build()
    gallery.fill(4, first=10)
    return gallery.register().append()


def told(problems):
    return [(problem.where.rsplit("/", 2)[-2:], problem.what) for problem in problems]


def test_a_sound_set_has_no_problems(shards):
    counted = []
    assert full(shards, lambda: counted.append(1)) == []
    assert len(counted) == len(shards.manifest.shards)
    assert quick(shards) == []
    raise_for(shards, [])


def test_a_missing_shard_is_named(shards):
    shards.shard_paths[1].unlink()
    assert (
        told(quick(shards))
        == told(full(shards, lambda: None))
        == [(["0001", "shard-000001.tar"], "this file is missing")]
    )


def test_a_short_shard_is_named(shards):
    path = shards.shard_paths[0]
    data = path.read_bytes()
    path.write_bytes(data[:-512])
    expected = [(["0001", "shard-000000.tar"], f"{len(data) - 512} bytes, where the manifest says {len(data)}")]
    assert told(quick(shards)) == told(full(shards, lambda: None)) == expected


def test_one_changed_byte_of_an_image_is_found_and_the_image_named(shards):
    row = pq.read_table(shards.index_path).slice(3, 1).to_pylist()[0]
    path = shards.shard_paths[row["shard"]]
    data = bytearray(path.read_bytes())
    data[row["offset"] + 5] ^= 1
    path.write_bytes(data)
    assert quick(shards) == []
    whats = [problem.what for problem in full(shards, lambda: None)]
    assert whats[0] == f"{row['key']}: the image's SHA-256 is not the index's"
    assert whats[1].startswith("SHA-256 is ")
    assert len(whats) == 2


def test_a_damaged_header_is_found(shards):
    path = shards.shard_paths[0]
    data = bytearray(path.read_bytes())
    data[100] ^= 1  # the mode of the first member
    path.write_bytes(data)
    whats = [problem.what for problem in full(shards, lambda: None)]
    assert any(what.startswith("SHA-256 is ") for what in whats)
    assert any(what.endswith("there is no member 0") for what in whats)


@pytest.mark.parametrize("name", ["index", "quarantine"])
def test_a_changed_table_is_found(shards, name):
    path = getattr(shards, f"{name}_path")
    path.write_bytes(path.read_bytes() + b"\0")
    for problems in (quick(shards), full(shards, lambda: None)):
        assert [where for where, _ in told(problems)] == [["0002", f"{name}.parquet"]]
    path.unlink()
    assert told(quick(shards)) == [(["0002", f"{name}.parquet"], "this file is missing")]


def test_a_changed_or_missing_earlier_manifest_is_found(shards, gallery):
    path = gallery.shards / "0001" / "manifest.json"
    value = json.loads(path.read_bytes())
    path.write_bytes(canonical_json({**value, "images": 11}))
    ((where, what),) = told(quick(shards))
    assert where == ["0001", "manifest.json"]
    assert (
        what
        == f"SHA-256 is {sha256_bytes(path.read_bytes())}, where the next set says {shards.manifest.previous.sha256}"
    )
    path.unlink()
    ((_, what),) = told(quick(shards))
    assert what == "this file is missing; shard set 0002 was appended to it"


def test_the_sentence_names_the_first_problem_and_counts_the_others(shards):
    shards.shard_paths[0].unlink()
    shards.shard_paths[1].unlink()
    with pytest.raises(ShardError, match=r"shard-000000\.tar: this file is missing \(and 1 more in shard set 0002"):
        raise_for(shards, quick(shards))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda text: "not JSON", "this is not a shard set's manifest"),
        (lambda text: text.replace("overnight.shards/1", "overnight.shards/9"), "format is 'overnight.shards/9'"),
        (lambda text: text.replace('"images"', '"pictures"'), "this is not a shard set's manifest"),
    ],
)
def test_a_manifest_that_cannot_be_read_is_one_sentence(shards, gallery, change, sentence):
    path = gallery.shards / "0002" / "manifest.json"
    path.write_text(change(path.read_text()))
    with pytest.raises(ShardError, match=sentence):
        load(gallery.shards)


def test_sets_are_found_by_name_and_the_newest_as_latest(shards, gallery):
    assert load(gallery.shards).name == "0002"
    assert load(gallery.shards, "0001").manifest.images == 10
    with pytest.raises(ShardError, match=r"no shard set '0007'; give one of 0001, 0002, or `latest`"):
        load(gallery.shards, "0007")


def test_a_folder_without_a_manifest_is_no_set(shards, gallery):
    (gallery.shards / "0003").mkdir()
    (gallery.shards / ".0004.x.tmp").mkdir()
    assert load(gallery.shards).name == "0002"
