"""Images that are right, and images that are wrong in one way each: which check says so, and in which words."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from overnight.images.attach import AttachedAttestations, attest
from overnight.images.envelope import ENVELOPE_TYPE, sign
from overnight.images.errors import ImageError
from overnight.images.keys import PrivateKey, key_pair
from overnight.images.labels import REVISION, SOURCE, TITLE
from overnight.images.provenance import CLOUD_BUILDER, LOCAL_BUILDER, Evidence, Expected, Provenance, write
from overnight.images.reference import Reference
from overnight.images.registry import Registry
from overnight.images.statement import SLSA_V01
from overnight.images.verdict import NOT_JUDGED, REFUSED, VERIFIED, Check, verdict
from overnight.images.verify import THIS_MACHINE, verify
from registry_server import DOCKER_MANIFEST, LAYER, OCI_MANIFEST, Fault, RegistryServer, flip, running_registry, status

PATH = "overnight-images/trainer-cpu"
COMMIT = "0123456789abcdef0123456789abcdef01234567"
URL = "https://github.com/acme/vision"
LAYERS = (b"base " * 1000, b"application " * 500, b"model " * 10)
LABELS = {SOURCE: URL, REVISION: COMMIT, TITLE: "trainer-cpu"}
EXPECTED = Expected(source=URL, builder=LOCAL_BUILDER, commit=COMMIT)
ALL = [
    *("pinned", "registry", "manifest", "digest", "image", "media types", "config", "layers"),
    *("attestation", "signature", "subject", "builder", "source", "commit", "labels", "title"),
]


@pytest.fixture
def server() -> Iterator[RegistryServer]:
    with running_registry() as running:
        yield running


@pytest.fixture
def registry(server: RegistryServer) -> Registry:
    return Registry(server.host, sleep=lambda _: None)


@pytest.fixture(scope="module")
def key(tmp_path_factory) -> PrivateKey:
    return key_pair(Path(tmp_path_factory.mktemp("ours")) / "attestation.pem")


@pytest.fixture(scope="module")
def other_key(tmp_path_factory) -> PrivateKey:
    return key_pair(Path(tmp_path_factory.mktemp("theirs")) / "attestation.pem")


def config(labels: dict[str, str] | None) -> dict[str, Any]:
    return {"architecture": "amd64", "os": "linux", "config": {"Labels": labels}, "rootfs": {"type": "layers"}}


def push(server: RegistryServer, labels: dict[str, str] | None = LABELS, **fields: Any) -> Reference:
    digest = server.push_image(PATH, "v1", layers=LAYERS, config=config(labels), **fields)
    return Reference(server.host, PATH, digest=digest)


def provenance(image: Reference, **changes: Any) -> Provenance:
    fields = {
        "subject_digest": image.digest,
        "source": URL,
        "commit": COMMIT,
        "builder": LOCAL_BUILDER,
        "build_id": "build-1",
        **changes,
    }
    return Provenance(**fields)


@pytest.fixture
def image(server: RegistryServer, registry: Registry, key: PrivateKey) -> Reference:
    """An image with everything right."""
    pushed = push(server)
    attest(registry, pushed, provenance(pushed), key)
    return pushed


def checks(
    registry: Registry, image: Reference, *keys: PrivateKey, expected: Expected = EXPECTED, **options: Any
) -> list[Check]:
    sources = [AttachedAttestations(registry, [key.public for key in keys])]
    options = {"places": [THIS_MACHINE], "sources": sources, **options}
    return verify(image, expected, registry=registry, **options)


def failed(found: list[Check]) -> dict[str, str]:
    return {check.name: check.message for check in found if not check.passed}


def test_an_image_with_everything_right_is_verified(registry, image, key) -> None:
    found = checks(registry, image, key)
    assert [check.name for check in found] == ALL
    assert failed(found) == {}
    assert verdict("IMAGE", found).exit_code == VERIFIED
    assert verdict("IMAGE", found).sentence == "Verified: IMAGE: all 16 checks passed."


def test_each_row_says_what_was_found(registry, image, key, server) -> None:
    body = server.manifests[PATH][image.digest][0]
    layers = sum(map(len, LAYERS))
    size = json.loads(body)["config"]["size"]
    assert [check.message for check in checks(registry, image, key)] == [
        f"{image.digest} names bytes, and no tag is looked at",
        f"{server.host}/{PATH} belongs to registries on this machine",
        f"{server.host} has it",
        f"its {len(body)} bytes hash to the digest",
        "a single image, no manifest list",
        "application/vnd.oci.image.manifest, config and layers known",
        f"its {size} bytes hash to the digest",
        f"3 layers, {layers:,} bytes: as their digests say",
        "attached to the image: one statement",
        f"signed by the key {key.public.key_id[:12]}",
        "the statement is about this digest",
        f"{LOCAL_BUILDER}, as expected",
        f"{URL}, as expected",
        f"{COMMIT}, as expected",
        "source and revision agree with the statement",
        "the image calls itself trainer-cpu",
    ]


def test_what_is_not_asked_for_is_told_and_not_compared(registry, image, key) -> None:
    found = {check.name: check for check in checks(registry, image, key, expected=Expected())}
    assert all(check.passed for check in found.values())
    assert found["source"].message == f"{URL}; no other was asked for"


@pytest.mark.parametrize("writing", ["git@github.com:acme/vision.git", f"{URL}.git", f"{URL}/"])
def test_the_expected_source_may_be_written_in_any_way(registry, image, key, writing) -> None:
    assert failed(checks(registry, image, key, expected=Expected(source=writing))) == {}


# The bytes.


@pytest.mark.parametrize("position", [0, 40, -1])
def test_a_flipped_byte_in_the_manifest_is_found(server, registry, image, key, position) -> None:
    server.faults.append(Fault(rf"GET .*/manifests/{image.digest}", flip(position)))
    found = checks(registry, image, key)
    assert list(failed(found)) == ["digest"]
    assert f"the registry serves other bytes: {image.digest} was named and sha256:" in failed(found)["digest"]
    assert verdict("IMAGE", found).exit_code == REFUSED


def blob_fault(server: RegistryServer, image: Reference, part: str, position: int) -> str:
    manifest = json.loads(server.manifests[PATH][image.digest][0])
    descriptor = manifest["config"] if part == "config" else manifest["layers"][int(part)]
    server.faults.append(Fault(rf"GET .*/blobs/{descriptor['digest']}", flip(position)))
    return str(descriptor["digest"])


@pytest.mark.parametrize("position", [0, 17, -1])
@pytest.mark.parametrize(
    ("part", "row", "begins"), [("0", "layers", "layer 1 of 3: "), ("2", "layers", "layer 3 of 3: ")]
)
def test_a_flipped_byte_in_a_layer_is_found(server, registry, image, key, part, row, begins, position) -> None:
    digest = blob_fault(server, image, part, position)
    found = checks(registry, image, key)
    assert list(failed(found)) == [row]
    assert failed(found)[row].startswith(f"{begins}the registry serves other bytes: {digest} was named and sha256:")
    assert verdict("IMAGE", found).exit_code == REFUSED


@pytest.mark.parametrize("position", [0, 17, -1])
def test_a_flipped_byte_in_the_config_is_found_and_its_labels_are_not_read(
    server, registry, image, key, position
) -> None:
    blob_fault(server, image, "config", position)
    found = checks(registry, image, key)
    assert list(failed(found)) == ["config"]
    assert [check.name for check in found] == ALL[:-2]


def test_two_bad_layers_are_both_counted(server, registry, image, key) -> None:
    for part in ("0", "2"):
        blob_fault(server, image, part, 5)
    assert failed(checks(registry, image, key))["layers"].endswith("(and 1 other layer)")


def test_without_layers_no_layer_is_read(server, registry, image, key) -> None:
    blob_fault(server, image, "0", 5)
    found = checks(registry, image, key, layers=False)
    assert failed(found) == {}
    assert found[7].message == "3 layers, of the right sizes; no bytes were read"
    layers = {entry["digest"] for entry in json.loads(server.manifests[PATH][image.digest][0])["layers"]}
    asked = [request for request in server.requests if request.path.rpartition("/")[2] in layers]
    assert {request.method for request in asked} == {"HEAD"}


@pytest.mark.parametrize("layers", [True, False])
def test_a_missing_layer_is_found(server, registry, image, key, layers) -> None:
    digest = json.loads(server.manifests[PATH][image.digest][0])["layers"][1]["digest"]
    del server.blobs[PATH][digest]
    found = checks(registry, image, key, layers=layers)
    assert failed(found)["layers"].startswith("layer 2 of 3: ")
    assert "does not have" in failed(found)["layers"]
    assert verdict("IMAGE", found).exit_code == REFUSED


@pytest.mark.parametrize("layers", [True, False])
def test_a_layer_of_another_size_than_the_manifest_says_is_found(server, registry, key, layers) -> None:
    digest = server.put_blob(PATH, b"layer")
    image = push(server)
    manifest = json.loads(server.manifests[PATH][image.digest][0])
    manifest["layers"].append({"mediaType": LAYER, "digest": digest, "size": 6})
    changed = image.with_digest(server.put_manifest(PATH, manifest, OCI_MANIFEST))
    assert failed(checks(registry, changed, key, layers=layers))["layers"] == (
        "layer 4 of 4: it has 5 bytes, and the manifest says 6"
    )


def test_the_reading_of_layers_is_reported(registry, image, key) -> None:
    seen: list[tuple[int, int]] = []
    checks(registry, image, key, progress=lambda read, total: seen.append((read, total)))
    total = sum(map(len, LAYERS))
    assert seen[-1] == (total, total)
    assert seen == sorted(seen)


# What is no image of ours.


def test_a_manifest_list_is_refused_and_its_platforms_named(server, registry, image, key) -> None:
    other = server.push_image(PATH, layers=(b"arm",))
    index = server.push_index(PATH, "multi", {"linux/amd64": image.digest, "linux/arm64": other})
    found = checks(registry, image.with_digest(index), key)
    assert failed(found)["image"] == (
        "this is a manifest list (linux/amd64, linux/arm64), and a job runs one image; "
        "pin the digest of one platform's image"
    )
    assert "attestation" in failed(found)


def test_an_attestation_is_no_image(server, registry, image, key) -> None:
    digest = attest(registry, image, provenance(image), key)
    assert failed(checks(registry, image.with_digest(digest), key))["image"] == (
        f"this is an artifact of the type {ENVELOPE_TYPE} and no image"
    )


def test_layers_that_come_from_elsewhere_are_refused(server, registry, key) -> None:
    image = push(server)
    manifest = json.loads(server.manifests[PATH][image.digest][0])
    manifest["layers"][1]["mediaType"] = "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip"
    changed = image.with_digest(server.put_manifest(PATH, manifest, OCI_MANIFEST))
    assert failed(checks(registry, changed, key))["media types"] == (
        "layer 2 is 'application/vnd.docker.image.rootfs.foreign.diff.tar.gzip', no layer of an image"
    )


def test_a_config_of_another_kind_is_refused(server, registry, key) -> None:
    image = push(server)
    manifest = json.loads(server.manifests[PATH][image.digest][0])
    manifest["config"]["mediaType"] = "application/vnd.cncf.helm.config.v1+json"
    changed = image.with_digest(server.put_manifest(PATH, manifest, OCI_MANIFEST))
    assert "'application/vnd.cncf.helm.config.v1+json'" in failed(checks(registry, changed, key))["media types"]


def test_an_image_in_dockers_format_is_an_image(server, registry, key) -> None:
    image = push(server, media_type=DOCKER_MANIFEST)
    attest(registry, image, provenance(image), key)
    assert failed(checks(registry, image, key)) == {}


def test_bytes_that_are_no_manifest_are_refused_even_under_their_own_digest(server, registry, image, key) -> None:
    digest = server.put_manifest(PATH, b"<html>", OCI_MANIFEST)
    found = checks(registry, image.with_digest(digest), key)
    assert "what the registry serves as a manifest is not JSON" in failed(found)["image"]
    assert verdict("IMAGE", found).exit_code == REFUSED


def test_a_config_that_is_none_is_refused(server, registry, key) -> None:
    digest = server.push_image(PATH, layers=LAYERS, config=b"[]")
    image = Reference(server.host, PATH, digest=digest)
    assert failed(checks(registry, image, key))["config"] == "the image's config is not an object"


# The reference.


def test_a_tag_is_refused_with_the_way_to_its_digest(server, registry, image, key) -> None:
    tagged = Reference(server.host, PATH, tag="v1")
    assert checks(registry, tagged, key) == [
        Check(
            "pinned",
            False,
            f"the tag 'v1' can move (it is {image.digest} now); take the digest by `overnight image resolve {tagged}`",
        )
    ]


def test_a_missing_tag_is_no_verdict_and_says_which_tags_there_are(server, registry, image, key) -> None:
    with pytest.raises(ImageError) as raised:
        checks(registry, Reference(server.host, PATH, tag="v2"), key)
    assert "there is no tag 'v2', only " in raised.value.sentence
    assert raised.value.exit_code == 2


def test_neither_tag_nor_digest_is_refused(server, registry, key) -> None:
    (check,) = checks(registry, Reference(server.host, PATH), key)
    assert check.message == "it names neither tag nor digest; add @sha256:… of the image that is meant"


def test_an_image_in_another_registry_is_refused_whatever_else_is_right(server, registry, image, key) -> None:
    places = ["us-central1-docker.pkg.dev/acme/prod-images", f"{server.host}/overnight-image"]
    found = checks(registry, image, key, places=places)
    assert failed(found) == {
        "registry": f"{server.host}/{PATH} is in another registry than {places[0]} or {places[1]}; build or copy the "
        "image there, or allow it in google.artifact_registry.allowed_registries"
    }
    assert verdict("IMAGE", found).exit_code == REFUSED
    allowed = checks(registry, image, key, places=[*places, f"{server.host}/overnight-images"])
    assert failed(allowed) == {}


def test_a_digest_from_another_registry_is_not_here(server, registry, image, key) -> None:
    with running_registry() as elsewhere:
        digest = elsewhere.push_image(PATH, layers=(b"elsewhere",))
    found = checks(registry, image.with_digest(digest), key)
    assert list(failed(found)) == ["manifest"]
    assert f"no image with the digest {digest} is there" in failed(found)["manifest"]
    assert "(a digest of another registry or repository is not known here)" in failed(found)["manifest"]
    assert verdict("IMAGE", found).exit_code == REFUSED


@pytest.mark.parametrize(
    ("answer", "words"),
    [((401, "UNAUTHORIZED"), "denies a request without login to pull"), ((500,), "failed with 500")],
)
def test_a_registry_that_does_not_let_us_look_is_no_verdict(server, registry, image, key, answer, words) -> None:
    server.faults.append(Fault(".*", status(*answer)))
    found = checks(registry, image, key)
    assert words in failed(found)["manifest"]
    assert verdict("IMAGE", found).exit_code == NOT_JUDGED


def test_a_registry_that_is_not_there_is_no_verdict(registry, image, key, server) -> None:
    with running_registry() as gone:
        host = gone.host
    found = checks(Registry(host, sleep=lambda _: None), replace(image, host=host), key)
    assert "no registry listens there" in failed(found)["manifest"]
    assert verdict("IMAGE", found).exit_code == NOT_JUDGED


def test_what_is_known_against_an_image_outweighs_what_could_not_be_looked_at(server, registry, image, key) -> None:
    server.faults.append(Fault(r"GET .*/blobs/", status(503)))
    found = checks(registry, image, key)
    assert list(failed(found)) == ["config", "layers", "attestation"]
    assert verdict("IMAGE", found).exit_code == NOT_JUDGED
    found = checks(registry, image, key, places=["us-docker.pkg.dev/acme"])
    assert verdict("IMAGE", found).exit_code == REFUSED


# The provenance.


def test_an_image_without_attestation_is_refused(server, registry, key) -> None:
    found = checks(registry, push(server), key)
    assert failed(found) == {
        "attestation": "no attestation is attached to the image; `overnight image attest` attaches one"
    }
    assert [check.name for check in found] == [*ALL[:9], "title"]


def test_an_attestation_that_was_removed_is_missed(server, registry, image, key) -> None:
    """Its manifest is gone and the list still names it; then the list is gone, too."""
    tag = image.digest.replace(":", "-")
    entry = json.loads(server.manifests[PATH][server.tags[PATH][tag]][0])["manifests"][0]["digest"]
    del server.manifests[PATH][entry]
    assert f"no image with the digest {entry} is there" in failed(checks(registry, image, key))["signature"]
    del server.tags[PATH][tag]
    assert list(failed(checks(registry, image, key))) == ["attestation"]


def test_the_wrong_key_is_named_beside_the_expected_one(registry, image, key, other_key) -> None:
    found = checks(registry, image, other_key)
    assert failed(found) == {
        "signature": f"signed by the key {key.public.key_id[:12]}, "
        f"and not by the expected {other_key.public.key_id[:12]}"
    }
    assert "builder" not in [check.name for check in found], "what nobody trusted said is not compared"


def attach(server: RegistryServer, image: Reference, envelope: bytes) -> None:
    subject = {"mediaType": OCI_MANIFEST, "digest": image.digest, "size": 1}
    digest = server.push_image(PATH, layers=(envelope,), artifactType=ENVELOPE_TYPE, subject=subject)
    manifest = json.loads(server.manifests[PATH].pop(digest)[0])
    manifest["layers"][0]["mediaType"] = ENVELOPE_TYPE
    server.attach(PATH, image.digest, server.put_manifest(PATH, manifest, OCI_MANIFEST))


def test_an_envelope_signed_by_two_keys_is_verified_by_either(server, registry, key, other_key) -> None:
    image = push(server)
    attach(server, image, sign(write(provenance(image), image), other_key, key))
    assert failed(checks(registry, image, key)) == {}
    assert failed(checks(registry, image, other_key)) == {}


def test_a_good_attestation_is_found_among_bad_ones(server, registry, image, key, other_key) -> None:
    attest(registry, image, provenance(image, commit="f" * 40), other_key)
    attest(registry, image, provenance(image, builder="https://laptop.example"), key)
    attach(server, image, b"not an envelope")
    found = checks(registry, image, key)
    assert failed(found) == {}
    assert found[8].message == "attached to the image: 4 statements, judged by the one that fits best"


def test_an_unsigned_statement_is_refused(server, registry, key) -> None:
    image = push(server)
    value = json.loads(sign(write(provenance(image), image), key))
    attach(server, image, json.dumps({**value, "signatures": []}).encode())
    assert failed(checks(registry, image, key))["signature"].endswith("the attestation is not signed")


def test_an_altered_payload_is_refused(server, registry, key) -> None:
    image = push(server)
    value = json.loads(sign(write(provenance(image, commit="f" * 40), image), key))
    value["payload"] = json.loads(sign(write(provenance(image), image), key))["payload"]
    attach(server, image, json.dumps(value).encode())
    assert failed(checks(registry, image, key)) == {
        "signature": f"the signature of the key {key.public.key_id[:12]} does not fit: the attestation was altered"
    }


def test_a_statement_about_another_image_is_refused(server, registry, key) -> None:
    """Copied from one image to another, signature and all."""
    image = push(server)
    other = f"sha256:{'9' * 64}"
    attach(server, image, sign(write(provenance(image, subject_digest=other), image), key))
    assert failed(checks(registry, image, key)) == {"subject": f"the statement is about {other}, another image"}


@pytest.mark.parametrize(
    ("changed", "row"),
    [
        ({"source": "https://github.com/mallory/vision"}, "source"),
        ({"commit": "f" * 40}, "commit"),
        ({"builder": "https://laptop.example"}, "builder"),
    ],
)
def test_another_origin_than_expected_is_refused(registry, image, key, changed, row) -> None:
    (value,) = changed.values()
    found = failed(checks(registry, image, key, expected=replace(EXPECTED, **changed)))
    own = {"source": URL, "commit": COMMIT, "builder": LOCAL_BUILDER}[row]
    assert found == {row: f"the statement names {own}, and {value} is expected"}


@pytest.mark.parametrize(
    ("labels", "row", "message"),
    [
        (
            {**LABELS, SOURCE: "https://github.com/mallory/vision"},
            "labels",
            f"the label {SOURCE} is https://github.com/mallory/vision, and the statement says {URL}",
        ),
        (
            {**LABELS, REVISION: "f" * 40},
            "labels",
            f"the label {REVISION} is {'f' * 40}, and the statement says {COMMIT}",
        ),
        ({TITLE: "trainer-cpu"}, "labels", f"the image has no label {SOURCE} that can be compared"),
        ({**LABELS, SOURCE: "/work/vision"}, "labels", f"the image has no label {SOURCE} that can be compared"),
        (
            {**LABELS, TITLE: "trainer-gpu"},
            "title",
            f"the label {TITLE} is 'trainer-gpu', and the image's name 'trainer-cpu'",
        ),
        ({SOURCE: URL, REVISION: COMMIT}, "title", f"the image has no label {TITLE}"),
    ],
)
def test_labels_that_disagree_are_refused(server, registry, key, labels, row, message) -> None:
    image = push(server, labels)
    attest(registry, image, provenance(image), key)
    assert failed(checks(registry, image, key)) == {row: message}


def test_an_image_without_any_labels_is_refused(server, registry, key) -> None:
    image = push(server, None)
    attest(registry, image, provenance(image), key)
    assert list(failed(checks(registry, image, key))) == ["labels", "title"]


class Given:
    """A source that holds these statements, or cannot be asked."""

    name = "Cloud Build"
    absent = "there is none"

    def __init__(self, *evidence: Evidence, error: ImageError | None = None) -> None:
        self.evidence, self.error = list(evidence), error

    def find(self, _reference: Reference) -> list[Evidence]:
        if self.error is not None:
            raise self.error
        return self.evidence


def trusted(provenance: Provenance) -> Evidence:
    return Evidence(True, "attached to Cloud Build's own note", provenance)


def test_each_of_two_sources_must_speak_for_the_image(registry, image, key) -> None:
    attached = AttachedAttestations(registry, [key.public])
    cloud = Given(trusted(provenance(image)))
    both = checks(registry, image, sources=[cloud, attached])
    assert failed(both) == {}
    assert [check.name for check in both][8:14] == [
        f"{name} (Cloud Build)" for name in ("attestation", "signature", "subject", "builder", "source", "commit")
    ]
    one = checks(registry, image, sources=[Given(), attached])
    assert failed(one) == {"attestation (Cloud Build)": "there is none"}


def test_a_source_that_cannot_be_asked_is_no_verdict_and_the_rest_is_checked(registry, image) -> None:
    found = checks(registry, image, sources=[Given(error=ImageError("the API is not enabled", where="here"))])
    assert failed(found) == {"attestation": "here: the API is not enabled"}
    assert verdict("IMAGE", found).exit_code == NOT_JUDGED
    assert verdict("IMAGE", found).sentence == "Not judged: IMAGE: attestation: here: the API is not enabled."


def test_an_untrusted_statement_is_refused_whatever_it_says(registry, image) -> None:
    evidence = Evidence(False, "attached to somebody's note", provenance(image))
    assert failed(checks(registry, image, sources=[Given(evidence)])) == {"signature": "attached to somebody's note"}


def test_cloud_builds_older_statement_alone_is_enough(registry, image) -> None:
    """`gcloud builds submit` gets no other; its builder id has a version behind it."""
    older = provenance(image, builder=f"{CLOUD_BUILDER}@v0.3", predicate_type=SLSA_V01)
    expected = replace(EXPECTED, builder=CLOUD_BUILDER)
    assert failed(checks(registry, image, expected=expected, sources=[Given(trusted(older))])) == {}
    exact = replace(EXPECTED, builder=f"{CLOUD_BUILDER}@v0.2")
    assert list(failed(checks(registry, image, expected=exact, sources=[Given(trusted(older))]))) == ["builder"]


def test_an_uploaded_archive_is_refused(registry, image) -> None:
    archive = Given(trusted(provenance(image, source=None, commit=None)))
    found = failed(checks(registry, image, sources=[archive]))
    assert found["source"] == "the statement names no Git repository (was an archive uploaded?)"
    assert found["commit"] == "the statement names no commit"


def test_without_any_check_nothing_is_verified() -> None:
    assert verdict("IMAGE", []).exit_code == NOT_JUDGED


def test_several_refusals_are_counted() -> None:
    found = [Check("config", False, "a"), Check("layers", False, "b"), Check("title", True, "c")]
    assert verdict("IMAGE", found).sentence == "Refused (2 checks failed): IMAGE: config: a."
