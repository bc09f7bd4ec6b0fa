"""`overnight image attest` as a user types it, against a registry on loopback."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from overnight.cli import main
from overnight.images.attach import AttachedAttestations
from overnight.images.keys import key_pair, read_public_key
from overnight.images.labels import REVISION, SOURCE, TITLE
from overnight.images.provenance import LOCAL_BUILDER
from overnight.images.reference import Reference
from overnight.images.registry import Registry
from registry_server import RegistryServer, running_registry

PATH = "overnight-images/trainer-cpu"
COMMIT = "0123456789abcdef0123456789abcdef01234567"
URL = "https://github.com/acme/vision"
LABELS = {SOURCE: URL, REVISION: COMMIT, TITLE: "trainer-cpu"}


@pytest.fixture
def server() -> Iterator[RegistryServer]:
    with running_registry() as running:
        yield running


@pytest.fixture
def image(server: RegistryServer) -> Reference:
    digest = server.push_image(PATH, "v1", config={"config": {"Labels": LABELS}})
    return Reference(server.host, PATH, digest=digest)


@pytest.fixture
def typed(tmp_path, monkeypatch, capsys):
    """Runs `overnight image COMMAND ARGUMENTS` in an empty folder with a local environment: code, output, errors."""
    config = tmp_path / "local.yaml"
    config.write_text(f"environment: local\nroot: {tmp_path}\n")
    monkeypatch.setenv("OVERNIGHT_CONFIG", str(config))
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.chdir(tmp_path)

    def run(command: str, *arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["overnight", "image", command, *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main.run()
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return run


def test_what_is_attested_is_verified(typed, image) -> None:
    assert typed("verify", image)[0] == 2
    code, out, err = typed("attest", image)
    assert (code, err) == (0, "")
    assert out.splitlines()[:3] == [
        str(image),
        f"  built from   {URL} at {COMMIT}",
        f"  built by     {LOCAL_BUILDER}",
    ]
    assert typed("verify", image)[0] == 0


def test_the_pair_is_made_where_the_environment_keeps_it(typed, image, tmp_path) -> None:
    typed("attest", image)
    assert (tmp_path / "keys" / "attestation.pem").stat().st_mode & 0o777 == 0o600
    assert read_public_key(tmp_path / "keys" / "attestation.pub").key_id


def test_attesting_again_attaches_nothing_more(typed, image, server) -> None:
    first = json.loads(typed("attest", image, "--json")[1])
    count = len(server.manifests[PATH])
    assert json.loads(typed("attest", image, "--json")[1]) == first
    assert len(server.manifests[PATH]) == count


def test_everything_that_was_given_stands_in_the_statement(typed, image, server, tmp_path) -> None:
    key = key_pair(tmp_path / "own.pem")
    base = f"{server.host}/bases/builder@sha256:{'b' * 64}"
    options = ("--builder", "https://ci.example/1", "--build-id", "b-7", "--build-file", "cloudbuild/images.yaml")
    code, out, _ = typed("attest", image, "--key", "own.pem", *options, "--base-image", base, "--json")
    assert code == 0
    assert json.loads(out)["key_id"] == key.public.key_id
    (evidence,) = AttachedAttestations(Registry(server.host), [key.public]).find(image)
    said = evidence.provenance
    assert evidence.trusted
    assert said is not None
    assert (said.builder, said.build_id, said.config) == ("https://ci.example/1", "b-7", "cloudbuild/images.yaml")
    manifest = json.loads(server.manifests[PATH][json.loads(out)["attestation"]][0])
    assert manifest["subject"]["digest"] == image.digest
    assert not (tmp_path / "keys").exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--source", "https://github.com/mallory/vision"), f"the label {SOURCE} is {URL}, and --source says"),
        (("--commit", "f" * 40), f"the label {REVISION} is {COMMIT}, and --commit says"),
        (("--commit", "main"), "--commit: 'main' is no whole commit id"),
        (("--key", "missing.pem"), "missing.pem: there is no such key"),
        (("--key", "gcpkms:projects/p"), "keys in Cloud KMS are not supported; give a PEM file"),
        (("--base-image", "python:3.11"), "base image"),
    ],
)
def test_what_contradicts_or_is_unclear_is_not_attested(typed, image, server, arguments, sentence) -> None:
    code, out, err = typed("attest", image, *arguments)
    assert (code, out) == (2, "")
    assert sentence in err
    assert len(err.splitlines()) == 1
    assert len(server.manifests[PATH]) == 1


def test_a_tag_is_not_attested(typed, image) -> None:
    code, _, err = typed("attest", f"{image.repository}:v1")
    assert code == 2
    assert "the tag 'v1' can move, and there is no digest" in err


def test_an_image_without_labels_needs_the_flags(typed, server) -> None:
    image = Reference(server.host, PATH, digest=server.push_image(PATH))
    code, _, err = typed("attest", image)
    assert code == 2
    assert f"the image has no label {SOURCE}; give --source." in err
    assert typed("attest", image, "--source", URL, "--commit", COMMIT)[0] == 0


def test_a_manifest_list_is_not_attested(typed, image, server) -> None:
    index = server.push_index(PATH, None, {"linux/amd64": str(image.digest)})
    code, _, err = typed("attest", image.with_digest(index))
    assert code == 2
    assert "this is a manifest list (linux/amd64); give the digest of one platform's image." in err


def test_keys_of_another_kind_are_refused(typed, image, tmp_path: Path) -> None:
    (tmp_path / "public.pem").write_bytes(b"")
    key_pair(tmp_path / "own.pem")
    assert "this file is empty" in typed("attest", image, "--key", "public.pem")[2]
    assert "this is a public key, and the private one is needed" in typed("attest", image, "--key", "own.pub")[2]
