"""How snapshots, checks and differences look on a terminal."""

from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from overnight.files import read_json
from overnight.labels.diff import SnapshotDiff
from overnight.labels.report import REPORT_FORMAT
from overnight.labels.snapshots import Snapshot
from overnight.labels.split import SPLITS

_COLOURS = {"pass": "green", "warn": "yellow", "fail": "red"}


def print_checks(console: Console, report: dict[str, Any]) -> None:
    """One line a check, with examples under those that did not pass."""
    table = Table("check", "", "what was found", box=None, pad_edge=False)
    for check in report["checks"]:
        colour = _COLOURS[check["verdict"]]
        lines = [escape(check["message"])]
        if check["verdict"] != "pass" and check["examples"]:
            lines.append(f"[dim]such as {escape('; '.join(check['examples']))}[/dim]")
        table.add_row(check["name"], f"[{colour}]{check['verdict']}[/{colour}]", "\n".join(lines))
    console.print(table)


def print_snapshot(console: Console, snapshot: Snapshot) -> None:
    """Where it comes from, its classes and splits, its checks."""
    manifest = snapshot.manifest
    facts = Table(box=None, show_header=False, pad_edge=False)
    previous = manifest["previous"]
    for name, value in (
        ("snapshot", snapshot.name),
        ("created", manifest["created"]),
        ("rows", f"{snapshot.rows:,}"),
        ("labels", f"{manifest['source']['database']}, table {manifest['source']['snapshot_table']}"),
        ("shard set", manifest["shard_set"]["name"]),
        ("previous", previous["name"] if previous else "none: the first"),
        ("digest", snapshot.sha256),
        ("folder", str(snapshot.folder)),
    ):
        facts.add_row(f"[bold]{name}[/bold]", escape(value))
    console.print(facts)
    classes = Table("class", *SPLITS, "all", box=None, pad_edge=False)
    for column in classes.columns[1:]:
        column.justify = "right"
    for name, splits in manifest["counts"]["classes"].items():
        numbers = [splits[split] for split in SPLITS]
        classes.add_row(escape(name), *(f"{number:,}" for number in (*numbers, sum(numbers))))
    console.print()
    console.print(classes)
    console.print()
    print_checks(console, read_json(snapshot.folder / "report.json", REPORT_FORMAT))


def print_list(console: Console, snapshots: list[Snapshot]) -> None:
    """One line a snapshot."""
    if not snapshots:
        console.print("There is no snapshot yet; `overnight snapshot create` makes one.")
        return
    table = Table("snapshot", "created", "rows", "shard set", box=None, pad_edge=False)
    table.columns[2].justify = "right"
    for item in snapshots:
        table.add_row(item.name, item.manifest["created"], f"{item.rows:,}", item.shard_set)
    console.print(table)


def print_diff(console: Console, diff: SnapshotDiff) -> None:
    """Counts with a few keys each, then classes and label changes."""
    console.print(f"From {diff.before} to {diff.after}")
    table = Table("", "keys", "such as", box=None, pad_edge=False)
    table.columns[1].justify = "right"
    for name, count, kind in (
        ("rows added", diff.added, "added"),
        ("rows removed", diff.removed, "removed"),
        ("labels changed", diff.relabelled, "relabelled"),
        ("images changed", diff.changed_images, "changed_images"),
        ("groups changed", diff.regrouped, "regrouped"),
        ("moved to another split", diff.moved, "moved"),
    ):
        table.add_row(name, f"{count:,}", escape(", ".join(diff.examples[kind][:3])))
    console.print(table)
    classes = Table("class", "before", "after", "change", box=None, pad_edge=False)
    for column in classes.columns[1:]:
        column.justify = "right"
    for item in diff.classes:
        classes.add_row(escape(item.name), f"{item.before:,}", f"{item.after:,}", f"{item.after - item.before:+,}")
    console.print()
    console.print(classes)
    if diff.label_changes:
        changes = Table("from", "to", "keys", box=None, pad_edge=False)
        changes.columns[2].justify = "right"
        for change in diff.label_changes:
            changes.add_row(escape(change.old), escape(change.new), f"{change.keys:,}")
        console.print()
        console.print(changes)
