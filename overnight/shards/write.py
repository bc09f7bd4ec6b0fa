"""Write one shard: read its images, examine them, fill the tar, and note what became of each."""

import errno
import hashlib
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from overnight.shards import places, tables, tar
from overnight.shards.examine import Refused, Rules, Stored, examine
from overnight.shards.marking import marked
from overnight.shards.rewriter import Rewriter

Item = TypeVar("Item")
Result = TypeVar("Result")
Judge = Callable[[dict[str, Any]], Stored | Refused]

# A network store answers in tens of milliseconds: eight requests under way keep one core busy.
READERS = 8
# Errors of writing that the next try would meet again.
LASTING_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EACCES, errno.EPERM, errno.EROFS})


@dataclass(frozen=True)
class Outcome:
    """What became of one planned shard. `sha256` is empty when no image was stored, and then there is no tar.

    `error` is the errno of a write that cannot succeed, 0 when all is well.
    """

    shard: int
    sha256: str = ""
    size: int = 0
    images: int = 0
    quarantined: int = 0
    error: int = 0


def tar_name(shard: int) -> str:
    """The file name of a shard."""
    return f"shard-{shard:06d}.tar"


def write_shard(plan: pa.Table, shard: int, staging: str, rules: Rules, rewriter: Rewriter) -> Outcome:
    """Write shard number `shard` from the images of `plan` (schema PLAN, one shard's rows) into `staging`.

    Makes shard-NNNNNN.tar, parts/index-NNNNNN.parquet and parts/quarantine-NNNNNN.parquet, each complete or absent;
    a second call with the same images makes the same bytes. `rewriter` is asked when the rules want restart markers.
    """
    try:
        with _workplace(staging) as folder:
            return _write(plan, shard, staging, Path(folder), lambda image: _look_at(image, rules, rewriter))
    except OSError as error:
        if error.errno not in LASTING_ERRORS:
            raise
        return Outcome(shard=shard, error=error.errno)


def _workplace(staging: str) -> tempfile.TemporaryDirectory[str]:
    """A temporary folder, on the same disk as a local `staging` so that files can be renamed into it."""
    where = staging if places.is_local(staging) else None
    return tempfile.TemporaryDirectory(prefix=".work-", dir=where, ignore_cleanup_errors=True)


def _write(plan: pa.Table, shard: int, staging: str, folder: Path, judge: Judge) -> Outcome:
    index: list[dict[str, Any]] = []
    quarantine: list[dict[str, Any]] = []
    tar_path = folder / tar_name(shard)
    with tar_path.open("wb") as file:
        writer = tar.Writer(file)
        for image, verdict in _verdicts(plan.to_pylist(), judge):
            common = {"key": image["key"], "source": image["source"], "source_sha256": image["sha256"]}
            if isinstance(verdict, Refused):
                quarantine.append({**common, "reason": verdict.reason, "detail": verdict.detail})
                continue
            offset = writer.add(f"{image['key']}.jpg", verdict.data)
            index.append({**common, "shard": shard, "row": len(index), "offset": offset, **_index_fields(verdict)})
        digest = writer.finish()
    _publish_parts(shard, staging, folder, index, quarantine)
    if not index:
        return Outcome(shard=shard, quarantined=len(quarantine))
    places.move_in(tar_path, places.join(staging, tar_path.name))
    return Outcome(shard=shard, sha256=digest, size=writer.size, images=len(index), quarantined=len(quarantine))


def _publish_parts(
    shard: int, staging: str, folder: Path, index: list[dict[str, Any]], quarantine: list[dict[str, Any]]
) -> None:
    parts = (("index", tables.INDEX, index), ("quarantine", tables.QUARANTINE, quarantine))
    for name, schema, rows in parts:
        path = folder / f"{name}-{shard:06d}.parquet"
        tables.write_groups(path, schema, [pa.Table.from_pylist(rows, schema=schema)])
        places.move_in(path, places.join(staging, "parts", path.name))


def _index_fields(stored: Stored) -> dict[str, Any]:
    return {
        "size": len(stored.data),
        "width": stored.width,
        "height": stored.height,
        "sha256": hashlib.sha256(stored.data).digest(),
        "phash": stored.phash,
        "orientation": stored.orientation,
        "converted": stored.converted,
    }


def _verdicts(images: list[dict[str, Any]], judge: Judge) -> Iterator[tuple[dict[str, Any], Stored | Refused]]:
    """Each image with its verdict, in order."""
    with ThreadPoolExecutor(READERS, thread_name_prefix="shard-reader") as pool:
        yield from zip(images, _in_order(pool, judge, images), strict=True)


def _look_at(image: dict[str, Any], rules: Rules, rewriter: Rewriter) -> Stored | Refused:
    try:
        data = places.read_bytes(image["uri"])
    except (FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError) as error:
        # Other errors of a network store pass: they are raised, and the runner tries the shard again.
        return Refused("unreadable", (error.strerror or type(error).__name__).lower())
    if hashlib.sha256(data).digest() != image["sha256"]:
        return Refused("changed-since-import", "the file's bytes are not those that were imported")
    verdict = examine(data, rules)
    return marked(verdict, rewriter) if rules.restart_markers and isinstance(verdict, Stored) else verdict


def _in_order(pool: ThreadPoolExecutor, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """`map` over the pool with few results in memory: executor.map would hold a whole shard."""
    pending: deque[Future[Result]] = deque()
    for item in items:
        pending.append(pool.submit(function, item))
        if len(pending) > 2 * READERS:
            yield pending.popleft().result()
    while pending:
        yield pending.popleft().result()
