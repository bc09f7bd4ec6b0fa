"""Counts of a shard set for people: why images were converted, why others were left out."""

import io
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from overnight.shards import places
from overnight.shards.shardset import ShardSet

EXAMPLES = 5


@dataclass(frozen=True)
class Summary:
    """Images by conversion and by quarantine reason, and the first few quarantined files in words."""

    converted: dict[str, int]
    quarantined: dict[str, int]
    examples: tuple[str, ...]


def summarize(shards: ShardSet) -> Summary:
    """Count the index and the quarantine of `shards`."""
    converted = _counts(_column(shards.index_place, "converted"))
    converted.pop("", None)
    quarantine = pq.read_table(io.BytesIO(places.read_bytes(shards.quarantine_place)))
    examples = [f"{row['source']}: {row['reason']} ({row['detail']})" for row in quarantine[:EXAMPLES].to_pylist()]
    return Summary(converted, _counts(quarantine["reason"]), tuple(examples))


def _column(place: str, name: str) -> pa.ChunkedArray:
    return pq.read_table(io.BytesIO(places.read_bytes(place)), columns=[name])[name]


def _counts(values: pa.ChunkedArray) -> dict[str, int]:
    found = pc.value_counts(values).to_pylist()
    return {entry["values"]: entry["counts"] for entry in sorted(found, key=lambda entry: str(entry["values"]))}
