"""Build a shard set, or append one: plan, write the shards, join the index, publish; all or nothing."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import duckdb
import fsspec
import PIL
import pyarrow as pa
from PIL import features

from overnight.files import locked, publishing
from overnight.shards import merge, places, tables
from overnight.shards.errors import NothingToAdd, ShardError
from overnight.shards.examine import Rules
from overnight.shards.manifest import Manifest, Previous, Settings, ShardFile, TableFile, to_json
from overnight.shards.plan import Known, new_images, shards_of
from overnight.shards.rewriter import Rewriter
from overnight.shards.shardset import ShardSet, load, names
from overnight.shards.write import Outcome, tar_name

WriteShards = Callable[[str, range, Rules], list[Outcome]]
"""Writes the shards of a range into a staging folder that holds plan.parquet: pipeline.run_here or run_elsewhere."""


@dataclass(frozen=True)
class Order:
    """What to build: the image catalogue (a file), the `shards/` folder (a path or URL), the settings."""

    catalogue: Path
    folder: str
    settings: Settings


def build(order: Order, write: WriteShards) -> ShardSet:
    """Make the first shard set.

    Raises ShardError when there is one already or no image can be used, FolderInUse, OSError.
    """
    with _exclusive(order.folder):
        existing = names(order.folder)
        if existing:
            raise ShardError(
                f"there is a shard set already ({existing[-1]})",
                where=order.folder,
                remedy="add new images with `overnight shards append`, or write all anew with "
                "`overnight shards build --anew`",
            )
        return _make(order, None, "0001", write)


def build_anew(order: Order, write: WriteShards) -> ShardSet:
    """Make a shard set of every image, next to the earlier ones and independent of them; raises as `build`."""
    with _exclusive(order.folder):
        return _make(order, None, _next_name(order.folder), write)


def append(order: Order, write: WriteShards) -> ShardSet:
    """Make the next shard set: the newest one's shards, and new ones with the images that are new or changed.

    Raises NothingToAdd when that set would hold the same; ShardError when there is no set to append to or the
    settings differ; FolderInUse, OSError.
    """
    with _exclusive(order.folder):
        previous = load(order.folder)
        _check_settings(previous, order.settings)
        return _make(order, previous, _next_name(order.folder), write)


@contextlib.contextmanager
def _exclusive(folder: str) -> Iterator[None]:
    """One build at a time on this machine; object stores have no locks, there the manifest decides who was first."""
    if not places.is_local(folder):
        yield
        return
    with locked(Path(folder), "shard build"):
        for stale in Path(folder).glob(".*.tmp"):  # left by a build that was killed
            shutil.rmtree(stale, ignore_errors=True)
        yield


def _next_name(folder: str) -> str:
    existing = names(folder)
    return f"{int(existing[-1]) + 1 if existing else 1:04d}"


def _check_settings(previous: ShardSet, wanted: Settings) -> None:
    # Not restart_markers, nor images_per_shard: neither changes a picture, so old and new images may differ in them.
    for field in ("max_shorter_side", "jpeg_quality", "max_pixels"):
        old, new = getattr(previous.manifest.settings, field), getattr(wanted, field)
        if old != new:
            raise ShardError(
                f"shards.{field} is {new}, but shard set {previous.name} was made with {old}",
                where=previous.folder,
                remedy="put the old value back, or write all images anew with `overnight shards build --anew`",
            )


def _make(order: Order, previous: ShardSet | None, name: str, write: WriteShards) -> ShardSet:
    if not order.catalogue.exists():
        raise ShardError(
            "there is no image catalogue", where=str(order.catalogue), remedy="run `overnight import` first"
        )
    versions = made_with(order.settings)
    try:
        with _staging(order.folder, name) as staging:
            manifest = _fill(order, previous, name, staging, write, versions)
            places.write_bytes(places.join(staging, "manifest.json"), to_json(manifest))
    except duckdb.Error as error:
        raise ShardError(f"DuckDB says: {' '.join(str(error).split())}", where=str(order.catalogue)) from None
    return load(order.folder, name)


@contextlib.contextmanager
def _staging(folder: str, name: str) -> Iterator[str]:
    """Where the set is written: a folder that is renamed at the end, or in an object store the set's own prefix.

    Objects appear whole, and a set without manifest.json is no set; so there nothing needs to be renamed.
    """
    if places.is_local(folder):
        with publishing(Path(folder) / name) as temporary:
            yield str(temporary)
        return
    place = places.join(folder, name)
    places.remove(place)  # parts of a build that was killed
    try:
        yield place
    except BaseException:
        places.remove(place)
        raise


def _fill(
    order: Order,
    previous: ShardSet | None,
    name: str,
    staging: str,
    write: WriteShards,
    versions: dict[str, str],
) -> Manifest:
    """Write everything but the manifest into `staging`."""
    inside = staging if places.is_local(staging) else None
    with tempfile.TemporaryDirectory(prefix=".scratch-", dir=inside, ignore_cleanup_errors=True) as scratch_name:
        scratch = Path(scratch_name)
        known = _local_tables(previous, scratch) if previous else None
        plan = new_images(order.catalogue, known, order.settings.images_per_shard, scratch)
        outcomes = _write_shards(order, previous, plan, staging, scratch, write)
        index, quarantine = _join(order, previous, known, staging, scratch)
    for work in ("parts", "plan.parquet", "outcomes.json"):
        places.remove(places.join(staging, work))
    if index.rows == 0:
        raise ShardError(
            f"none of the {quarantine.rows} images can be used",
            where=str(order.catalogue),
            remedy="look at the files: are they images?",
        )
    old = previous.manifest.shards if previous else ()
    return Manifest(
        name=name,
        previous=Previous(previous.name, previous.sha256) if previous else None,
        settings=order.settings,
        made_with=versions,
        shards=(*old, *(_shard_file(name, outcome) for outcome in outcomes if outcome.images)),
        index=TableFile(f"{name}/index.parquet", index.sha256, index.rows),
        quarantine=TableFile(f"{name}/quarantine.parquet", quarantine.sha256, quarantine.rows),
        images=index.rows,
        bytes=index.bytes,
    )


def made_with(settings: Settings) -> dict[str, str]:
    """Versions of the libraries that decide which images are refused, and the bytes of converted ones and of tables.

    Raises ShardError when restart markers are wanted and the trainer package, which writes them, is not there.
    """
    versions = {
        "pillow": PIL.__version__,
        "libjpeg_turbo": features.version("libjpeg_turbo") or "",
        "simplejpeg": version("simplejpeg"),
        "pyarrow": pa.__version__,
    }
    if settings.restart_markers:
        with closing(Rewriter()) as rewriter:
            versions["trainer_libjpeg_turbo"] = rewriter.libjpeg_version()
    return versions


def _local_tables(previous: ShardSet, scratch: Path) -> Known:
    """The earlier set's tables as local files."""
    if places.is_local(previous.folder):
        return Known(previous.index_path, previous.quarantine_path)
    known = Known(scratch / "index.parquet", scratch / "quarantine.parquet")
    known.index.write_bytes(places.read_bytes(previous.index_place))
    known.quarantine.write_bytes(places.read_bytes(previous.quarantine_place))
    return known


def _write_shards(
    order: Order, previous: ShardSet | None, plan: pa.Table, staging: str, scratch: Path, write: WriteShards
) -> list[Outcome]:
    per_shard = order.settings.images_per_shard
    first = max((shard.shard for shard in previous.manifest.shards), default=-1) + 1 if previous else 0
    numbers = range(first, first - (-plan.num_rows // per_shard))
    _prepare_parts(staging, scratch)
    if not numbers:
        return []
    plan_file = scratch / "plan.parquet"
    tables.write_groups(plan_file, tables.PLAN, shards_of(plan, per_shard))
    places.move_in(plan_file, places.join(staging, "plan.parquet"))
    settings = order.settings
    rules = Rules(settings.max_shorter_side, settings.jpeg_quality, settings.max_pixels, settings.restart_markers)
    outcomes = write(staging, numbers, rules)
    for outcome in outcomes:
        if outcome.error:
            raise OSError(outcome.error, os.strerror(outcome.error), order.folder)
    return outcomes


def _prepare_parts(staging: str, scratch: Path) -> None:
    """An empty part of each table, so that there is always something to join."""
    if places.is_local(staging):
        Path(staging, "parts").mkdir()
    for name, schema in (("index", tables.INDEX), ("quarantine", tables.QUARANTINE)):
        path = scratch / f"{name}-empty.parquet"
        tables.write_groups(path, schema, [schema.empty_table()])
        places.move_in(path, places.join(staging, "parts", path.name))


def _join(
    order: Order, previous: ShardSet | None, known: Known | None, staging: str, scratch: Path
) -> tuple[merge.Merged, merge.Merged]:
    parts = _local_parts(staging, scratch)
    index_file, quarantine_file = scratch / "joined-index.parquet", scratch / "joined-quarantine.parquet"
    index = merge.write_index(index_file, order.catalogue, known, parts, scratch)
    quarantine = merge.write_quarantine(quarantine_file, order.catalogue, known, parts, scratch)
    if previous and _digests(previous) == (index.sha256, quarantine.sha256):
        raise NothingToAdd
    places.move_in(index_file, places.join(staging, "index.parquet"))
    places.move_in(quarantine_file, places.join(staging, "quarantine.parquet"))
    return index, quarantine


def _local_parts(staging: str, scratch: Path) -> Path:
    if places.is_local(staging):
        return Path(staging) / "parts"
    filesystem, path = fsspec.core.url_to_fs(places.join(staging, "parts"))
    target = scratch / "parts"
    filesystem.get(path, str(target), recursive=True)
    return target


def _digests(previous: ShardSet) -> tuple[str, str]:
    return previous.manifest.index.sha256, previous.manifest.quarantine.sha256


def _shard_file(name: str, outcome: Outcome) -> ShardFile:
    return ShardFile(
        shard=outcome.shard,
        path=f"{name}/{tar_name(outcome.shard)}",
        sha256=outcome.sha256,
        size=outcome.size,
        images=outcome.images,
    )
