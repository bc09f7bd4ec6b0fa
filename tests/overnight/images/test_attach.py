"""Attestations beside images, in a registry on loopback: attached once, listed, read back, altered, removed."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from overnight.images.attach import AttachedAttestations, attest, attestations
from overnight.images.envelope import ENVELOPE_TYPE, sign
from overnight.images.errors import ImageError
from overnight.images.keys import PrivateKey, key_pair
from overnight.images.provenance import LOCAL_BUILDER, Provenance, write
from overnight.images.reference import Reference
from overnight.images.registry import Registry
from registry_server import OCI_INDEX, Fault, RegistryServer, flip, running_registry, status

PATH = "overnight-images/trainer-cpu"
COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def server() -> Iterator[RegistryServer]:
    with running_registry() as running:
        yield running


@pytest.fixture
def registry(server: RegistryServer) -> Registry:
    return Registry(server.host, sleep=lambda _: None)


@pytest.fixture
def image(server: RegistryServer) -> Reference:
    return Reference(server.host, PATH, digest=server.push_image(PATH, "v1"))


@pytest.fixture(scope="module")
def key(tmp_path_factory) -> PrivateKey:
    return key_pair(Path(tmp_path_factory.mktemp("ours")) / "attestation.pem")


@pytest.fixture(scope="module")
def other_key(tmp_path_factory) -> PrivateKey:
    return key_pair(Path(tmp_path_factory.mktemp("theirs")) / "attestation.pem")


def provenance(image: Reference, **changes: object) -> Provenance:
    fields = {
        "subject_digest": image.digest,
        "source": "https://github.com/acme/vision",
        "commit": COMMIT,
        "builder": LOCAL_BUILDER,
        "build_id": "build-1",
        **changes,
    }
    return Provenance(**fields)


def test_an_attestation_is_an_oci_artifact_about_the_image(server, registry, image, key) -> None:
    """What `oras discover` lists and `oras pull` fetches: OCI 1.1, section "Guidelines for Artifact Usage"."""
    digest = attest(registry, image, provenance(image), key)
    body, media_type = server.manifests[PATH][digest]
    manifest = json.loads(body)
    (layer,) = manifest.pop("layers")
    envelope = server.blobs[PATH][layer["digest"]]
    assert media_type == "application/vnd.oci.image.manifest.v1+json"
    assert layer == {
        "mediaType": "application/vnd.dsse.envelope.v1+json",
        "digest": layer["digest"],
        "size": len(envelope),
        "annotations": {"in-toto.io/predicate-type": "https://slsa.dev/provenance/v1"},
    }
    assert manifest == {
        "schemaVersion": 2,
        "mediaType": media_type,
        "artifactType": "application/vnd.dsse.envelope.v1+json",
        "config": {
            "mediaType": "application/vnd.oci.empty.v1+json",
            "digest": "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
            "size": 2,
        },
        "subject": {
            "mediaType": media_type,
            "digest": image.digest,
            "size": len(server.manifests[PATH][image.digest][0]),
        },
    }


def test_without_the_referrers_api_the_index_under_the_tag_lists_it(server, registry, image, key) -> None:
    digest = attest(registry, image, provenance(image), key)
    tag = image.digest.replace(":", "-")
    body, media_type = server.manifests[PATH][server.tags[PATH][tag]]
    assert media_type == OCI_INDEX
    assert json.loads(body) == {
        "schemaVersion": 2,
        "mediaType": OCI_INDEX,
        "manifests": [
            {
                "mediaType": "application/vnd.oci.image.manifest.v1+json",
                "digest": digest,
                "size": len(server.manifests[PATH][digest][0]),
                "artifactType": ENVELOPE_TYPE,
            }
        ],
    }


def test_with_the_referrers_api_no_tag_is_made(server, registry, image, key) -> None:
    server.referrers_api = True
    digest = attest(registry, image, provenance(image), key)
    assert server.tags[PATH] == {"v1": image.digest}
    assert [found.digest for found in attestations(registry, image)] == [digest]


@pytest.mark.parametrize("api", [False, True], ids=["tag", "API"])
def test_the_same_statement_is_attached_once(server, registry, image, key, api) -> None:
    server.referrers_api = api
    first = attest(registry, image, provenance(image), key)
    count = len(server.manifests[PATH])
    assert attest(registry, image, provenance(image), key) == first
    assert len(server.manifests[PATH]) == count


@pytest.mark.parametrize("api", [False, True], ids=["tag", "API"])
def test_other_statements_and_other_keys_are_attached_beside_it(server, registry, image, key, other_key, api) -> None:
    server.referrers_api = api
    digests = [
        attest(registry, image, provenance(image), key),
        attest(registry, image, provenance(image), other_key),
        attest(registry, image, provenance(image, build_id="build-2"), key),
    ]
    assert [found.digest for found in attestations(registry, image)] == digests


def test_what_others_listed_is_kept_as_they_wrote_it(server, registry, image, key) -> None:
    sbom = server.push_image(PATH, layers=(b"sbom",), artifactType="application/spdx+json")
    entry = {
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "digest": sbom,
        "size": len(server.manifests[PATH][sbom][0]),
        "artifactType": "application/spdx+json",
        "annotations": {"created": "by somebody"},
        "data": "e30=",
    }
    tag = image.digest.replace(":", "-")
    index = {"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": [entry], "annotations": {"kept": "too"}}
    server.put_manifest(PATH, index, OCI_INDEX, tag)
    attest(registry, image, provenance(image), key)
    written = json.loads(server.manifests[PATH][server.tags[PATH][tag]][0])
    assert written["manifests"][0] == entry
    assert written["annotations"] == {"kept": "too"}
    assert len(attestations(registry, image)) == 1


def test_a_lost_race_is_noticed_and_put_right(server, registry, image, key) -> None:
    """Another client overwrites the index between our put and our look."""
    tag = image.digest.replace(":", "-")
    empty = server.put_manifest(PATH, {"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": []}, OCI_INDEX)

    def overwritten(reply):
        server.tags[PATH][tag] = empty
        return reply

    server.faults.append(Fault(rf"PUT .*/manifests/{tag}", overwritten, times=2))
    digest = attest(registry, image, provenance(image), key)
    assert [found.digest for found in attestations(registry, image)] == [digest]
    assert len(server.asked(rf"PUT .*/manifests/{tag}")) == 3


def test_a_registry_that_never_lists_it_is_said(server, registry, image, key) -> None:
    tag = image.digest.replace(":", "-")
    server.faults.append(Fault(rf"(GET|HEAD) .*/manifests/{tag}", status(404, "MANIFEST_UNKNOWN")))
    with pytest.raises(ImageError) as raised:
        attest(registry, image, provenance(image), key)
    assert raised.value.sentence == (
        f"{server.host}/{PATH}: the registry does not list what was attached, after 5 tries; "
        "attest the image again when nobody else does."
    )


def test_a_tag_that_holds_an_image_is_not_overwritten(server, registry, image, key) -> None:
    tag = image.digest.replace(":", "-")
    other = server.push_image(PATH, tag, layers=(b"other",))
    with pytest.raises(ImageError, match="this tag should hold the list of attestations, and holds something else"):
        attest(registry, image, provenance(image), key)
    assert server.tags[PATH][tag] == other


def test_a_deleted_attestation_does_not_stand_in_the_way_of_a_new_one(server, registry, image, key) -> None:
    old = attest(registry, image, provenance(image), key)
    del server.manifests[PATH][old]
    new = attest(registry, image, provenance(image, build_id="build-2"), key)
    assert [found.digest for found in attestations(registry, image)] == [new]


def test_an_image_that_is_not_there_is_not_attested(server, registry, key) -> None:
    server.push_image(PATH, "v1")
    missing = Reference(server.host, PATH, digest=f"sha256:{'0' * 64}")
    with pytest.raises(ImageError, match=f"no image with the digest {missing.digest} is there"):
        attest(registry, missing, provenance(missing), key)


@pytest.mark.parametrize("digest", [None, f"sha256:{'1' * 64}"])
def test_provenance_of_another_image_is_not_attached(server, registry, image, key, digest) -> None:
    with pytest.raises(ImageError, match=r"the provenance is of sha256:0+, another image"):
        attest(registry, replace(image, digest=digest), provenance(image, subject_digest=f"sha256:{'0' * 64}"), key)
    assert len(server.manifests[PATH]) == 1


def test_evidence_says_who_signed(registry, image, key, other_key) -> None:
    attest(registry, image, provenance(image), key)
    (evidence,) = AttachedAttestations(registry, [key.public]).find(image)
    assert (evidence.trusted, evidence.trust) == (True, f"signed by the key {key.public.key_id[:12]}")
    assert evidence.provenance == provenance(image)
    (evidence,) = AttachedAttestations(registry, [other_key.public]).find(image)
    assert (evidence.trusted, evidence.trust) == (
        False,
        f"signed by the key {key.public.key_id[:12]}, and not by the expected {other_key.public.key_id[:12]}",
    )


def attach_bytes(server: RegistryServer, image: Reference, envelope: bytes, **fields: object) -> str:
    """Attach whatever bytes, as another tool would."""
    subject = {"mediaType": "m", "digest": image.digest, "size": 1}
    digest = server.push_image(
        PATH, layers=(envelope,), **{"artifactType": ENVELOPE_TYPE, "subject": subject, **fields}
    )
    manifest = json.loads(server.manifests[PATH].pop(digest)[0])
    manifest["layers"][0]["mediaType"] = ENVELOPE_TYPE
    digest = server.put_manifest(PATH, manifest, manifest["mediaType"])
    server.attach(PATH, image.digest, digest)
    return digest


def only(registry: Registry, image: Reference, key: PrivateKey):
    (evidence,) = AttachedAttestations(registry, [key.public]).find(image)
    return evidence


def test_a_payload_that_was_altered_is_said_to_be(server, registry, image, key) -> None:
    value = json.loads(sign(write(provenance(image), image), key))
    other = json.loads(sign(write(provenance(image, commit="f" * 40), image), key))
    attach_bytes(server, image, json.dumps({**value, "payload": other["payload"]}).encode())
    evidence = only(registry, image, key)
    assert not evidence.trusted
    assert evidence.trust == (
        f"the signature of the key {key.public.key_id[:12]} does not fit: the attestation was altered"
    )


def test_a_signature_without_a_key_id_is_said_to_be(server, registry, image, key, other_key) -> None:
    value = json.loads(sign(write(provenance(image), image), other_key))
    value["signatures"][0]["keyid"] = ""
    attach_bytes(server, image, json.dumps(value).encode())
    assert only(registry, image, key).trust == (
        f"signed by a key that it does not name, and not by the expected {key.public.key_id[:12]}"
    )


@pytest.mark.parametrize(
    ("envelope", "problem"),
    [
        (b"", "the attestation is not JSON"),
        (b'{"payload":"e30=","payloadType":"application/vnd.in-toto+json"}', "the attestation is not signed"),
        (b'{"mediaType":"application/vnd.dev.sigstore.bundle"}', "the attestation is not a DSSE envelope"),
    ],
)
def test_an_attestation_that_is_none_is_evidence_of_nothing(server, registry, image, key, envelope, problem) -> None:
    digest = attach_bytes(server, image, envelope)
    evidence = only(registry, image, key)
    assert (evidence.trusted, evidence.provenance) == (False, None)
    assert evidence.trust == f"attestation {digest[:19]}: {problem}"


def test_a_signed_statement_about_something_else_is_told_apart(server, registry, image, key) -> None:
    sbom = {"_type": "https://in-toto.io/Statement/v1", "predicateType": "https://spdx.dev/Document", "subject": []}
    attach_bytes(server, image, sign(json.dumps(sbom).encode(), key))
    evidence = only(registry, image, key)
    assert (evidence.trusted, evidence.provenance) == (True, None)
    assert evidence.problem == "the statement holds 'https://spdx.dev/Document', and not SLSA provenance"


def test_another_images_attestation_in_the_list_is_told_apart(server, registry, image, key) -> None:
    other = Reference(server.host, PATH, digest=server.push_image(PATH, layers=(b"other",)))
    server.attach(PATH, image.digest, attest(registry, other, provenance(other), key))
    assert "it is listed for this image, and attached to another one" in only(registry, image, key).trust


def test_a_listed_attestation_that_is_gone_does_not_hide_the_others(server, registry, image, key) -> None:
    gone = attest(registry, image, provenance(image), key)
    kept = attest(registry, image, provenance(image, build_id="build-2"), key)
    del server.manifests[PATH][gone]
    found = attestations(registry, image)
    assert [(item.digest, item.envelope is not None) for item in found] == [(gone, False), (kept, True)]
    assert f"no image with the digest {gone} is there" in found[0].problem


def test_a_flipped_byte_in_the_envelope_is_found_by_its_digest(server, registry, image, key) -> None:
    attest(registry, image, provenance(image), key)
    server.faults.append(Fault(r"GET .*/blobs/", flip(100)))
    assert "the registry serves other bytes" in only(registry, image, key).trust


def test_an_envelope_of_absurd_size_is_not_fetched(server, registry, image, key) -> None:
    digest = attach_bytes(server, image, b"{}")
    manifest = json.loads(server.manifests[PATH].pop(digest)[0])
    manifest["layers"][0]["size"] = 2**40
    server.tags[PATH].pop(image.digest.replace(":", "-"))
    server.attach(PATH, image.digest, server.put_manifest(PATH, manifest, manifest["mediaType"]))
    before = len(server.requests)
    assert "its envelope has 1,099,511,627,776 bytes" in only(registry, image, key).trust
    assert not [request for request in server.requests[before:] if "/blobs/" in request.path]


def test_a_registry_that_fails_is_an_error_and_not_an_image_without_attestations(server, registry, image, key) -> None:
    server.faults.append(Fault(r"(GET|HEAD) .*/(referrers|manifests)/", status(500)))
    with pytest.raises(ImageError, match="the registry failed with 500"):
        AttachedAttestations(registry, [key.public]).find(image)
