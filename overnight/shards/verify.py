"""Check a shard set against its digests, byte by byte or quickly."""

import hashlib
import json
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import fsspec
import pyarrow.parquet as pq

from overnight.files import sha256_bytes
from overnight.shards import places, tar
from overnight.shards.errors import ShardError
from overnight.shards.manifest import ShardFile, TableFile
from overnight.shards.plan import connect
from overnight.shards.shardset import ShardSet

_CHUNK = 1 << 20


@dataclass(frozen=True)
class Problem:
    """One thing that is not as the manifest says: the file, and what is wrong with it."""

    where: str
    what: str


@dataclass(frozen=True)
class Row:
    """What verification needs of an index row."""

    key: str
    row: int
    offset: int
    size: int
    sha256: bytes


def quick(shards: ShardSet) -> list[Problem]:
    """Check that all files are there with their sizes, the tables' digests, and the chain of earlier sets.

    Reads no shard.
    """
    return [*_tables(shards), *_chain(shards), *_sizes(shards)]


def full(shards: ShardSet, advance: Callable[[], None]) -> list[Problem]:
    """As `quick`, and read every shard: its digest, each member's header, each live image's digest and position.

    `advance` is called after each shard.
    """
    problems = quick(shards)
    broken = {problem.where for problem in problems}
    if shards.index_place in broken:
        return problems
    for shard, rows in _rows_by_shard(shards):
        place = shards.shard_places[shard.shard]
        if place not in broken:
            problems += [Problem(place, what) for what in check_shard(place, shard, rows)]
        advance()
    return problems


def check_shard(place: str, shard: ShardFile, rows: list[Row]) -> Iterator[str]:
    """What is wrong with the tar at `place`, in words."""
    digest = hashlib.sha256()
    expected = {row.row: row for row in rows}
    with fsspec.open(place, "rb") as file:
        for position, (name, offset, data) in enumerate(_members(file, digest)):
            row = expected.pop(position, None)
            if row:
                yield from _check_member(row, name, offset, data)
    if digest.hexdigest() != shard.sha256:
        yield f"SHA-256 is {digest.hexdigest()}, where the manifest says {shard.sha256}"
    for row in expected.values():
        yield f"{row.key}: there is no member {row.row}"


def _check_member(row: Row, name: str, offset: int, data: bytes) -> Iterator[str]:
    if name != f"{row.key}.jpg":
        yield f"{row.key}: member {row.row} is called {name}"
    if (offset, len(data)) != (row.offset, row.size):
        yield f"{row.key}: stands at {offset} with {len(data)} bytes, where the index says {row.offset}, {row.size}"
    if hashlib.sha256(data).digest() != row.sha256:
        yield f"{row.key}: the image's SHA-256 is not the index's"


def _members(file: BinaryIO, digest: Any) -> Iterator[tuple[str, int, bytes]]:
    """Name, offset and bytes of each member whose header is one that we write; feeds every byte to `digest`."""
    offset = 0
    while len(block := file.read(tar.BLOCK)) == tar.BLOCK:
        digest.update(block)
        name, size = _name_and_size(block)
        if size is None or tar.header(name, size) != block:
            break  # the end of the archive, or damage that the digest and the missing members show
        body = file.read(size + tar.padding(size))
        digest.update(body)
        offset += tar.BLOCK
        yield name, offset, body[:size]
        offset += len(body)
    else:
        digest.update(block)
    while chunk := file.read(_CHUNK):
        digest.update(chunk)


def _name_and_size(block: bytes) -> tuple[str, int | None]:
    try:
        return block[:100].rstrip(b"\0").decode("ascii"), int(block[124:135], 8)
    except ValueError:
        return "", None


def _tables(shards: ShardSet) -> Iterator[Problem]:
    manifest = shards.manifest
    for place, said in ((shards.index_place, manifest.index), (shards.quarantine_place, manifest.quarantine)):
        what = _table_problem(place, said)
        if what:
            yield Problem(place, what)


def _table_problem(place: str, said: TableFile) -> str | None:
    try:
        with fsspec.open(place, "rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
            if found != said.sha256:
                return f"SHA-256 is {found}, where the manifest says {said.sha256}"
            rows = pq.ParquetFile(file).metadata.num_rows
    except FileNotFoundError:
        return "this file is missing"
    return None if rows == said.rows else f"{rows} rows, where the manifest says {said.rows}"


def _sizes(shards: ShardSet) -> Iterator[Problem]:
    for shard in shards.manifest.shards:
        place = places.join(shards.folder, shard.path)
        size = places.size_of(place)
        if size is None:
            yield Problem(place, "this file is missing")
        elif size != shard.size:
            yield Problem(place, f"{size} bytes, where the manifest says {shard.size}")


def _chain(shards: ShardSet) -> Iterator[Problem]:
    """Follow `previous` to the first set."""
    previous = shards.manifest.previous
    while previous:
        place = places.join(shards.folder, previous.name, "manifest.json")
        try:
            data = places.read_bytes(place)
        except FileNotFoundError:
            yield Problem(place, f"this file is missing; shard set {shards.name} was appended to it")
            return
        if sha256_bytes(data) != previous.sha256:
            yield Problem(place, f"SHA-256 is {sha256_bytes(data)}, where the next set says {previous.sha256}")
            return
        earlier = json.loads(data)["previous"]
        previous = type(previous)(**earlier) if earlier else None


def _rows_by_shard(shards: ShardSet) -> Iterator[tuple[ShardFile, list[Row]]]:
    """The live rows of each shard, one shard in memory at a time."""
    with tempfile.TemporaryDirectory() as scratch, connect(Path(scratch)) as connection:
        index = shards.index_path
        if not places.is_local(shards.folder):
            index = Path(scratch) / "index.parquet"
            index.write_bytes(places.read_bytes(shards.index_place))
        connection.read_parquet(str(index)).create_view("live")
        for shard in shards.manifest.shards:
            found = connection.execute(
                'SELECT key, "row", "offset", size, sha256 FROM live WHERE shard = ? ORDER BY "row"', [shard.shard]
            )
            yield shard, [Row(*values) for values in found.fetchall()]


def raise_for(shards: ShardSet, problems: list[Problem]) -> None:
    """Raise ShardError with the first problem, and the count, when there are problems."""
    if not problems:
        return
    first = problems[0]
    more = f" (and {len(problems) - 1} more in shard set {shards.name})" if len(problems) > 1 else ""
    raise ShardError(
        f"{first.what}{more}",
        where=first.where,
        remedy="restore the file from a copy, or write the set anew with `overnight shards build --anew`",
    )
