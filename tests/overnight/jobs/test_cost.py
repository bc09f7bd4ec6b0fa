from datetime import timedelta

import pytest

from job_support import ENVIRONMENT, NOW, ROOT, planned
from overnight.jobs.client import Job
from overnight.jobs.cost import Price, cost, price_in

A100 = {"machineType": "a2-highgpu-1g", "acceleratorType": "NVIDIA_TESLA_A100", "acceleratorCount": 1}


def job(**times) -> Job:
    return Job("projects/p/locations/r/customJobs/1", "customJob", "x", "RUNNING", **times)


def test_a_job_costs_from_its_start_to_its_end():
    ran = job(created=NOW - timedelta(hours=9), started=NOW, ended=NOW + timedelta(minutes=90))
    assert cost(ran, Price(4.0), NOW + timedelta(hours=9)) == pytest.approx(6.0)


def test_or_to_now():
    assert cost(job(started=NOW), Price(4.0), NOW + timedelta(minutes=15)) == pytest.approx(1.0)


def test_waiting_costs_nothing():
    assert cost(job(created=NOW), Price(4.0), NOW + timedelta(hours=1)) == 0.0


def test_the_environments_prices_are_those_of_its_pools():
    spec = {"workerPoolSpecs": [{"machineSpec": A100, "replicaCount": "1"}, {"machineSpec": A100, "replicaCount": 3}]}
    found = price_in(ENVIRONMENT, spec)
    assert found is not None
    assert found.usd_per_hour == pytest.approx(4 * 4.22)
    assert found.label == "prices of 2026-11-01, the service's fee included"


@pytest.mark.parametrize(
    "spec",
    [
        {"workerPoolSpecs": [{"machineSpec": {"machineType": "n1-standard-8"}}]},
        {"workerPoolSpecs": [{"machineSpec": A100}, {"machineSpec": {"machineType": "n1-standard-8"}}]},
        {"workerPoolSpecs": [{"machineSpec": {**A100, "acceleratorCount": 2}}]},
        {"workerPoolSpecs": []},
        {"workerPoolSpecs": [{"machineSpec": A100}], "persistentResourceId": "night-a100-v1"},
    ],
    ids=["unknown", "one unknown", "another count", "no pools", "billed while it exists"],
)
def test_no_price_is_better_than_a_wrong_one(spec):
    assert price_in(ENVIRONMENT, spec) is None


def test_without_an_environment_there_is_none():
    assert price_in(None, {"workerPoolSpecs": [{"machineSpec": A100}]}) is None


def test_a_rendered_request_has_its_price():
    request = planned(ROOT / "jobs" / "weekly-a100-spot.yaml").requests[0]
    found = price_in(ENVIRONMENT, request.job["jobSpec"])
    assert found is not None
    assert found.usd_per_hour == pytest.approx(4 * 4.22)


@pytest.mark.parametrize(
    ("price", "label"),
    [
        (Price(1.0), "prices of an unknown day, whether with the service's fee is not said"),
        (Price(1.0, "2026-11-01", False), "prices of 2026-11-01, without the service's fee"),
        (Price(1.0, "2026-11-01", True), "prices of 2026-11-01, the service's fee included"),
    ],
)
def test_a_price_says_whose_it_is(price, label):
    assert price.label == label
