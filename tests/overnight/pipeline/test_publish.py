"""Publishing to a registry that speaks Artifact Registry's protocol, and all that can be in the way."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from kfp_registry import KfpRegistry, kfp_registry
from overnight.errors import OvernightError
from overnight.files import sha256_bytes
from overnight.pipeline.publish import LARGEST, publish, read_template, resolve
from overnight.pipeline.registry import TemplateRegistry, registry_of
from overnight.pipeline.repository import parse_repository

REPOSITORY = "acme/pipelines"
CONTENT = b'{"pipelineInfo": {"name": "weekly"}, "schemaVersion": "2.1.0"}\n'
OTHER = CONTENT + b"\n"
DIGEST, OTHER_DIGEST = (f"sha256:{sha256_bytes(content)}" for content in (CONTENT, OTHER))


@pytest.fixture
def server(tmp_path: Path) -> Iterator[KfpRegistry]:
    with kfp_registry(tmp_path / "templates", REPOSITORY) as running:
        yield running


@pytest.fixture
def registry(server: KfpRegistry) -> TemplateRegistry:
    return registry_of(parse_repository(server.address(REPOSITORY)))


def sentence(error: pytest.ExceptionInfo[OvernightError], server: KfpRegistry) -> str:
    return error.value.sentence.replace(server.url, "URL")


def test_a_template_is_published_under_its_digest(server: KfpRegistry, registry: TemplateRegistry) -> None:
    published = publish(registry, CONTENT, "weekly", "c0ffee")
    assert (published.name, published.version) == ("weekly", DIGEST)
    assert published.uri == f"{server.url}/{REPOSITORY}/weekly/{DIGEST}"
    assert server.file(REPOSITORY, "weekly", DIGEST).read_bytes() == CONTENT
    assert server.tags == {(REPOSITORY, "weekly", "c0ffee"): DIGEST}


def test_publishing_again_sends_nothing(server: KfpRegistry, registry: TemplateRegistry) -> None:
    first = publish(registry, CONTENT, "weekly", "c0ffee")
    server.asked.clear()
    assert publish(registry, CONTENT, "weekly", "c0ffee") == first
    assert [method for method, _ in server.asked] == ["GET"]


def test_the_same_bytes_of_another_commit_are_the_same_version(server: KfpRegistry, registry: TemplateRegistry) -> None:
    first, second = (publish(registry, CONTENT, "weekly", tag) for tag in ("c0ffee", "decaf0"))
    assert first == second
    assert set(server.tags.values()) == {DIGEST}


def test_a_tag_is_never_moved(server: KfpRegistry, registry: TemplateRegistry) -> None:
    publish(registry, CONTENT, "weekly", "c0ffee")
    with pytest.raises(OvernightError) as error:
        publish(registry, OTHER, "weekly", "c0ffee")
    assert sentence(error, server) == (
        f"URL/{REPOSITORY}/weekly/c0ffee: the tag c0ffee stands on {DIGEST}, and this is {OTHER_DIGEST}; "
        "tags are not moved: publish it under the commit that it is made of."
    )
    assert server.tags == {(REPOSITORY, "weekly", "c0ffee"): DIGEST}
    assert not server.file(REPOSITORY, "weekly", OTHER_DIGEST).exists()


@pytest.mark.parametrize("content", [CONTENT, OTHER])
def test_a_tag_that_another_build_creates_meanwhile_is_not_moved(
    content: bytes, server: KfpRegistry, registry: TemplateRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload = server.upload

    def overtaken(repository: str, sent: bytes, tags: list[str]) -> str:
        upload(repository, content, ["c0ffee"])
        return upload(repository, sent, tags)

    monkeypatch.setattr(server, "upload", overtaken)
    if content == CONTENT:
        assert publish(registry, CONTENT, "weekly", "c0ffee").version == DIGEST
    else:
        with pytest.raises(OvernightError, match="tags are not moved"):
            publish(registry, CONTENT, "weekly", "c0ffee")
    assert server.tags == {(REPOSITORY, "weekly", "c0ffee"): f"sha256:{sha256_bytes(content)}"}


@pytest.mark.parametrize("answer", [f"weekly/{OTHER_DIGEST}", f"other/{DIGEST}", "", "<html>", "weekly"])
def test_a_registry_that_keeps_something_else_is_not_believed(
    answer: str, server: KfpRegistry, registry: TemplateRegistry
) -> None:
    server.says = answer or " "
    with pytest.raises(OvernightError) as error:
        publish(registry, CONTENT, "weekly", "c0ffee")
    assert sentence(error, server) == (
        f"URL/{REPOSITORY}: weekly/{DIGEST} was sent, and the registry says that it keeps {answer!r}; "
        "do not use what it keeps."
    )
    assert server.tags == {}


@pytest.mark.parametrize("version", ["c0ffee", DIGEST])
def test_a_tag_and_a_digest_resolve_to_the_address_by_digest(
    version: str, server: KfpRegistry, registry: TemplateRegistry
) -> None:
    published = publish(registry, CONTENT, "weekly", "c0ffee")
    assert resolve(registry, "weekly", version) == published


@pytest.mark.parametrize(("version", "what"), [("decaf0", "tag"), (OTHER_DIGEST, "version")])
def test_what_is_not_there_does_not_resolve(
    version: str, what: str, server: KfpRegistry, registry: TemplateRegistry
) -> None:
    publish(registry, CONTENT, "weekly", "c0ffee")
    with pytest.raises(OvernightError) as error:
        resolve(registry, "weekly", version)
    assert sentence(error, server) == (
        f"URL/{REPOSITORY}/weekly/{version}: there is no such {what}; publish it, or give another."
    )


def test_a_template_with_a_flipped_byte_does_not_resolve(server: KfpRegistry, registry: TemplateRegistry) -> None:
    publish(registry, CONTENT, "weekly", "c0ffee")
    server.file(REPOSITORY, "weekly", DIGEST).write_bytes(CONTENT.replace(b"weekly", b"weeklz"))
    with pytest.raises(OvernightError) as error:
        resolve(registry, "weekly", "c0ffee")
    assert sentence(error, server) == (
        f"URL/{REPOSITORY}/weekly/{DIGEST}: what the registry sends has another digest; publish it again."
    )


@pytest.mark.parametrize(
    ("refusal", "said"),
    [
        (
            (403, "Permission 'artifactregistry.tags.get' denied."),
            "the registry answers 403 (Permission 'artifactregistry.tags.get' denied); "
            "give the account roles/artifactregistry.writer on the repository pipelines.",
        ),
        ((401, ""), "the registry answers 401; give credentials that Artifact Registry knows."),
        ((400, "no\nsuch  thing"), "the registry answers 400 (no such thing)."),
    ],
)
def test_a_refusal_is_one_sentence(
    refusal: tuple[int, str], said: str, server: KfpRegistry, registry: TemplateRegistry
) -> None:
    server.refuses = refusal
    with pytest.raises(OvernightError) as error:
        publish(registry, CONTENT, "weekly", "c0ffee")
    assert sentence(error, server) == f"URL/{REPOSITORY}: {said}"


def test_a_repository_that_is_not_there_is_named(server: KfpRegistry) -> None:
    registry = registry_of(parse_repository(server.address("acme/others")))
    with pytest.raises(OvernightError) as error:
        publish(registry, CONTENT, "weekly", "c0ffee")
    assert sentence(error, server) == (
        "URL/acme/others: the registry answers 404 (repository acme/others not found); "
        "make the repository with format KFP, or correct its address."
    )


def test_a_failing_registry_is_asked_again(
    server: KfpRegistry, registry: TemplateRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    admit = server.admit

    def sometimes() -> None:
        server.refuses = (503, "busy") if len(server.asked) % 2 else None
        admit()

    monkeypatch.setattr(server, "admit", sometimes)
    assert publish(registry, CONTENT, "weekly", "c0ffee").version == DIGEST
    assert server.tags == {(REPOSITORY, "weekly", "c0ffee"): DIGEST}


def test_a_registry_that_is_not_there_is_one_sentence(server: KfpRegistry, tmp_path: Path) -> None:
    with kfp_registry(tmp_path, REPOSITORY) as gone:
        pass
    with pytest.raises(OvernightError) as error:
        publish(registry_of(parse_repository(gone.address(REPOSITORY))), CONTENT, "weekly", "c0ffee")
    assert error.value.sentence == (
        f"{gone.url}/{REPOSITORY}: no registry listens there (Connection refused); "
        "start the local one (overnight image registry), or check the port."
    )


def test_without_credentials_artifact_registry_is_not_asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "none.json"))
    with pytest.raises(OvernightError) as error:
        registry_of(parse_repository("https://us-central1-kfp.pkg.dev/acme/pipelines"))
    assert error.value.sentence.startswith("there are no usable Google credentials (File ")
    assert error.value.remedy == "run `gcloud auth application-default login`"


def test_a_compiled_template_is_read_with_its_name(tmp_path: Path) -> None:
    (tmp_path / "weekly.json").write_bytes(CONTENT)
    assert read_template(tmp_path / "weekly.json") == (CONTENT, "weekly")


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"null", b"[]", b"3", b"\xff\xfe\x00", b"{", b'{"schemaVersion": "2.0.0"}', b"[" * 100_000),
        *(b'{"schemaVersion": ["2.1.0"]}', b"pipelineInfo: {name: weekly}\nschemaVersion: 2.1.0\n"),
    ],
)
def test_what_is_no_compiled_template_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "weekly.json"
    path.write_bytes(content)
    with pytest.raises(OvernightError) as error:
        read_template(path)
    assert error.value.sentence == f"{path}: this is no compiled template; make it by `overnight pipeline compile`."


@pytest.mark.parametrize("info", [None, [], {}, {"name": None}, {"name": 7}, {"name": "Wee kly"}, {"name": "../x"}])
def test_a_template_without_a_name_that_the_service_takes_is_refused(info: object, tmp_path: Path) -> None:
    path = tmp_path / "weekly.json"
    path.write_text(json.dumps({"schemaVersion": "2.1.0", "pipelineInfo": info}))
    with pytest.raises(OvernightError) as error:
        read_template(path)
    assert error.value.sentence.startswith(f"{path}: pipelineInfo.name: ")
    assert "is no name of a template; use 4 to 128 lower-case letters" in error.value.sentence


def test_a_file_that_is_too_large_is_not_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "weekly.json"
    path.write_bytes(b" " * (LARGEST + 1))
    with pytest.raises(OvernightError) as error:
        read_template(path)
    assert error.value.sentence == f"{path}: more than 4,194,304 bytes are no template."
