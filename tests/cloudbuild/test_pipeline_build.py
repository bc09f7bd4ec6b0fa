"""cloudbuild/pipeline.yaml, run step by step on this machine: from a release to templates in a registry."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import packages_distributions, requires
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from kfp_registry import KfpRegistry, kfp_registry
from overnight.images.release import released, write_release
from overnight.pipeline.templates import TEMPLATES

ROOT = Path(__file__).parents[2]
STEPS = {step["id"]: step["script"] for step in YAML(typ="safe").load(ROOT / "cloudbuild" / "pipeline.yaml")["steps"]}
REPOSITORY = "acme/pipelines"
COMMIT = "c0" * 20
IMAGE = f"us-central1-docker.pkg.dev/acme/images/steps@sha256:{'a' * 64}"


class Checkout:
    """A checkout with an environment that is set up, and the variables that each step of a build has."""

    def __init__(self, folder: Path, registry: KfpRegistry) -> None:
        self.folder = folder
        self.releases = folder / "releases"
        self.output = folder / "output"
        self.output.mkdir(parents=True)
        (folder / "overnight").symlink_to(ROOT / "overnight")
        (folder / ".venv" / "bin").mkdir(parents=True)
        python = folder / ".venv" / "bin" / "python"
        python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
        python.chmod(0o755)
        # A package that the step `setup` forgets would otherwise be missed in the cloud only.
        hidden = f"import sys\nsys.modules.update(dict.fromkeys({missing_modules()!r}))\n"
        (folder / "hidden").mkdir()
        (folder / "hidden" / "sitecustomize.py").write_text(hidden)
        self.environment = {
            **os.environ,
            "PYTHONPATH": str(folder / "hidden"),
            "COMMIT_SHA": COMMIT,
            "_RELEASES": str(self.releases),
            "_PIPELINES_REPOSITORY": registry.address(REPOSITORY),
            "BUILDER_OUTPUT": str(self.output),
        }

    def release(self) -> None:
        write_release(str(self.releases), released(COMMIT, "https://github.com/acme/vision", "b1", {"steps": IMAGE}))

    def run(self, step: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-c", STEPS[step]],
            cwd=self.folder,
            env=self.environment,
            text=True,
            capture_output=True,
            check=False,
            timeout=60,
        )


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[KfpRegistry]:
    with kfp_registry(tmp_path / "templates", REPOSITORY) as running:
        yield running


@pytest.fixture
def checkout(tmp_path: Path, registry: KfpRegistry) -> Checkout:
    return Checkout(tmp_path / "checkout", registry)


def test_every_template_is_published_with_the_images_of_the_commit(checkout: Checkout, registry: KfpRegistry) -> None:
    checkout.release()
    for step in ("compile", "publish"):
        done = checkout.run(step)
        assert done.returncode == 0, done.stderr
    written = json.loads((checkout.output / "output").read_text())
    assert json.loads(done.stdout) == written
    assert {each["name"] for each in written} == set(TEMPLATES)
    for each in written:
        assert registry.tags[REPOSITORY, each["name"], COMMIT] == each["version"]
        assert each["template_uri"] == f"{registry.address(REPOSITORY)}/{each['name']}/{each['version']}"
        assert IMAGE in registry.file(REPOSITORY, each["name"], each["version"]).read_text()


def test_a_build_that_is_started_again_ends_in_the_same_way(checkout: Checkout, registry: KfpRegistry) -> None:
    checkout.release()
    assert [checkout.run(step).returncode for step in ("compile", "publish")] == [0, 0]
    first = (checkout.output / "output").read_text()
    assert [checkout.run(step).returncode for step in ("compile", "publish")] == [0, 0]
    assert (checkout.output / "output").read_text() == first


def test_a_registry_that_refuses_fails_the_build(checkout: Checkout, registry: KfpRegistry) -> None:
    checkout.release()
    assert checkout.run("compile").returncode == 0
    registry.refuses = (403, "denied")
    done = checkout.run("publish")
    assert done.returncode == 2
    assert done.stderr.startswith("overnight: http://127.0.0.1:")


def test_the_build_waits_no_longer_than_it_may_run() -> None:
    (wait,) = re.findall(r"--wait (\d+)", STEPS["compile"])
    text = (ROOT / "cloudbuild" / "pipeline.yaml").read_text()
    assert int(wait) < int(re.findall(r"^timeout: (\d+)s$", text, re.MULTILINE)[0])


def test_the_client_of_the_bucket_of_releases_is_set_up(checkout: Checkout) -> None:
    python = [checkout.folder / ".venv" / "bin" / "python"]
    subprocess.run([*python, "-c", "import google.cloud.storage"], env=checkout.environment, check=True)
    done = subprocess.run([*python, "-c", "import duckdb"], env=checkout.environment, capture_output=True, check=False)
    assert done.returncode == 1


def missing_modules() -> list[str]:
    """What is installed here, and is not what the step `setup` installs, nor required by it."""
    (line,) = re.findall(r"lock\.txt \\\n\s+(.*)\n", STEPS["setup"])
    modules = {module: {normal(each) for each in names} for module, names in packages_distributions().items()}
    installed = set().union(*modules.values())
    wanted, found = {normal(each) for each in line.split()}, {"overnight"}
    assert wanted <= installed
    while wanted:
        name = wanted.pop()
        found.add(name)
        needed = {normal(re.split(r"[^\w.-]", each)[0]) for each in requires(name) or [] if "extra ==" not in each}
        wanted |= (needed & installed) - found
    return sorted(module for module, names in modules.items() if not names & found)


def normal(name: str) -> str:
    """A distribution's name as the index has it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()
