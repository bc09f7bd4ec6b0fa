"""Google's own client against its API on loopback: whole requests, and a sentence for each refusal."""

import sys

import grpc
import pytest

from artifact_registry_server import running_artifact_registry
from overnight.images import artifact_registry
from overnight.images.artifact_registry import ArtifactRegistry, NoCredentials, Version, connect
from overnight.images.errors import ImageError
from overnight.images.manifest import OCI_INDEX, OCI_MANIFEST
from overnight.images.reference import parse
from overnight.images.registry import Denied, NotFound

DIGEST = "sha256:" + "0123456789abcdef" * 4
REPOSITORY = "projects/acme-vision/locations/europe-west4/repositories/prod-images"
PACKAGE = f"{REPOSITORY}/packages/trainer-gpu"
NAME = "europe-west4-docker.pkg.dev/acme-vision/prod-images/trainer-gpu"
IMAGE = parse(f"{NAME}:v1")


@pytest.fixture
def server():
    with running_artifact_registry() as running:
        yield running


@pytest.fixture
def api(server):
    return ArtifactRegistry(connect(server.address, encrypted=False), retry_seconds=0.5)


def refusal(call, *arguments, kind: type[ImageError] = ImageError) -> str:
    with pytest.raises(kind) as caught:
        call(*arguments)
    sentence = caught.value.sentence
    assert sentence.startswith(f"{NAME}: ")
    assert "\n" not in sentence
    assert sentence.endswith(".")
    assert caught.value.remedy
    return sentence


def test_a_tag_is_looked_up_with_one_request(server, api):
    server.add_image(PACKAGE, DIGEST, "v1", "v2")
    assert api.tagged(IMAGE) == DIGEST
    assert server.requests == [("GetTag", {"name": f"{PACKAGE}/tags/v1"})]


@pytest.mark.parametrize("media_type", [OCI_MANIFEST, OCI_INDEX, None])
def test_a_digest_is_looked_up_with_what_it_is(server, api, media_type):
    server.add_image(PACKAGE, DIGEST, media_type=media_type)
    assert api.version(IMAGE, DIGEST) == Version(DIGEST, media_type)
    assert server.requests == [("GetVersion", {"name": f"{PACKAGE}/versions/{DIGEST}", "view": "FULL"})]


def test_a_nested_image_is_one_package_and_a_domains_project_keeps_its_colon(server, api):
    package = "projects/example.com:vision/locations/us/repositories/r/packages/team%2Fsub%2Ftrainer"
    server.add_image(package, DIGEST, "v1")
    assert api.tagged(parse("us-docker.pkg.dev/example.com/vision/r/team/sub/trainer:v1")) == DIGEST
    assert server.requests == [("GetTag", {"name": f"{package}/tags/v1"})]


def test_a_missing_tag_is_named_with_those_that_are_there(server, api):
    server.add_image(PACKAGE, DIGEST, "v1", "v2")
    said = refusal(api.tagged, parse(f"{NAME}:v3"), kind=NotFound)
    assert said == f"{NAME}: there is no tag 'v3', only v1, v2; name one of these."
    assert server.requests == [
        ("GetTag", {"name": f"{PACKAGE}/tags/v3"}),
        ("ListTags", {"parent": PACKAGE, "pageSize": 200}),
    ]


def test_a_missing_image_a_missing_repository_and_a_missing_digest_are_told_apart(server, api):
    assert "no repository 'prod-images' in europe-west4 of project 'acme-vision'" in refusal(
        api.tagged, IMAGE, kind=NotFound
    )
    server.add_image(f"{REPOSITORY}/packages/steps", DIGEST, "v1")
    assert "the repository 'prod-images' has no image 'trainer-gpu'" in refusal(api.tagged, IMAGE, kind=NotFound)
    assert "has no image 'trainer-gpu'" in refusal(api.version, IMAGE, DIGEST, kind=NotFound)
    server.add_image(PACKAGE, DIGEST)
    assert "there is no tag 'v1', nor any other" in refusal(api.tagged, IMAGE, kind=NotFound)
    other = f"sha256:{'0' * 64}"
    assert f"no image with the digest {other} is there" in refusal(api.version, IMAGE, other, kind=NotFound)


def test_who_may_read_tags_only_is_told_what_can_be_known(server, api):
    server.failures.append(("GetRepository", grpc.StatusCode.PERMISSION_DENIED, "no"))
    assert "the repository 'prod-images' has no image 'trainer-gpu'" in refusal(api.tagged, IMAGE, kind=NotFound)


@pytest.mark.parametrize(
    ("code", "message", "kind", "says"),
    [
        (
            grpc.StatusCode.PERMISSION_DENIED,
            "Permission 'artifactregistry.tags.get' denied\non resource (or it may not exist).",
            Denied,
            "Permission 'artifactregistry.tags.get' denied on resource (or it may not exist)); "
            "grant roles/artifactregistry.reader on the repository.",
        ),
        (
            grpc.StatusCode.PERMISSION_DENIED,
            "Artifact Registry API has not been used in project 1 before or it is disabled.",
            Denied,
            "Artifact Registry is not enabled in the project; run `gcloud services enable",
        ),
        (grpc.StatusCode.UNAUTHENTICATED, "expired", Denied, "run `gcloud auth application-default login`"),
        (grpc.StatusCode.INVALID_ARGUMENT, "bad name", ImageError, "refuses this (bad name)"),
        (grpc.StatusCode.INTERNAL, "oops", ImageError, "refuses this (oops)"),
        (grpc.StatusCode.DEADLINE_EXCEEDED, "late", ImageError, "does not answer (late)"),
        (grpc.StatusCode.UNKNOWN, "", ImageError, "refuses this"),
    ],
)
def test_each_refusal_has_its_sentence(server, api, code, message, kind, says):
    server.failures.append(("GetTag", code, message))
    assert says in refusal(api.tagged, IMAGE, kind=kind)


@pytest.mark.parametrize("code", [grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.RESOURCE_EXHAUSTED])
def test_a_service_that_recovers_is_heard(server, api, code):
    server.add_image(PACKAGE, DIGEST, "v1")
    server.failures.append(("GetTag", code, "later"))
    assert api.tagged(IMAGE) == DIGEST
    assert [method for method, _ in server.requests] == ["GetTag", "GetTag"]


def test_a_service_that_stays_unavailable_is_told(server, api):
    server.failures += [("*", grpc.StatusCode.UNAVAILABLE, "later")] * 100
    assert "Artifact Registry does not answer (503 later); try again later" in refusal(api.tagged, IMAGE)


def test_nobody_listening_is_told():
    api = ArtifactRegistry(connect("127.0.0.1:1", encrypted=False), retry_seconds=0.3)
    assert "Artifact Registry does not answer" in refusal(api.tagged, IMAGE)


@pytest.mark.parametrize("version", ["", f"{PACKAGE}/versions/1.0.3", f"{PACKAGE}/versions/sha256:00"])
def test_a_tag_of_another_format_names_no_digest(server, api, version):
    server.resources[f"{PACKAGE}/tags/v1"] = {"name": f"{PACKAGE}/tags/v1", "version": version}
    assert "which is no image's digest" in refusal(api.tagged, IMAGE)


def test_an_image_elsewhere_is_none_of_its_business(api):
    with pytest.raises(ImageError, match="no image in Artifact Registry"):
        api.tagged(parse("example.com/a:1"))


def test_without_credentials_the_sentence_says_how_to_get_some(monkeypatch):
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", "/nowhere.json")
    with pytest.raises(
        NoCredentials, match=r"there are no credentials \(File /nowhere\.json was not found\); run `gcloud"
    ):
        ArtifactRegistry()


def test_a_client_that_is_not_installed_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "google.cloud.artifactregistry_v1", None)
    monkeypatch.delattr("google.cloud.artifactregistry_v1", raising=False)
    with pytest.raises(ImageError, match=r"is not installed; pip install 'overnight\[gcp\]'\."):
        connect()


def test_credentials_that_fail_during_a_call_are_told(api, monkeypatch):
    from google.auth.exceptions import RefreshError

    def fails(**_: object) -> None:
        raise RefreshError("invalid_grant:\nrevoked")

    monkeypatch.setattr(api._client, "get_tag", fails)
    assert "there are no credentials (invalid_grant: revoked)" in refusal(api.tagged, IMAGE)
    assert artifact_registry.RETRY_SECONDS <= 60
