"""A whole root as docs/formats.md draws it: images, labels, snapshot, run, version, promotion; all real files."""

import hashlib
import json
import os
import shutil
import subprocess
import tarfile
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from overnight.config import Environment
from overnight.files import canonical_json, sha256_file
from overnight.labels.content import SNAPSHOT_SCHEMA, ContentDigest
from overnight.labels.split import SPLITS
from overnight.lineage.record import RunFacts, write_record
from overnight.models import promotions, registry

CLASSES = ["cats", "dogs"]
SPLIT = {"salt": "overnight", "train": 0.7, "validation": 0.1, "test": 0.2}
RUN_ID = "20260303-020000-0123abcd"
IMAGES = 12


def write_json(path: Path, value: Any) -> str:
    """Write canonical JSON and return its digest."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(canonical_json(value))
    return sha256_file(path)


@dataclass(frozen=True)
class World:
    """The root, and the git checkout that the run was started in."""

    root: Path
    checkout: Path
    snapshot: str

    @property
    def run(self) -> Path:
        return self.root / "runs" / RUN_ID

    @property
    def environment(self) -> Environment:
        return Environment(environment="test", root=str(self.root))

    @property
    def config(self) -> Path:
        path = self.root.parent / "test.yaml"
        path.write_text(f"environment: test\nroot: {self.root}\n")
        return path

    def sql(self, statement: str) -> None:
        """Edit the label database."""
        with duckdb.connect(str(self.root / "labels.duckdb")) as connection:
            connection.execute(statement)


def keys() -> list[str]:
    return [f"{CLASSES[number % 2]}/image-{number:03d}" for number in range(IMAGES)]


def make_shards(root: Path) -> dict[str, str]:
    """Two shard sets of one tar each; the second lists both tars."""
    shards = root / "shards"
    listed: list[dict[str, Any]] = []
    previous = None
    for number in range(2):
        name = f"{number + 1:04d}"
        tar = shards / name / f"shard-{number:06d}.tar"
        tar.parent.mkdir(parents=True)
        with tarfile.open(tar, "w", format=tarfile.USTAR_FORMAT) as archive:
            for key in keys()[number::2]:
                member = tarfile.TarInfo(f"{key}.jpg")
                data = hashlib.sha256(key.encode()).digest() * 8
                member.size = len(data)
                archive.addfile(member, BytesIO(data))
        size = tar.stat().st_size
        path = f"{name}/{tar.name}"
        listed.append({"shard": number, "path": path, "sha256": sha256_file(tar), "size": size, "images": IMAGES // 2})
        tables = {}
        for table in ("index", "quarantine"):
            file = shards / name / f"{table}.parquet"
            pq.write_table(pa.table({"key": sorted(keys()) if table == "index" else pa.array([], pa.string())}), file)
            tables[table] = {"path": f"{name}/{file.name}", "sha256": sha256_file(file), "rows": IMAGES}
        manifest = {
            "format": "overnight.shards/1",
            "name": name,
            "previous": previous,
            "settings": {"max_shorter_side": 0, "jpeg_quality": 95, "images_per_shard": 6},
            "shards": listed,
            **tables,
            "images": IMAGES,
            "bytes": 256 * IMAGES,
        }
        previous = {"name": name, "sha256": write_json(shards / name / "manifest.json", manifest)}
    assert previous is not None
    return previous


def make_labels(root: Path) -> None:
    """The label table and its dated copy; one image has no group, one label has no image."""
    rows = [(key, key.split("/")[0], None if number == 3 else f"g{number}") for number, key in enumerate(keys())]
    with duckdb.connect(str(root / "labels.duckdb")) as connection:
        connection.execute("CREATE TABLE labels (key VARCHAR, label VARCHAR, group_id VARCHAR)")
        connection.executemany("INSERT INTO labels VALUES (?, ?, ?)", [*rows, ("cats/no-image", "cats", "g99")])
        connection.execute("CREATE TABLE labels_20260303 AS FROM labels")


def make_snapshot(root: Path, shard_set: dict[str, str]) -> Path:
    number_of = {key: number for number, key in enumerate(keys())}
    ordered = sorted(keys())
    numbers = [number_of[key] for key in ordered]
    columns = {
        "key": ordered,
        "class_id": [CLASSES.index(key.split("/")[0]) for key in ordered],
        "split": pa.DictionaryArray.from_arrays(pa.array([n % 3 for n in numbers], pa.int8()), pa.array(SPLITS)),
        "group_id": [key if number == 3 else f"g{number}" for key, number in zip(ordered, numbers, strict=True)],
        **{name: [1] * IMAGES for name in ("shard", "row", "offset", "size", "width", "height")},
        "sha256": [hashlib.sha256(key.encode()).digest() for key in ordered],
    }
    table = pa.table(columns, schema=SNAPSHOT_SCHEMA)
    digest = ContentDigest(CLASSES, dict(SPLIT))
    for batch in table.to_batches():
        digest.update(batch)
    content = digest.hexdigest()
    folder = root / "snapshots" / f"20260303-{content[:12]}"
    folder.mkdir(parents=True)
    files = []
    for number, part in enumerate((table.slice(0, 7), table.slice(7))):
        path = folder / f"labels-{number:05d}.parquet"
        pq.write_table(part, path)
        size = path.stat().st_size
        files.append({"path": path.name, "sha256": sha256_file(path), "size": size, "rows": part.num_rows})
    source = {
        "kind": "duckdb",
        "database": "labels.duckdb",
        "table": "labels",
        "snapshot_table": "labels_20260303",
        "rows": IMAGES + 1,
    }
    write_json(folder / "classes.json", {"format": "overnight.classes/1", "classes": CLASSES})
    write_json(folder / "report.json", {"format": "overnight.validation/1", "verdict": "accepted"})
    manifest = {
        "format": "overnight.snapshot/1",
        "name": folder.name,
        "created": "2026-03-03T01:00:00Z",
        "source": source,
        "shard_set": shard_set,
        "split": SPLIT,
        "counts": {"rows": IMAGES, "classes": {}},
        "previous": None,
        "content_sha256": content,
        "files": files,
    }
    write_json(folder / "manifest.json", manifest)
    return folder


def write_training(folder: Path, snapshot: Path, shard_set: dict[str, str], seed: int = 7) -> None:
    """What the trainer leaves in a run's folder."""
    (folder / "model").mkdir(parents=True)
    (folder / "model" / "model.safetensors").write_bytes(f"weights {seed}".encode())
    weights = sha256_file(folder / "model" / "model.safetensors")
    model = {"format": "overnight.model/1", "classes": CLASSES, "weights": {"path": "x", "sha256": weights}}
    write_json(folder / "model" / "model.json", model)
    settings = {"epochs": 3, "optimizer": {"name": "sgd", "learning_rate": 0.1}}
    write_json(folder / "config.json", settings)
    final = {"split": "validation", "loss": 0.5, "accuracy": 0.9, "balanced_accuracy": 0.88}
    final["expected_calibration_error"] = 0.03
    write_json(folder / "metrics.json", {"format": "overnight.metrics/1", "epochs": [], "final": final})
    phases = {"data_wait": {"seconds": 1.5, "share": 0.1}, "copy": {"seconds": 0.5, "share": 0.03}}
    write_json(folder / "profile.json", {"format": "overnight.profile/1", "phases": phases})
    result = {
        "format": "overnight.result/1",
        "status": "succeeded",
        "snapshot": {"name": snapshot.name, "sha256": sha256_file(snapshot / "manifest.json")},
        "shard_set": shard_set,
        "seed": seed,
        "hyperparameters": settings,
        "weights_sha256": weights,
        "machine": {"cpu": "Example", "cores": 2},
        "versions": {"torch": "2.13.0"},
    }
    write_json(folder / "result.json", result)


def facts(root: Path, snapshot: Path, run_id: str = RUN_ID) -> RunFacts:
    started = datetime(2026, 3, 3, 2, 0, 0, tzinfo=UTC)
    return RunFacts(
        run_id=run_id,
        root=root,
        status="succeeded",
        verdict="The primary replica ended well.",
        started=started,
        ended=started.replace(minute=5),
        display_name="weekly",
        model="classifier",
        spec_path=Path("jobs/local.yaml"),
        job_names=("projects/0/locations/local/customJobs/1",),
        images=(),
        snapshot=snapshot,
    )


def promote(root: Path, run: Path, time: str, verdict: Any = "promoted") -> None:
    """Register the run's model and write a decision about it, with the gate's evidence."""
    gate = write_json(run / "evaluation" / "gate.json", {"format": "overnight.gate/1", "decision": verdict})
    with registry.hold(root / "models", "classifier") as model:
        version = registry.register(model, run, datetime.fromisoformat(time))
        decision = promotions.Decision(
            time=time,
            model="classifier",
            version=version.version,
            decision=verdict,
            reason=f"it was {verdict}",
            champion_before=None,
            run_id=run.name,
            snapshot=None,
            evaluation={"gate_sha256": gate, "accuracy": 0.9},
        )
        promotions.append(model, decision)


def git(folder: Path, *arguments: str) -> str:
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.com"]
    command = ["git", *identity, "-C", str(folder), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout.strip()


@pytest.fixture(name="facts")
def facts_fixture():
    """What the starter of the run knew."""
    return facts


@pytest.fixture(name="promote")
def promote_fixture():
    """Registers a run's model and writes a decision about it."""
    return promote


@pytest.fixture
def train():
    """Makes another finished run on the world's snapshot."""

    def make(world: World, run_id: str, seed: int) -> Path:
        snapshot = world.root / "snapshots" / world.snapshot
        shard_set = {"name": "0002", "sha256": sha256_file(world.root / "shards/0002/manifest.json")}
        run = world.root / "runs" / run_id
        write_training(run, snapshot, shard_set, seed)
        write_json(run / "spec.json", {"displayName": "weekly"})
        write_record(run, facts(world.root, snapshot, run_id))
        return run

    return make


@pytest.fixture
def in_an_image():
    """Has the result and the record of the world's run, or of another, say that it ran in an image of `revision`."""

    def change(world: World, revision: str, run: Path | None = None) -> dict[str, Any]:
        run = run or world.run
        digest = f"sha256:{'0a' * 32}"
        reference = f"localhost:5005/images/trainer-cpu@{digest}"
        source = "https://example.com/team/code"
        image = {"reference": reference, "digest": digest, "name": "trainer-cpu", "source": source}
        image |= {"revision": revision, "cpu": "baseline"}
        result = json.loads((run / "result.json").read_text())
        write_json(run / "result.json", {**result, "image": image})
        snapshot = world.root / "snapshots" / world.snapshot
        write_record(run, replace(facts(world.root, snapshot, run.name), images=((0, reference),)))
        return image

    return change


@pytest.fixture(name="git")
def git_fixture():
    """Runs git in a folder, with nobody's own settings."""
    return git


@pytest.fixture(scope="session")
def finished_world(tmp_path_factory) -> World:
    base = tmp_path_factory.mktemp("world")
    root, checkout = base / "root", base / "checkout"
    checkout.mkdir()
    git(checkout, "init", "-q")
    git(checkout, "commit", "-q", "--allow-empty", "-m", "first")
    git(checkout, "remote", "add", "origin", "https://user:token@example.com/team/code.git")
    root.mkdir()
    shard_set = make_shards(root)
    make_labels(root)
    snapshot = make_snapshot(root, shard_set)
    run = root / "runs" / RUN_ID
    write_training(run, snapshot, shard_set)
    write_json(run / "spec.json", {"displayName": "weekly"})
    here = Path.cwd()
    os.chdir(checkout)
    try:
        write_record(run, facts(root, snapshot))
    finally:
        os.chdir(here)
    promote(root, run, "2026-03-03T03:00:00Z")
    return World(root, checkout, snapshot.name)


@pytest.fixture
def world(finished_world, tmp_path, monkeypatch) -> World:
    """A copy of the root to damage; the current folder is the checkout."""
    shutil.copytree(finished_world.root, tmp_path / "root")
    shutil.copytree(finished_world.checkout, tmp_path / "checkout")
    monkeypatch.chdir(tmp_path / "checkout")
    return World(tmp_path / "root", tmp_path / "checkout", finished_world.snapshot)
