"""The `overnight:` block of a job spec: what Vertex AI does not know about a job."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from overnight.config import Section
from overnight.jobs.document import FieldPath
from overnight.jobs.findings import Finding, error
from overnight.jobs.message import shown, suggestion

BLOCK = error(
    "overnight-block",
    "The overnight block has a model, and only fields and values that docs/jobs.md lists.",
    "docs/jobs.md",
)
LATEST = "latest"
_DEADLINE = re.compile(r"PT(?:(\d{1,4})H)?(?:(\d{1,4})M)?")

Strategy = Literal["STANDARD", "SPOT", "FLEX_START"]


class Fallback(Section):
    """What to try when the job's own machines are not to be had: the job with these parts replaced."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    region: str | None = None
    """Another region."""
    machine_spec: dict[str, Any] | None = Field(default=None, alias="machineSpec")
    """A whole MachineSpec, in place of the one of pool 0 wherever it stands."""
    strategy: Strategy | None = None
    """Another scheduling strategy."""
    max_wait_duration: Annotated[str, Field(pattern=r"^[0-9]{1,9}s$")] | None = Field(
        default=None, alias="maxWaitDuration"
    )
    """How long to wait for machines with FLEX_START, in seconds with an s."""


class OvernightBlock(Section):
    """What Vertex AI does not know about a job."""

    model: str = Field(pattern=r"^[a-z][a-z0-9_-]{0,62}$")
    """Name in the model registry: lower-case letters, digits, `-` and `_`."""
    snapshot: str = Field(default=LATEST, pattern=r"^(latest|[0-9]{8}-[0-9a-f]{12}(-[0-9]+)?)$")
    """`latest`, or the name of a snapshot."""
    region: str | None = None
    """Where the job runs; the environment's region when absent."""
    deadline: Annotated[str, Field(pattern=r"^PT([1-9][0-9]{0,3}H([0-9]{1,2}M)?|[1-9][0-9]{0,3}M)$")] | None = None
    """From the start of the night until the model must be there: an ISO 8601 duration in hours and minutes."""
    subsample: Annotated[float, Field(gt=0, le=1)] | None = None
    """Share of the training groups that each trial of a tuning job sees; a stratified sample, the same for all."""
    fallbacks: list[Fallback] = Field(default_factory=list)
    """Tried in this order."""

    @property
    def deadline_seconds(self) -> int | None:
        """The deadline in seconds."""
        match = _DEADLINE.fullmatch(self.deadline) if self.deadline else None
        return 3600 * int(match[1] or 0) + 60 * int(match[2] or 0) if match else None


@dataclass(frozen=True)
class ReadBlock:
    """The block, or why there is none."""

    block: OvernightBlock | None
    findings: tuple[Finding, ...]


def read_block(data: Any) -> ReadBlock:
    """The block of its plain data; every field that is wrong is a finding."""
    try:
        return ReadBlock(OvernightBlock.model_validate(data), ())
    except ValidationError as failed:
        # A union reports each of its branches: one finding a place is enough.
        found = {finding.path: finding for finding in reversed(list(_findings(failed)))}
        return ReadBlock(None, tuple(reversed(found.values())))


_REMEDIES = {
    "model": "use lower-case letters, digits, - and _",
    "snapshot": "write 'latest' or a snapshot's name",
    "deadline": "write hours and minutes as PT12H or PT11H30M",
    "strategy": "write STANDARD, SPOT or FLEX_START",
    "subsample": "write a share such as 0.125",
    "maxWaitDuration": "write seconds with an s, such as '3600s'",
    "region": "write a region such as us-central1",
    "fallbacks": "begin each one with '- '",
    "machineSpec": "write machineType, acceleratorType and acceleratorCount",
}


def _findings(failed: ValidationError) -> Iterator[Finding]:
    for problem in failed.errors(include_url=False):
        location: FieldPath = ("overnight", *problem["loc"])
        kind, field = problem["type"], str(location[-1])
        if kind == "extra_forbidden":
            known = _fields(Fallback if "fallbacks" in location else OvernightBlock)
            yield BLOCK.at(location, "unknown field", suggestion(field, known))
        elif kind == "missing":
            yield BLOCK.at(location, "this field is missing", "add it")
        elif kind == "model_type" and len(location) == 1:
            yield BLOCK.at(location, "this must be a mapping with model and snapshot", "see docs/jobs.md")
        else:
            said = f"{shown(problem['input'])} is not allowed here"
            yield BLOCK.at(location, said, _REMEDIES.get(field, "see docs/jobs.md"))


def _fields(model: type[BaseModel]) -> list[str]:
    return [info.alias or name for name, info in model.model_fields.items()]
