"""`overnight snapshot`: validate labels, make immutable snapshots, compare them."""

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from overnight.cli.context import (
    DEFAULT_CONFIG,
    ConfigOption,
    JsonOption,
    NowOption,
    console,
    environment,
    moment,
    print_json,
    progress_console,
)

if TYPE_CHECKING:
    from datetime import datetime

    from overnight.config import Environment
    from overnight.labels.validation import Inputs

ShardsOption = Annotated[str, typer.Option("--shards", help="The shard set's name.", show_default=True)]
NameArgument = Annotated[str, typer.Argument(help="A snapshot's name, or `latest`.")]

snapshot = typer.Typer(name="snapshot", help="Validate labels and keep immutable snapshots.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.add_typer(snapshot)


@snapshot.command()
def create(
    shards: ShardsOption = "latest",
    config: ConfigOption = DEFAULT_CONFIG,
    now: NowOption = None,
    as_json: JsonOption = False,
) -> None:
    """Validate the label table and, when every check passes, make a snapshot. Exit code 3: rejected."""
    from overnight.cli.snapshot_tables import print_checks
    from overnight.labels.create import create_snapshot, holding_snapshots
    from overnight.labels.errors import SnapshotRejected

    place = environment(config)
    with holding_snapshots(place.snapshots_path):
        inputs = _inputs(place, shards, moment(now))
        try:
            with progress_console.status("Validating") as status:
                made = create_snapshot(inputs, place, status.update)
        except SnapshotRejected as error:
            if as_json:
                print_json(error.content)
            else:
                print_checks(console, error.content)
            raise
    if as_json:
        print_json({"name": made.snapshot.name, "reused": made.reused, "folder": str(made.snapshot.folder)})
        return
    if made.reused:
        console.print("Nothing changed since the last snapshot; it is used again:")
    else:
        print_checks(console, made.validation.report)
    console.print(made.snapshot.name)


@snapshot.command()
def validate(
    shards: ShardsOption = "latest",
    config: ConfigOption = DEFAULT_CONFIG,
    now: NowOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what `create` would find, and write nothing. Exit code 3: it would be rejected."""
    from overnight.cli.snapshot_tables import print_checks
    from overnight.labels.create import rejection, validate_labels

    place = environment(config)
    inputs = _inputs(place, shards, moment(now))
    with progress_console.status("Validating") as status:
        validation = validate_labels(inputs, place, status.update)
    if as_json:
        print_json(validation.report)
    else:
        print_checks(console, validation.report)
    if validation.failed:
        raise rejection(validation, inputs, None)


@snapshot.command()
def diff(
    before: NameArgument,
    after: NameArgument = "latest",
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: JsonOption = False,
) -> None:
    """Show what differs between two snapshots: labels, rows, classes, images, groups."""
    from overnight.cli.snapshot_tables import print_diff
    from overnight.labels.diff import diff_snapshots
    from overnight.labels.snapshots import find_snapshot

    folder = environment(config).snapshots_path
    with tempfile.TemporaryDirectory(prefix="overnight-") as scratch:
        found = diff_snapshots(find_snapshot(folder, before), find_snapshot(folder, after), Path(scratch))
    if as_json:
        print_json(found.as_json())
    else:
        print_diff(console, found)


@snapshot.command()
def show(name: NameArgument = "latest", config: ConfigOption = DEFAULT_CONFIG, as_json: JsonOption = False) -> None:
    """Show a snapshot: where it comes from, its classes and splits, its checks."""
    from overnight.cli.snapshot_tables import print_snapshot
    from overnight.labels.snapshots import find_snapshot

    found = find_snapshot(environment(config).snapshots_path, name)
    if as_json:
        print_json({**found.manifest, "sha256": found.sha256, "folder": str(found.folder)})
    else:
        print_snapshot(console, found)


@snapshot.command(name="list")
def list_(config: ConfigOption = DEFAULT_CONFIG, as_json: JsonOption = False) -> None:
    """List the accepted snapshots, oldest first."""
    from overnight.cli.snapshot_tables import print_list
    from overnight.labels.snapshots import list_snapshots

    found = list_snapshots(environment(config).snapshots_path)
    if as_json:
        print_json([{"name": item.name, "created": item.manifest["created"], "rows": item.rows} for item in found])
    else:
        print_list(console, found)


def _inputs(place: "Environment", shards: str, now: "datetime") -> "Inputs":
    from overnight.labels.duckdb_source import DuckDBLabelSource
    from overnight.labels.snapshots import newest_snapshot
    from overnight.labels.validation import Inputs
    from overnight.shards.shardset import load

    return Inputs(
        source=DuckDBLabelSource(place.database_path, place.labels.table),
        shard_set=load(place.shards_path, shards),
        previous=newest_snapshot(place.snapshots_path),
        now=now,
    )
