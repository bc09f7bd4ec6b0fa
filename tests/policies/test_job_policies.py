"""The policies over job requests: their own tests under both engines, what is sent for each shipped spec, mistakes."""

import json
import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import cache
from typing import Any

import pytest

from job_support import ROOT
from overnight.policies.engines import ENGINES
from overnight.policies.errors import PolicyError
from overnight.policies.policies import Policies, folders, root

FOLDER = root() / "jobs"
GOLDEN = ROOT / "tests" / "overnight" / "jobs" / "golden"
RULE = re.compile(r'"(OVN\d{4})"')
PIPELINE: dict[str, Any] = {
    "displayName": "weekly",
    "labels": {"owner": "vision-team"},
    "serviceAccount": "example-pipeline@acme-vision-prod.iam.gserviceaccount.com",
    "templateUri": f"https://us-central1-kfp.pkg.dev/acme-vision-prod/example-pipelines/weekly/sha256:{'6' * 64}",
    "pipelineSpec": {
        "deploymentSpec": {
            "executors": {
                "exec-gate": {
                    "container": {
                        "image": f"us-central1-docker.pkg.dev/acme-vision-prod/example-images/steps@sha256:{'4' * 64}"
                    }
                }
            }
        }
    },
    "runtimeConfig": {"gcsOutputDirectory": "gs://acme-vision-prod-example-staging/runs"},
}


@cache
def policies(engine: str) -> Policies:
    """The policies in one engine; a test that needs one which is not installed is skipped."""
    try:
        return Policies.load(folders("jobs"), engine)
    except PolicyError as error:
        if "is not installed" not in error.sentence:
            raise
        pytest.skip(error.sentence)


def rules() -> list[str]:
    files = [file for file in FOLDER.glob("*.rego") if not file.name.endswith("_test.rego")]
    return sorted({found for file in files for found in RULE.findall(file.read_text())})


def requests(name: str) -> Iterator[dict[str, Any]]:
    """The requests that a shipped spec may send: itself, then its fallbacks."""
    text, decoder = (GOLDEN / f"{name}.json").read_text(), json.JSONDecoder()
    while text:
        request, end = decoder.raw_decode(text)
        text = text[end:].lstrip()
        yield request


def reduction_by_tag(job: dict[str, Any]) -> None:
    container = job["jobSpec"]["workerPoolSpecs"][2]["containerSpec"]
    container["imageUri"] = container["imageUri"].partition("@")[0]


def image(text: str) -> Callable[[dict[str, Any]], None]:
    def change(job: dict[str, Any]) -> None:
        container = job["jobSpec"]["workerPoolSpecs"][0]["containerSpec"]
        container["env"] = []
        container["imageUri"] = text.format(d=f"@sha256:{'1' * 64}")

    return change


def dropped(*path: str) -> Callable[[dict[str, Any]], None]:
    def change(job: dict[str, Any]) -> None:
        for name in path[:-1]:
            job = job[name]
        del job[path[-1]]

    return change


def default_account(job: dict[str, Any]) -> None:
    job["jobSpec"]["serviceAccount"] = "481516234207-compute@developer.gserviceaccount.com"


REPOSITORY = "us-central1-docker.pkg.dev/acme-vision-prod/example-images"
POOL = "customJob.jobSpec.workerPoolSpecs[0].containerSpec.imageUri"
MISTAKES = [
    ("OVN1011", POOL, image(f"{REPOSITORY}/trainer-gpu:v1")),
    ("OVN1011", POOL, image(f"{REPOSITORY}/trainer-gpu")),
    ("OVN1012", POOL, image("eu.gcr.io/acme-vision-prod/trainer-gpu{d}")),
    ("OVN1013", POOL, image(f"{REPOSITORY}/trainer-gpu:latest")),
    ("OVN1014", POOL, image("us-central1-docker.pkg.dev/acme-vision-dev/example-images/trainer-gpu{d}")),
    ("OVN1014", POOL, image("docker.io/pytorch/pytorch{d}")),
    ("OVN1015", "customJob.jobSpec.workerPoolSpecs[2].containerSpec.imageUri", reduction_by_tag),
    ("OVN1021", "customJob.jobSpec.serviceAccount", dropped("jobSpec", "serviceAccount")),
    ("OVN1022", "customJob.jobSpec.serviceAccount", default_account),
    ("OVN1023", "customJob.labels", dropped("labels", "owner")),
    ("OVN1024", "customJob.jobSpec.scheduling.timeout", dropped("jobSpec", "scheduling", "timeout")),
]


@pytest.mark.parametrize("engine", ENGINES)
def test_every_policy_test_holds(engine: str) -> None:
    results = policies(engine).run_tests()
    assert [name for name, holds in results.items() if not holds] == []
    assert len(results) >= 58


@pytest.mark.parametrize("rule", rules())
def test_every_rule_has_a_policy_test_for_and_one_against_it(rule: str) -> None:
    tests = "\n".join(file.read_text() for file in FOLDER.glob("*_test.rego"))
    assert re.search(rf'^\s+("{rule}" in|.* == \{{"{rule}"\}})', tests, re.MULTILINE)
    assert f'not "{rule}" in' in tests


def test_every_rule_is_in_the_documentation() -> None:
    page = (root().parent / "docs" / "policies.md").read_text()
    assert sorted(set(re.findall(r"^\| (OVN1\d{3}) \|", page, re.MULTILINE))) == rules()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", sorted(path.stem for path in GOLDEN.glob("*.json")))
def test_what_is_sent_for_a_shipped_spec_passes(name: str, engine: str) -> None:
    assert [policies(engine).judge(request) for request in requests(name)] == [[] for _ in requests(name)]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_run_of_a_pipeline_in_order_passes(engine: str) -> None:
    request = {"parent": "projects/acme-vision-prod/locations/us-central1", "pipelineJob": PIPELINE}
    assert policies(engine).judge(PIPELINE) == []
    assert policies(engine).judge(request) == []


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("rule", "place", "change"), MISTAKES, ids=lambda value: value if isinstance(value, str) else ""
)
def test_one_mistake_is_told_by_its_rule_alone_at_its_place(rule: str, place: str, change: Any, engine: str) -> None:
    request = deepcopy(next(requests("multi-node-reduction-server")))
    change(request["customJob"])
    (finding,) = policies(engine).judge(request)
    assert (finding.id, finding.address, finding.level) == (rule, place, "deny")
    assert len(finding.problem.split()) >= 3
    assert re.match(r"(add|build|end|give|name|use|write)\b", finding.remedy)


def test_allowed_registries_are_read_beside_the_request() -> None:
    request = deepcopy(next(requests("single-gpu")))
    image("us-docker.pkg.dev/acme-shared/images/trainer-gpu{d}")(request["customJob"])
    assert policies("regorus").judge(request, data={"allowed_registries": ["us-docker.pkg.dev/acme-shared"]}) == []
    assert [found.id for found in policies("regorus").judge(request)] == ["OVN1014"]


def test_both_engines_say_the_same_words() -> None:
    for _, _, change in MISTAKES:
        request = deepcopy(next(requests("multi-node-reduction-server")))
        change(request["customJob"])
        assert policies("opa").judge(request) == policies("regorus").judge(request)
    for document in ({}, {"pipelineJob": {}}, {**PIPELINE, "templateUri": "x/latest", "labels": None}):
        assert policies("opa").judge(document) == policies("regorus").judge(document)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("nothing", [None, "", [], {}, 7, [None], [[1]], {"a b": None}, "a b: c; d"], ids=repr)
def test_values_of_any_kind_break_no_rule(nothing: object, engine: str) -> None:
    request = next(requests("single-gpu"))
    for path in _paths(request):
        policies(engine).judge(_with(request, path, nothing))
    for path in _paths(PIPELINE):
        policies(engine).judge(_with(PIPELINE, path, nothing))


def _paths(value: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """To everything in it that is no single variable of a container."""
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for part, inner in children:
        yield (*before, part)
        if part not in ("env", "args", "command"):
            yield from _paths(inner, (*before, part))


def _with(value: Any, path: tuple[Any, ...], new: object) -> Any:
    made = deepcopy(value)
    place = made
    for part in path[:-1]:
        place = place[part]
    place[path[-1]] = new
    return made
