"""Follow a model back to everything that made it, and check that all of it is still there and unchanged."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from overnight.errors import OvernightError
from overnight.files import read_json
from overnight.lineage.data_audit import shard_set_node, snapshot_node
from overnight.lineage.environment import with_digest
from overnight.lineage.git import git_state, has_commit
from overnight.lineage.record import RUN_FORMAT
from overnight.lineage.trainer_image import image_nodes
from overnight.lineage.tree import Node, digest_problems, flat
from overnight.models.promotions import FILE, Decision, entries
from overnight.models.registry import WEIGHTS, ModelVersion


@dataclass(frozen=True)
class Places:
    """Where an audit looks."""

    root: Path
    """The environment's root."""
    checkout: Path
    """The folder whose git checkout should hold the commits."""


def explain_version(places: Places, version: ModelVersion, deep: bool) -> Node:
    """The tree of a registered model version. With `deep` every tar is read again; otherwise its size must agree."""
    folder = version.folder
    run_file = folder / "run.json"
    problems = (
        *digest_problems(folder / WEIGHTS, version.weights_sha256),
        *digest_problems(run_file, version.run_sha256),
        *_model_json_problems(folder / "model.json", version.weights_sha256),
    )
    facts = (("created", version.created), ("weights sha256", version.weights_sha256))
    run_folder = places.root / "runs" / version.run_id
    run_problems = digest_problems(run_folder / "run.json", version.run_sha256)
    source = run_file if run_problems and not digest_problems(run_file, version.run_sha256) else run_folder / "run.json"
    children = (*_decision_nodes(places, version), _run_node(places, version.run_id, source, run_problems, deep))
    return Node("model version", version.reference, facts, problems, children=children)


def explain_run(places: Places, run_id: str, deep: bool) -> Node:
    """The tree of a run. With `deep` every tar is read again; otherwise its size must agree.

    Raises OvernightError when the run has no record.
    """
    record = places.root / "runs" / run_id / "run.json"
    read_json(record, RUN_FORMAT)
    return _run_node(places, run_id, record, (), deep)


def _decision_nodes(places: Places, version: ModelVersion) -> tuple[Node, ...]:
    """What the promotion log says about the version, with the evidence that each decision of the gate rests on."""
    log = places.root / "models" / version.name / FILE
    try:
        decisions = [
            entry for entry in entries(places.root / "models", version.name) if entry.version == version.version
        ]
    except OvernightError as error:
        return (Node("promotion log", str(log), problems=(error.sentence,)),)
    return tuple(_decision_node(places, entry) for entry in decisions)


def _decision_node(places: Places, entry: Decision) -> Node:
    facts = (("time", entry.time), ("reason", entry.reason))
    evidence = entry.evaluation.get("gate_sha256")
    gate = places.root / "runs" / entry.run_id / "evaluation" / "gate.json"
    problems = digest_problems(gate, str(evidence)) if evidence else ()
    return Node("decision", entry.decision, facts, problems)


def _run_node(places: Places, run_id: str, source: Path, problems: tuple[str, ...], deep: bool) -> Node:
    """The run whose record stands in `source`: the run's folder, or a version's copy where the folder's is damaged."""
    try:
        record = read_json(source, RUN_FORMAT)
    except OvernightError as error:
        return Node("run", run_id, problems=problems or (error.sentence,), notes=("its inputs are named there only",))
    folder = places.root / "runs" / run_id
    facts = (("status", record["status"]), ("started", record["started"]), ("ended", record["ended"]))
    children = (
        *_file_nodes(folder, record),
        _settings_node(record),
        _environment_node(record),
        *image_nodes(folder, record, places.checkout),
        _git_node(places.checkout, record["git"]),
        snapshot_node(places.root, record["snapshot"]),
        shard_set_node(places.root, record["shard_set"], deep),
    )
    return Node("run", run_id, facts, problems, children=children)


def _file_nodes(folder: Path, record: dict[str, Any]) -> tuple[Node, ...]:
    """Specification, configuration, results and weights: all small enough to be read again every time."""
    return tuple(
        Node(
            "file",
            entry["path"],
            (("sha256", entry["sha256"]),),
            digest_problems(folder / entry["path"], entry["sha256"]),
        )
        for entry in record["files"]
    )


def _settings_node(record: dict[str, Any]) -> Node:
    facts = tuple((name, _short(value)) for name, value in flat(record["hyperparameters"] or {}))
    return Node("hyperparameters", f"seed {record['seed']}", facts)


def _environment_node(record: dict[str, Any]) -> Node:
    images = tuple((f"pool {image['pool']}", image["reference"]) for image in record["images"])
    environment = record["environment"]
    facts = (
        *images,
        ("python", environment["python"]),
        ("platform", environment["platform"]),
        ("packages", str(len(environment["packages"]))),
        ("sha256", environment["sha256"]),
    )
    problems: tuple[str, ...] = ()
    if with_digest(environment)["sha256"] != environment["sha256"]:
        problems = ("The list of packages in run.json is not the one that its sha256 was taken of.",)
    notes = ("image registries are not asked here",) if images else ()
    return Node("images" if images else "environment", "what ran", facts, problems, notes)


def _git_node(checkout: Path, recorded: dict[str, Any] | None) -> Node:
    if recorded is None:
        return Node("git commit", "none", notes=("the run was started outside a git checkout",))
    commit = recorded["commit"]
    facts = (("repository", str(recorded["repository"])), ("dirty", str(recorded["dirty"]).lower()))
    notes = ("files differed from the commit when the run started",) if recorded["dirty"] else ()
    here = git_state(checkout)
    if here is None or here.repository != recorded["repository"]:
        return Node("git commit", commit, facts, notes=(*notes, "not checked: this folder is not that repository"))
    if has_commit(checkout, commit):
        return Node("git commit", commit, facts, notes=notes)
    return Node("git commit", commit, facts, (f"Commit {commit} is missing from this checkout.",), notes)


def _model_json_problems(path: Path, weights_sha256: str) -> tuple[str, ...]:
    try:
        claimed = read_json(path, "overnight.model/1")["weights"]["sha256"]
    except OvernightError as error:
        return (error.sentence,)
    if claimed == weights_sha256:
        return ()
    return (f"{path} was altered: it names weights {claimed[:12]}, the version's are {weights_sha256[:12]}.",)


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 80 else f"{text[:79]}…"
