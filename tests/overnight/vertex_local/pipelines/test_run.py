"""What a compiled pipeline starts next, with an executor of the test's own."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from overnight.vertex_local.pipelines.node import Node, Outcome, State
from overnight.vertex_local.pipelines.run import Run
from overnight.vertex_local.pipelines.spec import PipelineError, read_pipeline
from overnight.vertex_local.pipelines.values import pipeline_inputs

SPECS = Path(__file__).parent / "specs"
DONE = Outcome(State.SUCCEEDED)
FAILED = Outcome(State.FAILED, "exit code 1")
MODEL = {"model": [{"name": "model", "uri": "gs://b/model", "type": {}, "metadata": {}}]}
DATA = {"data": [{"name": "data", "uri": "gs://b/data", "type": {}, "metadata": {}}]}


def load(name: str) -> dict[str, Any]:
    spec: dict[str, Any] = json.loads((SPECS / f"{name}.json").read_text())
    return spec


def begin(name: str, *, fail_fast: bool = False, **parameters: Any) -> Run:
    pipeline = read_pipeline(load(name))
    return Run.start(pipeline, pipeline_inputs(pipeline.root.inputs, parameters), fail_fast=fail_fast)


def play(run: Run, execute: Callable[[Node], Outcome]) -> list[str]:
    """Run to the end, one container after the other; the order in which they ran."""
    order: list[str] = []
    while launched := run.advance(now=1e9):
        for node in launched:
            order.append(node.task)
            run.finish(node.path, execute(node), now=1e9)
    return order


def weekly(node: Node) -> Outcome:
    outputs = {"train": {"accuracy": 0.75}, "snapshot": {"rows": 7}}.get(node.task, {})
    return Outcome(State.SUCCEEDED, "", outputs, {"train": MODEL, "snapshot": DATA}.get(node.task, {}))


def states(run: Run) -> dict[str, str]:
    return {node.task: str(node.state) for node in run.nodes.values()}


def test_tasks_run_in_the_order_of_what_they_need() -> None:
    run = begin("weekly", week="20261130")
    assert play(run, weekly) == ["snapshot", "train", "release", "report"]
    assert run.state is State.SUCCEEDED


def test_inputs_come_from_constants_the_pipeline_and_other_tasks() -> None:
    run = begin("weekly", week="20261130")
    play(run, weekly)
    train = run.nodes["root/exit-handler-1/train"]
    assert train.parameters["label"] == "week-20261130"
    assert train.parameters["epochs"] == 3
    assert train.artifacts == DATA


def test_a_condition_that_does_not_hold_triggers_nothing_below_it() -> None:
    run = begin("weekly", week="20261130", threshold=0.9)
    assert play(run, weekly) == ["snapshot", "train", "report"]
    assert states(run)["condition-1"] == "NOT_TRIGGERED"
    assert run.state is State.SUCCEEDED


def test_an_exit_handler_runs_after_a_failure_and_is_told_of_it() -> None:
    run = begin("weekly", week="20261130")
    assert play(run, lambda node: FAILED if node.task == "snapshot" else DONE) == ["snapshot", "report"]
    assert states(run)["train"] == "NOT_TRIGGERED"
    assert run.nodes["root/report"].parameters["status"]["state"] == "FAILED"
    assert run.state is State.FAILED
    assert run.nodes["root"].error.endswith("The failed tasks are: [snapshot].")


def test_a_task_is_retried_as_often_as_its_policy_says() -> None:
    run = begin("weekly", week="20261130")
    order = play(run, lambda node: FAILED if node.task == "train" else weekly(node))
    assert order == ["snapshot", "train", "train", "train", "report"]
    assert run.state is State.FAILED


def test_a_retry_waits_longer_each_time() -> None:
    spec = load("weekly")
    policy = spec["components"]["comp-exit-handler-1"]["dag"]["tasks"]["train"]["retryPolicy"]
    policy.update(backoffDuration="10s", backoffMaxDuration="15s")
    run = Run.start(read_pipeline(spec), {"week": "w", "epochs": 1, "threshold": 0.5})
    run.finish(run.advance(0.0)[0].path, weekly(Node("snapshot", "")), 0.0)
    (train,) = run.advance(0.0)
    run.finish(train.path, FAILED, 100.0)
    assert run.next_start() == 110.0
    assert run.advance(109.0) == []
    assert run.advance(110.0) == [train]
    run.finish(train.path, FAILED, 200.0)
    assert run.next_start() == 215.0


def test_fail_fast_starts_nothing_new_but_the_exit_handler() -> None:
    spec = load("weekly")
    tasks = spec["components"]["comp-exit-handler-1"]["dag"]["tasks"]
    tasks["apart"] = {**tasks["snapshot"], "taskInfo": {"name": "apart"}, "dependentTasks": []}
    tasks["later"] = {**tasks["snapshot"], "taskInfo": {"name": "later"}, "dependentTasks": ["apart"]}
    slow = Run.start(read_pipeline(spec), {"week": "w", "epochs": 1, "threshold": 0.5})
    assert "later" in play(slow, lambda node: FAILED if node.task == "snapshot" else weekly(node))
    fast = Run.start(read_pipeline(spec), {"week": "w", "epochs": 1, "threshold": 0.5}, fail_fast=True)
    order = play(fast, lambda node: FAILED if node.task == "snapshot" else weekly(node))
    assert order == ["snapshot", "apart", "report"]


def test_cancelling_starts_nothing_more_and_ends_when_the_last_container_has() -> None:
    run = begin("weekly", week="20261130")
    (snapshot,) = run.advance(0.0)
    run.cancel()
    assert run.advance(0.0) == []
    assert run.state is State.RUNNING
    run.finish(snapshot.path, Outcome(State.CANCELLED), 0.0)
    assert run.advance(0.0) == []
    assert run.state is State.CANCELLED


def test_a_loop_runs_once_an_item_never_more_at_once_than_it_may() -> None:
    run = begin("loop", rates=[{"n": 1}, {"n": 2}, {"n": 3}])
    first = run.advance(0.0)
    assert [node.parameters["n"] for node in first] == [1, 2]
    run.finish(first[0].path, Outcome(State.SUCCEEDED, "", {"out": 2}), 0.0)
    (third,) = run.advance(0.0)
    assert third.parameters["n"] == 3


def test_what_iterations_put_out_is_collected_in_their_order() -> None:
    run = begin("loop", rates=[{"n": 3}, {"n": 1}, {"n": 2}])
    play(run, lambda node: Outcome(State.SUCCEEDED, "", {"out": 2 * node.parameters.get("n", 0), "total": 12}))
    assert run.nodes["root/add"].parameters["numbers"] == [6, 2, 4]
    assert run.nodes["root"].outputs == {"total": 12}


def test_what_is_written_down_of_a_loop_grows_with_its_length_only() -> None:
    def size(length: int) -> int:
        run = begin("loop", rates=[{"n": n} for n in range(length)])
        play(run, lambda _: Outcome(State.SUCCEEDED, "", {"out": 1, "total": 1}))
        return len(run.to_json())

    assert size(200) < 11 * size(20)


def test_a_loop_over_nothing_succeeds() -> None:
    run = begin("loop", rates=[])
    assert play(run, lambda _: Outcome(State.SUCCEEDED, "", {"total": 0})) == ["add"]
    assert run.nodes["root/add"].parameters["numbers"] == []


@pytest.mark.parametrize(("side", "word"), [("heads", "a head"), ("other", "a tail")])
def test_one_of_two_branches_runs_and_gives_its_output(side: str, word: str) -> None:
    run = begin("branches", side=side)
    play(run, lambda node: Outcome(State.SUCCEEDED, "", {"word": f"a {node.parameters.get('side')}"}))
    assert run.nodes["root/say"].parameters["word"] == word
    assert run.nodes["root/say"].artifacts["base"][0]["uri"] == "gs://bucket/base"


def test_a_run_goes_on_from_what_was_written_down() -> None:
    run = begin("weekly", week="20261130")
    run.finish(run.advance(0.0)[0].path, weekly(Node("snapshot", "")), 0.0)
    again = Run.from_json(run.pipeline, run.to_json())
    assert play(again, weekly) == ["train", "release", "report"]
    assert again.state is State.SUCCEEDED


def test_an_input_that_an_upstream_task_did_not_give_fails_the_task() -> None:
    run = begin("weekly", week="20261130")
    play(run, lambda node: DONE)
    train = run.nodes["root/exit-handler-1/train"]
    assert (train.state, train.error) == (State.FAILED, "The input artifact data of task train is missing.")


def broken(name: str) -> dict[str, Any]:
    spec = load("weekly")
    tasks = spec["root"]["dag"]["tasks"]
    if name == "version":
        spec["schemaVersion"] = "2.0.0"
    elif name == "component":
        tasks["report"]["componentRef"]["name"] = "comp-gone"
    elif name == "dependency":
        tasks["report"]["dependentTasks"] = ["gone"]
    elif name == "circle":
        tasks["exit-handler-1"]["dependentTasks"] = ["report"]
    elif name == "executor":
        spec["deploymentSpec"]["executors"]["exec-train"] = {"resolver": {}}
    elif name == "name":
        del spec["pipelineInfo"]
    elif name == "root":
        del spec["root"]
    return spec


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("version", "'2.0.0' is not supported"),
        ("component", "refers to no component"),
        ("dependency", "depends on 'gone'"),
        ("circle", "in a circle: exit-handler-1, report"),
        ("executor", "kind resolver is not supported"),
        ("name", "a name is required"),
        ("root", "a DAG is required"),
    ],
)
def test_a_specification_that_cannot_run_is_refused(name: str, says: str) -> None:
    with pytest.raises(PipelineError, match=says):
        read_pipeline(broken(name))


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "week.*a value is required"),
        ({"week": 3}, "3 is not of type STRING"),
        ({"week": "w", "epochs": 2.5}, "2.5 is not of type NUMBER_INTEGER"),
        ({"week": "w", "epochs": True}, "true is not of type NUMBER_INTEGER"),
        ({"week": "w", "other": 1}, "other is not found"),
    ],
)
def test_a_parameter_that_does_not_fit_is_refused(given: dict[str, Any], says: str) -> None:
    with pytest.raises(PipelineError, match=says):
        pipeline_inputs(read_pipeline(load("weekly")).root.inputs, given)
