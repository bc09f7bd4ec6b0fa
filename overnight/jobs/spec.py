"""Job specs: a YAML file with a Vertex AI CustomJob, field for field, and what Vertex AI does not know."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from overnight.files import canonical_json
from overnight.jobs.block import LATEST, OvernightBlock
from overnight.jobs.check import broken_here
from overnight.jobs.context import Context
from overnight.jobs.document import load_document
from overnight.jobs.errors import SpecError
from overnight.jobs.reading import read
from overnight.vertex_local.messages import CustomJob, parse_custom_job, to_json

__all__ = ["LATEST", "JobSpec", "OvernightBlock", "load", "spec_bytes"]


@dataclass(frozen=True)
class JobSpec:
    """A job spec as read: the message, our block, and the file it came from."""

    path: Path
    custom_job: CustomJob
    overnight: OvernightBlock


def load(path: Path) -> JobSpec:
    """Read a job spec, checked as far as every machine needs it; `overnight job check` says the rest.

    Raises SpecError with the file, the line, the field and the remedy for the first error, and for a spec that is
    not a customJob.
    """
    document = load_document(path)
    reading = read(document)
    context = Context(today=datetime.now(UTC).date())
    for finding in broken_here(reading, context):
        if finding.severity == "error":
            raise SpecError(finding.message, where=document.where(finding.path), remedy=finding.remedy)
    if reading.job is None or reading.block is None or reading.job.kind != "customJob":
        raise SpecError(
            "a tuning job has many trials, and this runs one job",
            where=document.where(("hyperparameterTuningJob",)),
            remedy="give a spec with customJob",
        )
    return JobSpec(path, parse_custom_job(document.data["customJob"]), reading.block)


def spec_bytes(job: CustomJob) -> bytes:
    """The content of `spec.json`: canonical JSON with the API's names."""
    return canonical_json(to_json(job))
