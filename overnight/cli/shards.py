"""`overnight shards`: build, append, verify, show, list."""

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import Progress
from rich.table import Table

from overnight.cli.context import (
    DEFAULT_CONFIG,
    ConfigOption,
    JsonOption,
    console,
    environment,
    print_json,
    progress_console,
)
from overnight.config import Environment
from overnight.wording import counted

if TYPE_CHECKING:
    from overnight.shards.build import Order, WriteShards
    from overnight.shards.manifest import Manifest
    from overnight.shards.shardset import ShardSet

LOCAL_RUNNER = "DirectRunner"
WorkersOption = Annotated[int, typer.Option("--workers", min=1, max=64, help="Processes on this machine.")]
RunnerOption = Annotated[
    str, typer.Option("--runner", help="Beam's runner: DirectRunner (this machine), DataflowRunner, …")
]
BeamOption = Annotated[
    list[str] | None,
    typer.Option("--beam-option", help="NAME=VALUE for another runner, such as project=my-project; may be repeated."),
]
FolderOption = Annotated[
    str | None,
    typer.Option("--folder", help="The shards folder, also gs://…; default: `shards` in the environment's root."),
]
NameArgument = Annotated[str, typer.Argument(help="A shard set, such as 0001, or latest.")]


def register(app: typer.Typer) -> None:
    """Add the verb group."""
    group = typer.Typer(no_args_is_help=True, help="Turn catalogued images into shards, checked and immutable.")
    group.command("build")(build)
    group.command("append")(append)
    group.command("verify")(verify)
    group.command("show")(show)
    group.command("list")(list_sets)
    app.add_typer(group, name="shards")


def build(
    anew: Annotated[
        bool, typer.Option("--anew", help="Write every image again into the next set, beside the earlier ones.")
    ] = False,
    workers: WorkersOption = 1,
    runner: RunnerOption = LOCAL_RUNNER,
    beam_option: BeamOption = None,
    folder: FolderOption = None,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: JsonOption = False,
) -> None:
    """Make the first shard set of all catalogued images."""
    from overnight.shards import build as building

    settings = environment(config)
    make = building.build_anew if anew else building.build
    with _writer(workers, runner, beam_option) as write:
        made = make(_order(settings, folder), write)
    _report(made, as_json)


def append(
    workers: WorkersOption = 1,
    runner: RunnerOption = LOCAL_RUNNER,
    beam_option: BeamOption = None,
    folder: FolderOption = None,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: JsonOption = False,
) -> None:
    """Make the next shard set: the newest one, and shards with the images that are new or changed."""
    from overnight.shards import build as building
    from overnight.shards.errors import NothingToAdd
    from overnight.shards.shardset import load

    settings = environment(config)
    order = _order(settings, folder)
    try:
        with _writer(workers, runner, beam_option) as write:
            made = building.append(order, write)
    except NothingToAdd:
        made = load(order.folder)
        if not as_json:
            console.print(f"Nothing to add: shard set {made.name} holds every image of the catalogue.")
            return
    _report(made, as_json)


def verify(
    name: NameArgument = "latest",
    quick: Annotated[bool, typer.Option("--quick", help="Sizes and tables only; read no shard.")] = False,
    folder: FolderOption = None,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: JsonOption = False,
) -> None:
    """Check a shard set: every file, every image, and the sets it was appended to."""
    from overnight.shards import verify as verifying
    from overnight.shards.shardset import load

    shards = load(_folder(environment(config), folder), name)
    with _progress("Reading shards", len(shards.manifest.shards)) as advance:
        problems = verifying.quick(shards) if quick else verifying.full(shards, advance)
    if as_json:
        found = [{"where": problem.where, "what": problem.what} for problem in problems]
        print_json({"name": shards.name, "sha256": shards.sha256, "problems": found})
    else:
        for problem in problems[1:20]:
            progress_console.print(f"{problem.where}: {problem.what}")
    verifying.raise_for(shards, problems)
    if not as_json:
        total = shards.manifest
        console.print(f"Shard set {shards.name} is ok: {_extent(total)}.")


def show(
    name: NameArgument = "latest",
    folder: FolderOption = None,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: JsonOption = False,
) -> None:
    """Show what a shard set holds, and why images were converted or left out."""
    from overnight.shards.shardset import load

    _report(load(_folder(environment(config), folder), name), as_json)


def list_sets(folder: FolderOption = None, config: ConfigOption = DEFAULT_CONFIG, as_json: JsonOption = False) -> None:
    """List the shard sets, oldest first."""
    from overnight.shards.shardset import load, names

    place = _folder(environment(config), folder)
    sets = [load(place, name) for name in names(place)]
    if as_json:
        print_json([_facts(shards) for shards in sets])
        return
    table = Table("set", "shards", "images", "bytes", "quarantined", "digest")
    for shards in sets:
        total = shards.manifest
        numbers = (len(total.shards), total.images, total.bytes, total.quarantine.rows)
        table.add_row(shards.name, *(f"{number:,}" for number in numbers), shards.sha256[:12])
    console.print(table)


def _folder(settings: Environment, folder: str | None) -> str:
    return folder.rstrip("/") if folder else str(settings.shards_path)


def _order(settings: Environment, folder: str | None) -> "Order":
    from overnight.shards.build import Order
    from overnight.shards.manifest import Settings

    chosen = Settings(**settings.shards.model_dump())
    return Order(catalogue=settings.catalog_path, folder=_folder(settings, folder), settings=chosen)


@contextmanager
def _writer(workers: int, runner: str, beam_options: list[str] | None) -> "Iterator[WriteShards]":
    """The pipeline with its options, and a progress bar while it writes on this machine."""
    from overnight.shards import pipeline
    from overnight.shards.progress import watched

    if runner == LOCAL_RUNNER:
        with Progress(console=progress_console, transient=True, disable=not progress_console.is_terminal) as bar:
            yield watched(functools.partial(pipeline.run_here, workers=workers), bar)
        return
    passed = [f"--{option.lstrip('-')}" for option in beam_options or []]
    yield functools.partial(pipeline.run_elsewhere, options=[f"--runner={runner}", *passed])


@contextmanager
def _progress(title: str, total: int) -> Iterator[Callable[[], None]]:
    with Progress(console=progress_console, transient=True, disable=not progress_console.is_terminal) as bar:
        task = bar.add_task(title, total=total)
        yield lambda: bar.advance(task)


def _facts(shards: "ShardSet") -> dict[str, object]:
    total = shards.manifest
    return {
        "name": shards.name,
        "sha256": shards.sha256,
        "shards": len(total.shards),
        "images": total.images,
        "bytes": total.bytes,
        "quarantined": total.quarantine.rows,
        "previous": total.previous.name if total.previous else None,
    }


def _extent(total: "Manifest") -> str:
    """`3,391 images in 8 shards`."""
    return f"{counted(total.images, 'image', 'images')} in {counted(len(total.shards), 'shard', 'shards')}"


def _report(shards: "ShardSet", as_json: bool) -> None:
    from overnight.shards.summary import summarize

    found = summarize(shards)
    if as_json:
        print_json({**_facts(shards), "converted": found.converted, "quarantine": found.quarantined})
        return
    total = shards.manifest
    console.print(f"Shard set {shards.name}: {_extent(total)}, {total.bytes:,} bytes; digest {shards.sha256[:12]}.")
    for reasons, what in ((found.converted, "Converted"), (found.quarantined, "Quarantined")):
        if reasons:
            listed = ", ".join(f"{name} {count:,}" for name, count in reasons.items())
            console.print(f"{what}: {listed}.")
    for example in found.examples:
        console.print(f"  {example}")
