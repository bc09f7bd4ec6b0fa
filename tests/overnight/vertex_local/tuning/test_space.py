"""Which search spaces are understood, and which are refused."""

from typing import Any

import pytest
from google.cloud import aiplatform_v1
from google.protobuf import json_format

from overnight.vertex_local.tuning.space import Choice, Range, Scale, SpaceError, read_space

STUDY = aiplatform_v1.StudySpec.pb()


def spec(*parameters: dict[str, Any]) -> Any:
    return json_format.ParseDict({"parameters": list(parameters)}, STUDY())


def double(low: float = 0.1, high: float = 1.0, **more: Any) -> dict[str, Any]:
    return {"parameterId": "p", "doubleValueSpec": {"minValue": low, "maxValue": high}, **more}


def integer(**more: Any) -> dict[str, Any]:
    return {"parameterId": "p", "integerValueSpec": {"minValue": "1", "maxValue": "4"}, **more}


def categorical(*values: str, **more: Any) -> dict[str, Any]:
    return {"parameterId": "p", "categoricalValueSpec": {"values": list(values)}, **more}


def discrete(*values: float, **more: Any) -> dict[str, Any]:
    return {"parameterId": "p", "discreteValueSpec": {"values": list(values)}, **more}


def child(condition: dict[str, Any], name: str = "c") -> dict[str, Any]:
    return {**condition, "parameterSpec": {**double(), "parameterId": name}}


def test_each_kind_of_parameter_is_read() -> None:
    found = read_space(
        spec(
            double(scaleType="UNIT_LOG_SCALE"),
            {**integer(), "parameterId": "i"},
            {**categorical("a", "b"), "parameterId": "k"},
            {**discrete(1, 2, scaleType="UNIT_LINEAR_SCALE"), "parameterId": "d"},
        )
    )
    assert [parameter.domain for parameter in found] == [
        Range(0.1, 1.0),
        Range(1, 4, whole=True),
        Choice(("a", "b")),
        Choice((1.0, 2.0), ordered=True),
    ]
    assert found[0].scale is Scale.LOG


@pytest.mark.parametrize(
    ("parent", "condition"),
    [
        (categorical("a", "b"), {"parentCategoricalValues": {"values": ["a"]}}),
        (integer(), {"parentIntValues": {"values": ["2", "3"]}}),
        (discrete(0.5, 0.7), {"parentDiscreteValues": {"values": [0.7 + 1e-12]}}),
    ],
)
def test_a_conditional_parameter_is_read(parent: dict[str, Any], condition: dict[str, Any]) -> None:
    (parameter,) = read_space(spec({**parent, "conditionalParameterSpecs": [child(condition)]}))
    value = {"a": "a", 2: 2}.get(parameter.children[0].when[0], parameter.children[0].when[0])
    assert [active.id for active in parameter.active(value)] == ["c"]


@pytest.mark.parametrize(
    ("parameter", "says"),
    [
        (double(low=2.0), "min_value must not exceed"),
        (double(low=0.0, scaleType="UNIT_LOG_SCALE"), "strictly positive"),
        (double(low=-1.0, scaleType="UNIT_REVERSE_LOG_SCALE"), "strictly positive"),
        (categorical("a", scaleType="UNIT_LINEAR_SCALE"), "must not be set for CATEGORICAL"),
        (categorical(), "at least one value"),
        (discrete(2, 1), "must increase"),
        (discrete(1, 1 + 1e-12), "must increase"),
        (discrete(*range(1001)), "more than 1000"),
        ({**double(), "parameterId": "a b"}, "whitespace"),
        ({**double(), "parameterId": ""}, "must not be empty"),
        ({"parameterId": "p"}, "a value spec is required"),
        (double(conditionalParameterSpecs=[child({"parentIntValues": {"values": ["1"]}})]), "does not fit"),
        (
            categorical("a", conditionalParameterSpecs=[child({"parentCategoricalValues": {"values": ["z"]}})]),
            "'z' is not the parent's",
        ),
        (
            categorical(
                "a", "b", conditionalParameterSpecs=[child({"parentCategoricalValues": {"values": ["a"]}})] * 2
            ),
            "disjoint",
        ),
    ],
)
def test_a_space_that_cannot_be_searched_is_refused(parameter: dict[str, Any], says: str) -> None:
    with pytest.raises(SpaceError, match=says):
        read_space(spec(parameter))


def test_an_empty_space_and_twins_are_refused() -> None:
    with pytest.raises(SpaceError, match="at least one parameter"):
        read_space(spec())
    with pytest.raises(SpaceError, match="'p' is not unique"):
        read_space(spec(double(), integer()))


def test_a_grid_has_no_double_parameters_however_deep() -> None:
    nested = categorical("a", conditionalParameterSpecs=[child({"parentCategoricalValues": {"values": ["a"]}})])
    assert read_space(spec(nested))
    with pytest.raises(SpaceError, match="GRID_SEARCH does not support DOUBLE"):
        read_space(spec(nested), grid=True)
