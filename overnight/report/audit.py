"""What made this model: everything needed to ask later, or to make it again."""

import json
from dataclasses import dataclass
from typing import Any

from overnight.report.sources import Json, Sources
from overnight.wording import UNKNOWN, memory


@dataclass(frozen=True)
class Fact:
    """A name and its value; digests are set in a fixed-width face."""

    name: str
    value: str
    digest: bool = False


@dataclass(frozen=True)
class Audit:
    """The run record, in groups."""

    facts: tuple[Fact, ...]
    hyperparameters: tuple[Fact, ...]
    versions: tuple[Fact, ...]
    files: tuple[Fact, ...]


def build_audit(sources: Sources) -> Audit:
    """From run.json; what a failed run does not know stays a dash."""
    run = sources.run
    return Audit(
        facts=tuple(_facts(run, sources.result)),
        hyperparameters=tuple(Fact(name, _plain(value)) for name, value in _flat(run["hyperparameters"] or {})),
        versions=tuple(Fact(name, str(value)) for name, value in sorted((run.get("versions") or {}).items())),
        files=tuple(Fact(entry["path"], entry["sha256"], digest=True) for entry in run["files"]),
    )


def _facts(run: Json, result: Json | None) -> list[Fact]:
    table = run["label_table"]
    facts = [
        Fact("run", run["run_id"], digest=True),
        Fact("status", f"{run['status']}, {run['started']} to {run['ended']}"),
        Fact("job", f"{run['job']['display_name']} ({run['job']['spec_path']})"),
        Fact("job spec", run["job"]["spec_sha256"], digest=True),
        Fact("git commit", _commit(run["git"]), digest=True),
        Fact("snapshot", _named(run["snapshot"]), digest=True),
        Fact("shard set", _named(run["shard_set"]), digest=True),
        Fact("label table", f"{table['database']}, {table['snapshot_table'] or table['table']} ({table['kind']})"),
        *(Fact(f"image of pool {image['pool']}", image["reference"], digest=True) for image in run["images"]),
        Fact("image of the trainer", _trainer_image(run.get("trainer_image")), digest=True),
        Fact("environment", _environment(run), digest=True),
        Fact("weights", run["weights_sha256"] or UNKNOWN, digest=True),
        Fact("seed", _plain(run["seed"])),
        Fact("machine", _machine(run["machine"])),
        Fact("cost", f"{run['cost']['amount']:,.2f} {run['cost']['currency']} ({run['cost']['basis']})"),
    ]
    if result is not None:
        facts.append(Fact("restarts", str(result["restarts"])))
    return facts


def _commit(git: Json | None) -> str:
    if git is None:
        return "outside a checkout"
    return f"{git['commit']}{', with uncommitted changes' if git['dirty'] else ''}"


def _trainer_image(image: Json | None) -> str:
    """What the trainer itself said it ran in."""
    if image is None:
        return "none: processes of this machine"
    built = f", built of {image['revision']}" if image.get("revision") else ""
    return f"{image['reference'] or image['name'] or UNKNOWN}{built}"


def _named(entry: Json) -> str:
    return f"{entry['name']}  {entry['sha256']}"


def _environment(run: Json) -> str:
    environment = run.get("environment")
    if not environment:
        return UNKNOWN
    return f"Python {environment['python']}, {len(environment['packages'])} packages  {environment['sha256']}"


def _machine(machine: Json | None) -> str:
    if not machine:
        return UNKNOWN
    accelerator = machine.get("accelerator") or "no accelerator"
    return f"{machine['cpu']}, {machine['cores']} cores, {memory(machine['memory_bytes'])}, {accelerator}"


def _flat(values: Json, before: str = "") -> list[tuple[str, Any]]:
    """Names and values by name; a field of a section is `section.field`."""
    flat: list[tuple[str, Any]] = []
    for name, value in sorted(values.items()):
        flat += _flat(value, f"{before}{name}.") if isinstance(value, dict) and value else [(before + name, value)]
    return flat


def _plain(value: Any) -> str:
    if value is None:
        return UNKNOWN
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
