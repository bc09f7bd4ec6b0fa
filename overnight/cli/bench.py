"""`overnight bench`: how fast this machine is with one's own data."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
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

if TYPE_CHECKING:
    from overnight.bench.input import Measurement


def register(app: typer.Typer) -> None:
    """Add the verb group."""
    group = typer.Typer(no_args_is_help=True, help="Measure this machine with your own data.")
    group.callback()(lambda: None)  # a group of one command stays a group
    group.command("input")(input_)
    app.add_typer(group, name="bench")


def input_(
    path: Annotated[
        str, typer.Argument(metavar="SHARDS", help="A folder of tar shards, one tar, or a snapshot's folder.")
    ],
    preset: Annotated[
        str | None, typer.Option("--preset", help="Size and crops of this preset of the trainer, such as night-16.")
    ] = None,
    size: Annotated[
        int | None, typer.Option("--size", min=1, help="Side of a sample in pixels. Default: the preset's, or 224.")
    ] = None,
    rate: Annotated[
        float | None, typer.Option("--rate", help="What the accelerator takes, in images a second.")
    ] = None,
    step_ms: Annotated[
        float | None, typer.Option("--step-ms", help="Or: how long its step takes, with --batch.")
    ] = None,
    batch: Annotated[int | None, typer.Option("--batch", min=1, help="Images of a step on this machine.")] = None,
    threads: Annotated[int | None, typer.Option("--threads", min=1, help="Of the loader. Default: all cores.")] = None,
    seconds: Annotated[float, typer.Option("--seconds", min=1, max=600, help="About how long it may take.")] = 20.0,
    seed: Annotated[int, typer.Option("--seed", help="Which pictures are drawn.")] = 0,
    shards: Annotated[
        str | None,
        typer.Option("--shards", help="For a snapshot: the folder of shard sets. Default: the environment's."),
    ] = None,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: JsonOption = False,
) -> None:
    """Images a second a core, where the time goes, how long an accelerator would wait, and what would help."""
    from overnight.bench.input import measure

    if shards is None and (Path(path) / "manifest.json").is_file() and not list(Path(path).glob("*.tar")):
        shards = str(environment(config).shards_path)
    options = {
        "--preset": preset,
        "--size": size,
        "--rate": rate,
        "--step-ms": step_ms,
        "--batch": batch,
        "--threads": threads,
        "--shards": shards,
        "--seconds": seconds,
        "--seed": seed,
    }
    given = [f"{name}={value}" for name, value in options.items() if value is not None]
    with progress_console.status(f"Measuring for about {seconds:.0f} seconds"):
        found = measure([path, *given])
    if as_json:
        print_json(found.model_dump(mode="json"))
    else:
        _show(found)


def _show(found: "Measurement") -> None:
    from overnight.bench.input import advice

    sample = found.sample
    console.print(
        f"{sample.images:,} images drawn from {sample.shards:,} shards: {sample.mean_bytes / 1000:,.1f} kB and "
        f"{sample.mean_pixels / 1e6:.2f} megapixels each, {sample.bits_per_pixel:.2f} bits a pixel."
    )
    table = Table(show_header=False)
    table.add_row(f"images/s a core, {found.size} pixels", f"{found.images_per_second_core:,.0f}")
    if found.floor_share is not None:
        table.add_row("of it entropy decoding, the floor", f"{found.floor_share:.0%}")
    if found.steps_us is not None:
        shares = found.steps_us.shares()
        table.add_row("where the time goes", ", ".join(f"{name} {share:.0%}" for name, share in shares.items()))
    table.add_row("left to libjpeg", _counted(found.fallback, sample.images))
    table.add_row("cannot be decoded", _counted(found.bad, sample.images))
    table.add_row(f"the loader, {found.loader.threads} threads", f"{found.loader.images_per_second:,.0f} images/s")
    if found.accelerator is not None:
        asked = found.accelerator
        table.add_row(f"waiting, at {asked.images_per_second:,.0f} images/s", f"{asked.exposed_wait:.1%} of the time")
        table.add_row("cores needed for that", f"{asked.cores_needed} (here: {asked.cores_here})")
    console.print(table)
    for sentence in advice(found):
        console.print(sentence)


def _counted(reasons: Mapping[str, int], total: int) -> str:
    if not reasons:
        return "none"
    listed = ", ".join(f"{name} {count:,}" for name, count in reasons.items())
    return f"{sum(reasons.values()) / total:.1%} ({listed})"
