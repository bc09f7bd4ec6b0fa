"""A pipeline as it is written here: parameters, and steps that are commands of `overnight`."""

from collections.abc import Mapping
from dataclasses import dataclass, field

CREATED = "{{$.pipeline_job_create_time_utc}}"
"""When the run was created (kfp.dsl's PIPELINE_JOB_CREATE_TIME_UTC_PLACEHOLDER): one time for all its steps, so that a
step that is tried again writes what it wrote before."""


@dataclass(frozen=True)
class Parameter:
    """An input of the whole pipeline. Text only: schedules made by Terraform carry nothing else (docs/infra.md)."""

    name: str
    description: str
    default: str | None = None
    """None: whoever starts a run must give it."""


@dataclass(frozen=True)
class Output:
    """A field of the JSON that a step's command prints."""

    step: str
    field: str


@dataclass(frozen=True)
class Step:
    """One command, in a container of its own."""

    name: str
    image: str
    """The name in images/."""
    arguments: tuple[str, ...]
    """What stands behind `overnight`."""
    outputs: tuple[str, ...] = ()
    """Fields of the command's JSON that other steps, and people who look at the run, can read."""
    takes: Mapping[str, Output] = field(default_factory=dict)
    """Inputs that are outputs of other steps; all other inputs are the pipeline's parameters of the same name."""
    after: tuple[str, ...] = ()
    """Steps that must have succeeded before."""


@dataclass(frozen=True)
class Template:
    """A pipeline."""

    name: str
    description: str
    parameters: tuple[Parameter, ...]
    steps: tuple[Step, ...]

    @property
    def images(self) -> tuple[str, ...]:
        """The names of all images that its steps run in."""
        return tuple(sorted({step.image for step in self.steps}))


def given(name: str) -> str:
    """The place in an argument where a step's input goes."""
    return f"{{{{$.inputs.parameters['{name}']}}}}"
