"""Judge a job spec: everything that is wrong with it, at once, without asking the cloud."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from overnight.jobs.block import Fallback
from overnight.jobs.context import Context
from overnight.jobs.document import Document, FieldPath, load_document
from overnight.jobs.errors import SpecError
from overnight.jobs.findings import Finding
from overnight.jobs.quotas import Quota, quotas_needed
from overnight.jobs.reading import NOT_A_SPEC, Reading, read
from overnight.jobs.rules import CHECKS, CLOUD_CHECKS
from overnight.jobs.rules.fallbacks import FALLBACK_EMPTY, FALLBACK_SAME, PLACE, fallen_back, moved, target
from overnight.jobs.view import JobView


@dataclass(frozen=True)
class Report:
    """What was found in one file."""

    path: Path
    document: Document | None
    findings: tuple[Finding, ...]
    for_the_cloud: bool = False
    region: str | None = None
    quotas: tuple[Quota, ...] = ()

    @property
    def errors(self) -> int:
        """How many findings are errors."""
        return sum(finding.severity == "error" for finding in self.findings)

    @property
    def warnings(self) -> int:
        """How many findings are warnings."""
        return len(self.findings) - self.errors

    def line(self, finding: Finding) -> int | None:
        """The line of a finding's field, or of its nearest parent."""
        return self.document.line(finding.path) if self.document else None


def specs_in(places: Iterable[Path]) -> list[Path]:
    """The files, and the *.yaml files of the folders, in that order; raises SpecError for a folder without any."""
    found: list[Path] = []
    for place in places:
        if not place.is_dir():
            found.append(place)
            continue
        inside = sorted(place.glob("*.yaml"))
        if not inside:
            raise SpecError("there is no *.yaml file here", where=str(place), remedy="give a folder with job specs")
        found.extend(inside)
    return found


def check_file(path: Path, context: Context) -> Report:
    """Judge one file; one that is no spec at all is a finding too."""
    try:
        document = load_document(path)
    except SpecError as error:
        finding = NOT_A_SPEC.at((), error.problem, error.remedy or "see docs/jobs.md")
        return Report(path, None, (finding,))
    return check(document, context)


def check(document: Document, context: Context) -> Report:
    """Judge one document."""
    reading = read(document, context.region)
    job = reading.job
    if job is None:
        return Report(document.path, document, reading.findings)
    later = [finding for finding in _judge(job, reading, context) if not reading.hides(finding)]
    findings = sorted(dict.fromkeys([*reading.findings, *later]), key=lambda finding: document.line(finding.path) or 0)
    quotas = quotas_needed(job) if job.is_for_the_cloud else []
    return Report(document.path, document, tuple(findings), job.is_for_the_cloud, job.region, tuple(quotas))


def broken_here(reading: Reading, context: Context) -> Iterator[Finding]:
    """What is wrong with a job anywhere, on this machine too: the form, and the rules that hold everywhere."""
    yield from reading.findings
    if reading.job is not None:
        for check_one in CHECKS:
            yield from check_one(reading.job, context)


def _judge(job: JobView, reading: Reading, context: Context) -> Iterator[Finding]:
    own = list(_rules(job, context))
    yield from own
    wrong = [finding.path for finding in reading.findings]
    # A fallback is the job with parts replaced: it is judged once the form of both is right.
    if not job.is_for_the_cloud or reading.block is None or any(path[:1] == job.path for path in wrong):
        return
    known = {(finding.rule, finding.path) for finding in own}
    tried = {target(job)}
    for index, fallback in enumerate(reading.block.fallbacks):
        if not any(path[:3] == (*PLACE, index) for path in wrong):
            yield from _judge_fallback(job, fallback, index, context, known, tried)


def _judge_fallback(
    job: JobView,
    fallback: Fallback,
    index: int,
    context: Context,
    known: set[tuple[str, FieldPath]],
    tried: set[tuple[object, ...]],
) -> Iterator[Finding]:
    """What is wrong with a fallback and not with the job itself; notes in `tried` what it would try."""
    place = (*PLACE, index)
    if fallback == Fallback():
        yield FALLBACK_EMPTY.at(place, "this fallback changes nothing", "give region, machineSpec or strategy")
        return
    changed = fallen_back(job, fallback)
    if target(changed) in tried:
        yield FALLBACK_SAME.at(place, "the same was tried before", "change region, machine or strategy")
    tried.add(target(changed))
    seen: set[tuple[str, FieldPath]] = set()
    for finding in _rules(changed, context):
        at_place = moved(finding, changed, index)
        if (finding.rule, finding.path) not in known and (finding.rule, at_place.path) not in seen:
            seen.add((finding.rule, at_place.path))
            yield at_place


def _rules(job: JobView, context: Context) -> Iterator[Finding]:
    for check_one in (*CHECKS, *CLOUD_CHECKS) if job.is_for_the_cloud else CHECKS:
        yield from check_one(job, context)
