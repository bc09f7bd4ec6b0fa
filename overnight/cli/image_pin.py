"""`overnight image pin`: write digests into YAML files, and check that they are there."""

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from overnight.cli.context import DEFAULT_CONFIG, ConfigOption, JsonOption, console, environment, print_json
from overnight.errors import OvernightError
from overnight.wording import counted

if TYPE_CHECKING:
    from overnight.images.pin_files import Change, YamlFile
    from overnight.images.reference import Reference

FilesArgument = Annotated[
    list[str], typer.Argument(metavar="FILE_OR_PATTERN…", help="YAML files, such as jobs/*.yaml.")
]
ImageOption = Annotated[str | None, typer.Option("--image", metavar="NAME", help="Only this image: NAME or HOST/PATH.")]
ToOption = Annotated[str | None, typer.Option("--to", metavar="DIGEST", help="sha256:…, or HOST/PATH@sha256:…")]
BuildOption = Annotated[str | None, typer.Option("--from-build", metavar="BUILD_ID", help="What this build pushed.")]
ReleaseOption = Annotated[
    str | None, typer.Option("--from-release", metavar="COMMIT", help="What this commit was released as.")
]
CheckOption = Annotated[
    bool, typer.Option("--check", help="Write nothing; exit with 2 when something is unpinned or would change.")
]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Print the diff and write nothing.")]


def add(group: typer.Typer) -> None:
    """Add the command."""
    group.command("pin")(pin)


def pin(
    files: FilesArgument,
    image: ImageOption = None,
    to: ToOption = None,
    from_build: BuildOption = None,
    from_release: ReleaseOption = None,
    check: CheckOption = False,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
    config: ConfigOption = DEFAULT_CONFIG,
) -> None:
    """Name images by digest in any YAML file; every other character stays as it is.

    Without --to, --from-build or --from-release each tag is looked up in its registry, and what has a digest keeps it.
    With --check and none of them nothing is looked up: every image must have a digest.
    """
    from overnight.images import pin_files

    sources = {"--to": to, "--from-build": from_build, "--from-release": from_release}
    given = [name for name, value in sources.items() if value is not None]
    if len(given) > 1:
        raise OvernightError(f"{' and '.join(given)} say different things", remedy="give one of them")
    read = [pin_files.read(path) for path in pin_files.paths_of(files)]
    digests = _digests(pin_files.references(read), image, sources, config, offline=check)
    after = [pin_files.pinned(file, digests) for file in read]
    changes = [change for file in read for change in pin_files.changes(file, digests)]
    loose = _loose(after, image)
    if not check and not dry_run:
        pin_files.write([new for old, new in zip(read, after, strict=True) if new.text != old.text])
    if as_json:
        written = bool(changes) and not check and not dry_run
        print_json({"changes": [_facts(change) for change in changes], "unpinned": loose, "written": written})
    elif check:
        _show_check(changes, loose, len(read))
    else:
        _show(read, after, changes, loose, dry_run)
    if check and (changes or loose):
        raise typer.Exit(2)


def _digests(
    references: Sequence["Reference"], image: str | None, sources: dict[str, str | None], config: Path, offline: bool
) -> dict["Reference", str]:
    """What the options say; `offline`, tags are not looked up."""
    from overnight.images import pin_sources

    if to := sources["--to"]:
        return pin_sources.given(references, image, to)
    if build_id := sources["--from-build"]:
        return pin_sources.made(references, image, _of_build(build_id, config), f"build {build_id}")
    if commit := sources["--from-release"]:
        release, place = _release(commit, config)
        return pin_sources.made(references, image, release.digests, f"release {place}/{release.commit}.json")
    if empty := next((name for name, value in sources.items() if value is not None), None):
        raise OvernightError("nothing is written behind it", where=empty, remedy="write what is meant, or leave it out")
    if offline:
        pin_sources.chosen(references, image)
        return {}
    return pin_sources.resolved(references, image, partial(_today, own=_own_repository(config)))


def _own_repository(config: Path) -> str:
    """Without an environment file, if none was named, every image is somebody else's."""
    from overnight.images.local import LOCAL_REPOSITORY, repository_of

    known = config != DEFAULT_CONFIG or config.exists()
    return repository_of(environment(config)) if known else LOCAL_REPOSITORY


def _today(reference: "Reference", own: str) -> "Reference":
    """What a tag means now. Of others' images an index will do, which fits every platform; ours have none."""
    from overnight.images.resolve import Wanted, resolve

    ours = reference.repository.startswith(f"{own}/")
    return resolve(reference, wanted=Wanted(allow_index=not ours, own=own))


def _of_build(build_id: str, config: Path) -> dict[str, str]:
    from overnight.images.from_build import from_cloud_build, from_local_build

    place = environment(config)
    if place.google is None:
        return from_local_build(place.root_path, build_id)
    return from_cloud_build(place.google.project_id, place.google.region, build_id)


def _release(commit: str, config: Path) -> tuple[Any, str]:
    from overnight.config.names import Names
    from overnight.images.release import read_release

    place = environment(config)
    if place.google is None:
        address = str(place.root_path / "releases")
    else:
        address = f"gs://{Names(environment=place.environment, google=place.google).bucket('models')}/releases"
    return read_release(address, commit), address


def _loose(files: Sequence["YamlFile"], image: str | None) -> list[dict[str, Any]]:
    """What is not pinned in files as they shall be, and, unless one image is meant, what cannot be as it is written."""
    found = []
    for file in files:
        for place in file.found.places:
            if not place.reference.pinned and image in (None, place.reference.name, place.reference.repository):
                said = f"{place.reference} has no digest"
                found.append({"path": str(file.path), "line": place.line, "field": place.field, "problem": said})
        for doubt in file.found.doubts if image is None else ():
            said = doubt.problem.rstrip(".")
            found.append({"path": str(file.path), "line": doubt.line, "field": doubt.field, "problem": said})
    return sorted(found, key=lambda item: (str(item["path"]), int(str(item["line"]))))


def _facts(change: "Change") -> dict[str, Any]:
    return {**asdict(change), "path": str(change.path)}


def _show_check(changes: Sequence["Change"], loose: Sequence[dict[str, Any]], files: int) -> None:
    for change in changes:
        _line(f"{change.path}:{change.line}: {change.field}: {change.before} would become {change.after}.")
    for item in loose:
        _line(_said(item))
    wrong = len(changes) + len(loose)
    result = f"{counted(wrong, 'image', 'images')} to pin" if wrong else "every image is pinned"
    _line(f"{counted(files, 'file', 'files')} checked: {result}.")


def _show(
    before: Sequence["YamlFile"],
    after: Sequence["YamlFile"],
    changes: Sequence["Change"],
    loose: Sequence[dict[str, Any]],
    dry_run: bool,
) -> None:
    from overnight.images import pin_files

    for old, new in zip(before, after, strict=True):
        for line in pin_files.diff(old, new).split("\n")[:-1]:
            typer.secho(line, fg=_colour(line))
    touched = len({change.path for change in changes})
    did = "would be pinned" if dry_run else "pinned"
    where = f" in {counted(touched, 'file', 'files')}" if changes else ""
    typer.echo(f"{counted(len(changes), 'reference', 'references')} {did}{where}.", err=True)
    for item in loose:
        typer.echo(f"Left as it is: {_said(item)}", err=True)


def _said(item: dict[str, Any]) -> str:
    return f"{item['path']}:{item['line']}: {item['field']}: {item['problem']}."


def _line(text: str) -> None:
    console.print(text, markup=False)


def _colour(line: str) -> str | None:
    """As git colours a diff; secho leaves colours out where there is no terminal."""
    if line.startswith(("---", "+++")):
        return None
    return {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
