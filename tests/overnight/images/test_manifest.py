"""Manifests: four media types are read, everything else is refused in one sentence."""

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overnight.images.descriptor import LINUX, Descriptor, Platform, parse_platform
from overnight.images.errors import ImageError
from overnight.images.manifest import (
    DOCKER_LIST,
    DOCKER_MANIFEST,
    MEDIA_TYPES,
    OCI_INDEX,
    OCI_MANIFEST,
    choose,
    digest_of,
    parse_manifest,
    platforms_of,
)

DIGEST = "sha256:" + "0123456789abcdef" * 4
CONFIG = {"mediaType": "application/vnd.oci.image.config.v1+json", "digest": DIGEST, "size": 7}
LAYER = {"mediaType": "application/vnd.oci.image.layer.v1.tar+gzip", "digest": DIGEST, "size": 1_000}


def image(**fields):
    return {"schemaVersion": 2, "mediaType": OCI_MANIFEST, "config": CONFIG, "layers": [LAYER], **fields}


def entry(platform: str | None, digits: str = "1", **fields):
    named = dict(zip(("os", "architecture", "variant"), (platform or "").split("/"), strict=False))
    value = {"mediaType": OCI_MANIFEST, "digest": f"sha256:{digits * 64}", "size": 400, **fields}
    return {**value, "platform": named} if platform else value


def index(*entries, **fields):
    return {"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": list(entries), **fields}


def encoded(value) -> bytes:
    return json.dumps(value).encode()


def refusal(body: bytes, content_type: str | None = OCI_MANIFEST) -> str:
    with pytest.raises(ImageError) as caught:
        parse_manifest(body, content_type, where="registry.example.com/a:1")
    sentence = caught.value.sentence
    assert sentence.startswith("registry.example.com/a:1: ")
    assert sentence.endswith(".")
    assert "\n" not in sentence
    return sentence


@pytest.mark.parametrize("media_type", [OCI_MANIFEST, DOCKER_MANIFEST])
def test_a_manifest_has_a_configuration_and_layers(media_type):
    body = encoded(image(mediaType=media_type))
    manifest = parse_manifest(body, media_type)
    assert (manifest.media_type, manifest.digest, manifest.is_index) == (media_type, digest_of(body), False)
    assert manifest.config == Descriptor(CONFIG["mediaType"], DIGEST, 7)
    assert manifest.layers == (Descriptor(LAYER["mediaType"], DIGEST, 1_000),)
    assert manifest.manifests == ()
    assert manifest.descriptor == Descriptor(media_type, digest_of(body), len(body))


@pytest.mark.parametrize("media_type", [OCI_INDEX, DOCKER_LIST])
def test_an_index_has_manifests(media_type):
    manifest = parse_manifest(encoded(index(entry("linux/amd64"), mediaType=media_type)), media_type)
    assert manifest.is_index
    assert manifest.config is None
    assert manifest.layers == ()
    assert [found.platform for found in manifest.manifests] == [LINUX]


def test_the_header_counts_where_the_body_does_not_name_its_type():
    """An OCI manifest may leave `mediaType` out."""
    body = encoded({key: value for key, value in image().items() if key != "mediaType"})
    assert parse_manifest(body, f"{OCI_MANIFEST}; charset=utf-8").media_type == OCI_MANIFEST


@pytest.mark.parametrize("content_type", [None, "", "application/json", "text/plain; charset=utf-8"])
def test_the_body_counts_where_the_header_says_nothing(content_type):
    assert parse_manifest(encoded(image()), content_type).media_type == OCI_MANIFEST


def test_an_attached_artifact_names_its_subject_and_its_type():
    kind = "application/vnd.dsse.envelope.v1+json"
    subject = {"mediaType": OCI_MANIFEST, "digest": DIGEST, "size": 5, "annotations": {"a": "b"}}
    manifest = parse_manifest(encoded(image(subject=subject, artifactType=kind, annotations={"c": "d"})))
    assert manifest.subject == Descriptor(OCI_MANIFEST, DIGEST, 5, {"a": "b"})
    assert (manifest.artifact_type, manifest.annotations) == (kind, {"c": "d"})
    assert parse_manifest(encoded(image())).subject is None


def test_a_descriptor_is_written_as_it_was_read():
    written = {**entry("linux/arm64/v8"), "artifactType": "x/y", "annotations": {"a": "b"}}
    (found,) = parse_manifest(encoded(index(written)), OCI_INDEX).manifests
    assert found.as_json() == written


@pytest.mark.parametrize(
    ("body", "content_type", "says"),
    [
        (b"", OCI_MANIFEST, "is not JSON"),
        (b"<html>", OCI_MANIFEST, "is not JSON"),
        (b"\xff\xfe\x00", OCI_MANIFEST, "is not JSON"),
        (b"[" * 100_000, OCI_MANIFEST, "is not JSON"),
        (b"1" * 10_000, OCI_MANIFEST, "is not JSON"),
        (b"[]", OCI_MANIFEST, "no JSON object"),
        (b"null", OCI_MANIFEST, "no JSON object"),
        (b'{"schemaVersion": 2, "schemaVersion": 2}', OCI_MANIFEST, "'schemaVersion' twice"),
        (b'{"config": {"size": 1, "size": 2}}', OCI_MANIFEST, "'size' twice"),
        (b" " * (4 * 2**20 + 1), OCI_MANIFEST, "4,194,305 bytes"),
        (encoded({"schemaVersion": 1, "fsLayers": []}), None, "schema 1"),
        (
            encoded({"schemaVersion": 1, "name": "a"}),
            "application/vnd.docker.distribution.manifest.v1+prettyjws",
            "schema 1",
        ),
        (
            encoded(image(mediaType="application/vnd.docker.distribution.manifest.v1+json")),
            "application/vnd.docker.distribution.manifest.v1+json",
            "schema 1",
        ),
        (encoded(image(mediaType="application/vnd.cncf.helm.config")), None, "'application/vnd.cncf.helm.config'"),
        (encoded({"schemaVersion": 2}), "text/html", "'text/html'"),
        (encoded({"schemaVersion": 2}), None, "of no stated media type"),
        (encoded(image(mediaType=5)), OCI_MANIFEST, "5, which is no text"),
        (encoded(image(mediaType=[])), OCI_MANIFEST, "[], which is no text"),
        (encoded(image(mediaType="x\ny")), None, r"x\ny"),
        (encoded(image()), DOCKER_MANIFEST, "and the registry says"),
        (encoded(image(schemaVersion=3)), OCI_MANIFEST, "3 where 2 is expected"),
        (encoded(image(schemaVersion=True)), OCI_MANIFEST, "True where 2 is expected"),
        (encoded(image(schemaVersion="2")), OCI_MANIFEST, "'2' where 2 is expected"),
        (encoded(image(manifests=[])), OCI_MANIFEST, "both layers and manifests"),
        (encoded(index(layers=[])), OCI_INDEX, "both layers and manifests"),
        (encoded(image(config=None)), OCI_MANIFEST, "config is no descriptor"),
        (encoded(image(config={**CONFIG, "digest": "sha256:00"})), OCI_MANIFEST, "'sha256:00', no sha256 digest"),
        (encoded(image(config={**CONFIG, "digest": "sha512:" + "0" * 128})), OCI_MANIFEST, "no sha256 digest"),
        (encoded(image(layers={})), OCI_MANIFEST, "no list 'layers'"),
        (encoded(image(layers=[LAYER, 5])), OCI_MANIFEST, "layers[1] is no descriptor"),
        (encoded(image(layers=[{**LAYER, "size": -1}])), OCI_MANIFEST, "-1, no number of bytes"),
        (encoded(image(layers=[{**LAYER, "size": True}])), OCI_MANIFEST, "True, no number of bytes"),
        (encoded(image(layers=[{**LAYER, "size": "1"}])), OCI_MANIFEST, "'1', no number of bytes"),
        (encoded(image(layers=[{**LAYER, "mediaType": ""}])), OCI_MANIFEST, "layers[0] has no mediaType"),
        (encoded(image(annotations={"a": 1})), OCI_MANIFEST, "annotations"),
        (encoded(image(annotations=[1])), OCI_MANIFEST, "annotations"),
        (encoded(image(subject=7)), OCI_MANIFEST, "subject is no descriptor"),
        (encoded({"schemaVersion": 2, "mediaType": OCI_INDEX}), OCI_INDEX, "no list 'manifests'"),
        (encoded(index({**entry(None), "platform": "linux"})), OCI_INDEX, "platform"),
        (encoded(index({**entry(None), "platform": {"os": 1}})), OCI_INDEX, "platform"),
    ],
    ids=lambda value: str(value)[:40] if not isinstance(value, bytes) else "",
)
def test_a_broken_manifest_is_refused_with_one_sentence(body, content_type, says):
    assert says in refusal(body, content_type)


@given(st.binary() | st.recursive(st.none() | st.integers() | st.text(), st.lists).map(encoded))
def test_no_body_whatever_raises_anything_but_one_sentence(body):
    refusal(body)


json_values = st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.integers(), max_size=2)


@given(st.sampled_from(["schemaVersion", "mediaType", "config", "layers", "subject", "annotations"]), json_values)
def test_a_field_of_any_other_type_is_refused_in_one_sentence_or_harmless(field, value):
    body = encoded(image(**{field: value}))
    with suppress(ImageError):
        manifest = parse_manifest(body, OCI_MANIFEST)
        assert manifest.media_type in MEDIA_TYPES
        assert (manifest.config, manifest.layers) == (
            Descriptor(CONFIG["mediaType"], DIGEST, 7),
            manifest.layers and (Descriptor(LAYER["mediaType"], DIGEST, 1_000),),
        )
        assert (manifest.subject, dict(manifest.annotations)) == (None, {})
        return
    refusal(body)


ATTESTATION = {"annotations": {"vnd.docker.reference.type": "attestation-manifest"}}


def test_attestations_are_no_images():
    manifest = parse_manifest(
        encoded(
            index(
                entry("linux/amd64", "1"),
                entry("unknown/unknown", "2"),
                entry("linux/amd64", "3", **ATTESTATION),
            )
        ),
        OCI_INDEX,
    )
    assert len(manifest.manifests) == 3
    assert platforms_of(manifest) == "linux/amd64"
    assert choose(manifest, LINUX).digest == "sha256:" + "1" * 64


@pytest.mark.parametrize(
    ("wanted", "digits"),
    [
        ("linux/amd64", "1"),
        ("linux/arm64", "2"),
        ("linux/arm64/v8", "2"),
        ("linux/arm/v6", "3"),
        ("windows/amd64", "5"),
    ],
)
def test_an_index_has_an_image_for_each_platform(wanted, digits):
    manifest = parse_manifest(
        encoded(
            index(
                entry("linux/amd64", "1"),
                entry("linux/arm64/v8", "2"),
                entry("linux/arm/v6", "3"),
                entry("linux/arm/v7", "4"),
                entry("windows/amd64", "5"),
                entry("windows/amd64", "6"),
            )
        ),
        OCI_INDEX,
    )
    assert choose(manifest, parse_platform(wanted)).digest == f"sha256:{digits * 64}"
    with pytest.raises(ImageError, match=r"linux/arm can be linux/arm/v6, linux/arm/v7; name the variant too\."):
        choose(manifest, Platform("linux", "arm"))


@pytest.mark.parametrize(
    ("entries", "says"),
    [
        ([entry("linux/arm64")], r"no image for linux/amd64, only linux/arm64;"),
        ([entry(None)], r"only 1 of no stated platform;"),
        ([], r"only no image at all;"),
        ([entry("unknown/unknown")], r"only no image at all;"),
    ],
)
def test_a_platform_that_an_index_does_not_have_is_refused_with_those_that_it_has(entries, says):
    with pytest.raises(ImageError, match=says):
        choose(parse_manifest(encoded(index(*entries)), OCI_INDEX), LINUX)


@pytest.mark.parametrize(
    "text", ["", "linux", "linux/", "/amd64", "Linux/amd64", "linux/amd64/v1/x", "linux amd64", "ł/x"]
)
def test_what_is_no_platform_is_refused(text):
    with pytest.raises(ImageError, match="is no platform"):
        parse_platform(text)
