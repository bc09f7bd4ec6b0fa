"""From a tag to a digest: through the registry, and through Artifact Registry's API."""

import pytest

from artifact_registry_server import running_artifact_registry
from overnight.images.artifact_registry import ArtifactRegistry, connect
from overnight.images.descriptor import LINUX, Platform
from overnight.images.errors import ImageError
from overnight.images.reference import parse
from overnight.images.registry import NotFound, Registry
from overnight.images.resolve import Wanted, resolve, resolve_image
from registry_server import DOCKER_LIST, DOCKER_MANIFEST, OCI_INDEX, OCI_MANIFEST, Fault, flip, running_registry

ARM = Platform("linux", "arm64")
ARM_CONFIG = {"os": "linux", "architecture": "arm64"}
MISSING = "sha256:" + "0" * 64


@pytest.fixture
def server():
    with running_registry() as running:
        yield running


@pytest.fixture
def name(server):
    """A repository with an image by tag `v1`, for arm by tag `arm`, and an index of both by tag `multi`."""
    server.image = server.push_image("team/trainer", "v1")
    server.arm = server.push_image("team/trainer", "arm", config=ARM_CONFIG)
    platforms = {"linux/amd64": server.image, "linux/arm64": server.arm}
    server.index = server.push_index("team/trainer", "multi", platforms, attestations=True)
    return f"{server.host}/team/trainer"


def refusal(text: str, wanted: Wanted = Wanted(), **options) -> str:  # noqa: B008 (frozen)
    with pytest.raises(ImageError) as caught:
        resolve_image(parse(text), wanted, **options)
    sentence = caught.value.sentence
    assert "\n" not in sentence
    assert sentence.endswith(".")
    assert caught.value.remedy
    return sentence


def test_a_tag_becomes_its_digest(server, name):
    found = resolve_image(parse(f"{name}:v1"))
    assert str(found.reference) == f"{name}@{server.image}"
    assert (found.media_type, found.platform) == (OCI_MANIFEST, LINUX)
    assert found.size == len(server.manifests["team/trainer"][server.image][0])
    assert resolve(parse(f"{name}:v1")) == found.reference


def test_a_digest_stays_when_it_is_there(server, name):
    assert resolve(parse(f"{name}@{server.image}")).digest == server.image
    assert f"no image with the digest {MISSING}" in refusal(f"{name}@{MISSING}")


def test_a_tag_beside_a_digest_must_point_to_it(server, name):
    assert str(resolve(parse(f"{name}:v1@{server.image}"))) == f"{name}@{server.image}"
    said = refusal(f"{name}:v1@{server.arm}")
    assert f"the tag 'v1' points to {server.image} now" in said


def test_neither_tag_nor_digest_is_refused(name):
    assert "names neither tag nor digest, and `latest` is not assumed" in refusal(name)


@pytest.mark.parametrize("media_type", [OCI_INDEX, DOCKER_LIST])
def test_a_manifest_list_is_told_with_its_platforms(server, name, media_type):
    platforms = {"linux/amd64": server.image, "linux/arm64": server.arm}
    server.push_index("team/trainer", "list", platforms, media_type=media_type, attestations=True)
    assert refusal(f"{name}:list") == (
        f"{name}:list: this is a manifest list (linux/amd64, linux/arm64); "
        "take one image of it with --platform linux/amd64, or the list with --allow-index."
    )


def test_of_a_manifest_list_the_image_for_a_platform_or_the_list_itself_is_taken_when_asked(server, name):
    multi = parse(f"{name}:multi")
    assert resolve_image(multi, Wanted(LINUX)).reference.digest == server.image
    found = resolve_image(multi, Wanted(ARM))
    assert (found.reference.digest, found.platform) == (server.arm, ARM)
    listed = resolve_image(multi, Wanted(allow_index=True))
    assert (listed.reference.digest, listed.media_type, listed.platform) == (server.index, OCI_INDEX, None)
    assert "no image for windows/amd64, only linux/amd64, linux/arm64" in refusal(
        f"{name}:multi", Wanted(Platform("windows", "amd64"))
    )


def test_our_own_images_are_never_taken_out_of_a_manifest_list(server, name):
    own = f"{server.host}/team"
    said = refusal(f"{name}:multi", Wanted(LINUX, own=own))
    assert (
        "this is a manifest list (linux/amd64, linux/arm64), and images of this repository are single manifests" in said
    )
    assert resolve_image(parse(f"{name}:multi"), Wanted(LINUX, own=f"{server.host}/te")).platform == LINUX
    assert resolve_image(parse(f"{name}:multi"), Wanted(allow_index=True, own=own)).reference.digest == server.index


def test_an_image_for_another_platform_is_refused_unless_it_is_wanted(server, name):
    assert "the image is for linux/arm64, and linux/amd64 is wanted" in refusal(f"{name}:arm")
    assert resolve_image(parse(f"{name}:arm"), Wanted(ARM)).platform == ARM
    assert "the image is for linux/amd64, and linux/arm64 is wanted" in refusal(f"{name}:v1", Wanted(ARM))


def test_an_artifact_has_no_platform(server, name):
    kind = "application/vnd.oci.empty.v1+json"
    digest = server.put_blob("team/trainer", b"{}")
    value = {
        "schemaVersion": 2,
        "mediaType": OCI_MANIFEST,
        "config": {"mediaType": kind, "digest": digest, "size": 2},
        "layers": [],
    }
    server.put_manifest("team/trainer", value, OCI_MANIFEST, "artifact")
    assert resolve_image(parse(f"{name}:artifact")).platform is None


@pytest.mark.parametrize("config", [b"[]", b"\xff", b"7"])
def test_a_broken_configuration_is_refused(server, name, config):
    server.push_image("team/trainer", "broken", config=config, media_type=DOCKER_MANIFEST)
    assert "configuration is no JSON object" in refusal(f"{name}:broken")


def test_a_list_of_lists_is_refused(server, name):
    server.push_index("team/trainer", "deep", {"linux/amd64": server.index})
    assert "lists another manifest list" in refusal(f"{name}:deep", Wanted(LINUX))


def test_a_flipped_bit_in_the_chosen_image_is_refused(server, name):
    server.faults.append(Fault(f"manifests/{server.image}", flip(9)))
    assert "serves other bytes" in refusal(f"{name}:multi", Wanted(LINUX))


# Artifact Registry.

PACKAGE = "projects/p/locations/us/repositories/r/packages/trainer"
GOOGLE = "us-docker.pkg.dev/p/r/trainer"


@pytest.fixture
def google(server, name):
    """The API with the images of `name`; the registry behind it has them under Google's path."""
    with running_artifact_registry() as running:
        server.blobs["p/r/trainer"] = server.blobs["team/trainer"]
        server.manifests["p/r/trainer"] = server.manifests["team/trainer"]
        running.add_image(PACKAGE, server.image, "v1", media_type=OCI_MANIFEST)
        running.add_image(PACKAGE, server.index, "multi", media_type=OCI_INDEX)
        running.add_image(PACKAGE, server.arm, "silent")
        running.add_image(PACKAGE, MISSING, "chart", media_type="application/vnd.cncf.helm.chart")
        running.options = {
            "artifact_registry": ArtifactRegistry(connect(running.address, encrypted=False), retry_seconds=0.3),
            "registry": Registry(server.host),
        }
        yield running


def test_artifact_registry_is_asked_for_its_own_images_and_nobody_else(server, google):
    found = resolve_image(parse(f"{GOOGLE}:v1"), **google.options)
    assert str(found.reference) == f"{GOOGLE}@{server.image}"
    assert (found.media_type, found.size, found.platform) == (OCI_MANIFEST, None, None)
    assert google.requests == [
        ("GetTag", {"name": f"{PACKAGE}/tags/v1"}),
        ("GetVersion", {"name": f"{PACKAGE}/versions/{server.image}", "view": "FULL"}),
    ]
    assert server.requests == []


def test_in_artifact_registry_a_tag_beside_a_digest_must_point_to_it(server, google):
    assert resolve(parse(f"{GOOGLE}:v1@{server.image}"), **google.options).digest == server.image
    assert f"the tag 'v1' points to {server.image} now" in refusal(f"{GOOGLE}:v1@{server.arm}", **google.options)


def test_in_artifact_registry_a_digest_must_be_there(server, google):
    assert resolve(parse(f"{GOOGLE}@{server.image}"), **google.options).digest == server.image
    with pytest.raises(NotFound, match="no image with the digest"):
        resolve(parse(f"{GOOGLE}@sha256:{'1' * 64}"), **google.options)


def test_a_manifest_list_in_artifact_registry_is_read_from_the_registry(server, google):
    assert "this is a manifest list (linux/amd64, linux/arm64)" in refusal(f"{GOOGLE}:multi", **google.options)
    found = resolve_image(parse(f"{GOOGLE}:multi"), Wanted(LINUX), **google.options)
    assert str(found.reference) == f"{GOOGLE}@{server.image}"
    listed = resolve_image(parse(f"{GOOGLE}:multi"), Wanted(allow_index=True), **google.options)
    assert listed.reference.digest == server.index


def test_where_artifact_registry_does_not_say_what_it_is_the_registry_does(google):
    assert "the image is for linux/arm64" in refusal(f"{GOOGLE}:silent", **google.options)


def test_what_is_no_image_is_refused(google):
    said = refusal(f"{GOOGLE}:chart", **google.options)
    assert "this is 'application/vnd.cncf.helm.chart', no container image" in said


def test_without_credentials_for_the_api_the_registry_is_asked(monkeypatch, tmp_path):
    """Public images can be read by anybody, but not through the API."""
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", "/nowhere.json")
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    import socket

    def nobody(host: str, *_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, f"asked for {host}")

    monkeypatch.setattr(socket, "getaddrinfo", nobody)
    monkeypatch.setenv("no_proxy", "*")
    assert refusal(f"{GOOGLE}:v1").startswith("us-docker.pkg.dev: there is no such host")
