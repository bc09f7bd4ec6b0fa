"""`overnight image resolve` as a user types it."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from artifact_registry_server import running_artifact_registry
from overnight.cli import main
from overnight.images import local
from registry_server import OCI_INDEX, OCI_MANIFEST, running_registry

ROOT = Path(__file__).parents[3]
EXAMPLE = str(ROOT / "config" / "example.yaml")
REFERENCES = YAML(typ="safe").load((ROOT / "tests/overnight/images/references.yaml").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    stdout: str
    stderr: str


@pytest.fixture
def resolve(tmp_path, monkeypatch, capsys):
    """Runs `overnight image resolve ARGUMENTS` in an empty folder, in this process."""

    def typed(*arguments: str) -> Done:
        monkeypatch.chdir(tmp_path)
        monkeypatch.delenv("OVERNIGHT_CONFIG", raising=False)
        monkeypatch.setattr(sys, "argv", ["overnight", "image", "resolve", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main.run()
        output = capsys.readouterr()
        return Done(end.value.code or 0, output.out, output.err)

    return typed


@pytest.fixture
def server(monkeypatch):
    """A registry that this machine's own repository stands in."""
    with running_registry() as running:
        monkeypatch.setattr(local, "LOCAL_REPOSITORY", f"{running.host}/overnight-images")
        running.image = running.push_image("overnight-images/trainer-cpu", "v1")
        yield running


@pytest.fixture
def config(tmp_path) -> str:
    """An environment on this machine."""
    path = tmp_path / "local.yaml"
    path.write_text("environment: local\nroot: data\n")
    return str(path)


def test_a_bare_name_is_one_of_the_environments_images(resolve, server, config):
    done = resolve("trainer-cpu:v1", "--config", config)
    assert (done.code, done.stderr) == (0, "")
    assert done.stdout == f"{server.host}/overnight-images/trainer-cpu@{server.image}\n"


def test_a_whole_reference_needs_no_environment_file(resolve, server):
    name = f"{server.host}/overnight-images/trainer-cpu"
    assert resolve(f"{name}:v1").stdout == f"{name}@{server.image}\n"
    assert resolve(f"{name}@{server.image}").stdout == f"{name}@{server.image}\n"


def test_a_bare_name_without_an_environment_file_and_a_missing_file_are_refused(resolve, server):
    assert resolve("trainer-cpu:v1").code == 2
    done = resolve(f"{server.host}/overnight-images/trainer-cpu:v1", "--config", "nowhere.yaml")
    assert done.code == 2
    assert "nowhere.yaml" in done.stderr


def test_json_holds_the_facts_of_a_descriptor_and_the_reference(resolve, server, config):
    done = resolve("trainer-cpu:v1", "--config", config, "--json")
    assert json.loads(done.stdout) == {
        "reference": f"{server.host}/overnight-images/trainer-cpu@{server.image}",
        "digest": server.image,
        "media_type": OCI_MANIFEST,
        "size": len(server.manifests["overnight-images/trainer-cpu"][server.image][0]),
        "platform": "linux/amd64",
    }


def test_a_manifest_list_is_refused_for_our_images_and_chosen_from_elsewhere(resolve, server, config):
    for path in ("overnight-images/trainer-cpu", "other/image"):
        server.push_index(path, "multi", {"linux/amd64": server.push_image(path)}, attestations=True)
    own = resolve("trainer-cpu:multi", "--config", config, "--platform", "linux/amd64")
    assert own.code == 2
    assert "manifest list (linux/amd64), and images of this repository are single manifests" in own.stderr
    other = f"{server.host}/other/image"
    assert "this is a manifest list (linux/amd64)" in resolve(f"{other}:multi").stderr
    chosen = json.loads(resolve(f"{other}:multi", "--platform", "linux/amd64", "--json").stdout)
    assert (chosen["media_type"], chosen["platform"]) == (OCI_MANIFEST, "linux/amd64")
    listed = json.loads(resolve(f"{other}:multi", "--allow-index", "--json").stdout)
    assert (listed["media_type"], listed["platform"]) == (OCI_INDEX, None)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("trainer-cpu:v2",), "there is no tag 'v2', only v1"),
        (("steps:v1",), "no such repository"),
        (("trainer-cpu",), "neither tag nor digest"),
        (("trainer-cpu:",), "the tag after ':' is empty"),
        (("trainer cpu:v1",), "a space"),
        (("",), "an image reference is empty"),
        (("team/trainer:v1",), "'team' is no host"),
        (("gcr.io/p/x:v1",), "Container Registry (gcr.io) is gone"),
        (("trainer-cpu:v1", "--platform", "amd64"), "'amd64' is no platform"),
        (("trainer-cpu:v1", "--platform", ""), "'' is no platform"),
        (("trainer-cpu:v1", "--platform", "linux/arm64"), "the image is for linux/amd64, and linux/arm64 is wanted"),
        (("trainer-cpu:v1", "--endpoint", "http://127.0.0.1:1"), "is not gRPC"),
        (("localhost:1/x:v1",), "no registry listens there"),
    ],
)
def test_what_cannot_be_resolved_is_one_sentence_and_exit_code_2(resolve, server, config, arguments, says):
    done = resolve(*arguments, "--config", config)
    assert (done.code, done.stdout) == (2, "")
    assert done.stderr.startswith("overnight: ")
    assert done.stderr.count("\n") == 1
    assert says in done.stderr


TAGGED = ("can move", "another image tomorrow")
"""What is wrong with these is that a tag is not enough, and here it is."""


@pytest.mark.parametrize(
    "mutation",
    [mutation for mutation in REFERENCES["mutations"] if not any(said in mutation["says"] for said in TAGGED)][::5],
    ids=lambda mutation: f"{mutation['of']}-{mutation['is'] or 'without'}",
)
def test_mistakes_in_a_reference_are_one_sentence_and_exit_code_2(resolve, mutation):
    done = resolve(REFERENCES["originals"][mutation["of"]].replace(mutation["was"], mutation["is"], 1))
    assert (done.code, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1


def test_in_the_cloud_artifact_registry_is_asked(resolve):
    digest = "sha256:" + "0123456789abcdef" * 4
    package = "projects/acme-vision-prod/locations/us-central1/repositories/example-images/packages/trainer-gpu"
    with running_artifact_registry() as api:
        api.add_image(package, digest, "v1", media_type=OCI_MANIFEST)
        done = resolve("trainer-gpu:v1", "--config", EXAMPLE, "--endpoint", api.address)
        missing = resolve("trainer-gpu:v2", "--config", EXAMPLE, "--endpoint", api.address)
    name = "us-central1-docker.pkg.dev/acme-vision-prod/example-images/trainer-gpu"
    assert (done.code, done.stdout, done.stderr) == (0, f"{name}@{digest}\n", "")
    assert (missing.code, missing.stdout) == (2, "")
    assert missing.stderr == f"overnight: {name}: there is no tag 'v2', only v1; name one of these.\n"
