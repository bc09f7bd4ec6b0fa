"""From a document to a job that can be judged: its form checked, wrong parts left out and reported."""

from dataclasses import dataclass
from typing import Any

from overnight.jobs.block import OvernightBlock, read_block
from overnight.jobs.document import Document, FieldPath
from overnight.jobs.findings import Finding, error
from overnight.jobs.message import UNKNOWN_FIELD, check_form, suggestion
from overnight.jobs.traps import taught
from overnight.jobs.view import KINDS, JobView, Kind

NOT_A_SPEC = error("not-a-spec", "The file is YAML, and a mapping of fields.", "docs/jobs.md")
JOB_KIND = error(
    "job-kind",
    "A spec holds exactly one of customJob and hyperparameterTuningJob.",
    "docs/jobs.md; kuds/mesozoic-labs#108",
)
BLOCK_MISSING = error("overnight-missing", "A spec has an overnight block.", "docs/jobs.md")


@dataclass(frozen=True)
class Reading:
    """What a document holds."""

    job: JobView | None
    """The job without its wrong parts; None when there is none."""
    block: OvernightBlock | None
    findings: tuple[Finding, ...]
    """What is wrong with the form, in file order."""

    def hides(self, finding: Finding) -> bool:
        """Whether a finding may only follow from what was left out: around, beside or under it."""
        return any(
            finding.path == wrong.path[: len(finding.path)]
            or wrong.path == finding.path[: len(wrong.path)]
            or (len(wrong.path) > 1 and finding.path[:-1] == wrong.path[:-1])
            for wrong in self.findings
            if wrong.path
        )


def read(document: Document, region: str | None = None) -> Reading:
    """The job of a document; `region` is where it runs when the spec does not say so."""
    data = document.data
    findings = _top(data)
    kind: Kind | None = next((name for name in KINDS if name in data), None)
    message: Any = None
    if kind is not None:
        form = check_form(data[kind], descriptor_of(kind), (kind,))
        findings += [taught(finding, data) for finding in form.findings]
        message = form.data
    block = None
    if "overnight" in data:
        found = read_block(data["overnight"])
        findings += [taught(finding, data) for finding in found.findings]
        block = found.block
        if block is not None:
            findings += _fallback_machines(block, data)
    if kind is None:
        return Reading(None, block, tuple(findings))
    job = JobView(
        kind=kind,
        data=message,
        default_region=region,
        named_region=block.region if block else None,
        deadline_seconds=block.deadline_seconds if block else None,
        subsample=block.subsample if block else None,
    )
    return Reading(job, block, tuple(findings))


def descriptor_of(kind: str) -> Any:
    """The protobuf descriptor of a job's kind. Importing the client costs about a second, so it happens here."""
    from google.cloud import aiplatform_v1

    types: dict[str, Any] = {
        "customJob": aiplatform_v1.CustomJob,
        "hyperparameterTuningJob": aiplatform_v1.HyperparameterTuningJob,
        "machineSpec": aiplatform_v1.MachineSpec,
    }
    return types[kind].pb()().DESCRIPTOR


def _top(data: dict[str, Any]) -> list[Finding]:
    known = [*KINDS, "overnight"]
    found: list[Finding] = []
    for name in data:
        if name not in known:
            found.append(UNKNOWN_FIELD.at((str(name),), "unknown field", suggestion(str(name), known)))
    given = [kind for kind in KINDS if kind in data]
    if not given:
        # A misspelt name is told by itself.
        if not any("ob" in str(finding.path[0]) for finding in found):
            found.append(JOB_KIND.at((), "customJob is missing", "add it, see docs/jobs.md"))
    elif len(given) > 1:
        said = "customJob and hyperparameterTuningJob exclude each other"
        found.append(JOB_KIND.at((given[1],), said, "keep one: a tuned job stands in trialJobSpec"))
    if "overnight" not in data and not found:
        found.append(BLOCK_MISSING.at((), "overnight is missing", "add it, see docs/jobs.md"))
    return found


def _fallback_machines(block: OvernightBlock, data: dict[str, Any]) -> list[Finding]:
    found: list[Finding] = []
    for index, fallback in enumerate(block.fallbacks):
        if fallback.machine_spec is not None:
            path: FieldPath = ("overnight", "fallbacks", index, "machineSpec")
            form = check_form(fallback.machine_spec, descriptor_of("machineSpec"), path)
            found += [taught(finding, data) for finding in form.findings]
    return found
