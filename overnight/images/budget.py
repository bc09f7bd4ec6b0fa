"""What an image may hold: how large it may be, and what must not be in it. Each finding is one sentence."""

import fnmatch
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from overnight.config.mistakes import first_of
from overnight.config.section import Section
from overnight.config.words import mistakes
from overnight.files import canonical_json
from overnight.images.contents import DESCRIPTION, Contents, Entry, Layer, walk
from overnight.images.errors import ImageError
from overnight.images.labels import CPU, REVISION, SOURCE, TITLE
from overnight.images.source_address import COMMIT, normal_source
from overnight.wording import counted

FORMAT = "overnight.image/1"
MEGABYTE = 1_000_000
OWN_FOLDER = "opt"
FEW = 3
"""So many examples stand in a sentence."""

_BINARY = r"(?:[\w.]+-linux-gnu[\w]*-)?(?:{})(?:-?[0-9.]+)?"
COMPILERS = re.compile(
    r"(?:.*/)?(?:bin|sbin)/"
    + _BINARY.format(
        r"gcc|g\+\+|c\+\+|cc|cpp|clang|clang\+\+|nvcc|rustc|tcc|ld|ld\.(?:bfd|gold|lld)|lld|as|g?make|cmake|ninja"
    )
    + r"|(?:.*/)?(?:cc1|cc1plus|collect2|lto1)"
)
INSTALLERS = re.compile(
    r"(?:.*/)?(?:bin|sbin)/(?:pip|uv|pipx|conda|easy_install)[0-9.]*"
    r"|(?:.*/)?(?:site|dist)-packages/pip/__init__\.py|opt/app/pip/__init__\.py"
    r"|(?:.*/)?(?:_bundled|python-wheels)/pip-[^/]*\.whl"
)
FORBIDDEN: tuple[tuple[str, re.Pattern[str]], ...] = (("a compiler", COMPILERS), ("a package installer", INSTALLERS))

_CPUS = ("baseline", "x86-64-v3")
_SECRET_NAME = re.compile(r"(?i)(^|_)(SECRETS?|TOKENS?|PASSWORD|PASSWD|CREDENTIALS?|(API|PRIVATE|ACCESS)_?KEY)(_|$)")
_SECRET_VALUE = re.compile(r"-----BEGIN |AIza[0-9A-Za-z_-]{35}|gh[pousr]_[0-9A-Za-z]{36}|ya29\.|glpat-")


class Allowed(Section):
    """Something that the base image holds and that is put up with."""

    path: str = Field(min_length=1, description="a path without leading slash, * and ? allowed, such as usr/bin/make")
    reason: str = Field(min_length=10, description="a sentence that says why")


class Budget(Section):
    """`images/NAME/budget.yaml`."""

    layer_megabytes: int = Field(gt=0, description="a size in MB (10^6 bytes), uncompressed")
    """Our layer."""
    image_megabytes: int = Field(gt=0, description="a size in MB (10^6 bytes), uncompressed")
    """With the base."""
    layers: int = Field(gt=0, le=127, description="a number of layers up to 127")
    """With the base's; most stores take no more than 127."""
    allowed_in_base: tuple[Allowed, ...] = Field(default=(), strict=False)


@dataclass(frozen=True)
class Flaw:
    """One thing that was found; the sentence says what to do."""

    name: str
    sentence: str


def read_budget(path: Path) -> Budget:
    """Read a budget. Raises ImageError and ConfigError in one sentence, OSError."""
    try:
        data = YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8"))
    except (YAMLError, UnicodeDecodeError, ValueError, RecursionError):
        raise ImageError("this is not YAML", where=str(path), remedy="see images/steps/budget.yaml") from None
    if not isinstance(data, dict):
        raise ImageError("this is no mapping of fields", where=str(path), remedy="see images/steps/budget.yaml")
    try:
        return Budget.model_validate(data)
    except ValidationError as error:
        raise first_of(path, mistakes(Budget, error.errors(include_url=False))) from None


def examine(contents: Contents, budget: Budget) -> list[Flaw]:
    """All that is wrong with an image; empty when nothing is."""
    return [*_sizes(contents, budget), *_configuration(contents), *_forbidden(contents, budget), *_own(contents)]


def _sizes(contents: Contents, budget: Budget) -> Iterator[Flaw]:
    if contents.own is not None:
        own = contents.layers[contents.own].size
        yield from _over("layer-size", "our layer takes", own, budget.layer_megabytes, "layer_megabytes")
    yield from _over("image-size", "the image takes", contents.size, budget.image_megabytes, "image_megabytes")
    if len(contents.layers) > budget.layers:
        yield Flaw(
            "layer-count",
            f"The image has {len(contents.layers)} layers and the budget is {budget.layers}; copy in one step, take "
            "another base, or raise layers.",
        )


def _over(name: str, what: str, size: int, megabytes: int, field: str) -> Iterator[Flaw]:
    if size > megabytes * MEGABYTE:
        takes = -(-size // MEGABYTE)
        sentence = f"{what[0].upper()}{what[1:]} {takes} MB and the budget is {megabytes} MB; see in the table what is"
        yield Flaw(name, f"{sentence} large and take it out, or raise {field}.")


def _configuration(contents: Contents) -> Iterator[Flaw]:
    user = contents.run("User") or ""
    if not isinstance(user, str) or not re.fullmatch(r"[1-9][0-9]*(:[0-9]+)?", user):
        yield Flaw("user", f"The user is {user!r}; set USER to a number that is not 0, such as 10001:10001.")
    if not contents.run("Entrypoint"):
        yield Flaw("entrypoint", "There is no entry point; set ENTRYPOINT to the command that the image is for.")
    yield from _labels(_mapping(contents.run("Labels")))
    variables = contents.run("Env")
    for variable in variables if isinstance(variables, list) else []:
        name, _, value = str(variable).partition("=")
        if value and (_SECRET_NAME.search(name) or _SECRET_VALUE.search(value)):
            yield Flaw(
                "secret", f"The variable {name} looks like a secret; everyone who may pull could read it: take it out."
            )


def _labels(labels: Mapping[str, Any]) -> Iterator[Flaw]:
    for name, fitting, fits in (
        (TITLE, re.compile(r"[a-z0-9][a-z0-9._-]*").fullmatch, "the image's name"),
        (SOURCE, lambda text: normal_source(text) == text, "the repository's https address"),
        (REVISION, COMMIT.fullmatch, "the whole commit"),
    ):
        value = labels.get(name)
        if not isinstance(value, str) or not fitting(value):
            found = "is missing" if value is None else f"is {value!r}"
            yield Flaw("label", f"The label {name} {found}; set it to {fits}.")
    if labels.get(CPU) not in (None, *_CPUS):
        yield Flaw("label", f"The label {CPU} is {labels[CPU]!r}; set it to {' or '.join(_CPUS)}.")


def _forbidden(contents: Contents, budget: Budget) -> Iterator[Flaw]:
    own = contents.own if contents.own is not None else len(contents.layers)
    visible = contents.visible()
    for what, pattern in FORBIDDEN:
        paths = sorted(path for path, (_, entry) in visible.items() if _executable(entry) and pattern.fullmatch(path))
        of_base = [path for path in paths if visible[path][0] < own]
        allowed = {path for path in of_base for item in budget.allowed_in_base if fnmatch.fnmatchcase(path, item.path)}
        if refused := [path for path in paths if path not in allowed]:
            yield Flaw(
                "forbidden",
                f"The image holds {what} ({_few(refused)}); remove it, take a base without it, or allow it with a "
                "reason in allowed_in_base.",
            )


def _executable(entry: Entry) -> bool:
    return entry.kind in ("file", "link")


def _own(contents: Contents) -> Iterator[Flaw]:
    if contents.own is None:
        yield Flaw("own-layer", f"No layer holds /{DESCRIPTION}; build the image with one of images/*/Dockerfile.")
        return
    places = [place for place in range(contents.own, len(contents.layers)) if contents.layers[place].entries]
    if len(places) != 1:
        yield Flaw(
            "own-layer", f"Ours are {len(places)} layers; the runtime stage is one COPY, so remove what else it does."
        )
    own = range(contents.own, len(contents.layers))
    for name, problem, remedy, wrong in (
        ("place", f"stands outside /{OWN_FOLDER}", "leave the rest of the base as it is", _outside),
        ("setuid", "is setuid or setgid", "take the bit away", lambda entry: bool(entry.mode & 0o6000)),
        ("writable", "can be written by everyone", "fix its mode", _world_writable),
        ("owner", "does not belong to root", "copy it without --chown", lambda entry: bool(entry.owner or entry.group)),
        ("device", "is a device or a pipe", "take it out", lambda entry: entry.kind == "device"),
        ("git", "is Git's", "keep it out of the build's context", lambda entry: ".git" in entry.path.split("/")),
        ("pyc", "is compiled Python that depends on a time", "compile with unchecked-hash", lambda e: e.pyc_flags == 0),
    ):
        paths = [entry.path for entry in walk(contents, own) if wrong(entry)]
        if paths:
            yield Flaw(name, f"In our layer {_few(paths)} {problem}; {remedy}.")
    yield from _times(contents, own)
    yield from _description(contents.layers[contents.own], _mapping(contents.run("Labels")))


def _outside(entry: Entry) -> bool:
    return entry.path != OWN_FOLDER and not entry.path.startswith(f"{OWN_FOLDER}/")


def _world_writable(entry: Entry) -> bool:
    return entry.kind != "link" and bool(entry.mode & 0o002)


def _times(contents: Contents, own: range) -> Iterator[Flaw]:
    """Every time is the one that SOURCE_DATE_EPOCH gave to the image itself."""
    created = _seconds(contents.config.get("created"))
    if created != 0:
        yield Flaw(
            "time",
            f"The image was created at {contents.config.get('created')!r}, not at 1970-01-01T00:00:00Z; build with "
            "--build-arg SOURCE_DATE_EPOCH=0 and BuildKit, or the digest is another one each time.",
        )
    paths = [entry.path for entry in walk(contents, own) if entry.mtime != 0]
    if paths:
        yield Flaw("time", f"In our layer {_few(paths)} has a time of its own; set all to SOURCE_DATE_EPOCH, 0.")


def _seconds(text: Any) -> float | None:
    try:
        return datetime.fromisoformat(text).timestamp()
    except (TypeError, ValueError, OverflowError):
        return None


def _description(layer: Layer, labels: Mapping[str, Any]) -> Iterator[Flaw]:
    """image.json says what the labels say, in its one form."""
    names = {"name": TITLE, "source": SOURCE, "revision": REVISION, "cpu": CPU}
    try:
        said = json.loads(layer.description or b"")
    except (ValueError, RecursionError):
        said = None
    expected = {"format": FORMAT, **{field: labels.get(label) for field, label in names.items()}}
    if said != expected:
        yield Flaw(
            "description", f"/{DESCRIPTION} does not say what the labels say; write both from the same arguments."
        )
    elif layer.description != canonical_json(expected):
        yield Flaw("description", f"/{DESCRIPTION} is not canonical JSON; write keys sorted, indented by two.")


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _few(paths: list[str]) -> str:
    """`opt/a, opt/b, opt/c and 12 others`."""
    shown = ", ".join(f"/{path}" for path in paths[:FEW])
    more = len(paths) - FEW
    return f"{shown} and {counted(more, 'other', 'others')}" if more > 0 else shown
