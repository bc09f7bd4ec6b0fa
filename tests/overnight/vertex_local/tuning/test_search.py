"""Which points are tried."""

import math

import pytest

from overnight.vertex_local.tuning.search import Algorithm, PastTrial, suggest
from overnight.vertex_local.tuning.space import Child, Choice, Parameter, Range, Scale, Value

RATE = Parameter("rate", Range(1e-4, 1.0), Scale.LOG)
LAYERS = Parameter("layers", Range(1, 9, whole=True))
BATCH = Parameter("batch", Choice((16.0, 32.0, 128.0), ordered=True))
MOMENTUM = Parameter("momentum", Range(0.5, 0.99), Scale.REVERSE_LOG)
BETA = Parameter("beta", Range(0.8, 0.9))
OPTIMIZER = Parameter(
    "optimizer", Choice(("sgd", "adam")), children=(Child(("sgd",), MOMENTUM), Child(("adam",), BETA))
)
SPACE = (RATE, LAYERS, BATCH, OPTIMIZER)


def quality(point: dict[str, Value]) -> float:
    """Best at rate 0.01, 5 layers, sgd."""
    rate, layers = point["rate"], point["layers"]
    assert isinstance(rate, float)
    assert isinstance(layers, int)
    return -((math.log10(rate) + 2) ** 2) - (layers - 5) ** 2 - 3 * (point["optimizer"] == "adam")


def study(algorithm: Algorithm, trials: int, *, seed: int, maximize: bool = True) -> list[dict[str, Value]]:
    past: list[PastTrial] = []
    sign = 1 if maximize else -1
    for number in range(1, trials + 1):
        point = suggest(SPACE, [maximize], past, number=number, seed=seed, algorithm=algorithm)
        assert point is not None
        past.append(PastTrial(number, point, (sign * quality(point),)))
    return [trial.parameters for trial in past]


@pytest.mark.parametrize("algorithm", [Algorithm.DEFAULT, Algorithm.RANDOM_SEARCH])
def test_every_point_lies_in_the_space(algorithm: Algorithm) -> None:
    for point in study(algorithm, 40, seed=1):
        assert 1e-4 <= point["rate"] <= 1.0
        assert point["layers"] in range(1, 10)
        assert isinstance(point["layers"], int)
        assert point["batch"] in (16.0, 32.0, 128.0)
        child = "momentum" if point["optimizer"] == "sgd" else "beta"
        assert set(point) == {"rate", "layers", "batch", "optimizer", child}
        assert 0.5 <= point[child] <= 0.99


@pytest.mark.parametrize("algorithm", [Algorithm.DEFAULT, Algorithm.RANDOM_SEARCH])
def test_the_seed_decides_the_search(algorithm: Algorithm) -> None:
    assert study(algorithm, 15, seed=1) == study(algorithm, 15, seed=1)
    assert study(algorithm, 15, seed=1) != study(algorithm, 15, seed=2)


@pytest.mark.parametrize("maximize", [True, False])
def test_the_default_search_comes_closer_than_chance(maximize: bool) -> None:
    def late(algorithm: Algorithm) -> float:
        studies = [study(algorithm, 30, seed=seed, maximize=maximize)[20:] for seed in range(3)]
        return sum(quality(point) for points in studies for point in points) / 30

    assert late(Algorithm.DEFAULT) > late(Algorithm.RANDOM_SEARCH) + 3


def test_parallel_trials_try_different_places() -> None:
    past: list[PastTrial] = []
    for number in range(1, 9):
        point = suggest(SPACE, [True], past, number=number, seed=3)
        assert point is not None
        past.append(PastTrial(number, point, running=True))
    assert len({trial.parameters["rate"] for trial in past}) == 8


def test_failed_trials_are_kept_apart_from_measured_ones() -> None:
    past = [PastTrial(1, {"layers": 2}, (0.5,)), PastTrial(2, {"layers": 3}), PastTrial(3, {"layers": 4}, running=True)]
    assert suggest([LAYERS], [True], past, number=4, seed=0) is not None


def test_several_metrics_have_a_goal_each() -> None:
    past = [PastTrial(number, {"layers": number}, (number, -number)) for number in range(1, 9)]
    assert suggest([LAYERS], [True, False], past, number=9, seed=0) is not None


def test_a_grid_is_walked_once() -> None:
    space = (
        Parameter("a", Range(1, 2, whole=True)),
        Parameter("b", Choice(("x", "y")), children=(Child(("y",), Parameter("c", Choice((0.5, 0.7), ordered=True))),)),
    )
    found = [
        suggest(space, [True], [], number=number, seed=0, algorithm=Algorithm.GRID_SEARCH) for number in range(1, 8)
    ]
    assert found == [
        {"a": 1, "b": "x"},
        {"a": 1, "b": "y", "c": 0.5},
        {"a": 1, "b": "y", "c": 0.7},
        {"a": 2, "b": "x"},
        {"a": 2, "b": "y", "c": 0.5},
        {"a": 2, "b": "y", "c": 0.7},
        None,
    ]


@pytest.mark.parametrize(
    ("scale", "low", "high"), [(Scale.LINEAR, 400, 600), (Scale.LOG, 8, 60), (Scale.REVERSE_LOG, 940, 995)]
)
def test_the_scale_decides_where_the_middle_lies(scale: Scale, low: float, high: float) -> None:
    space = [Parameter("x", Range(1.0, 1000.0), scale)]
    drawn = [
        suggest(space, [True], [], number=number, seed=0, algorithm=Algorithm.RANDOM_SEARCH) for number in range(1, 400)
    ]
    middle = sorted(point["x"] for point in drawn if point)[len(drawn) // 2]
    assert low < middle < high


def test_the_ends_of_an_integer_range_are_as_likely_as_the_rest() -> None:
    drawn = [
        suggest([LAYERS], [True], [], number=number, seed=5, algorithm=Algorithm.RANDOM_SEARCH)
        for number in range(1, 1000)
    ]
    counts = [sum(point == {"layers": value} for point in drawn) for value in range(1, 10)]
    assert min(counts) > 70
    assert max(counts) < 155
