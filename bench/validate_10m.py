"""How long `overnight snapshot create` takes for 10 million rows, and how much memory.

    python bench/validate_10m.py [--rows 10000000] [--folder DIR] [--json]

Makes a label table, a shard index and last week's snapshot of the same size with DuckDB (seeded: equal every time),
then edits labels (0.4 % corrected) and runs the whole `create` in a child process. Reports seconds by phase and the
child's peak resident memory. Claims: under 60 s and 4 GB on 2 cores.
"""

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb

from overnight.config import Environment
from overnight.files import canonical_json, sha256_file
from overnight.labels.create import create_snapshot, holding_snapshots
from overnight.labels.duckdb_source import DuckDBLabelSource
from overnight.labels.snapshots import newest_snapshot
from overnight.labels.validation import Inputs
from overnight.shards.shardset import load

CLASSES = 1_000
FIRST = datetime(2026, 3, 2, 2, tzinfo=UTC)


def environment(folder: Path) -> Environment:
    """The environment under `folder`."""
    return Environment(environment="bench", root=str(folder))


def make_labels(place: Environment, rows: int) -> None:
    """`rows` labels of CLASSES classes; every fourth image is one of a group of about ten."""
    place.root_path.mkdir(parents=True, exist_ok=True)
    with duckdb.connect(str(place.database_path)) as connection:
        connection.execute(
            f"""CREATE OR REPLACE TABLE labels AS SELECT
                format('camera-{{:02d}}/{{:08d}}', i % 50, i) AS key,
                format('class-{{:04d}}', (hash(i) % {CLASSES})::INTEGER) AS label,
                CASE WHEN i % 4 = 0 THEN format('product-{{:07d}}', i // 40) END AS group_id
            FROM range({rows}) AS r(i)"""
        )


def make_shard_set(place: Environment, rows: int) -> None:
    """An index of the same images, perceptual hashes all different."""
    folder = place.shards_path / "0001"
    folder.mkdir(parents=True, exist_ok=True)
    with duckdb.connect(str(place.database_path)) as connection:
        connection.execute(
            f"""COPY (SELECT key, (n // 500)::INTEGER AS shard, (n % 500)::INTEGER AS row,
                (512 + (n % 500) * 20480)::BIGINT AS offset, 20000::INTEGER AS size, 320::INTEGER AS width,
                240::INTEGER AS height, unhex(sha256(key)) AS sha256, hash(key) AS phash, key || '.jpg' AS source,
                unhex(sha256(key)) AS source_sha256, 1::TINYINT AS orientation, '' AS converted
            FROM (SELECT key, row_number() OVER (ORDER BY key) - 1 AS n FROM labels) ORDER BY key)
            TO '{folder / "index.parquet"}' (FORMAT parquet)"""
        )
        connection.execute(
            f"""COPY (SELECT 'none' AS key, '' AS source, ''::BLOB AS source_sha256, '' AS reason, '' AS detail LIMIT 0)
            TO '{folder / "quarantine.parquet"}' (FORMAT parquet)"""
        )
    tables = {
        kind: {"path": f"0001/{kind}.parquet", "sha256": sha256_file(folder / f"{kind}.parquet"), "rows": count}
        for kind, count in (("index", rows), ("quarantine", 0))
    }
    settings = {"max_shorter_side": 0, "jpeg_quality": 95, "max_pixels": 1, "images_per_shard": 500}
    manifest = {"format": "overnight.shards/1", "name": "0001", "previous": None, "settings": settings, "made_with": {}}
    totals = {"shards": [], "images": rows, "bytes": rows * 20_000}
    (folder / "manifest.json").write_bytes(canonical_json({**manifest, **tables, **totals}))


def edit_labels(place: Environment) -> None:
    """A week of corrections: 0.4 % of the labels."""
    with duckdb.connect(str(place.database_path)) as connection:
        connection.execute(
            f"""UPDATE labels SET label = format('class-{{:04d}}', (hash(key) % {CLASSES})::INTEGER)
            WHERE hash(key) % 250 = 0"""
        )


def create(folder: Path, week: int) -> dict[str, Any]:
    """Run `create`; seconds by phase, in order."""
    place = environment(folder)
    busy = os.getloadavg()[0]
    marks = [("Start", time.perf_counter())]
    inputs = Inputs(
        source=DuckDBLabelSource(place.database_path, place.labels.table),
        shard_set=load(place.shards_path),
        previous=newest_snapshot(place.snapshots_path),
        now=FIRST + timedelta(weeks=week),
    )
    with holding_snapshots(place.snapshots_path):
        made = create_snapshot(inputs, place, lambda phase: marks.append((phase, time.perf_counter())))
    marks.append(("End", time.perf_counter()))
    return {
        "snapshot": made.snapshot.name,
        "rows": made.snapshot.rows,
        "seconds": round(marks[-1][1] - marks[0][1], 1),
        "phases": {name: round(after - start, 1) for (name, start), (_, after) in itertools.pairwise(marks)},
        "cpu_seconds": round(sum(os.times()[:2]), 1),
        "peak_rss_bytes": peak_rss_bytes(),
        "load_before": round(busy, 1),
    }


def peak_rss_bytes() -> int:
    """This process's largest resident set. (getrusage's ru_maxrss would count the parent's, from before exec.)"""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


def in_child(folder: Path, week: int) -> dict[str, Any]:
    """`create` in a process of its own, so that its memory is its own."""
    command = [sys.executable, __file__, "--folder", str(folder), "--child", str(week)]
    done = subprocess.run(
        command, check=True, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(Path.cwd())}
    )
    return dict(json.loads(done.stdout))


def measure(folder: Path, rows: int) -> dict[str, Any]:
    """Both weeks; the second is the claim: it has a previous snapshot."""
    place = environment(folder)
    make_labels(place, rows)
    make_shard_set(place, rows)
    first = in_child(folder, 0)
    edit_labels(place)
    return {"rows": rows, "cores": os.cpu_count(), "first": first, "with_previous": in_child(folder, 1)}


def main() -> None:
    """Measure and print one line, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--folder", type=Path, help="keep everything here")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child is not None:
        print(json.dumps(create(arguments.folder, arguments.child)))
        return
    with tempfile.TemporaryDirectory() as scratch:
        found = measure(arguments.folder or Path(scratch), arguments.rows)
    if arguments.json:
        print(json.dumps(found, indent=2))
        return
    claim = found["with_previous"]
    print(
        f"{found['rows']:,} rows: {claim['seconds']} s ({claim['cpu_seconds']} s of CPU, load {claim['load_before']}),"
        f" {claim['peak_rss_bytes'] / 2**30:.2f} GiB, {claim['phases']}"
    )


if __name__ == "__main__":
    main()
