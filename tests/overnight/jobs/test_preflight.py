"""Needs against limits; Service Usage is answered by a small server that records what it was asked."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import requests

from job_support import ROOT, planned
from overnight.errors import OvernightError
from overnight.jobs.preflight import ServiceUsage, effective_limit, needs, reminders, too_little

PREFIX = "aiplatform.googleapis.com/custom_model_training_"
METRIC = {
    "metric": f"{PREFIX}nvidia_a100_gpus",
    "consumerQuotaLimits": [
        {
            "unit": "1/{project}/{region}",
            "quotaBuckets": [
                {"effectiveLimit": "0", "defaultLimit": "0"},
                {"effectiveLimit": "8", "dimensions": {"region": "us-central1"}},
            ],
        }
    ],
}


@pytest.fixture
def usage() -> Iterator[tuple[str, dict[str, tuple[int, object]], list[str]]]:
    answers: dict[str, tuple[int, object]] = {}
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            code, body = answers.get(self.path.rpartition("/")[2], (404, {}))
            self.send_response(code)
            self.end_headers()
            self.wfile.write(json.dumps(body).encode())

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}", answers, asked
    server.shutdown()
    thread.join()
    server.server_close()


def weekly():
    return planned(ROOT / "jobs" / "weekly-a100-spot.yaml")


def test_offline_everything_is_to_be_checked():
    found = needs(weekly())
    assert [(need.fallback, need.quota.metric, need.quota.amount, need.verdict) for need in found] == [
        (0, f"{PREFIX}preemptible_nvidia_a100_gpus", 4, "check"),
        (2, f"{PREFIX}nvidia_a100_gpus", 4, "check"),
        (3, f"{PREFIX}nvidia_l4_gpus", 4, "check"),
    ]
    assert {need.region for need in found} == {"us-central1"}
    assert too_little(found) == []


def test_limits_are_asked_for_by_metric_and_compared(usage):
    url, answers, asked = usage
    answers["aiplatform.googleapis.com%2Fcustom_model_training_nvidia_a100_gpus"] = (200, METRIC)
    small = {"consumerQuotaLimits": [{"unit": "1/{project}/{region}", "quotaBuckets": [{"effectiveLimit": "0"}]}]}
    answers["aiplatform.googleapis.com%2Fcustom_model_training_preemptible_nvidia_a100_gpus"] = (200, small)
    found = needs(weekly(), ServiceUsage(requests.Session(), "acme-vision-prod", url))
    assert [(need.limit, need.verdict) for need in found] == [(0, "too little"), (8, "enough"), (None, "check")]
    assert too_little(found) == found[:1]
    start = "/v1beta1/projects/acme-vision-prod/services/aiplatform.googleapis.com/consumerQuotaMetrics/"
    assert asked == [
        f"{start}aiplatform.googleapis.com%2Fcustom_model_training_{name}"
        for name in ("preemptible_nvidia_a100_gpus", "nvidia_a100_gpus", "nvidia_l4_gpus")
    ]


def test_metrics_that_nobody_has_named_are_not_asked_for(usage):
    url, _, asked = usage
    found = needs(
        planned(ROOT / "jobs" / "tpu-v5e-jax.yaml"), ServiceUsage(requests.Session(), "acme-vision-prod", url)
    )
    assert [need.verdict for need in found] == ["check"]
    assert asked == []


def test_a_refusal_to_say_limits_is_told(usage):
    url, answers, _ = usage
    answers["aiplatform.googleapis.com%2Fcustom_model_training_preemptible_nvidia_a100_gpus"] = (403, {})
    with pytest.raises(OvernightError, match="limits cannot be read"):
        needs(weekly(), ServiceUsage(requests.Session(), "acme-vision-prod", url))


@pytest.mark.parametrize(
    ("buckets", "limit"),
    [
        ([{"effectiveLimit": "8", "dimensions": {"region": "us-central1"}}, {"effectiveLimit": "2"}], 8),
        ([{"effectiveLimit": "2"}, {"effectiveLimit": "8", "dimensions": {"region": "us-east1"}}], 2),
        ([{"effectiveLimit": "-1"}], -1),
        ([{}], 0),
        ([], None),
    ],
)
def test_a_regions_own_limit_goes_before_the_general_one(buckets, limit):
    metric = {"consumerQuotaLimits": [{"unit": "1/min/{project}", "quotaBuckets": [{"effectiveLimit": "60"}]}]}
    metric["consumerQuotaLimits"].append({"unit": "1/{project}/{region}", "quotaBuckets": buckets})
    assert effective_limit(metric, "us-central1") == limit


def test_a_persistent_resource_needs_none_itself_and_its_fallbacks_do():
    found = needs(planned(ROOT / "jobs" / "persistent-resource.yaml"))
    assert [need.fallback for need in found] == [1, 2]


def test_what_no_api_says_is_said_with_its_command():
    limits, account = reminders(weekly(), "acme-vision-prod")
    assert "--consumer=projects/acme-vision-prod" in limits
    assert "act as example-training@acme-vision-prod.iam.gserviceaccount.com" in account
