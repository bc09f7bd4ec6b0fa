"""Where a run's pictures come from and who decodes them: what changes, and what does not."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from jpeg_files import jpeg, picture
from object_server import ObjectBucket, serving_objects
from trainer import evaluate, predict
from trainer.buckets import ROOT_VARIABLE
from trainer.command import fail_in_one_sentence
from trainer.errors import ConfigError
from trainer.run import Paths

Trainer = Callable[..., Path]


def weights_of(run: Path) -> str:
    return str(json.loads((run / "result.json").read_text())["weights_sha256"])


@pytest.fixture
def bucket(dataset: Paths, monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectBucket]:
    """The shards in Cloud Storage."""
    pytest.importorskip("google.cloud.storage")
    root = dataset.output
    with serving_objects(root.name) as bucket:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", bucket.url)
        monkeypatch.setenv(ROOT_VARIABLE, str(root.parent))
        for path in dataset.shards.rglob("*.tar"):
            bucket.put(str(path.relative_to(root)), path.read_bytes())
        yield bucket
        assert sum(bucket.downloads.values()) > 0


@pytest.fixture
def uploaded(bucket: ObjectBucket, dataset: Paths) -> Paths:
    """The same data, of which the mount is there, but shards are read through the API."""
    return dataset


def test_shards_read_ahead_from_cloud_storage_train_the_same_weights(
    run: Trainer, dataset: Paths, uploaded: Paths, tmp_path: Path
) -> None:
    local = run("local")
    remote = run("remote", f"data.cache.folder={tmp_path / 'cache'}", data=uploaded)
    assert weights_of(remote) == weights_of(local)
    assert list((tmp_path / "cache").glob("*.tar"))


def test_the_profile_says_what_reading_ahead_did(run: Trainer, dataset: Paths, uploaded: Paths, tmp_path: Path) -> None:
    assert "read_ahead" not in json.loads((run("local") / "profile.json").read_text())
    for name in ("first", "second"):
        output = run(name, f"data.cache.folder={tmp_path / 'cache'}", data=uploaded)
        profile = json.loads((output / "profile.json").read_text())
        counts = {part: profile["read_ahead"][part] for part in ("training", "evaluation")}
        shards = list(dataset.shards.rglob("*.tar"))
        if name == "first":
            assert counts["training"]["misses"] + counts["evaluation"]["misses"] == len(shards)
            fetched = sum(counts[part]["bytes_fetched"] for part in counts)
            assert fetched == sum(path.stat().st_size for path in shards)
        else:
            assert {counts[part][what] for part in counts for what in ("bytes_fetched", "misses", "retries")} == {0}
        assert counts["evaluation"]["hits"] > 0
        assert 0 <= counts["training"]["waited_seconds"] < profile["phases"]["data_wait"]["seconds"] + 0.1


def test_training_and_evaluation_share_a_cache_that_holds_a_part(
    run: Trainer, dataset: Paths, uploaded: Paths, tmp_path: Path
) -> None:
    largest = max(path.stat().st_size for path in dataset.shards.rglob("*.tar"))
    window = ("data.shuffle_window_shards=1", "data.depth=2")
    room = f"data.cache.bytes={5 * largest}"
    local = run("local", *window)
    remote = run("remote", *window, room, f"data.cache.folder={tmp_path / 'cache'}", data=uploaded)
    assert weights_of(remote) == weights_of(local)
    assert sum(path.stat().st_size for path in (tmp_path / "cache").glob("*.tar")) <= 5 * largest


def test_a_split_is_predicted_alike_through_the_cache(
    run: Trainer, dataset: Paths, uploaded: Paths, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = run("local") / "model"
    data = ["--snapshot", str(dataset.snapshot), "--shards", str(dataset.shards), "--model", str(model)]
    cache = ["--cache-folder", str(tmp_path / "cache")]
    assert evaluate.main([*data, "--output", str(tmp_path / "near.parquet")]) == 0
    assert evaluate.main([*data, *cache, "--output", str(tmp_path / "far.parquet")]) == 0
    near, far = (pq.read_table(tmp_path / f"{name}.parquet") for name in ("near", "far"))
    assert near.drop_columns(["logits", "confidence"]).equals(far.drop_columns(["logits", "confidence"]))
    np.testing.assert_allclose(np.stack(near["logits"].to_numpy()), np.stack(far["logits"].to_numpy()), atol=1e-5)
    assert list((tmp_path / "cache").glob("*.tar"))
    assert fail_in_one_sentence(evaluate.main, [*data, *cache, "--cache-bytes", "0", "--output", "x"]) == 2
    assert "data.cache.bytes" in capsys.readouterr().err


def test_files_of_cloud_storage_are_predicted_alike_through_the_cache(
    run: Trainer, uploaded: Paths, bucket: ObjectBucket, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = run("local") / "model"
    images = []
    for number in range(3):
        content = jpeg(picture(number))
        bucket.put(f"new/{number}.jpg", content)
        images.append(tmp_path / f"{number}.jpg")
        images[-1].write_bytes(content)
    capsys.readouterr()
    assert predict.main(["--model", str(model), *map(str, images)]) == 0
    expected = [json.loads(line)["top"] for line in capsys.readouterr().out.splitlines()]
    urls = [f"gs://{bucket.name}/new/{name}.jpg" for name in (0, 1, "none", 2)]
    assert predict.main(["--model", str(model), "--cache-folder", str(tmp_path / "cache"), *urls]) == 2
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert f"{urls[2]}: this object is not there" in found.pop(2)["error"]
    assert [line["label"] for line in found] == [top[0][0] for top in expected]
    np.testing.assert_allclose([line["confidence"] for line in found], [top[0][1] for top in expected], atol=1e-5)


def test_the_reference_loader_trains_and_is_named_in_the_configuration(run: Trainer) -> None:
    output = run("reference", "data.loader=reference")
    assert json.loads((output / "config.json").read_text())["data"]["loader"] == "reference"
    assert json.loads((output / "profile.json").read_text())["phases"]["data_wait"]["seconds"] > 0


def test_the_reference_loader_reads_no_cache(run: Trainer) -> None:
    with pytest.raises(ConfigError, match=r"data\.cache\.folder"):
        run("both", "data.loader=reference", "data.cache.folder=/tmp/x")
