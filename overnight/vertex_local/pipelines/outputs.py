"""What a task's container has left behind: parameters and artifacts, from files."""

import json
from collections.abc import Mapping
from pathlib import Path

from overnight.vertex_local.pipelines.node import Outcome, State
from overnight.vertex_local.pipelines.placeholders import Place
from overnight.vertex_local.pipelines.spec import Component, Json, PipelineError
from overnight.vertex_local.pipelines.values import from_text, typed


def clear(component: Component, place: Place) -> None:
    """Make the folders of a task's outputs, and remove what an earlier start of it has left there."""
    for name in (*component.outputs, *component.output_artifacts):
        Path(place.local(place.output_uri(name))).parent.mkdir(parents=True, exist_ok=True)
    for path in (place.executor_output, *(place.local(place.output_uri(name)) for name in component.outputs)):
        Path(path).unlink(missing_ok=True)


def read_outputs(component: Component, message: Json, place: Place) -> Outcome:
    """The outcome of a container that ended well; `message` is the ExecutorInput that it was started with.

    KFP's own executor writes parameters and artifacts' metadata into one file, other programs one file a parameter.
    An output that was not written is left out. A value of another type fails the task.
    """
    try:
        written = _written(Path(place.executor_output))
        parameters = {
            name: value
            for name in component.outputs
            if (value := _parameter(component, name, place, written.get("parameterValues", {}))) is not None
        }
    except PipelineError as error:
        return Outcome(State.FAILED, str(error))
    artifacts = {name: list(found["artifacts"]) for name, found in message["outputs"]["artifacts"].items()}
    for name, found in written.get("artifacts", {}).items():
        if name in artifacts:
            planned = artifacts[name][0]
            artifacts[name] = [{**planned, **artifact} for artifact in found.get("artifacts", [])]
    return Outcome(State.SUCCEEDED, "", parameters, artifacts)


def _written(path: Path) -> Mapping[str, Json]:
    try:
        written = json.loads(path.read_text())
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise PipelineError(f"{path.name} is no JSON: {error}.") from error
    return written if isinstance(written, dict) else {}


def _parameter(component: Component, name: str, place: Place, values: Mapping[str, Json]) -> Json:
    kind = component.outputs[name].type
    try:
        if name in values:
            return typed(values[name], kind)
        return from_text(Path(place.local(place.output_uri(name))).read_text(), kind)
    except FileNotFoundError:
        return None
    except (PipelineError, UnicodeDecodeError) as error:
        raise PipelineError(f"The output parameter {name}: {error}") from error
