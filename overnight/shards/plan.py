"""Which images go into which new shard: a function of the catalogue and the previous set alone."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow as pa

from overnight.shards.tables import PLAN

# Reasons that lie outside the image: the next append looks again.
PASSING_REASONS = ("unreadable", "changed-since-import")


@dataclass(frozen=True)
class Known:
    """The index and the quarantine of the previous set, as local files."""

    index: Path
    quarantine: Path


def connect(scratch: Path) -> duckdb.DuckDBPyConnection:
    """A DuckDB connection that spills to `scratch`."""
    return duckdb.connect(config={"temp_directory": str(scratch), "memory_limit": "2GB"})


def new_images(catalogue: Path, known: Known | None, images_per_shard: int, scratch: Path) -> pa.Table:
    """The images that no earlier set holds with the same source bytes, shard by shard; schema PLAN.

    Images are dealt to shards by the hash of their key, so that every shard is a mixture of classes, and stand in key
    order inside a shard. Each `images_per_shard` rows are one shard.
    """
    known_sql = (
        f"""SELECT key, source_sha256 FROM read_parquet({_quoted(known.index)})
        UNION ALL SELECT key, source_sha256 FROM read_parquet({_quoted(known.quarantine)})
        WHERE reason NOT IN {PASSING_REASONS}"""
        if known
        else "SELECT NULL::VARCHAR AS key, NULL::BLOB AS source_sha256 WHERE false"
    )
    with connect(scratch) as connection:
        relation = connection.sql(
            f"""WITH known AS ({known_sql}),
            new AS (
                SELECT key, uri, source, sha256,
                    (row_number() OVER (ORDER BY sha256(key)) - 1) // {images_per_shard} AS slot
                FROM read_parquet({_quoted(catalogue)}) AS image
                WHERE NOT EXISTS (
                    FROM known WHERE known.key = image.key AND known.source_sha256 = image.sha256
                )
            )
            SELECT key, uri, source, sha256 FROM new ORDER BY slot, key"""
        )
        return relation.to_arrow_table().cast(PLAN)


def shards_of(plan: pa.Table, images_per_shard: int) -> Iterator[pa.Table]:
    """The plan cut into one table a shard."""
    for start in range(0, plan.num_rows, images_per_shard):
        yield plan.slice(start, images_per_shard)


def _quoted(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"
