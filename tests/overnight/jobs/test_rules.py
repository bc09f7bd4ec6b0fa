import pytest

from overnight.jobs.rules import broken_rules

POOL = {"containerSpec": {"command": ["python"]}}
JOB = {"displayName": "x", "jobSpec": {"workerPoolSpecs": [POOL, {**POOL, "replicaCount": "3"}]}}


def broken(without=None, **changes):
    job = {name: value for name, value in {**JOB, **changes}.items() if name != without}
    return [(".".join(map(str, problem.path)), problem.message) for problem in broken_rules(job)]


def pools(*specs):
    return broken(jobSpec={"workerPoolSpecs": list(specs)})


def test_a_job_that_vertex_ai_takes_breaks_no_rule():
    assert broken() == []


@pytest.mark.parametrize("specs", [(), ({}, POOL)])
def test_pool_0_must_be_there(specs):
    assert pools(*specs) == [("customJob.jobSpec.workerPoolSpecs", "worker pool 0 is missing")]


def test_a_job_without_a_job_spec_says_so():
    assert [path for path, _ in broken(without="jobSpec")] == ["customJob.jobSpec"]


def test_a_pool_must_run_something():
    assert pools(POOL, {"replicaCount": "1"}) == [("customJob.jobSpec.workerPoolSpecs.1", "this pool runs nothing")]


def test_arguments_and_variables_have_limits():
    long = {"containerSpec": {"command": ["python"], "args": ["x" * 100_001]}}
    many = {"containerSpec": {"command": ["python"], "env": [{"name": f"A{i}", "value": ""} for i in range(101)]}}
    assert [message for _, message in pools(long)] == ["args hold over 100,000 characters"]
    assert [message for _, message in pools(many)] == ["there are 101 variables, and 100 at most"]


def test_every_broken_rule_is_found_not_only_the_first():
    found = pools({**POOL, "replicaCount": "2"}, {**POOL, "replicaCount": "0"}, POOL, POOL, POOL)
    assert [path.rpartition("workerPoolSpecs")[2] for path, _ in found] == ["", ".0.replicaCount", ".1.replicaCount"]
