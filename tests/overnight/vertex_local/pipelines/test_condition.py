"""The conditions that the KFP compiler writes."""

from typing import Any

import pytest

from overnight.vertex_local.pipelines.condition import holds
from overnight.vertex_local.pipelines.spec import PipelineError

VALUES: dict[str, Any] = {"flag": True, "n": 5, "score": 0.75, "word": "heads", "text": "12", "it's": 1}


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("inputs.parameter_values['flag'] == true", True),
        ("inputs.parameter_values['flag'] != true", False),
        ("int(inputs.parameter_values['n']) > 5", False),
        ("inputs.parameter_values['n'] >= 5 && inputs.parameter_values['score'] < 0.8", True),
        ("inputs.parameter_values['word'] == 'heads'", True),
        ("!(inputs.parameter_values['word'] == 'heads')", False),
        ("!(inputs.parameter_values['flag'] == true) && inputs.parameter_values['n'] == 5", False),
        ("inputs.parameter_values['n'] == 4 || inputs.parameter_values['n'] == 5", True),
        ("int(inputs.parameter_values['text']) == 12", True),
        ('inputs.parameter_values["word"] == "tails"', False),
        ("inputs.parameters['word'].string_value == 'heads'", True),
        ("double(inputs.parameter_values['n']) <= 5.0", True),
        ("inputs.parameter_values['gone'] == null", True),
        ("inputs.parameter_values['score'] > -1e3", True),
    ],
)
def test_a_condition_is_evaluated(condition: str, expected: bool) -> None:
    assert holds(condition, VALUES) is expected


@pytest.mark.parametrize(
    "condition",
    [
        "inputs.parameter_values['n']",
        "inputs.parameter_values['word'] > 5",
        "__import__('os') == 1",
        "inputs.parameter_values['n'] == 5 true",
        "int('x') == 1",
        "(1 == 1",
        "1 ==",
        "1 == 1 ; 2",
    ],
)
def test_anything_else_is_refused(condition: str) -> None:
    with pytest.raises(PipelineError, match="cannot be"):
        holds(condition, VALUES)
