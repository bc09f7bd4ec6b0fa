"""A small world to snapshot: a label table, shard sets (index, quarantine, manifest; no tars), an environment."""

import hashlib
import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from overnight.config import Environment
from overnight.files import canonical_json, sha256_file
from overnight.labels.create import Created, create_snapshot, holding_snapshots, validate_labels
from overnight.labels.duckdb_source import DuckDBLabelSource
from overnight.labels.snapshots import newest_snapshot
from overnight.labels.validation import Inputs, Validation
from overnight.shards.shardset import load

MONDAY = datetime(2026, 3, 2, 2, tzinfo=UTC)
WEEK = timedelta(weeks=1)


@dataclass(frozen=True)
class Row:
    """A row of the label table."""

    key: str | None
    label: str | None
    group: str | None = None


@dataclass(frozen=True)
class Image:
    """An image of the shard set; `version` stands for its bytes, `phash` is drawn from the key unless given."""

    key: str
    version: int = 0
    phash: int | None = None

    @property
    def sha256(self) -> bytes:
        return hashlib.sha256(f"{self.key} {self.version}".encode()).digest()

    @property
    def hash_of_picture(self) -> int:
        return int.from_bytes(self.sha256[:8], "big") if self.phash is None else self.phash


@dataclass
class House:
    """An environment's root with one label table and a growing list of shard sets."""

    root: Path
    limits: dict[str, object] = field(default_factory=dict)
    split: dict[str, object] = field(default_factory=dict)

    @property
    def config(self) -> Path:
        """An environment file for this root, written anew."""
        path = self.root / "environment.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(canonical_json(self.environment.model_dump()))
        return path

    @property
    def environment(self) -> Environment:
        return Environment.model_validate(
            {"environment": "test", "root": str(self.root / "data"), "validation": self.limits, "split": self.split}
        )

    @property
    def source(self) -> DuckDBLabelSource:
        return DuckDBLabelSource(self.environment.database_path, "labels")

    def write_labels(self, rows: Iterable[Row]) -> None:
        """Replace the label table."""
        rows = list(rows)
        table = pa.table(
            {
                "key": pa.array([row.key for row in rows], pa.string()),
                "label": pa.array([row.label for row in rows], pa.string()),
                "group_id": pa.array([row.group for row in rows], pa.string()),
            }
        )
        self.environment.root_path.mkdir(parents=True, exist_ok=True)
        with duckdb.connect(str(self.environment.database_path)) as connection:
            connection.register("edited", table)
            connection.execute("CREATE OR REPLACE TABLE labels AS FROM edited")

    def sql(self, statement: str) -> list[tuple[object, ...]]:
        """Run a statement on the label database."""
        with duckdb.connect(str(self.environment.database_path)) as connection:
            return connection.execute(statement).fetchall()

    def write_shards(self, images: Iterable[Image], quarantined: Sequence[str] = ()) -> None:
        """Add the next shard set, holding `images`."""
        shards = self.environment.shards_path
        name = f"{len(list(shards.glob('*'))) + 1:04d}"
        folder = shards / name
        folder.mkdir(parents=True)
        ordered = sorted(images, key=lambda image: image.key)
        pq.write_table(index_table(ordered), folder / "index.parquet")
        pq.write_table(quarantine_table(sorted(quarantined)), folder / "quarantine.parquet")
        tables = {
            kind: {
                "path": f"{name}/{kind}.parquet",
                "sha256": sha256_file(folder / f"{kind}.parquet"),
                "rows": pq.read_metadata(folder / f"{kind}.parquet").num_rows,
            }
            for kind in ("index", "quarantine")
        }
        manifest = {
            "format": "overnight.shards/1",
            "name": name,
            "previous": None,
            "settings": {"max_shorter_side": 0, "jpeg_quality": 95, "max_pixels": 10**8, "images_per_shard": 500},
            "made_with": {},
            "shards": [],
            **tables,
            "images": len(ordered),
            "bytes": 1000 * len(ordered),
        }
        (folder / "manifest.json").write_bytes(canonical_json(manifest))

    def inputs(self, now: datetime = MONDAY, shards: str = "latest") -> Inputs:
        return Inputs(
            source=self.source,
            shard_set=load(self.environment.shards_path, shards),
            previous=newest_snapshot(self.environment.snapshots_path),
            now=now,
        )

    def create(self, now: datetime = MONDAY) -> Created:
        """`overnight snapshot create`."""
        with holding_snapshots(self.environment.snapshots_path):
            return create_snapshot(self.inputs(now), self.environment, lambda _: None)

    def validate(self, now: datetime = MONDAY) -> Validation:
        """`overnight snapshot validate`."""
        return validate_labels(self.inputs(now), self.environment, lambda _: None)

    def files(self) -> dict[str, str]:
        """Every file under the root but locks, with its digest."""
        paths = (path for path in sorted(self.environment.root_path.rglob("*")) if path.is_file())
        return {
            str(path.relative_to(self.environment.root_path)): sha256_file(path)
            for path in paths
            if path.name != ".lock"
        }


def create_in_child(root: Path, now: datetime) -> None:
    """`House.create` as the work of another process."""
    House(root).create(now)


def index_table(images: Sequence[Image]) -> pa.Table:
    """index.parquet as docs/formats.md has it."""
    count = len(images)
    return pa.table(
        {
            "key": [image.key for image in images],
            "shard": pa.array([number // 500 for number in range(count)], pa.int32()),
            "row": pa.array([number % 500 for number in range(count)], pa.int32()),
            "offset": pa.array([512 + 2048 * (number % 500) for number in range(count)], pa.int64()),
            "size": pa.array([1000] * count, pa.int32()),
            "width": pa.array([64] * count, pa.int32()),
            "height": pa.array([48] * count, pa.int32()),
            "sha256": pa.array([image.sha256 for image in images], pa.binary(32)),
            "phash": pa.array([image.hash_of_picture for image in images], pa.uint64()),
            "source": [f"{image.key}.jpg" for image in images],
            "source_sha256": pa.array([image.sha256 for image in images], pa.binary(32)),
            "orientation": pa.array([1] * count, pa.int8()),
            "converted": [""] * count,
        }
    )


def quarantine_table(keys: Sequence[str]) -> pa.Table:
    """quarantine.parquet as docs/formats.md has it."""
    count = len(keys)
    return pa.table(
        {
            "key": pa.array(keys, pa.string()),
            "source": pa.array([f"{key}.jpg" for key in keys], pa.string()),
            "source_sha256": pa.array([hashlib.sha256(key.encode()).digest() for key in keys], pa.binary(32)),
            "reason": pa.array(["truncated"] * count, pa.string()),
            "detail": pa.array([""] * count, pa.string()),
        }
    )


CLASSES = {"bird": 200, "cat": 600, "dog": 900, "elephant": 100, "frog": 300}
"""The small world's classes, in rows."""


def first_rows() -> list[Row]:
    """2,100 rows of five classes; every fourth group holds three images."""
    rows = []
    for label, count in CLASSES.items():
        for number in range(count):
            group = f"{label}-set-{number // 12}" if number % 12 < 3 else None
            rows.append(Row(f"{label}/{number:04d}", label, group))
    return rows


def images_of(rows: Iterable[Row]) -> list[Image]:
    """An image for every key."""
    return [Image(key) for key in sorted({row.key for row in rows if row.key})]


@dataclass
class Week:
    """What the label table and the newest shard set hold in a week; changed in place by a test."""

    rows: list[Row]
    images: list[Image]
    quarantined: list[str] = field(default_factory=list)

    def of(self, label: str) -> list[Row]:
        """The rows of a class."""
        return [row for row in self.rows if row.label == label]

    def remove(self, rows: Iterable[Row]) -> None:
        """Delete rows of the label table."""
        gone = set(rows)
        self.rows = [row for row in self.rows if row not in gone]

    def change(self, rows: Iterable[Row], **values: str | None) -> None:
        """Set columns of some rows."""
        chosen = set(rows)
        self.rows = [replace(row, **values) if row in chosen else row for row in self.rows]

    def edit(self, rows: Iterable[Row], how: Callable[[Row], Row]) -> None:
        """Replace some rows by a function of each."""
        chosen = set(rows)
        self.rows = [how(row) if row in chosen else row for row in self.rows]

    def add(self, label: str, count: int, *, prefix: str = "new", with_images: bool = True) -> None:
        """Add rows with new keys."""
        rows = [Row(f"{prefix}/{label}-{number:04d}", label) for number in range(count)]
        self.rows += rows
        if with_images:
            self.images += images_of(rows)

    def change_images(self, count: int, **values: int) -> None:
        """Give the first images other bytes (`version`) or another perceptual hash (`phash`)."""
        changed = [replace(image, **values) for image in self.images[:count]]
        self.images = changed + self.images[count:]


def first_week() -> Week:
    """The week whose snapshot the others are held against."""
    rows = first_rows()
    return Week(rows, images_of(rows))


def rotate(items: Sequence[str]) -> dict[str, str]:
    """Each item's successor, the last one's being the first."""
    return dict(itertools.pairwise([*items, items[0]]))
