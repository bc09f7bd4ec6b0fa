"""The digests that a build pushed: the official client against a server, and builds of this machine."""

import json
from collections.abc import Iterator

import pytest

from cloud_build_server import CloudBuild, GetBuildRequest, serving
from overnight.images.errors import ImageError
from overnight.images.from_build import from_cloud_build, from_local_build

ID = "0f3c2a1b-7d5e-4a9c-8b1d-2e4f6a8c0d1e"
NAME = f"projects/acme-vision-prod/locations/us-central1/builds/{ID}"
REPOSITORY = "us-central1-docker.pkg.dev/acme-vision-prod/prod-images"
A, B = f"sha256:{'a' * 64}", f"sha256:{'b' * 64}"
BUILD = {
    "id": ID,
    "name": NAME,
    "status": "SUCCESS",
    "images": [f"{REPOSITORY}/trainer-gpu:{'c' * 40}", f"{REPOSITORY}/steps:{'c' * 40}"],
    "results": {
        "images": [
            {"name": f"{REPOSITORY}/trainer-gpu:{'c' * 40}", "digest": A, "artifactRegistryPackage": "projects/…"},
            {"name": f"{REPOSITORY}/trainer-gpu", "digest": A},
            {"name": f"{REPOSITORY}/steps:{'c' * 40}", "digest": B},
        ],
        "buildStepImages": ["", ""],
    },
}
DIGESTS = {f"{REPOSITORY}/trainer-gpu": A, f"{REPOSITORY}/steps": B}


@pytest.fixture(params=["grpc", "rest"])
def service(request: pytest.FixtureRequest) -> Iterator[CloudBuild]:
    with serving(request.param) as service:
        yield service


def ask(service: CloudBuild) -> dict[str, str]:
    return from_cloud_build("acme-vision-prod", "us-central1", ID, service.client)


def refused(call) -> str:
    with pytest.raises(ImageError) as error:
        call()
    assert "\n" not in error.value.sentence
    return error.value.sentence


def test_a_regional_build_is_asked_for_by_its_name_alone(service):
    service.builds[NAME] = BUILD
    assert ask(service) == DIGESTS
    whole = GetBuildRequest(name=NAME) if isinstance(service.requests[0], GetBuildRequest) else f"GET /v1/{NAME}"
    assert service.requests == [whole]


def test_a_build_that_is_not_there_names_project_and_region(service):
    assert refused(lambda: ask(service)) == (
        f"build {ID}: project acme-vision-prod has no such build in us-central1; "
        "give the id that the build printed, or another --config."
    )


@pytest.mark.parametrize(
    ("failure", "says"),
    [
        (("PERMISSION_DENIED", "no"), "this account may not read builds; ask for roles/cloudbuild.builds.viewer"),
        (("UNAUTHENTICATED", "no"), "there are no usable Google credentials ("),
        (("INTERNAL", "line\nline"), "Cloud Build did not answer as it should ("),
    ],
)
def test_a_refusal_is_one_sentence(service, failure, says):
    service.failure = failure
    assert says in refused(lambda: ask(service))


def with_(**changes: object) -> dict[str, object]:
    return {**BUILD, **changes}


BAD = [
    (with_(status="WORKING"), "it has not ended (WORKING); wait until it has."),
    (with_(status="QUEUED"), "it has not ended (QUEUED); wait until it has."),
    (
        with_(status="FAILURE", failureInfo={"type": "USER_BUILD_STEP", "detail": "step 3\nfailed."}),
        "it ended as FAILURE: step 3 failed; name a build that succeeded.",
    ),
    (with_(status="TIMEOUT"), "it ended as TIMEOUT; name a build that succeeded."),
    (with_(status="STATUS_UNKNOWN"), "it ended as STATUS_UNKNOWN; name a build that succeeded."),
    (with_(results={}), "it pushed no image through `images`, so Cloud Build knows no digest; "),
    (with_(results={"images": [{"name": f"{REPOSITORY}/a:1", "digest": ""}]}), "there is nothing after the @"),
    (with_(results={"images": [{"name": "a:1", "digest": A}]}), "it names no registry"),
    (
        with_(results={"images": [{"name": f"{REPOSITORY}/a:{d[-1]}", "digest": d} for d in (A, B)]}),
        f"it pushed {REPOSITORY}/a with two digests; give the one that is meant with --to.",
    ),
]


@pytest.mark.parametrize(("build", "says"), BAD, ids=lambda value: value if isinstance(value, str) else "")
def test_a_build_without_a_usable_digest_says_why(service, build, says):
    service.builds[NAME] = build
    assert says in refused(lambda: ask(service))


def test_a_local_build_gives_the_same(tmp_path):
    (tmp_path / "builds").mkdir()
    (tmp_path / "builds" / f"{ID}.json").write_text(json.dumps(BUILD))
    assert from_local_build(tmp_path, ID) == DIGESTS


@pytest.mark.parametrize(("build", "says"), BAD, ids=lambda value: value if isinstance(value, str) else "")
def test_a_local_build_without_a_usable_digest_says_why(tmp_path, build, says):
    (tmp_path / "builds").mkdir()
    (tmp_path / "builds" / f"{ID}.json").write_text(json.dumps(build))
    assert says in refused(lambda: from_local_build(tmp_path, ID))


def test_a_local_build_that_is_not_there_is_named(tmp_path):
    assert refused(lambda: from_local_build(tmp_path, ID)) == (
        f"{tmp_path}/builds/{ID}.json: there is no such build on this machine; "
        "give the id that `overnight image build --local` printed."
    )


@pytest.mark.parametrize("content", [b"", b"\xff", b"[]", b"7", b'{"stats": 1}', b'{"status": []}', b"[" * 100_000])
def test_a_file_that_is_no_build_is_one_sentence(tmp_path, content):
    (tmp_path / "builds").mkdir()
    (tmp_path / "builds" / f"{ID}.json").write_bytes(content)
    assert "this is no build in Cloud Build's form; build again." in refused(lambda: from_local_build(tmp_path, ID))


@pytest.mark.parametrize("name", ["", "../x", "a/b", "a b", "-x", "x" * 200, "é"])
def test_what_is_no_build_id_is_asked_of_nobody(service, tmp_path, name):
    assert "is no build; give the id" in refused(lambda: from_local_build(tmp_path, name))
    assert "is no build" in refused(lambda: from_cloud_build("p", "us-central1", name, service.client))
    assert service.requests == []
