"""Images pushed and attested, into a registry of this machine; podman's calls are recorded."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from local_builds import BUILD_ID, recorded
from overnight.builds.errors import BuildError
from overnight.builds.publish import Attester, Publisher
from overnight.builds.result import Pushed
from overnight.errors import OvernightError
from overnight.images.attach import AttachedAttestations
from overnight.images.keys import read_public_key
from overnight.images.provenance import LOCAL_BUILDER
from overnight.images.reference import parse
from overnight.images.registry import Registry
from registry_server import RegistryServer

SOURCE, COMMIT = "https://github.com/acme/vision", "c" * 40


@pytest.fixture
def server() -> Iterator[RegistryServer]:
    with RegistryServer() as running:
        yield running


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", f"{tmp_path / 'tools'}:{os.environ['PATH']}")
    return tmp_path / "tools"


def test_the_digest_is_the_registry_s_word(server: RegistryServer, tools: Path, tmp_path: Path) -> None:
    calls = recorded(tools, "podman", "echo sha256:not-this-one")
    image = f"{server.host}/images/a:1"
    digest = server.push_image("images/a", "1")
    said: list[str] = []
    assert Publisher({}, tmp_path).push(image, said.append) == digest
    assert calls.read_text().splitlines() == [
        f"podman image exists {image}",
        f"podman push --quiet --format=oci {image}",
    ]


def test_an_image_that_no_step_built_is_not_pushed(tools: Path, tmp_path: Path) -> None:
    calls = recorded(tools, "podman", "exit 1")
    with pytest.raises(BuildError) as refused:
        Publisher({}, tmp_path).push("localhost:1/images/a:1", print)
    said = "localhost:1/images/a:1: no step built this image; build it with the same tag."
    assert refused.value.sentence == said
    assert "push" not in calls.read_text()


def test_a_push_that_fails_is_said(tools: Path, tmp_path: Path) -> None:
    recorded(tools, "podman", 'if [ "$1" = push ]; then echo "Error: denied"; exit 125; fi')
    said: list[str] = []
    with pytest.raises(BuildError) as refused:
        Publisher({}, tmp_path).push("localhost:1/images/a:1", said.append)
    assert refused.value.sentence == "localhost:1/images/a:1: podman did not push it (code 125)."
    assert said == ["Error: denied"]


ONCE = 'if [ "$1" = ps ] && mkdir "$0.seen" 2>/dev/null; then printf "c1\\nc2\\n"; fi'
"""Two containers at the first look, none afterwards."""


@pytest.mark.parametrize("own", [False, True])
def test_only_containers_of_the_build_are_removed(tools: Path, tmp_path: Path, own: bool) -> None:
    calls = recorded(tools, "podman", ONCE)
    recorded(tools, "buildah")
    environment = {"CONTAINERS_STORAGE_CONF": "storage.conf"} if own else {}
    Publisher(environment, tmp_path).remove_containers(BUILD_ID)
    which = "--external" if own else f"--filter label=dev.overnight.build={BUILD_ID}"
    listing, removal = f"podman ps --all --quiet {which}", "podman rm --force --time=0 --volumes c1 c2"
    expected = [listing, "buildah rm --all", removal, listing] if own else [listing, removal, listing]
    assert calls.read_text().splitlines() == expected


def test_a_container_that_cannot_be_removed_does_not_hold_the_end_up(tools: Path, tmp_path: Path) -> None:
    calls = recorded(tools, "podman", '[ "$1" = ps ] && echo c1')
    Publisher({}, tmp_path).remove_containers(BUILD_ID)
    assert len(calls.read_text().splitlines()) == 10


def attester(tmp_path: Path, commit: str | None = COMMIT, **bases: tuple[str, ...]) -> Attester:
    return Attester(
        key=tmp_path / "keys" / "attestation.pem",
        source=SOURCE,
        commit=commit,
        build_id=BUILD_ID,
        config="cloudbuild/images.yaml",
        substitutions={"_X": "1"},
        base_images=bases,
    )


def test_an_attestation_says_who_built_what_from_what(server: RegistryServer, tmp_path: Path) -> None:
    image = Pushed(f"{server.host}/images/a:1", server.push_image("images/a", "1"))
    base = f"{server.host}/bases/steps@sha256:{'b' * 64}"
    made = attester(tmp_path)
    made = Attester(**{**made.__dict__, "base_images": {image.name: (base,)}})
    assert made.attest(image) is None
    key = read_public_key(tmp_path / "keys" / "attestation.pub")
    reference = parse(image.name).with_digest(image.digest)
    (evidence,) = AttachedAttestations(Registry(server.host), [key]).find(reference)
    found = evidence.provenance
    assert evidence.trusted
    assert found is not None
    assert (found.subject_digest, found.source, found.commit) == (image.digest, SOURCE, COMMIT)
    assert (found.builder, found.build_id, found.config) == (LOCAL_BUILDER, BUILD_ID, "cloudbuild/images.yaml")


def test_what_no_commit_holds_is_not_attested(server: RegistryServer, tmp_path: Path) -> None:
    image = Pushed(f"{server.host}/images/a:1", server.push_image("images/a", "1"))
    said = attester(tmp_path, None).attest(image)
    assert said == "not attested: no commit holds what was built; commit it and build again"
    assert not (tmp_path / "keys").exists()


def test_a_key_that_is_none_is_refused(server: RegistryServer, tmp_path: Path) -> None:
    image = Pushed(f"{server.host}/images/a:1", server.push_image("images/a", "1"))
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / "attestation.pem").write_text("no key")
    with pytest.raises(OvernightError):
        attester(tmp_path).attest(image)
