"""`overnight image verify` as a user types it, against a registry and a Container Analysis on loopback."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf import struct_pb2
from grafeas.grafeas_v1 import types as g

from container_analysis_server import ContainerAnalysis
from job_support import CONFIG
from overnight.cli import main
from overnight.images.attach import attest
from overnight.images.keys import key_pair
from overnight.images.labels import REVISION, SOURCE, TITLE
from overnight.images.provenance import CLOUD_BUILDER, LOCAL_BUILDER, SLSA_V1, Provenance
from overnight.images.reference import Reference, parse
from overnight.images.registry import Registry
from registry_server import Fault, RegistryServer, flip, running_registry

PATH = "overnight-images/trainer-cpu"
COMMIT = "0123456789abcdef0123456789abcdef01234567"
URL = "https://github.com/acme/vision"


@pytest.fixture
def server() -> Iterator[RegistryServer]:
    with running_registry() as running:
        yield running


@pytest.fixture
def typed(tmp_path, monkeypatch, capsys):
    """Runs `overnight image verify ARGUMENTS` in an empty folder with a local environment: code, output, errors."""
    config = tmp_path / "local.yaml"
    config.write_text(f"environment: local\nroot: {tmp_path}\n")
    monkeypatch.setenv("OVERNIGHT_CONFIG", str(config))
    monkeypatch.chdir(tmp_path)

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["overnight", "image", "verify", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main.run()
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return run


@pytest.fixture
def image(server: RegistryServer, tmp_path: Path) -> Reference:
    """An image with labels, attested by the environment's own key."""
    labels = {SOURCE: URL, REVISION: COMMIT, TITLE: "trainer-cpu"}
    digest = server.push_image(PATH, "v1", config={"architecture": "amd64", "config": {"Labels": labels}})
    reference = Reference(server.host, PATH, digest=digest)
    provenance = Provenance(subject_digest=digest, source=URL, commit=COMMIT, builder=LOCAL_BUILDER)
    attest(Registry(server.host), reference, provenance, key_pair(tmp_path / "keys" / "attestation.pem"))
    return reference


def test_a_verified_image_ends_with_0_a_table_and_the_verdict(typed, image) -> None:
    code, out, err = typed(image, "--source", f"{URL}.git", "--commit", COMMIT)
    lines = out.splitlines()
    assert (code, err) == (0, "")
    assert lines[0].split() == ["check", "result", "found"]
    assert [line.split()[0] for line in lines[1:-1]][:3] == ["pinned", "registry", "manifest"]
    assert all(" pass " in line for line in lines[1:-1])
    assert lines[-1] == f"Verified: {image}: all 16 checks passed."


def test_a_refused_image_ends_with_3_and_says_why(typed, image, server) -> None:
    server.faults.append(Fault(rf"GET .*/manifests/{image.digest}", flip(5)))
    code, out, err = typed(image)
    assert (code, err) == (3, "")
    assert "FAIL" in out
    assert out.splitlines()[-1].startswith(f"Refused: {image}: digest: the registry serves other bytes: ")


def test_the_json_holds_every_check(typed, image) -> None:
    code, out, _ = typed(image, "--json", "--commit", "f" * 40)
    value = json.loads(out)
    assert (code, value["exit_code"], value["image"]) == (3, 3, str(image))
    assert {check["name"]: check["message"] for check in value["checks"] if check["result"] == "fail"} == {
        "commit": f"the statement names {COMMIT}, and {'f' * 40} is expected"
    }
    message = value["checks"][-3]["message"]
    assert value["verdict"] == f"Refused: {image}: commit: {message}."


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("not an image",), "'not an image': a space stands in it"),
        (("localhost:1/trainer-cpu:v1",), "localhost:1: no registry listens there"),
        (("IMAGE", "--commit", "main"), "--commit: 'main' is no whole commit id"),
        (("IMAGE", "--source", "vision"), "--source: 'vision' is no address of a Git repository"),
        (("IMAGE", "--key", "missing.pub"), "missing.pub: there is no such key"),
        (("IMAGE", "--key", "keys/attestation.pem"), "keys/attestation.pem: this is a private key, and the public"),
        (("TAG",), "there is no tag 'v2', only "),
    ],
)
def test_what_cannot_be_judged_ends_with_2_and_one_sentence(typed, image, arguments, sentence) -> None:
    names = {"IMAGE": str(image), "TAG": f"{image.repository}:v2"}
    code, out, err = typed(*(names.get(argument, argument) for argument in arguments))
    assert (code, out) == (2, "")
    assert sentence in err
    assert len(err.splitlines()) == 1


def test_a_tag_ends_with_3_and_the_way_to_its_digest(typed, image) -> None:
    code, out, _ = typed(f"{image.repository}:v1")
    assert code == 3
    assert f"(it is {image.digest} now); take the digest by `overnight image resolve" in out


def test_an_unreachable_registry_ends_with_2(typed, image) -> None:
    code, out, _ = typed(f"localhost:1/{PATH}@{image.digest}")
    assert code == 2
    assert out.splitlines()[-1].startswith(
        f"Not judged: localhost:1/{PATH}@{image.digest}: manifest: no registry listens"
    )


def test_without_a_key_and_without_an_attestation_the_key_is_asked_for(typed, server) -> None:
    image = Reference(server.host, PATH, digest=server.push_image(PATH))
    code, out, _ = typed(image)
    assert code == 3, "the image has no labels either, and that is known"
    said = " ".join(out.split())
    assert "unknown" in said
    assert "attestation.pub: there is no such key; `overnight image attest` without --key makes a pair" in said


def test_a_key_that_is_named_must_be_there(typed, image) -> None:
    code, _, err = typed(image, "--key", "nowhere.pub")
    assert code == 2
    assert "nowhere.pub: there is no such key" in err


def test_a_registry_elsewhere_is_refused_in_a_local_environment(typed, image, monkeypatch) -> None:
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    code, out, _ = typed(f"registry.invalid/{PATH}@{image.digest}")
    assert code == 3
    assert f"registry.invalid/{PATH} is in another registry than registries on this machine" in out


def test_layers_are_compared_by_size_alone_when_asked(typed, image) -> None:
    code, out, _ = typed(image, "--no-layers")
    assert code == 0
    assert "1 layer, of the right sizes; no bytes were read" in out


# In Google Cloud: the registry stands on loopback, and the environment allows it as if it were a mirror.


@pytest.fixture
def analysis() -> Iterator[ContainerAnalysis]:
    with ContainerAnalysis() as running:
        yield running


def occurrence(reference: Reference, commit: str = COMMIT) -> g.Occurrence:
    kind = g.InTotoSlsaProvenanceV1
    external = struct_pb2.Struct()
    external.update({"buildConfigSource": {"repository": "git+https://github.com/acme/vision-overnight"}})
    source = kind.ResourceDescriptor(
        uri="git+https://github.com/acme/vision-overnight@refs/heads/main", digest={"gitCommit": commit}
    )
    statement = kind(
        type_="https://in-toto.io/Statement/v1",
        subject=[g.Subject(name=f"https://{reference.repository}", digest={"sha256": str(reference.digest)[7:]})],
        predicate_type=SLSA_V1,
        predicate=kind.SlsaProvenanceV1(
            build_definition=kind.BuildDefinition(external_parameters=external, resolved_dependencies=[source]),
            run_details=kind.RunDetails(builder=kind.ProvenanceBuilder(id=CLOUD_BUILDER)),
        ),
    )
    return g.Occurrence(
        name="projects/acme-vision-prod/occurrences/1",
        resource_uri=f"https://{reference}",
        note_name="projects/verified-builder/notes/intoto_slsa_v1_1",
        kind=g.NoteKind.BUILD,
        build=g.BuildOccurrence(in_toto_slsa_provenance_v1=statement),
    )


@pytest.fixture
def cloud_image(server: RegistryServer, monkeypatch) -> Reference:
    """An image in Artifact Registry, whose bytes the local registry serves."""
    path = "acme-vision-prod/example-images/trainer-cpu"
    labels = {SOURCE: "https://github.com/acme/vision-overnight", REVISION: COMMIT, TITLE: "trainer-cpu"}
    digest = server.push_image(path, config={"config": {"Labels": labels}})
    monkeypatch.setattr("overnight.images.registry.registry_for", lambda _: Registry(server.host, sleep=lambda _: None))
    return parse(f"us-central1-docker.pkg.dev/{path}@{digest}")


def cloud(typed: Any, analysis: ContainerAnalysis, image: Reference, *arguments: object) -> tuple[int, str, str]:
    return typed(image, "--config", CONFIG, "--endpoint", analysis.address, *arguments)


def test_in_google_cloud_cloud_builds_provenance_is_what_counts(typed, analysis, cloud_image) -> None:
    """The environment's repository is the expected source, and Cloud Build the expected builder."""
    analysis.occurrences = [occurrence(cloud_image)]
    code, out, err = cloud(typed, analysis, cloud_image)
    assert (code, err) == (0, "")
    assert "https://github.com/acme/vision-overnight, as expected" in out
    assert f"{CLOUD_BUILDER}, as expected" in out
    assert "belongs to us-central1-docker.pkg.dev/acme-vision-prod/example-images" in out
    assert len(analysis.requests) == 1


def test_with_a_key_an_attached_attestation_is_asked_for_too(typed, analysis, cloud_image, tmp_path) -> None:
    analysis.occurrences = [occurrence(cloud_image)]
    key_pair(tmp_path / "own.pem")
    code, out, _ = cloud(typed, analysis, cloud_image, "--key", tmp_path / "own.pub")
    assert code == 3
    assert "attestation (Cloud Build)" in out
    assert "no attestation is attached to the image" in out


def test_another_commit_than_asked_for_is_refused(typed, analysis, cloud_image) -> None:
    analysis.occurrences = [occurrence(cloud_image, commit="f" * 40)]
    code, out, _ = cloud(typed, analysis, cloud_image, "--commit", COMMIT)
    assert code == 3
    assert f"the statement names {'f' * 40}, and {COMMIT} is expected" in out


def test_no_provenance_is_refused_and_no_permission_is_not_judged(typed, analysis, cloud_image) -> None:
    code, out, _ = cloud(typed, analysis, cloud_image)
    assert code == 3
    assert "Cloud Build has no provenance of this digest; let a trigger build it" in out
    analysis.failure = (grpc.StatusCode.PERMISSION_DENIED, "no", "IAM_PERMISSION_DENIED")
    code, out, _ = cloud(typed, analysis, cloud_image)
    assert code == 2
    assert "grant roles/containeranalysis.occurrences.viewer" in out


def test_a_local_registry_is_not_the_clouds(typed, analysis, image) -> None:
    code, out, _ = cloud(typed, analysis, image)
    assert code == 3
    assert f"{image.repository} is in another registry than us-central1-docker.pkg.dev/acme-vision-prod" in out
