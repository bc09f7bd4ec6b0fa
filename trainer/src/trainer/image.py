"""Which image this run runs in: what the job was told, what the platform was asked for, what the image says itself.

No container can see its own digest. The job spec pins it, submission passes it on as OVERNIGHT_IMAGE, Vertex AI repeats
the spec in CLUSTER_SPEC, and image.json beside this package says what was built. A run goes on only where these agree
(docs/formats.md, "The image of a run").
"""

import platform
import re
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from trainer.cluster import cluster_from
from trainer.errors import ConfigError
from trainer.files import read_json

VARIABLE = "OVERNIGHT_IMAGE"
FORMAT = "overnight.image/1"
CONTENTS = Path(__file__).parents[1] / "image.json"
"""In our images /opt/app/image.json; anywhere else there is no such file."""

_REFERENCE = re.compile(
    r"[a-z0-9._-]+(:[0-9]+)?(/[a-z0-9._-]+)*(:\w[\w.-]{0,127})?@(?P<digest>sha256:[0-9a-f]{64})", re.ASCII
)
_V2 = ("cx16", "lahf_lm", "pni", "popcnt", "sse4_1", "sse4_2", "ssse3")
_V3 = ("abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe")
CPU_FEATURES: Mapping[str, tuple[str, ...]] = {"baseline": _V2, "x86-64-v3": (*_V2, *_V3)}
"""What each OVERNIGHT_CPU needs (trainer/CMakeLists.txt), as /proc/cpuinfo spells it: pni is SSE3, abm has LZCNT.

The levels are those of the x86-64 psABI.
"""


@dataclass(frozen=True)
class Contents:
    """What an image says of itself."""

    name: str
    source: str
    """The git repository that it was built from."""
    revision: str
    """The commit."""
    cpu: str
    """For which CPUs the extension was compiled: baseline or x86-64-v3."""


@dataclass(frozen=True)
class Image:
    """The image of a run; None for what nothing says."""

    reference: str | None = None
    """As the job spec pins it."""
    digest: str | None = None
    name: str | None = None
    source: str | None = None
    revision: str | None = None
    cpu: str | None = None


def here(environment: Mapping[str, str]) -> Image | None:
    """The image that this process runs in; None outside an image. Raises ConfigError where what is said disagrees."""
    contents = read_contents(CONTENTS)
    if contents is not None:
        check_cpu(contents.cpu, cpu_flags())
    cluster = cluster_from(environment)
    return identify(environment.get(VARIABLE), cluster.image if cluster else None, contents)


def identify(told: str | None, asked: str | None, contents: Contents | None) -> Image | None:
    """The image from what the job was told, what the platform was asked to start, and what stands inside.

    Of a container without `contents` only a job that tells it says anything: a local engine may be asked for an image
    and start a process. Raises ConfigError where two of them disagree.
    """
    digest = None if told is None else _told_digest(told, asked)
    reference = told or (asked if contents else None)
    if contents is None:
        return None if told is None else Image(told, digest)
    if reference is not None:
        _check_name(reference, contents, VARIABLE if told else "CLUSTER_SPEC")
    return Image(reference, digest or digest_of(reference), **asdict(contents))


def digest_of(reference: str | None) -> str | None:
    """`sha256:…` of a reference that has one."""
    match = _REFERENCE.fullmatch(reference or "")
    return match["digest"] if match else None


def describe(image: Image | None) -> str | None:
    """One line about the image; None outside one."""
    if image is None:
        return None
    if image.digest is None:
        return f"image {image.name}: no job tells its digest ({VARIABLE}), so the record of this run cannot name it"
    inside = f"{image.name} of commit {image.revision}" if image.name else "nothing inside says what it is"
    return f"image {image.digest}: {inside}"


def read_contents(path: Path) -> Contents | None:
    """What image.json says; None where there is none. Raises TrainerError for a file that is something else."""
    if not path.exists():
        return None
    value = read_json(path, FORMAT)
    fields = {name: value.get(name) for name in Contents.__dataclass_fields__}
    wrong = [name for name, given in fields.items() if not isinstance(given, str) or not given]
    if wrong or fields["cpu"] not in CPU_FEATURES:
        field = wrong[0] if wrong else "cpu"
        raise ConfigError(
            f"{field} is {fields[field]!r}", where=str(path), remedy="build the image again: its build writes this file"
        )
    return Contents(**{name: str(given) for name, given in fields.items()})


def check_cpu(cpu: str, flags: frozenset[str]) -> None:
    """Raise ConfigError when this machine lacks what an extension compiled for `cpu` needs.

    Asked before the extension is loaded: an illegal instruction kills the process, and nothing can catch it.
    """
    missing = [name for name in CPU_FEATURES[cpu] if name not in flags]
    if flags and missing:
        other = "baseline" if cpu != "baseline" else "another OVERNIGHT_CPU"
        raise ConfigError(
            f"the extension was compiled for {cpu} and this machine lacks {', '.join(missing)}",
            where="CPU",
            remedy=f"take another machine type, or an image that is built for {other}",
        )


def cpu_flags(text: str | None = None) -> frozenset[str]:
    """Features of the first processor in /proc/cpuinfo; empty where it tells none, as on other architectures."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return frozenset()
    try:
        lines = (Path("/proc/cpuinfo").read_text() if text is None else text).splitlines()
    except OSError:
        return frozenset()
    return frozenset(next((line.partition(":")[2] for line in lines if line.startswith("flags")), "").split())


def as_json(image: Image | None) -> dict[str, Any] | None:
    """As result.json holds it."""
    return None if image is None else asdict(image)


def warn_if_unknown(image: Image | None) -> None:
    """Say on standard error that the run cannot be told by its image's digest."""
    if image is not None and image.digest is None:
        print(f"trainer: {describe(image)}.", file=sys.stderr, flush=True)


def _told_digest(told: str, asked: str | None) -> str:
    digest = digest_of(told)
    if digest is None:
        raise ConfigError(
            f"{told!r} is no image with its digest",
            where=VARIABLE,
            remedy="pin imageUri by @sha256:… and submit the job again, or unset the variable",
        )
    if asked and digest_of(asked) != digest:
        raise ConfigError(
            f"it says {digest}, and CLUSTER_SPEC says that this container was started from {asked}",
            where=VARIABLE,
            remedy="remove the variable from the spec: submission adds the image that the spec pins",
        )
    return digest


def _check_name(reference: str, contents: Contents, where: str) -> None:
    path = reference.partition("@")[0]
    name = path.rpartition("/")[2].partition(":")[0]
    if name != contents.name:
        raise ConfigError(
            f"it names {path}, and {CONTENTS} says that this is {contents.name}",
            where=where,
            remedy=f"pin the digest that the build printed for {name}, or name {contents.name} in the spec",
        )
