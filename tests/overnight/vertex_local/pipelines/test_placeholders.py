"""What stands in a container's arguments."""

import json
from pathlib import Path
from typing import Any

import pytest

from overnight.vertex_local.pipelines.placeholders import Place, Rendering, executor_input
from overnight.vertex_local.pipelines.spec import PipelineError, read_pipeline
from overnight.vertex_local.pipelines.values import from_text

SPEC = json.loads((Path(__file__).parent / "specs" / "weekly.json").read_text())
PLACE = Place("gs://b/out/train_1", lambda uri: uri.replace("gs://", "/gcs/"), {"pipeline_job_name": "weekly-1"})
ARTIFACT = {"name": "data", "uri": "gs://b/data", "type": {}, "metadata": {"rows": 7}}


def rendering(**parameters: Any) -> Rendering:
    component = read_pipeline(SPEC).components["comp-train"]
    values = {"epochs": 3, "label": "w", **parameters}
    return Rendering(executor_input(component, values, {"data": [ARTIFACT]}, PLACE), PLACE)


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{{$.inputs.parameters['epochs']}}", "3"),
        ("--epochs={{$.inputs.parameters['epochs']}}", "--epochs=3"),
        ("{{$.inputs.parameters['flag']}}", "true"),
        ("{{$.inputs.parameters['items']}}", "[1, 2]"),
        ("{{$.inputs.parameters['tree']['deep'][1]}}", "b"),
        ("{{$.inputs.artifacts['data'].uri}}", "gs://b/data"),
        ("{{$.inputs.artifacts['data'].path}}", "/gcs/b/data"),
        ("{{$.inputs.artifacts['data'].metadata['rows']}}", "7"),
        ("{{$.outputs.artifacts['model'].uri}}", "gs://b/out/train_1/model"),
        ("{{$.outputs.artifacts['model'].path}}", "/gcs/b/out/train_1/model"),
        ("{{$.outputs.parameters['accuracy'].output_file}}", "/gcs/b/out/train_1/accuracy"),
        ("{{$.outputs.output_file}}", "/gcs/b/out/train_1/executor_output.json"),
        ("{{$.pipeline_job_name}}", "weekly-1"),
        ("plain", "plain"),
    ],
)
def test_a_placeholder_is_filled_in(template: str, text: str) -> None:
    filled = rendering(flag=True, items=[1, 2], tree={"deep": ["a", "b"]}).arguments([template])
    assert filled == [text]


def test_the_empty_placeholder_is_the_whole_executor_input() -> None:
    message = json.loads(rendering().text("{{$}}"))
    assert message["inputs"]["parameterValues"] == {"epochs": 3, "label": "w"}
    assert message["inputs"]["artifacts"]["data"]["artifacts"] == [ARTIFACT]
    assert message["outputs"]["artifacts"]["model"]["artifacts"][0]["type"] == {"schemaTitle": "system.Model"}
    assert message["outputs"]["outputFile"] == "/gcs/b/out/train_1/executor_output.json"


@pytest.mark.parametrize(("given", "rest"), [({}, ["no-note"]), ({"note": "x"}, ["--note", "x"])])
def test_an_argument_may_depend_on_an_input_being_there(given: dict[str, str], rest: list[str]) -> None:
    arguments = SPEC["deploymentSpec"]["executors"]["exec-train"]["container"]["args"]
    filled = rendering(**given).arguments(arguments)
    assert filled[4:-1] == ["epochs=3", *rest]


@pytest.mark.parametrize(
    "template",
    ["{{$.inputs.parameters['gone']}}", "{{$.inputs.artifacts['gone'].path}}", "{{$.nothing}}", "{{$.a.b.c.d}}"],
)
def test_a_placeholder_without_a_value_is_refused(template: str) -> None:
    with pytest.raises(PipelineError, match="has no value"):
        rendering().arguments([template])


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("7\n", "NUMBER_INTEGER", 7),
        ("7.0", "NUMBER_INTEGER", 7),
        ("7", "NUMBER_DOUBLE", 7.0),
        ("True", "BOOLEAN", True),
        ("false\n", "BOOLEAN", False),
        ("kept as it is\n", "STRING", "kept as it is\n"),
        ('["a", 1.0]', "LIST", ["a", 1]),
        ('{"a": 1}', "STRUCT", {"a": 1}),
    ],
)
def test_an_output_parameter_has_its_type(text: str, kind: str, value: Any) -> None:
    found = from_text(text, kind)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(("text", "kind"), [("x", "NUMBER_INTEGER"), ("7.5", "NUMBER_INTEGER"), ("{}", "LIST")])
def test_an_output_parameter_of_another_type_is_refused(text: str, kind: str) -> None:
    with pytest.raises(PipelineError, match="is not of type"):
        from_text(text, kind)
