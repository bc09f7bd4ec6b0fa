"""Check a run's data: the snapshot, the dated label table it came from, the shard set with each of its tars."""

from pathlib import Path
from typing import Any

from overnight.errors import OvernightError
from overnight.files import read_json
from overnight.labels.snapshots import CLASSES_FORMAT, SNAPSHOT_FORMAT
from overnight.lineage.content import content_sha256
from overnight.lineage.label_table import table_problems
from overnight.lineage.tree import Node, altered, content_problems, digest_problems, missing
from overnight.shards.manifest import FORMAT as SHARDS_FORMAT


def snapshot_node(root: Path, recorded: dict[str, Any]) -> Node:
    """The snapshot of a run record (`recorded` is its `snapshot` field), with what it was made from."""
    folder = root / recorded["uri"]
    problems = digest_problems(folder / "manifest.json", recorded["sha256"])
    facts = (("sha256", str(recorded["sha256"])),)
    if problems:
        return Node("snapshot", recorded["name"], facts, problems, ("its inputs are named in that manifest only",))
    manifest = read_json(folder / "manifest.json", SNAPSHOT_FORMAT)
    files = [
        problem for entry in manifest["files"] for problem in digest_problems(folder / entry["path"], entry["sha256"])
    ]
    rows = [] if files else [folder / entry["path"] for entry in manifest["files"]]
    classes = _classes(folder)
    return Node(
        "snapshot",
        recorded["name"],
        (*facts, ("created", manifest["created"]), ("rows", f"{manifest['counts']['rows']:,}")),
        (*files, *_loose_files(folder, manifest, rows, classes)),
        children=(_label_table_node(root, manifest, rows, classes), *_before("compared with", folder, manifest)),
    )


def shard_set_node(root: Path, recorded: dict[str, Any], deep: bool) -> Node:
    """The shard set of a run record (`recorded` is its `shard_set` field), with its index and tars."""
    folder = root / recorded["uri"]
    facts = (("sha256", str(recorded["sha256"])),)
    problems = digest_problems(folder / "manifest.json", recorded["sha256"])
    if problems:
        return Node("shard set", recorded["name"], facts, problems, ("its tars are named in that manifest only",))
    manifest = read_json(folder / "manifest.json", SHARDS_FORMAT)
    shards = folder.parent
    tables = [
        Node(
            kind,
            table["path"],
            (("rows", f"{table['rows']:,}"),),
            digest_problems(shards / table["path"], table["sha256"]),
        )
        for kind, table in (("index", manifest["index"]), ("quarantine", manifest["quarantine"]))
    ]
    tars = [
        Node(
            "tar",
            tar["path"],
            (("images", f"{tar['images']:,}"), ("sha256", tar["sha256"])),
            content_problems(shards / tar["path"], tar["size"], tar["sha256"], deep),
        )
        for tar in manifest["shards"]
    ]
    counts = (("images", f"{manifest['images']:,}"), ("tars", str(len(tars))))
    return Node(
        "shard set",
        recorded["name"],
        (*facts, *counts),
        children=(*_before("appended to", folder, manifest), *tables, *tars),
    )


def _before(kind: str, folder: Path, manifest: dict[str, Any]) -> tuple[Node, ...]:
    """The set or snapshot that stood before this one, which its manifest names by digest; none before the first."""
    previous = manifest["previous"]
    if previous is None:
        return ()
    problems = digest_problems(folder.parent / previous["name"] / "manifest.json", previous["sha256"])
    return (Node(kind, previous["name"], (("sha256", previous["sha256"]),), problems),)


def _label_table_node(root: Path, manifest: dict[str, Any], rows: list[Path], classes: list[str]) -> Node:
    """The dated table; `rows` are the snapshot's label files as far as they can be trusted."""
    source = manifest["source"]
    facts = (("database", source["database"]), ("edited table", source["table"]), ("rows", f"{source['rows']:,}"))
    if source["kind"] != "duckdb":
        note = f"tables of kind {source['kind']} are not read here"
        return Node("label table", source["snapshot_table"], facts, notes=(note,))
    problems = table_problems(
        root / source["database"], source["snapshot_table"], source["rows"], rows if classes else [], classes
    )
    return Node("label table", source["snapshot_table"], facts, problems)


def _classes(folder: Path) -> list[str]:
    """The class list, empty where it cannot be read."""
    try:
        return list(read_json(folder / "classes.json", CLASSES_FORMAT)["classes"])
    except OvernightError:
        return []


def _loose_files(folder: Path, manifest: dict[str, Any], rows: list[Path], classes: list[str]) -> tuple[str, ...]:
    """classes.json has no digest of its own: with the rows and the split it makes `content_sha256`."""
    listed = folder / "classes.json"
    absent = tuple(missing(path) for path in (listed, folder / "report.json") if not path.is_file())
    if not listed.is_file() or not rows:
        return absent
    recorded = manifest["content_sha256"]
    found = content_sha256(rows, classes, manifest["split"])
    if found == recorded:
        return absent
    return (*absent, altered(listed, f"content {recorded[:12]}", f"content {found[:12]}"))
