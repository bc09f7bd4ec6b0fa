"""The files that references are pinned in: all are read and computed before the first is written."""

import glob
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import unified_diff
from pathlib import Path

from overnight.files import write_atomically
from overnight.images.errors import ImageError
from overnight.images.pinning import Found, find, rewrite
from overnight.images.reference import Reference


@dataclass(frozen=True)
class YamlFile:
    """One file, its text as it is (line ends and all), and the images in it."""

    path: Path
    text: str
    found: Found


@dataclass(frozen=True)
class Change:
    """One reference that gets a digest."""

    path: Path
    line: int
    field: str
    before: str
    after: str


def paths_of(words: Sequence[str]) -> list[Path]:
    """The files that words name, globs filled in, each file once. Raises ImageError for a word that names none."""
    found: dict[str, Path] = {}
    for word in words:
        path = Path(word)
        pattern = glob.has_magic(word) and not path.exists()
        matches = sorted(map(Path, glob.glob(word, recursive=True))) if pattern else [path]  # noqa: PTH207
        if not matches:
            raise ImageError("no file fits this pattern", where=word, remedy="name YAML files, such as jobs/*.yaml")
        for match in matches:
            found.setdefault(os.path.realpath(match), match)
    return list(found.values())


def read(path: Path) -> YamlFile:
    """A YAML file in UTF-8; raises ImageError in one sentence for anything else."""
    where = str(path)
    if path.is_dir():
        raise ImageError("this is a folder", where=where, remedy=f"name its files: {path}/*.yaml")
    if path.exists() and not path.is_file():
        raise ImageError("this is no file", where=where, remedy="name a YAML file")
    try:
        text = path.read_bytes().decode()
    except FileNotFoundError:
        raise ImageError("there is no such file", where=where, remedy="name YAML files, such as jobs/*.yaml") from None
    except UnicodeDecodeError:
        raise ImageError("this is not UTF-8 text", where=where, remedy="name a YAML file") from None
    except OSError as error:
        raise ImageError(f"{os.strerror(error.errno or 0).lower()}", where=where) from None
    return YamlFile(path, text, find(text, where))


def references(files: Sequence[YamlFile]) -> list[Reference]:
    """Every reference once, in the files' order."""
    return list(dict.fromkeys(place.reference for file in files for place in file.found.places))


def pinned(file: YamlFile, digests: Mapping[Reference, str]) -> YamlFile:
    """The file as it shall be. Raises ImageError should the new text not read as the old one with those digests."""
    text = rewrite(file.text, file.found, digests)
    after = find(text, str(file.path))
    expected = [_after(place.reference, digests) for place in file.found.places]
    if [place.reference for place in after.places] != expected:
        raise ImageError("with other digests this file would not read as it does", where=str(file.path))
    return replace(file, text=text, found=after)


def changes(file: YamlFile, digests: Mapping[Reference, str]) -> list[Change]:
    """What `pinned` changes."""
    return [
        Change(file.path, place.line, place.field, str(place.reference), str(after))
        for place in file.found.places
        if (after := _after(place.reference, digests)) != place.reference
    ]


def diff(before: YamlFile, after: YamlFile) -> str:
    """A unified diff; empty when nothing changes."""
    name = str(before.path)
    lines = unified_diff(_lines(before.text), _lines(after.text), name, name)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def write(files: Sequence[YamlFile]) -> None:
    """Write each file whole, with the permissions it had; raises ImageError before the first when one cannot be."""
    for file in files:
        target = Path(os.path.realpath(file.path))
        if not target.stat().st_mode & 0o222 or not os.access(target.parent, os.W_OK):
            raise ImageError("this file is read-only", where=str(file.path), remedy="make it writable")
    for file in files:
        target = Path(os.path.realpath(file.path))
        mode = target.stat().st_mode & 0o7777
        write_atomically(target, file.text.encode())
        target.chmod(mode)


def _after(reference: Reference, digests: Mapping[Reference, str]) -> Reference:
    return reference.with_digest(digests[reference]) if reference in digests else reference


def _lines(text: str) -> list[str]:
    """Lines as `diff` counts them: a carriage return alone ends none."""
    lines = text.split("\n")
    return [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
