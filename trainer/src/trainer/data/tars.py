"""A folder of WebDataset tars as rows: scanned once into an index, then opened in no time.

A sample is KEY.jpg (or .jpeg; where there is none, .png, .webp and others that Pillow reads, slowly) with KEY.cls or
KEY.json in the same tar, in any order, other members beside them. KEY is the name up to the first dot after the last
slash. The index holds columns, not objects, and is memory-mapped. A tar
that was added or changed is scanned again, the others are not.
"""

import contextlib
import json
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from trainer.data import native
from trainer.data.snapshot import Rows
from trainer.errors import SnapshotError

FORMAT = "overnight.tar-index/2"
INDEX = ".overnight-index.arrow"
_PICTURES = pa.array(["jpg", "jpeg"], pa.large_string())
_SLOW_PICTURES = pa.array(["png", "webp", "gif", "bmp", "tif", "tiff", "avif"], pa.large_string())
_LONGEST_LABEL = 2**20  # bytes of a .json member; what is longer is no label
_NAME = r"^(?P<key>(?:.*/)?[^/.]+)\.(?P<extension>[^/]*)$"
_HAS_LABEL = ("cls", "json")


@dataclass(frozen=True)
class TarCounts:
    """What one tar held. A sample without a label, or whose key came before in its tar, is left out."""

    samples: int = 0
    without_label: int = 0
    repeated: int = 0
    truncated: int = 0
    """1: the tar ends inside a member, which is left out, or has no end marker."""


@dataclass(frozen=True)
class Tars:
    """`rows` of all tars. `classes`: names by class_id, sorted; empty where all labels are whole numbers: these are the
    ids then. `counts` by tar name."""

    rows: Rows
    classes: tuple[str, ...]
    counts: Mapping[str, TarCounts]

    @property
    def total(self) -> TarCounts:
        """The counts of all tars together."""
        sums = {
            field.name: sum(getattr(one, field.name) for one in self.counts.values()) for field in fields(TarCounts)
        }
        return TarCounts(**sums)


@dataclass(frozen=True)
class _Part:
    """One tar's share of the index: what it was like when it was scanned, and its samples with labels as texts."""

    size: int
    modified: int  # nanoseconds
    counts: TarCounts
    samples: pa.Table


def open_tars(folder: Path, *, cache: Path | None = None, label_field: str = "label", threads: int = 2) -> Tars:
    """The samples of all `*.tar` in `folder`: by name of tar, then in file order.

    The index stands in `folder`, or in the folder `cache`, one for each folder of tars. `label_field` is read from
    KEY.json where there is no KEY.cls. Raises SnapshotError naming the tar, and OSError.
    """
    paths = sorted(folder.glob("*.tar"))
    if not paths:
        raise SnapshotError("there is no *.tar here", where=str(folder), remedy="give the folder that holds the shards")
    index = (cache or folder) / INDEX
    known = _known_parts(index, label_field)
    fresh = {path.name: known[path.name] for path in paths if _is_fresh(path, known.get(path.name))}
    stale = [path for path in paths if path.name not in fresh]
    if stale or len(known) != len(paths):
        with ThreadPoolExecutor(threads) as scanning:
            scanned = scanning.map(lambda path: _scan(path, label_field), stale)
            parts = fresh | {path.name: part for path, part in zip(stale, scanned, strict=True)}
        _write(index, label_field, {path.name: parts[path.name] for path in paths})
    return _open(index, paths)


def _is_fresh(path: Path, part: _Part | None) -> bool:
    status = path.stat()
    return part is not None and (status.st_size, status.st_mtime_ns) == (part.size, part.modified)


def _scan(path: Path, label_field: str) -> _Part:
    status = path.stat()
    members = native.scan_tar(path)
    named = pc.extract_regex(members.names, pattern=_NAME)
    keys = pc.struct_field(named, "key")
    extensions = pc.utf8_lower(pc.struct_field(named, "extension"))
    numbers = keys.dictionary_encode().indices.fill_null(-1).to_numpy(zero_copy_only=False)
    pictures = _pictures(extensions, numbers)
    labels = _labels(path, members, extensions, numbers, label_field)
    _, first = np.unique(numbers[pictures], return_index=True)
    chosen = pictures[np.sort(first)]
    texts = [labels.get(int(number)) for number in numbers[chosen]]
    has_label = np.array([text is not None for text in texts], dtype=np.bool_)
    kept = chosen[has_label]
    dimensions = _dimensions(path, members, kept)
    samples = pa.table(
        {
            "key": keys.take(pa.array(kept)),
            "label": pa.array([text for text in texts if text is not None], pa.large_string()),
            "row": kept.astype(np.int32),
            "offset": members.offset[kept],
            "size": members.size[kept],
            "width": dimensions[:, 0],
            "height": dimensions[:, 1],
        }
    )
    counts = TarCounts(len(kept), len(chosen) - len(kept), len(pictures) - len(chosen), int(members.truncated))
    return _Part(status.st_size, status.st_mtime_ns, counts, samples)


def _pictures(extensions: Any, numbers: NDArray[Any]) -> NDArray[np.int64]:
    """Which members are pictures. Beside a JPEG of the same key (a number), a PNG is a mask or a preview."""
    jpegs, others = (
        np.flatnonzero(pc.is_in(extensions, kinds).fill_null(False).to_numpy(zero_copy_only=False))
        for kinds in (_PICTURES, _SLOW_PICTURES)
    )
    return np.sort(np.concatenate([jpegs, others[~np.isin(numbers[others], numbers[jpegs])]]))


def _labels(
    path: Path, members: native.TarMembers, extensions: Any, numbers: NDArray[Any], label_field: str
) -> dict[int, str]:
    """The label, as text, of each key (by its number) that has one; .cls goes before .json."""
    found: dict[int, str] = {}
    with path.open("rb") as file:
        for extension in reversed(_HAS_LABEL):
            for i in np.flatnonzero(pc.equal(extensions, extension).fill_null(False).to_numpy(zero_copy_only=False)):
                if members.size[i] > _LONGEST_LABEL:
                    continue
                content = os.pread(file.fileno(), int(members.size[i]), int(members.offset[i]))
                text = _json_label(content, label_field) if extension == "json" else _cls_label(content)
                if text:
                    found[int(numbers[i])] = text
    return found


def _cls_label(content: bytes) -> str:
    return content.decode("utf-8", "replace").strip()


def _json_label(content: bytes, field: str) -> str:
    """Empty where the member is not JSON or has no such label."""
    try:
        value = json.loads(content)
    except ValueError:
        return ""
    label = value.get(field) if isinstance(value, dict) else None
    return str(label) if isinstance(label, (int, str)) and not isinstance(label, bool) else ""


def _dimensions(path: Path, members: native.TarMembers, chosen: NDArray[np.int64]) -> NDArray[np.int32]:
    """Width and height, int32[n, 2]; 0 where the native code cannot read the header: the stream sees to those."""
    pool = native.open_pool(1)
    try:
        places = native.Places(np.zeros(len(chosen), np.int32), members.offset[chosen], members.size[chosen])
        return native.read_dimensions(pool, native.open_reader([path]), places)[0]
    finally:
        pool.close()


def _write(index: Path, label_field: str, parts: Mapping[str, _Part]) -> None:
    """One record batch, so that every column is one array, under a temporary name."""
    samples = pa.concat_tables([part.samples for part in parts.values()]).combine_chunks()
    lengths = [len(part.samples) for part in parts.values()]
    class_ids, classes = _as_classes(samples.column("label"))
    about = {
        "label_field": label_field,
        "classes": classes,
        "tars": [
            {"name": name, "size": part.size, "modified": part.modified, "counts": asdict(part.counts)}
            for name, part in parts.items()
        ],
    }
    table = samples.drop_columns(["label"])
    table = table.append_column("class_id", pa.array(class_ids))
    table = table.append_column("tar", pa.array(np.repeat(np.arange(len(parts), dtype=np.int32), lengths)))
    table = table.replace_schema_metadata({"format": FORMAT, "about": json.dumps(about, ensure_ascii=False)})
    temporary = index.with_name(f"{index.name}.{os.getpid()}.tmp")
    try:
        index.parent.mkdir(parents=True, exist_ok=True)
        with pa.OSFile(str(temporary), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=max(1, len(table)))
        temporary.replace(index)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        reason = (error.strerror or str(error)).lower()
        raise SnapshotError(
            f"the index cannot be written ({reason})", where=str(index), remedy="name a folder with `cache`"
        ) from None


def _as_classes(labels: pa.ChunkedArray) -> tuple[NDArray[np.int64], list[str]]:
    """Ids and, where a label is no whole number, the names that they stand for."""
    try:
        return np.asarray(labels.cast(pa.int64()).to_numpy(), dtype=np.int64), []
    except pa.ArrowInvalid:
        names = pa.array(sorted(labels.unique().to_pylist()), pa.large_string())
        ids = pc.index_in(labels, names).to_numpy()
        return np.asarray(ids, dtype=np.int64), names.to_pylist()


def _read(index: Path) -> tuple[pa.Table, dict[str, Any]] | None:
    """The samples, memory-mapped, and what is known of the tars; None where there is no index that can be read."""
    try:
        table = pa.ipc.open_file(pa.memory_map(str(index))).read_all()
        metadata = table.schema.metadata or {}
        if metadata.get(b"format") != FORMAT.encode():
            return None
        return table, json.loads(metadata[b"about"])
    except (FileNotFoundError, NotADirectoryError, pa.ArrowInvalid):
        return None


def _known_parts(index: Path, label_field: str) -> dict[str, _Part]:
    """What an earlier scan found, by name of tar."""
    found = _read(index)
    if found is None or found[1]["label_field"] != label_field:
        return {}
    table, about = found
    ids = table.column("class_id")
    names = pa.array(about["classes"], pa.large_string())
    labels = names.take(ids.combine_chunks()) if about["classes"] else ids.cast(pa.large_string())
    samples = table.drop_columns(["class_id", "tar"]).add_column(1, "label", labels).replace_schema_metadata(None)
    parts, start = {}, 0
    for tar in about["tars"]:
        counts = TarCounts(**tar["counts"])
        part = samples.slice(start, counts.samples)
        parts[tar["name"]] = _Part(tar["size"], tar["modified"], counts, part)
        start += counts.samples
    return parts


def _open(index: Path, paths: Sequence[Path]) -> Tars:
    found = _read(index)
    if found is None:
        raise SnapshotError("the index was removed while it was read", where=str(index), remedy="start again")
    table, about = found

    def column(name: str) -> Any:
        chunks = table.column(name)
        array = chunks.chunk(0) if chunks.num_chunks else pa.array([], chunks.type)
        return array if pa.types.is_large_string(chunks.type) else array.to_numpy()

    keys = column("key")
    rows = Rows(
        keys=keys,
        class_ids=column("class_id"),
        group_ids=keys,  # nothing says what belongs together
        paths=tuple(str(path.absolute()) for path in paths),
        shard=column("tar"),
        row=column("row"),
        offset=column("offset"),
        size=column("size"),
        width=column("width"),
        height=column("height"),
    )
    counts = {tar["name"]: TarCounts(**tar["counts"]) for tar in about["tars"]}
    return Tars(rows, tuple(about["classes"]), counts)
