"""Job specs: a YAML file with a Vertex AI CustomJob, field for field, and what Vertex AI does not know."""

from dataclasses import dataclass
from pathlib import Path

from pydantic import Field, ValidationError

from overnight.config import Section
from overnight.files import canonical_json
from overnight.jobs.document import Document, FieldPath, load_document
from overnight.jobs.errors import SpecError
from overnight.jobs.message import Problem, find_problem, suggestion
from overnight.jobs.rules import broken_rules
from overnight.vertex_local.messages import CustomJob, new_custom_job, parse_custom_job, to_json

LATEST = "latest"


class OvernightBlock(Section):
    """What Vertex AI does not know about a job."""

    model: str = Field(pattern=r"^[a-z][a-z0-9_-]{0,62}$")
    """Name in the model registry: lower-case letters, digits, `-` and `_`."""
    snapshot: str = Field(default=LATEST, pattern=r"^(latest|[0-9]{8}-[0-9a-f]{12}(-[0-9]+)?)$")
    """`latest`, or the name of a snapshot."""


@dataclass(frozen=True)
class JobSpec:
    """A job spec as read: the message, our block, and the file it came from."""

    path: Path
    custom_job: CustomJob
    overnight: OvernightBlock


def load(path: Path) -> JobSpec:
    """Read and check a job spec.

    Raises SpecError with the file, the line, the field and the remedy for the first thing that is wrong.
    """
    document = load_document(path)
    known = ["customJob", "overnight"]
    for name in document.data:
        if name not in known:
            raise SpecError("unknown field", where=document.where((name,)), remedy=suggestion(str(name), known))
    for name in known:
        if name not in document.data:
            raise SpecError(f"{name} is missing", where=str(path), remedy="add it, see docs/jobs.md")
    return JobSpec(path, _custom_job(document), _block(document))


def spec_bytes(job: CustomJob) -> bytes:
    """The content of `spec.json`: canonical JSON with the API's names."""
    return canonical_json(to_json(job))


def _custom_job(document: Document) -> CustomJob:
    data = document.data["customJob"]
    problem = find_problem(data, new_custom_job().DESCRIPTOR, ("customJob",))
    problem = problem or next(broken_rules(data), None)
    if problem:
        raise _error(document, problem)
    return parse_custom_job(data)


def _error(document: Document, problem: Problem) -> SpecError:
    return SpecError(problem.message, where=document.where(problem.path), remedy=problem.remedy)


def _block(document: Document) -> OvernightBlock:
    try:
        return OvernightBlock.model_validate(document.data["overnight"])
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
    path: FieldPath = ("overnight", *first["loc"])
    where = document.where(path)
    if first["type"] == "extra_forbidden":
        raise SpecError(
            "unknown field", where=where, remedy=suggestion(str(path[-1]), list(OvernightBlock.model_fields))
        )
    if first["type"] == "missing":
        raise SpecError("this field is missing", where=where, remedy="add it")
    if first["type"] == "model_type":
        raise SpecError("this must be a mapping with model and snapshot", where=where, remedy="see docs/jobs.md")
    hints = {"model": "use lower-case letters, digits, - and _", "snapshot": "write 'latest' or a snapshot's name"}
    raise SpecError(f"{first['input']!r} is not allowed here", where=where, remedy=hints.get(str(path[-1])))
