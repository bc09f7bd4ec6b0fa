"""What an import finds: images with their labels, from a folder of class folders or from a table."""

import csv
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq

from overnight.catalog.errors import ImportProblem

TABLE_SUFFIXES = (".csv", ".parquet")
# Droppings of file managers; hidden files are left out too.
_DROPPINGS = frozenset({"Thumbs.db", "desktop.ini"})


@dataclass(frozen=True, slots=True)
class Found:
    """One image to import: where it is, its path relative to the imported folder, its label, its group."""

    uri: str
    source: str
    label: str
    group: str | None = None


@dataclass(frozen=True)
class Finding:
    """All images of an import from `path`, and the names of files in no class folder, which are left out."""

    path: str
    images: tuple[Found, ...]
    left_out: tuple[str, ...] = ()


def find(path: str, images: str | None) -> Finding:
    """The images of `path`: a folder of class folders (a path or URL), or a CSV or Parquet table.

    `images` is the folder that a table's relative paths start from; default: the table's folder.
    Raises ImportProblem for everything that is not as it must be.
    """
    if "://" not in path and not Path(path).exists():
        raise ImportProblem("there is no such file or folder", where=path, remedy="check the path")
    if Path(path).suffix.lower() in TABLE_SUFFIXES and not _is_folder(path):
        return Finding(path, tuple(_from_table(path, images or _parent(path))))
    if not _is_folder(path):
        raise ImportProblem(
            "this is neither a folder nor a table",
            where=path,
            remedy="give a folder of class folders, a CSV or a Parquet",
        )
    if images is not None:
        raise ImportProblem("this goes with a table only", where="--images", remedy="leave it out for a folder")
    return _from_folder(path)


def with_groups(finding: Finding, pattern: str) -> Finding:
    """The same images with the group that the regular expression `pattern` finds in each source.

    The group is the first parenthesis, or the whole match without one; no match leaves the image its own group.
    Raises ImportProblem when the pattern is not a regular expression.
    """
    try:
        expression = re.compile(pattern)
    except re.error as error:
        raise ImportProblem(
            f"not a regular expression: {error}", where="--group-pattern", remedy="correct it"
        ) from None

    def grouped(image: Found) -> Found:
        match = expression.search(image.source)
        return replace(image, group=match[1 if expression.groups else 0]) if match else image

    return replace(finding, images=tuple(map(grouped, finding.images)))


def _is_folder(path: str) -> bool:
    if "://" not in path:
        return Path(path).is_dir()
    filesystem, inner = fsspec.core.url_to_fs(path)
    return bool(filesystem.isdir(inner))


def _parent(path: str) -> str:
    return path.rsplit("/", 1)[0] if "://" in path else str(Path(path).absolute().parent)


def _from_folder(path: str) -> Finding:
    inside = sorted(_urls_in(path) if "://" in path else _files_in(Path(path).absolute()))
    images = tuple(
        Found(uri=uri, source=source, label=source.split("/", 1)[0]) for source, uri in inside if "/" in source
    )
    left_out = tuple(source for source, _ in inside if "/" not in source)
    if not images:
        problem = "all files stand directly in this folder" if left_out else "this folder is empty"
        raise ImportProblem(
            problem, where=path, remedy="give a folder with one folder a class, and the images of the class inside"
        )
    return Finding(path, images, left_out)


def _files_in(folder: Path) -> Iterator[tuple[str, str]]:
    """(source, path) of every visible file below `folder`, links followed once."""
    seen: set[tuple[int, int]] = set()
    waiting = [(folder, "")]
    while waiting:
        current, prefix = waiting.pop()
        status = current.stat()
        if (status.st_dev, status.st_ino) in seen:  # a link back up would never end
            continue
        seen.add((status.st_dev, status.st_ino))
        with os.scandir(current) as entries:
            for entry in entries:
                if entry.name.startswith(".") or entry.name in _DROPPINGS:
                    continue
                source = prefix + _readable_name(entry.name, current)
                if entry.is_dir():
                    waiting.append((Path(entry.path), f"{source}/"))
                else:
                    yield source, entry.path


def _readable_name(name: str, folder: Path) -> str:
    try:
        name.encode()
    except UnicodeEncodeError:
        shown = name.encode(errors="surrogateescape").decode(errors="replace")
        raise ImportProblem(
            f"the name {shown!r} is not UTF-8", where=str(folder), remedy="rename the file or folder"
        ) from None
    return name


def _urls_in(url: str) -> Iterator[tuple[str, str]]:
    """(source, URL) of every visible object below `url`."""
    filesystem, root = fsspec.core.url_to_fs(url)
    start = root.rstrip("/") + "/"
    for path, info in filesystem.find(root, detail=True).items():
        source = path.removeprefix(start)
        names = source.split("/")
        if info["type"] == "file" and names[-1] not in _DROPPINGS and not any(name.startswith(".") for name in names):
            yield source, f"{url.rstrip('/')}/{source}"


def _from_table(path: str, base: str) -> Iterator[Found]:
    table = _read_csv(path) if path.lower().endswith(".csv") else _read_parquet(path)
    missing = [name for name in ("path", "label") if name not in table]
    if missing:
        raise ImportProblem(
            f"column {missing[0]!r} is missing (found: {', '.join(table) or 'none'})",
            where=path,
            remedy="give the table the columns path, label and, where images belong together, group",
        )
    groups = table.get("group", table.get("group_id", [None] * len(table["path"])))
    first: dict[str, tuple[int, Found]] = {}
    start = 2 if path.lower().endswith(".csv") else 1  # row 1 of a CSV is its header
    rows = zip(table["path"], table["label"], groups, strict=True)
    for number, (image, label, group) in enumerate(rows, start):
        found = _row(image, label, group, base, f"{path}, row {number}")
        known = first.setdefault(found.source, (number, found))[1]
        if known.label != found.label:
            raise ImportProblem(
                f"{image} is labelled {found.label!r} here and {known.label!r} in row {first[found.source][0]}",
                where=f"{path}, row {number}",
                remedy="keep one of the rows",
            )
    if not first:
        raise ImportProblem("this table has no rows", where=path, remedy="give one row an image")
    for _, found in first.values():
        yield found


def _row(image: str | None, label: str | None, group: str | None, base: str, where: str) -> Found:
    if not image or not label:
        raise ImportProblem(
            f"{'label' if image else 'path'} is empty", where=where, remedy="fill it in, or remove the row"
        )
    uri = image if "://" in image or image.startswith("/") else f"{base.rstrip('/')}/{image}"
    if "://" not in uri:
        uri = os.path.normpath(uri)
    start = (base if "://" in base else str(Path(base).absolute())).rstrip("/") + "/"
    if not uri.startswith(start):
        raise ImportProblem(
            f"{image} is not inside {base}", where=where, remedy="name the folder that holds all images with --images"
        )
    return Found(uri=uri, source=uri.removeprefix(start), label=label, group=group or None)


def _read_csv(path: str) -> dict[str, list[str | None]]:
    try:
        with fsspec.open(path, "rt", encoding="utf-8-sig", newline="") as file:
            rows = csv.reader(file, strict=True)
            names = [name.strip().lower() for name in next(rows, [])]
            values = [row for row in rows if row]
    except (UnicodeDecodeError, csv.Error) as error:
        raise ImportProblem(f"this is not a CSV in UTF-8 ({error})", where=path, remedy="save it as one") from None
    for number, row in enumerate(values, start=2):
        if len(row) != len(names):
            raise ImportProblem(
                f"{len(row)} fields where the header has {len(names)}",
                where=f"{path}, row {number}",
                remedy="put quotes around fields that hold a comma",
            )
    return {name: [row[at].strip() or None for row in values] for at, name in enumerate(names)}


def _read_parquet(path: str) -> dict[str, list[str | None]]:
    try:
        with fsspec.open(path, "rb") as file:
            table = pq.read_table(file)
            wanted = [name for name in ("path", "label", "group", "group_id") if name in table.column_names]
            return {name: table[name].cast(pa.string()).to_pylist() for name in wanted} or {
                name: [] for name in table.column_names
            }
    except pa.ArrowException as error:
        text = " ".join(str(error).split())
        raise ImportProblem(f"this Parquet file cannot be read ({text})", where=path, remedy="write it again") from None
