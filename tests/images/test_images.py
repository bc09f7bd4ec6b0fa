"""The images of this checkout, from nothing: bases, the steps of cloudbuild/images.yaml, twice, run, attested, pinned.

In the order of the file: each test goes on from what the ones before it made.
"""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from image_house import IMAGES, ROOT, SOURCE, House, digest_of
from overnight.builds.containers import environment
from overnight.images.keys import key_pair
from overnight.images.reference import parse
from overnight.images.registry import registry_for

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1500)]

SPEC = """\
# Two replicas of the trainer, in the image that is pinned here.
customJob:
  displayName: pinned
  jobSpec:
    workerPoolSpecs:
      - replicaCount: 1
        containerSpec:
          imageUri: IMAGE   # the digest alone is rewritten
          command: [python, -m, trainer.launch]
          args: [--preset=smoke, --set=epochs=2, "--set=model.arguments={width=8}"]
          env: []
overnight:
  model: classifier
"""


@pytest.fixture(scope="session")
def images(house: House) -> dict[str, str]:
    """All images, built with an empty store; the first build makes the bases, too."""
    with house.timed("bases, and a first build of all three images"):
        return house.build("store-a")


def spec(house: House, name: str, reference: str, **changes: str) -> Path:
    text = SPEC.replace("IMAGE", reference)
    for old, new in changes.items():
        text = text.replace(old, new)
    path = house.folder / name
    path.write_text(text)
    return path


def test_the_build_file_passes_its_checks(house: House) -> None:
    house.run("build", "check", str(ROOT / "cloudbuild"))


def test_all_images_are_built_and_pushed_by_the_files_own_steps(house: House, images: dict[str, str]) -> None:
    assert set(images) == set(IMAGES)
    (record,) = (house.root / "builds").glob("*.json")
    build = json.loads(record.read_text())
    assert {image["name"].rpartition(":")[0].rpartition("/")[2] for image in build["results"]["images"]} == set(IMAGES)
    assert {step["status"] for step in build["steps"]} == {"SUCCESS"}


def test_the_release_of_the_commit_names_the_digests_and_what_the_images_hold(
    house: House, images: dict[str, str]
) -> None:
    (path,) = (house.root / "releases").glob("*.json")
    release = json.loads(path.read_text())
    assert {name: image["digest"] for name, image in release["images"].items()} == {
        name: digest_of(reference) for name, reference in images.items()
    }
    assert release["source"] == SOURCE
    for name in IMAGES:
        held = json.loads((path.parent / release["images"][name]["sbom"]["path"]).read_text())
        packages = {package["name"] for package in held["packages"]}
        assert {"python3.11", "trainer", "overnight" if name == "steps" else "torch"} <= packages
        assert name != "steps" or "torch" not in packages


def test_a_second_build_from_an_empty_store_gives_the_same_digests(house: House, images: dict[str, str]) -> None:
    with house.timed("a second build of trainer-cpu"):
        again = house.build("store-b", "trainer-cpu")
    assert again == {"trainer-cpu": images["trainer-cpu"]}
    shutil.rmtree(house.folder / "store-b", ignore_errors=True)


def test_a_training_runs_in_the_pinned_image_and_has_its_digest_on_record(house: House, images: dict[str, str]) -> None:
    path = spec(house, "pinned.yaml", f"{images['trainer-cpu'].partition('@')[0]}@sha256:{'0' * 64}")
    (release,) = (house.root / "releases").glob("*.json")
    house.run("image", "pin", str(path), "--from-release", release.stem)
    assert path.read_text() == SPEC.replace("IMAGE", images["trainer-cpu"])
    with house.timed("a training in the image"):
        record = house.json("run", str(path), "--containers", "--json")
    assert record["status"] == "succeeded"
    assert record["trainer_image"]["digest"] == digest_of(images["trainer-cpu"])
    assert record["trainer_image"]["name"] == "trainer-cpu"
    assert record["trainer_image"]["source"] == SOURCE
    assert record["metrics"]["accuracy"] is not None
    shown = house.run("lineage", "show", record["run_id"]).stdout
    assert digest_of(images["trainer-cpu"]) in shown


def test_in_the_container_nobody_is_root_and_nothing_can_be_written(house: House, images: dict[str, str]) -> None:
    program = (
        "import errno, os, pathlib, shutil, sys; assert os.getuid() == 10001, os.getuid()\\n"
        "for place in ('/opt/app', '/etc', '/usr/lib', '/'):\\n"
        "    try: pathlib.Path(place, 'new').write_text('x')\\n"
        "    except OSError as error: assert error.errno in (errno.EROFS, errno.EACCES), error\\n"
        "    else: sys.exit(place)\\n"
        "assert not [tool for tool in ('gcc', 'cc', 'pip', 'pip3', 'make') if shutil.which(tool)]\\n"
        "import importlib.util; assert importlib.util.find_spec('pip') is None\\n"
        "print('as it should be')"
    )
    path = spec(
        house,
        "inside.yaml",
        images["trainer-cpu"],
        **{
            "command: [python, -m, trainer.launch]": "command: [python, -c]",
            'args: [--preset=smoke, --set=epochs=2, "--set=model.arguments={width=8}"]': f'args: ["{program}"]',
        },
    )
    result = house.run("run", str(path), "--containers", "--verbose")
    assert "as it should be" in result.stdout + result.stderr


def test_a_spec_that_tells_another_digest_than_it_names_is_refused(house: House, images: dict[str, str]) -> None:
    other = f"{images['trainer-cpu'].partition('@')[0]}@sha256:{'1' * 64}"
    path = spec(
        house,
        "mismatch.yaml",
        images["trainer-cpu"],
        **{"env: []": f"env: [{{name: OVERNIGHT_IMAGE, value: '{other}'}}]"},
    )
    assert "OVERNIGHT_IMAGE" in refused(house, "run", str(path), "--containers", code=2)


def test_another_digest_than_the_platforms_stops_the_trainer(house: House, images: dict[str, str]) -> None:
    """As where someone pinned the variable and not the image; told as Vertex AI tells it."""
    image = images["trainer-cpu"]
    other = f"{image.partition('@')[0]}@sha256:{'1' * 64}"
    job = {"workerPoolSpecs": [{"replicaCount": "1", "containerSpec": {"imageUri": image}}]}
    cluster = {
        "cluster": {"workerpool0": ["127.0.0.1:2222"]},
        "environment": "cloud",
        "task": {"type": "workerpool0", "index": 0},
        "job": json.dumps(job),
    }
    told = ("--env", f"CLUSTER_SPEC={json.dumps(cluster)}", "--env", f"OVERNIGHT_IMAGE={other}")
    result = subprocess.run(
        [
            "podman",
            "run",
            "--rm",
            "--network",
            "host",
            "--read-only",
            "--tmpfs",
            "/tmp",
            *told,
            image,
            "--preset=smoke",
        ],
        env={**house.environment, **environment(house.root / "containers", house.registry)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 2, result.stderr
    assert "1" * 64 in result.stderr
    assert digest_of(image) in result.stderr


@pytest.mark.parametrize("name", IMAGES)
def test_each_image_is_attested_and_verified(house: House, images: dict[str, str], name: str) -> None:
    with house.timed(f"verify {name}, every byte"):
        house.run("image", "verify", images[name], "--source", SOURCE)


def test_a_digest_is_pinned_into_a_copy_of_the_job_specs(house: House, images: dict[str, str]) -> None:
    """Only digests change, and the rules find as much, or as little, as before."""
    copy = house.folder / "jobs"
    shutil.copytree(ROOT / "jobs", copy)
    digest = digest_of(images["trainer-gpu"])
    files = [str(path) for path in sorted(copy.glob("*.yaml"))]
    house.run("image", "pin", *files, "--image", "trainer-gpu", "--to", digest)
    changed = 0
    for path in sorted(copy.glob("*.yaml")):
        before, after = (ROOT / "jobs" / path.name).read_text(), path.read_text()
        assert re.sub(r"trainer-gpu@sha256:[0-9a-f]{64}", f"trainer-gpu@{digest}", before) == after
        changed += before != after
        assert YAML(typ="safe").load(after)
    assert changed >= 5
    house.run("image", "pin", *files, "--image", "trainer-gpu", "--to", digest, "--check")
    house.run("job", "check", str(copy))


def refused(house: House, *arguments: str, code: int = 3) -> str:
    result = house.run(*arguments, expect=(code,))
    assert "Traceback" not in result.stdout + result.stderr
    return " ".join((result.stdout + result.stderr).split())


def test_a_wrong_key_is_refused(house: House, images: dict[str, str]) -> None:
    key_pair(house.folder / "other.pem")
    said = refused(
        *(house, "image", "verify", images["steps"], "--source", SOURCE, "--key", str(house.folder / "other.pub"))
    )
    assert "key" in said


def test_a_manifest_list_is_refused(house: House, images: dict[str, str]) -> None:
    steps = parse(images["steps"])
    registry = registry_for(steps)
    manifest = registry.manifest(steps.path, digest_of(images["steps"]))
    entry = {
        "mediaType": manifest.media_type,
        "digest": manifest.digest,
        "size": len(manifest.body),
        "platform": {"os": "linux", "architecture": "amd64"},
    }
    index = "application/vnd.oci.image.index.v1+json"
    body = json.dumps({"schemaVersion": 2, "mediaType": index, "manifests": [entry]}).encode()
    digest = registry.put_manifest(steps.path, "many", body, index)
    assert "linux/amd64" in refused(house, "image", "verify", f"{steps.repository}@{digest}", "--source", SOURCE)
    assert "linux/amd64" in refused(house, "image", "resolve", f"{steps.repository}:many", code=2)


def test_a_tag_or_a_digest_that_is_not_there_is_said(house: House, images: dict[str, str]) -> None:
    repository = images["steps"].partition("@")[0]
    assert "v9" in refused(house, "image", "resolve", f"{repository}:v9", code=2)
    missing = f"{repository}@{digest_of(images['trainer-cpu'])}"
    assert digest_of(missing)[:19] in refused(house, "image", "verify", missing, "--source", SOURCE)


def test_a_flipped_byte_is_found_wherever_it_is(house: House, images: dict[str, str]) -> None:
    """Last, since it damages the registry: of the manifest, the config, and the last layer."""
    steps = parse(images["steps"])
    manifest = registry_for(steps).manifest(steps.path, digest_of(images["steps"]))
    assert manifest.config is not None
    for digest in (manifest.layers[-1].digest, manifest.config.digest, manifest.digest):
        path = house.blob(digest)
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
        # A registry that cannot read its own manifest any more answers 500: then nothing is judged, and that is said.
        codes = (2, 3) if digest == manifest.digest else (3,)
        result = house.run("image", "verify", images["steps"], "--source", SOURCE, expect=codes)
        assert digest[:19] in result.stdout, result.stdout
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
    house.run("image", "verify", images["steps"], "--source", SOURCE)
