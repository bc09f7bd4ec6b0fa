"""What the registry client reads and writes, and what it refuses to believe."""

import json

import pytest
import requests

from overnight.images.errors import ImageError
from overnight.images.manifest import DOCKER_LIST, DOCKER_MANIFEST, digest_of
from overnight.images.reference import parse
from overnight.images.registry import NotFound, registry_for
from registry_client import BIG, MISSING, PATH, refusal
from registry_server import OCI_INDEX, OCI_MANIFEST, Fault, body, flip, header, status


@pytest.mark.parametrize("media_type", [OCI_MANIFEST, DOCKER_MANIFEST])
def test_a_manifest_is_read_by_tag_and_by_digest(server, registry, media_type):
    digest = server.push_image(PATH, "v1", media_type=media_type)
    by_tag, by_digest = registry.manifest(PATH, "v1"), registry.manifest(PATH, digest)
    assert by_tag == by_digest
    assert (by_tag.digest, by_tag.media_type) == (digest, media_type)
    assert digest_of(by_tag.body) == digest


@pytest.mark.parametrize("media_type", [OCI_INDEX, DOCKER_LIST])
def test_an_index_is_read_because_all_four_media_types_are_asked_for(server, registry, media_type):
    image = server.push_image(PATH)
    index = server.push_index(PATH, "multi", {"linux/amd64": image}, media_type=media_type)
    assert registry.manifest(PATH, "multi").digest == index
    assert registry.exists(PATH, "multi")
    for request in server.asked("manifests/multi"):
        named = {kind.strip() for kind in request.headers["accept"].split(",")}
        assert named == {OCI_INDEX, OCI_MANIFEST, DOCKER_LIST, DOCKER_MANIFEST}


OCI_HIDDEN = (404, "MANIFEST_UNKNOWN")
DOCKER_HIDDEN = (400, "MANIFEST_INVALID")


@pytest.mark.parametrize(
    ("media_type", "accept", "expected"),
    [
        (OCI_INDEX, "", OCI_HIDDEN),
        (OCI_INDEX, "*/*", OCI_HIDDEN),
        (OCI_INDEX, OCI_MANIFEST, OCI_HIDDEN),
        (OCI_INDEX, DOCKER_MANIFEST, OCI_HIDDEN),
        (OCI_INDEX, f"{OCI_INDEX};q=0.5, {OCI_MANIFEST}", (200, OCI_INDEX)),
        (DOCKER_LIST, "", DOCKER_HIDDEN),
        (DOCKER_LIST, "*/*", DOCKER_HIDDEN),
        (DOCKER_LIST, OCI_MANIFEST, DOCKER_HIDDEN),
        (DOCKER_LIST, DOCKER_MANIFEST, (200, DOCKER_MANIFEST)),
        (DOCKER_LIST, DOCKER_LIST, (200, DOCKER_LIST)),
    ],
)
def test_the_test_server_answers_as_docker_registry_was_seen_to_answer(server, media_type, accept, expected):
    """Observed with docker-registry 2.8.2: a client that names too little gets nothing, or another digest."""
    image = server.push_image(PATH, media_type=OCI_MANIFEST if media_type == OCI_INDEX else DOCKER_MANIFEST)
    server.push_index(PATH, "multi", {"linux/amd64": image}, media_type=media_type)
    url = f"http://{server.host}/v2/{PATH}/manifests/multi"
    answer = requests.get(url, headers={"Accept": accept}, timeout=5)
    said = answer.headers["Content-Type"] if answer.ok else answer.json()["errors"][0]["code"]
    assert (answer.status_code, said) == expected
    if answer.ok:
        assert answer.headers["Docker-Content-Digest"] == digest_of(answer.content)


def test_a_blob_is_read_whole_or_in_pieces(server, registry):
    digest = server.put_blob(PATH, BIG)
    assert registry.blob(PATH, digest) == BIG
    pieces = list(registry.stream(PATH, digest))
    assert len(pieces) > 1
    assert b"".join(pieces) == BIG
    assert registry.blob_size(PATH, digest) == len(BIG)
    assert registry.blob_size(PATH, MISSING) is None


def test_what_is_there_exists_and_what_is_not_does_not(server, registry):
    digest = server.push_image(PATH, "v1")
    asked = [("v1", True), (digest, True), ("v2", False), (MISSING, False)]
    assert [registry.exists(PATH, reference) for reference, _ in asked] == [there for _, there in asked]
    assert not registry.exists("other/path", "v1")


def test_tags_are_listed_over_all_pages(server, registry):
    server.page = 3
    for number in range(8):
        server.push_image(PATH, f"v{number}")
    assert registry.tags(PATH) == [f"v{number}" for number in range(8)]
    assert len(server.asked("tags/list")) == 3


def test_a_pushed_image_is_what_was_pushed(server, registry):
    config = registry.put_blob("new/image", b"{}")
    layer = registry.put_blob("new/image", BIG)
    value = {
        "schemaVersion": 2,
        "mediaType": OCI_MANIFEST,
        "config": {**config.as_json(), "mediaType": "application/vnd.oci.image.config.v1+json"},
        "layers": [layer.as_json()],
    }
    data = json.dumps(value).encode()
    digest = registry.put_manifest("new/image", "v1", data, OCI_MANIFEST)
    assert digest == digest_of(data)
    assert registry.manifest("new/image", digest).body == data
    assert registry.manifest("new/image", "v1").layers == (layer,)
    assert registry.put_manifest("new/image", digest, data, OCI_MANIFEST) == digest


def test_a_blob_that_is_there_is_not_uploaded_again(server, registry):
    registry.put_blob(PATH, b"once")
    registry.put_blob(PATH, b"once")
    assert len(server.asked("^POST")) == 1


def test_an_upload_may_be_led_to_a_relative_address(server, registry):
    server.faults.append(Fault("^POST", header("Location", f"/v2/{PATH}/blobs/uploads/abc")))
    server.uploads["abc"] = b""
    assert registry.put_blob(PATH, b"data").digest == digest_of(b"data")


def test_an_upload_is_never_led_away_from_tls(server, registry):
    server.faults.append(Fault("^POST", header("Location", "http://example.com/elsewhere")))
    with pytest.raises(ImageError, match="without TLS"):
        registry.put_blob(PATH, b"data")
    assert not server.asked("^PUT")


def test_a_manifest_of_blobs_that_are_not_there_is_refused_in_the_registrys_words(server, registry):
    data = json.dumps(
        {"schemaVersion": 2, "config": {"digest": MISSING, "mediaType": "x", "size": 1}, "layers": []}
    ).encode()
    said = refusal(registry.put_manifest, PATH, "v1", data, OCI_MANIFEST)
    assert "400 (MANIFEST_BLOB_UNKNOWN: blob unknown to registry) while storing a manifest" in said


@pytest.mark.parametrize("by_api", [True, False])
def test_what_is_attached_is_found_by_the_api_or_by_the_tag(server, registry, by_api):
    server.referrers_api = by_api
    subject = server.push_image(PATH, "v1")
    kind = "application/vnd.dsse.envelope.v1+json"
    attached = server.push_image(
        PATH,
        layers=(b"envelope",),
        artifactType=kind,
        subject={"mediaType": OCI_MANIFEST, "digest": subject, "size": 1},
        annotations={"a": "b"},
    )
    if not by_api:
        server.attach(PATH, subject, attached)
    (found,) = registry.referrers(PATH, subject)
    assert (found.digest, found.artifact_type, found.annotations) == (attached, kind, {"a": "b"})
    assert registry.referrers(PATH, attached) == []


def test_a_missing_tag_is_named_with_the_tags_that_are_there(server, registry):
    server.push_image(PATH, "v1")
    server.push_image(PATH, "v2")
    assert refusal(registry.manifest, PATH, "v3", kind=NotFound) == (
        f"{server.host}/{PATH}: there is no tag 'v3', only v1, v2; name one of these."
    )


def test_many_tags_are_counted(server, registry):
    for number in range(11):
        server.push_image(PATH, f"v{number}")
    assert "there is no tag 'x' among the 11 tags" in refusal(registry.manifest, PATH, "x", kind=NotFound)


def test_a_missing_repository_a_missing_digest_and_no_tag_at_all_are_told_apart(server, registry):
    assert "no such repository" in refusal(registry.manifest, PATH, "v1", kind=NotFound)
    assert "no such repository" in refusal(registry.tags, PATH, kind=NotFound)
    server.push_image(PATH)
    assert "no tag 'v1', nor any other" in refusal(registry.manifest, PATH, "v1", kind=NotFound)
    assert f"no image with the digest {MISSING}" in refusal(registry.manifest, PATH, MISSING, kind=NotFound)
    assert "does not have this blob" in refusal(registry.blob, PATH, MISSING, kind=NotFound)


def test_a_missing_tag_is_missing_also_where_tags_may_not_be_listed(server, registry):
    server.push_image(PATH, "v1")
    server.faults.append(Fault("tags/list", status(403, "DENIED")))
    assert "there is no tag 'v2'" in refusal(registry.manifest, PATH, "v2", kind=NotFound)


@pytest.mark.parametrize("by", ["tag", "digest"])
def test_a_manifest_with_a_flipped_bit_is_refused(server, registry, by):
    digest = server.push_image(PATH, "v1")
    server.faults.append(Fault("manifests", flip(20)))
    assert "serves other bytes" in refusal(registry.manifest, PATH, "v1" if by == "tag" else digest)


def test_a_header_that_names_another_digest_is_refused(server, registry):
    server.push_image(PATH, "v1")
    server.faults.append(Fault("manifests", header("Docker-Content-Digest", MISSING)))
    assert f"its header Docker-Content-Digest says '{MISSING}'" in refusal(registry.manifest, PATH, "v1")


def test_another_manifest_than_the_one_asked_for_is_refused_though_its_header_agrees(server, registry):
    asked = server.push_image(PATH, "v1")
    served = server.push_image(PATH, "v2", layers=(b"other",))
    server.manifests[PATH][asked] = server.manifests[PATH][served]
    server.faults.append(Fault("manifests", header("Docker-Content-Digest", served)))
    assert f"{asked} was named and {served} came" in refusal(registry.manifest, PATH, asked)


def test_a_registry_without_the_digest_header_is_believed_by_the_bytes_alone(server, registry):
    digest = server.push_image(PATH, "v1")
    server.faults.append(Fault("manifests", header("Docker-Content-Digest", None)))
    assert registry.manifest(PATH, "v1").digest == digest


def test_a_blob_with_a_flipped_bit_is_refused_after_its_last_piece(server, registry):
    digest = server.put_blob(PATH, BIG)
    server.faults.append(Fault("blobs", flip(2_000_000)))
    assert "serves other bytes" in refusal(registry.blob, PATH, digest)
    assert "serves other bytes" in refusal(lambda: list(registry.stream(PATH, digest)))


@pytest.mark.parametrize(
    ("data", "kind", "says"),
    [
        (b"<html>login</html>", "text/html", "not JSON"),
        (b"", None, "not JSON"),
        (b"{}", OCI_MANIFEST, "schemaVersion"),
        (b"x" * (9 * 2**20), OCI_MANIFEST, "more than 4,194,304 bytes"),
    ],
)
def test_what_is_no_manifest_is_refused(server, registry, data, kind, says):
    server.push_image(PATH, "v1")
    server.faults.append(Fault("manifests", body(data, kind)))
    assert says in refusal(registry.manifest, PATH, "v1")


@pytest.mark.parametrize("answer", [b"[]", b"\x00", b'{"tags": 7}', b'{"tags": [1, "v1"]}'])
def test_a_broken_list_of_tags_is_refused_or_read_as_far_as_it_goes(server, registry, answer):
    server.faults.append(Fault("tags/list", body(answer)))
    if answer.startswith(b"{"):
        assert registry.tags(PATH) in ([], ["v1"])
    else:
        assert "no JSON object" in refusal(registry.tags, PATH)


def test_each_host_gets_the_credentials_that_are_right_for_it(monkeypatch, tmp_path):
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    kinds = [
        type(registry_for(parse(text))._connection._credentials).__name__
        for text in ("localhost:5000/a:1", "[::1]:5000/a:1", "example.com/a:1", "us-docker.pkg.dev/p/r/i:1")
    ]
    assert kinds == ["NoCredentials", "NoCredentials", "DockerCredentials", "GoogleCredentials"]


def test_docker_hub_is_asked_where_its_api_is():
    ask = registry_for(parse("docker.io/python:3.11"))._ask("GET", "python", "manifests", "3.11")
    assert ask.url == "https://registry-1.docker.io/v2/library/python/manifests/3.11"
    nested = registry_for(parse("docker.io/a/b:1"))._ask("GET", "a/b", "manifests", "1")
    assert nested.url == "https://registry-1.docker.io/v2/a/b/manifests/1"
