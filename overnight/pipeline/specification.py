"""A template as KFP's PipelineSpec, schema 2.1.0: the one text that Vertex AI and the local one run.

Key for key what kfp 2.17.3 compiles from container components (a test compares), but written by this code: kfp pins
requests and urllib3, so it cannot be installed beside the rest. The bytes are JSON, which is YAML as well, and
unlike YAML is read in the same way by every parser.
"""

import re
from collections.abc import Mapping
from typing import Any

from overnight.files import canonical_json
from overnight.images.reference import Reference
from overnight.pipeline.errors import TemplateError
from overnight.pipeline.template import Parameter, Step, Template

SCHEMA_VERSION = "2.1.0"
SDK_VERSION = "kfp-2.17.3"
"""Whose specification this is, for readers that ask."""
INPUT = re.compile(r"\{\{\$\.inputs\.parameters\['([^']+)'\]\}\}")
STRING = {"parameterType": "STRING"}


def compile_template(template: Template, images: Mapping[str, Reference]) -> bytes:
    """The specification's bytes, the same for the same template and images.

    `images` holds each image that a step runs in, by digest. Raises TemplateError when one is missing or unused.
    """
    if missing := sorted({*template.images} - {*images}):
        raise TemplateError(
            f"the template {template.name} runs in the image {missing[0]}, and none is given",
            remedy=f"add --image {missing[0]}=HOST/PATH/{missing[0]}@sha256:…, or take --from-release",
        )
    if unused := sorted({*images} - {*template.images}):
        raise TemplateError(
            f"the template {template.name} does not run in the image {unused[0]}",
            where="--image",
            remedy=f"leave it out; it runs in {', '.join(template.images)}",
        )
    return canonical_json(specification(template, images))


def specification(template: Template, images: Mapping[str, Reference]) -> dict[str, Any]:
    """The PipelineSpec in JSON names."""
    return {
        "pipelineInfo": {"name": template.name, "description": template.description},
        "schemaVersion": SCHEMA_VERSION,
        "sdkVersion": SDK_VERSION,
        "root": {
            "inputDefinitions": {"parameters": {each.name: _definition(each) for each in template.parameters}},
            "dag": {"tasks": {step.name: _task(step) for step in template.steps}},
        },
        "components": {f"comp-{step.name}": _component(step) for step in template.steps},
        "deploymentSpec": {
            "executors": {f"exec-{step.name}": _executor(step, images[step.image]) for step in template.steps}
        },
    }


def _definition(parameter: Parameter) -> dict[str, Any]:
    optional = {} if parameter.default is None else {"defaultValue": parameter.default, "isOptional": True}
    return {**STRING, "description": parameter.description, **optional}


def _component(step: Step) -> dict[str, Any]:
    found: dict[str, Any] = {"executorLabel": f"exec-{step.name}"}
    if inputs := _inputs(step):
        found["inputDefinitions"] = {"parameters": dict.fromkeys(inputs, STRING)}
    if step.outputs:
        found["outputDefinitions"] = {"parameters": dict.fromkeys(step.outputs, STRING)}
    return found


def _task(step: Step) -> dict[str, Any]:
    before = {*step.after, *(output.step for output in step.takes.values())}
    task: dict[str, Any] = {
        # Empty: never from a cache. What a command does follows from the root's state, not from its arguments.
        "cachingOptions": {},
        "componentRef": {"name": f"comp-{step.name}"},
        "taskInfo": {"name": step.name},
    }
    if before:
        task["dependentTasks"] = sorted(before)
    if inputs := _inputs(step):
        task["inputs"] = {"parameters": {name: _source(step, name) for name in inputs}}
    return task


def _source(step: Step, name: str) -> dict[str, Any]:
    if name not in step.takes:
        return {"componentInputParameter": name}
    output = step.takes[name]
    return {"taskOutputParameter": {"outputParameterKey": output.field, "producerTask": output.step}}


def _executor(step: Step, image: Reference) -> dict[str, Any]:
    """`overnight pipeline step` runs the command, and writes the outputs into the files that KFP names."""
    outputs = [
        argument
        for name in step.outputs
        for argument in ("--output", f"{name}={{{{$.outputs.parameters['{name}'].output_file}}}}")
    ]
    return {
        "container": {
            "image": str(image),
            "command": ["python3", "-m", "overnight", "pipeline", "step"],
            "args": [*outputs, "--", *step.arguments],
        }
    }


def _inputs(step: Step) -> list[str]:
    """The inputs that a step's arguments name, in their order."""
    return list(dict.fromkeys(name for argument in step.arguments for name in INPUT.findall(argument)))
