"""`overnight image build --local`: a build file's own steps, on this machine."""

import contextlib
import signal
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from overnight.cli.context import (
    DEFAULT_CONFIG,
    ConfigOption,
    JsonOption,
    console,
    environment,
    print_json,
    progress_console,
)
from overnight.errors import OvernightError
from overnight.images.local import LOCAL_REGISTRY
from overnight.wording import counted

if TYPE_CHECKING:
    from rich.progress import Progress

    from overnight.builds.file import BuildFile
    from overnight.builds.result import BuildResult
    from overnight.builds.runner import Listener

NamesArgument = Annotated[
    list[str] | None, typer.Argument(metavar="[NAME…]", help="Images of the file; none, or all: every image.")
]
LocalOption = Annotated[bool, typer.Option("--local", help="On this machine, with podman.")]
FileOption = Annotated[Path, typer.Option("--file", help="The build file.")]
RootOption = Annotated[
    Path | None, typer.Option("--root", help="Where results, registry and keys stand. Default: the environment's root.")
]
RegistryOption = Annotated[
    str, typer.Option("--registry", metavar="HOST:PORT", help="On this machine; started when none answers.")
]
SubstitutionOption = Annotated[
    list[str] | None, typer.Option("--substitution", metavar="_KEY=VALUE", help="Instead of its value; repeatable.")
]
BasesOption = Annotated[
    Path | None, typer.Option("--bases", help="Base images by digest (JSON). Default: stand-ins, made when missing.")
]
StoreOption = Annotated[
    Path | None, typer.Option("--store", help="Where podman keeps images. Default: ROOT/containers.")
]
KeepOption = Annotated[bool, typer.Option("--keep", help="Leave the build's workspace where it was.")]
QuietOption = Annotated[bool, typer.Option("--quiet", help="Do not repeat what steps print; their logs are kept.")]
TAIL = 20
"""Lines of a failed step's log that --quiet shows all the same."""


class Interrupted(OvernightError):
    """By Ctrl-C or a signal."""

    exit_code = 130


def add(group: typer.Typer) -> None:
    """Add the command."""
    group.command("build")(build)


def build(
    names: NamesArgument = None,
    local: LocalOption = False,
    file: FileOption = Path("cloudbuild/images.yaml"),
    config: ConfigOption = DEFAULT_CONFIG,
    root: RootOption = None,
    substitution: SubstitutionOption = None,
    registry: RegistryOption = LOCAL_REGISTRY,
    bases: BasesOption = None,
    store: StoreOption = None,
    keep: KeepOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Build images by the steps of a Cloud Build file, push them to a registry of this machine, attest them.

    Prints HOST/PATH@sha256:… of each. The result is ROOT/builds/BUILD_ID.json, the message that Cloud Build gives.
    """
    from overnight.builds.file import read_build
    from overnight.builds.local import LocalBuild, build_locally
    from overnight.builds.values import parse_overrides

    if not local:
        raise OvernightError(
            "builds in Google Cloud start when a change is merged (or by `gcloud builds triggers run`)",
            remedy="give --local to build on this machine",
        )
    overrides = parse_overrides(substitution or [])
    read = read_build(file)
    _lint(read)
    place = (root or environment(config).root_path).absolute()
    with _listening(quiet) as listener, _interruptible():
        request = LocalBuild(
            build=read,
            names=names or [],
            root=place,
            registry=registry,
            overrides=overrides,
            bases=bases,
            store=(store or place / "containers").absolute(),
            build_id=str(uuid.uuid4()),
            clock=lambda: datetime.now(UTC),
            listener=listener,
            note=_note,
            keep=keep,
        )
        try:
            result = build_locally(request)
        except KeyboardInterrupt:
            raise Interrupted("interrupted; all that ran has ended, and nothing half written was kept") from None
    _tell(result, as_json, quiet)


def _lint(read: "BuildFile") -> None:
    """Nothing is run of a file that the service would refuse, or the house."""
    from overnight.builds.check import check

    findings = check(read)
    for finding in findings:
        line = read.line(finding.path)
        where = f"{read.path}:{line}" if line else str(read.path)
        _note(f"{where}: {finding.severity}: {finding.message}; {finding.remedy} [{finding.rule}]")
    errors = [finding for finding in findings if finding.severity == "error"]
    if errors:
        raise OvernightError(
            f"{counted(len(errors), 'error', 'errors')} in the build file",
            where=str(read.path),
            remedy="put that right first; nothing was run",
        )


def _tell(result: "BuildResult", as_json: bool, quiet: bool) -> None:
    from overnight.images.reference import parse

    images = [str(parse(image.name).with_digest(image.digest)) for image in result.images]
    if as_json:
        print_json(
            {
                "build_id": result.build_id,
                "status": result.status,
                "detail": result.detail,
                "images": images,
                "record": str(result.record),
                "warnings": list(result.warnings),
            }
        )
    if not result.succeeded:
        if quiet:
            _show_tail(result)
        raise OvernightError(
            result.detail, where=f"build {result.build_id}, {result.status}", remedy=f"see {result.record}"
        )
    _note(f"Result: {result.record}")
    if not as_json:
        for image in images:
            console.print(image, markup=False)


def _show_tail(result: "BuildResult") -> None:
    logs = sorted(result.record.with_suffix("").glob("*.log"), key=lambda path: path.stat().st_mtime)
    for line in logs[-1].read_text(errors="replace").splitlines()[-TAIL:] if logs else []:
        _note(line)


def _note(text: str) -> None:
    progress_console.print(text, markup=False, soft_wrap=True)


@contextlib.contextmanager
def _listening(quiet: bool) -> Iterator["Listener"]:
    """Lines as they come, and a bar below them on a terminal."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    # Not refreshed by a thread of its own: processes are started while it is shown.
    bar = Progress(*columns, console=progress_console, transient=True, auto_refresh=False)
    with bar if progress_console.is_terminal else contextlib.nullcontext():
        yield _Follower(bar, quiet)


class _Follower:
    """Shows a build."""

    def __init__(self, bar: "Progress", quiet: bool) -> None:
        self._bar, self._quiet = bar, quiet
        self._task = bar.add_task("source", total=None)

    def line(self, text: str) -> None:
        """One line of the log."""
        if not self._quiet:
            progress_console.print(text, markup=False, soft_wrap=True)

    def began(self, number: int, total: int, what: str) -> None:
        """The next part."""
        self._bar.update(self._task, description=f"{what} ({number} of {total})", total=total, completed=number - 1)
        self.tick()

    def tick(self) -> None:
        """Time has passed."""
        if progress_console.is_terminal:
            self._bar.refresh()


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """SIGTERM and SIGHUP as Ctrl-C; further ones do not disturb the tidying up."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def stop(number: int, frame: FrameType | None) -> None:
        for other in numbers:
            signal.signal(other, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = {number: signal.signal(number, stop) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
