"""The arguments of a task's container: placeholders such as `{{$.inputs.parameters['x']}}` filled in.

`Place` says where a task's outputs go; `executor_input` is the message that `{{$}}` stands for, which KFP's own
executor reads ("ExecutorInput" of pipeline_spec.proto).
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from overnight.vertex_local.pipelines.spec import Component, Json, PipelineError
from overnight.vertex_local.pipelines.values import as_text

PLACEHOLDER = re.compile(r"\{\{\$([^{}]*)\}\}")
STEP = re.compile(r"\.(\w+)|\['([^']*)'\]|\[\"([^\"]*)\"\]|\[(\d+)\]")
STRUCTURED = ('{"Concat"', '{"IfPresent"')
"""How an argument begins that is made of others."""


@dataclass(frozen=True)
class Place:
    """Where one start of a task happens."""

    folder_uri: str
    """Of its outputs: `gs://…`, without a slash at the end."""
    local: Callable[[str], str]
    """The path on this machine of a `gs://` address."""
    facts: Mapping[str, str] = field(default_factory=dict)
    """What `{{$.pipeline_job_name}}` and the like stand for."""

    def output_uri(self, name: str) -> str:
        """The address of one output."""
        return f"{self.folder_uri}/{name}"

    @property
    def executor_output(self) -> str:
        """The file in which KFP's executor leaves what the task has put out."""
        return self.local(self.output_uri("executor_output.json"))


def executor_input(component: Component, parameters: Mapping[str, Json], artifacts: Json, place: Place) -> Json:
    """ExecutorInput of a task: `artifacts` holds a list of artifacts for each input."""
    outputs = {
        name: [{"name": name, "uri": place.output_uri(name), "type": {"schemaTitle": kind.schema}, "metadata": {}}]
        for name, kind in component.output_artifacts.items()
    }
    return {
        "inputs": {
            "parameterValues": dict(parameters),
            "artifacts": {name: {"artifacts": found} for name, found in artifacts.items()},
        },
        "outputs": {
            "parameters": {name: {"outputFile": place.local(place.output_uri(name))} for name in component.outputs},
            "artifacts": {name: {"artifacts": found} for name, found in outputs.items()},
            "outputFile": place.executor_output,
        },
    }


class Rendering:
    """Fills in the placeholders of one start of a task."""

    def __init__(self, message: Json, place: Place) -> None:
        self._message = message
        self._place = place

    def arguments(self, templates: Sequence[str]) -> list[str]:
        """Every argument filled in; one made with IfPresent may become several, or none. Raises PipelineError."""
        return [text for template in templates for text in self._expand(template)]

    def text(self, template: str) -> str:
        """One text filled in. Raises PipelineError."""
        return PLACEHOLDER.sub(lambda match: as_text(self._value(match[1], match[0])), template)

    def _expand(self, template: Json) -> list[str]:
        if isinstance(template, str) and template.startswith(STRUCTURED):
            return self._expand(json.loads(template))
        if isinstance(template, list):
            return [text for item in template for text in self._expand(item)]
        if isinstance(template, str):
            return [self.text(template)]
        if "Concat" in template:
            return ["".join(self._expand(template["Concat"]))]
        if "IfPresent" in template:
            chosen = template["IfPresent"]
            inputs = self._message["inputs"]
            present = chosen["InputName"] in {**inputs["parameterValues"], **inputs["artifacts"]}
            return self._expand(chosen.get("Then" if present else "Else", []))
        raise PipelineError(f"The argument {json.dumps(template)} is not understood.")

    def _value(self, path: str, written: str) -> Json:
        if not path:
            return self._message
        steps = [next(part for part in match.groups() if part is not None) for match in STEP.finditer(path)]
        fact = self._place.facts.get(steps[0]) if len(steps) == 1 else None
        found = fact if fact is not None else self._of_message(steps)
        if found is None:
            raise PipelineError(f"The placeholder {written} has no value.")
        return found

    def _of_message(self, steps: list[str]) -> Json:
        side, kind, name, *rest = [*steps, "", "", ""][: max(3, len(steps))]
        known = self._message.get(side, {})
        if kind == "parameters" and side == "inputs":
            return _inside(known["parameterValues"].get(name), rest)
        if kind == "parameters" and rest == ["output_file"]:
            return known["parameters"].get(name, {}).get("outputFile")
        if kind == "output_file":
            return known.get("outputFile")
        if kind == "artifacts":
            return self._of_artifact(known["artifacts"].get(name, {}).get("artifacts", []), rest)
        return None

    def _of_artifact(self, artifacts: list[Json], rest: list[str]) -> Json:
        artifact = artifacts[0] if artifacts else {}
        if rest == ["path"]:
            return self._place.local(artifact["uri"]) if "uri" in artifact else None
        return _inside(artifact, rest)


def _inside(value: Json, steps: list[str]) -> Json:
    for step in steps:
        if isinstance(value, Mapping):
            value = value.get(step)
        elif isinstance(value, list) and step.isdigit() and int(step) < len(value):
            value = value[int(step)]
        else:
            return None
    return value
