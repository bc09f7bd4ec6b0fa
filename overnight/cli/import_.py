"""`overnight import`: images and their labels, from a folder of class folders or a table."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
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

if TYPE_CHECKING:
    from overnight.catalog.importing import Imported


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("import")(import_images)


def import_images(
    path: Annotated[str, typer.Argument(help="A folder of class folders, or a CSV or Parquet of path, label, group.")],
    images: Annotated[
        str | None, typer.Option("--images", help="Where a table's relative paths start. Default: its own folder.")
    ] = None,
    group_pattern: Annotated[
        str | None,
        typer.Option(
            "--group-pattern",
            help="A regular expression on each path, relative to the folder: what its parenthesis matches is the "
            "group. Images of one group never stand on both sides of a split.",
        ),
    ] = None,
    overwrite_labels: Annotated[
        bool, typer.Option("--overwrite-labels", help="Imported labels replace those in the label table.")
    ] = False,
    prune: Annotated[
        bool, typer.Option("--prune", help="Images that this import does not find leave the catalogue.")
    ] = False,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: JsonOption = False,
) -> None:
    """Catalogue images and enter their labels; again for new and changed images."""
    from overnight.catalog.found import find, with_groups
    from overnight.catalog.importing import merge_images, replace_images
    from overnight.labels.duckdb_source import DuckDBLabelSource

    settings = environment(config)
    finding = find(path, images)
    if group_pattern is not None:
        finding = with_groups(finding, group_pattern)
    source = DuckDBLabelSource(settings.database_path, settings.labels.table)
    bring_in = replace_images if prune else merge_images
    merge_labels = source.create_or_overwrite if overwrite_labels else source.create_or_merge
    with _progress(len(finding.images)) as progress:
        task = progress.add_task("Reading images", total=len(finding.images))
        imported = bring_in(finding, settings.catalog_path, source, merge_labels, lambda: progress.advance(task))
    if as_json:
        print_json(asdict(imported))
    else:
        _print(imported)


@contextmanager
def _progress(total: int) -> Iterator[Progress]:
    shown = progress_console.is_terminal and total > 1000
    with Progress(console=progress_console, transient=True, disable=not shown) as progress:
        yield progress


def _print(imported: "Imported") -> None:
    table = Table("class", "images")
    table.columns[1].justify = "right"
    for name, count in imported.classes.items():
        table.add_row(name, f"{count:,}")
    table.add_section()
    table.add_row("all", f"{sum(imported.classes.values()):,}")
    console.print(table)
    console.print(
        f"Images: {imported.added:,} new, {imported.changed:,} changed, {imported.unchanged:,} unchanged, "
        f"{imported.removed:,} removed; {imported.catalogued:,} in the catalogue."
    )
    labels = imported.labels
    console.print(f"Labels: {labels.inserted:,} new, {labels.updated:,} changed, {labels.kept:,} kept as they were.")
    if imported.left_out:
        names = ", ".join(imported.left_out[:3]) + (", …" if len(imported.left_out) > 3 else "")
        console.print(f"Left out, in no class folder: {len(imported.left_out):,} ({names}).")
