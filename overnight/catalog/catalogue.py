"""The catalogue's file, catalog/images.parquet: read, merge, write."""

import contextlib
import os
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass, fields
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from overnight.catalog.errors import ImportProblem
from overnight.files import fsync_folder

SCHEMA = pa.schema(
    [
        ("key", pa.string()),
        ("uri", pa.string()),
        ("source", pa.string()),
        ("size", pa.int64()),
        ("mtime_ns", pa.int64()),
        ("sha256", pa.binary(32)),
    ]
)


@dataclass(frozen=True, slots=True)
class Image:
    """One catalogued image: a row of docs/formats.md, "Image catalogue"."""

    key: str
    uri: str
    source: str
    size: int
    mtime_ns: int
    sha256: bytes


def read(path: Path) -> dict[str, Image]:
    """The catalogue by key; empty when there is none yet. Raises ImportProblem when the file is damaged."""
    if not path.exists():
        return {}
    try:
        table = pq.read_table(path, schema=SCHEMA)
    except (pa.ArrowException, OSError) as error:
        raise ImportProblem(
            f"the image catalogue cannot be read ({' '.join(str(error).split())})",
            where=str(path),
            remedy="remove it and import the images again",
        ) from None
    columns = [table[field.name].to_pylist() for field in fields(Image)]
    return {row[0]: Image(*row) for row in zip(*columns, strict=True)}


@contextlib.contextmanager
def replacing(path: Path, images: Iterable[Image]) -> Iterator[None]:
    """Write `images`, sorted by key, beside `path`; they take its place when the block ends well.

    Raises OSError before the block runs when they cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            pq.write_table(_table(images), file, compression="zstd", row_group_size=131_072)
            file.flush()
            os.fsync(file.fileno())
        yield
        temporary.chmod(0o644)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    fsync_folder(path.parent)


def _table(images: Iterable[Image]) -> pa.Table:
    rows = sorted(map(astuple, images))
    columns = list(zip(*rows, strict=True)) or [() for _ in SCHEMA]
    return pa.Table.from_arrays(
        [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)], schema=SCHEMA
    )
