"""Where a run's pictures come from and who decodes them: what changes, and what does not."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from object_server import serving_objects
from trainer.buckets import ROOT_VARIABLE
from trainer.errors import ConfigError
from trainer.run import Paths

Trainer = Callable[..., Path]


def weights_of(run: Path) -> str:
    return str(json.loads((run / "result.json").read_text())["weights_sha256"])


@pytest.fixture
def uploaded(dataset: Paths, monkeypatch: pytest.MonkeyPatch) -> Iterator[Paths]:
    """The same data as gs://data, of which the mount is there, but shards are read through the API."""
    pytest.importorskip("google.cloud.storage")
    root = dataset.output
    with serving_objects("data") as bucket:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", bucket.url)
        monkeypatch.setenv(ROOT_VARIABLE, str(root.parent))
        bucket.name = root.name
        for path in dataset.shards.rglob("*.tar"):
            bucket.put(str(path.relative_to(root)), path.read_bytes())
        yield dataset
        assert sum(bucket.downloads.values()) > 0


def test_shards_read_ahead_from_cloud_storage_train_the_same_weights(
    run: Trainer, dataset: Paths, uploaded: Paths, tmp_path: Path
) -> None:
    local = run("local")
    remote = run("remote", f"data.cache.folder={tmp_path / 'cache'}", data=uploaded)
    assert weights_of(remote) == weights_of(local)
    assert list((tmp_path / "cache").glob("*.tar"))


def test_the_reference_loader_trains_and_is_named_in_the_configuration(run: Trainer) -> None:
    output = run("reference", "data.loader=reference")
    assert json.loads((output / "config.json").read_text())["data"]["loader"] == "reference"
    assert json.loads((output / "profile.json").read_text())["phases"]["data_wait"]["seconds"] > 0


def test_the_reference_loader_reads_no_cache(run: Trainer) -> None:
    with pytest.raises(ConfigError, match=r"data\.cache\.folder"):
        run("both", "data.loader=reference", "data.cache.folder=/tmp/x")
