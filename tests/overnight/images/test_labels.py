"""An image's labels, and the origin that flags and labels agree on."""

from collections.abc import Iterator

import pytest

from overnight.images.errors import ImageError
from overnight.images.labels import CPU, REVISION, SOURCE, TITLE, Labels, labels_of, origin, read_labels
from overnight.images.reference import Reference
from overnight.images.registry import Registry
from registry_server import RegistryServer, running_registry

COMMIT = "0123456789abcdef0123456789abcdef01234567"
URL = "https://github.com/acme/vision"


@pytest.fixture
def server() -> Iterator[RegistryServer]:
    with running_registry() as running:
        yield running


def test_labels_are_read_through_the_registry(server) -> None:
    labels = {SOURCE: URL, REVISION: COMMIT, TITLE: "trainer-cpu", CPU: "x86-64-v3", "other": "x"}
    digest = server.push_image("team/trainer-cpu", "v1", config={"config": {"Labels": labels}})
    for reference in (
        Reference(server.host, "team/trainer-cpu", digest=digest),
        Reference(server.host, "team/trainer-cpu", tag="v1"),
    ):
        assert read_labels(Registry(server.host), reference) == Labels(URL, COMMIT, "trainer-cpu", "x86-64-v3")


def test_a_manifest_list_has_no_labels(server) -> None:
    image = server.push_image("a")
    digest = server.push_index("a", None, {"linux/amd64": image})
    with pytest.raises(ImageError, match=r"this is a manifest list \(linux/amd64\); give the digest of one platform"):
        read_labels(Registry(server.host), Reference(server.host, "a", digest=digest))


@pytest.mark.parametrize(
    "config",
    [
        b"{}",
        b'{"config": null}',
        b'{"config": []}',
        b'{"config": {"Labels": null}}',
        b'{"config": {"Labels": ["a"]}}',
        b'{"config": {"Labels": {"org.opencontainers.image.source": 7, "org.opencontainers.image.title": ""}}}',
    ],
)
def test_labels_that_are_not_there_are_none(config) -> None:
    assert labels_of(config) == Labels()


@pytest.mark.parametrize("config", [b"", b"\xff", b"[" * 100_000])
def test_a_config_that_is_not_json_is_refused(config) -> None:
    with pytest.raises(ImageError, match="the image's config is not JSON"):
        labels_of(config)


@pytest.mark.parametrize(
    ("labels", "source", "commit"),
    [
        (Labels(URL, COMMIT), None, None),
        (Labels(URL, COMMIT), f"{URL}.git", COMMIT.upper()),
        (Labels("git@github.com:acme/vision.git", COMMIT), URL, None),
        (Labels(), URL, COMMIT),
    ],
)
def test_flags_and_labels_say_the_same_or_one_of_them_is_silent(labels, source, commit) -> None:
    assert origin(labels, source, commit, "IMAGE") == (URL, COMMIT)


@pytest.mark.parametrize(
    ("labels", "source", "commit", "sentence"),
    [
        (
            Labels(URL, COMMIT),
            "https://github.com/mallory/vision",
            None,
            f"IMAGE: the label {SOURCE} is {URL}, and --source says https://github.com/mallory/vision; "
            "leave --source out, or attest the image that was meant.",
        ),
        (
            Labels(URL, COMMIT),
            None,
            "f" * 40,
            f"IMAGE: the label {REVISION} is {COMMIT}, and --commit says {'f' * 40}; "
            "leave --commit out, or attest the image that was meant.",
        ),
        (Labels(None, COMMIT), None, None, f"IMAGE: the image has no label {SOURCE}; give --source."),
        (Labels(URL, None), None, None, f"IMAGE: the image has no label {REVISION}; give --commit."),
        (
            Labels("vision", COMMIT),
            None,
            None,
            f"IMAGE: label {SOURCE}: 'vision' is no address of a Git repository; "
            "write it like https://github.com/acme/vision.",
        ),
        (
            Labels(URL, "main"),
            None,
            None,
            f"IMAGE: label {REVISION}: 'main' is no whole commit id; "
            "give all 40 (or 64) hex digits, as git rev-parse does.",
        ),
    ],
)
def test_an_origin_that_is_not_certain_is_refused(labels, source, commit, sentence) -> None:
    with pytest.raises(ImageError) as raised:
        origin(labels, source, commit, "IMAGE")
    assert raised.value.sentence == sentence
