"""`overnight image build` and `overnight image registry` as a user types them; nothing is built here."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from image_commands import Done
from local_builds import recorded
from overnight.files import locked
from registry_server import RegistryServer

Typed = Callable[..., Done]
STEP = "- {id: test, name: $_BUILDER_IMAGE, entrypoint: seq, args: ['30'], timeout: 60s}\n"
TAIL = "timeout: 60s\noptions: {logging: CLOUD_LOGGING_ONLY, pool: {name: $_POOL}}\n"


@pytest.fixture
def build(image: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Typed:
    """Runs `overnight image build --local --file build.yaml ARGUMENTS` where container tools write down their calls."""
    tools = tmp_path / "tools"
    for name in ("podman", "buildah", "docker-registry", "runc"):
        recorded(tools, name)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    (tmp_path / "build.yaml").write_text(f"steps:\n{STEP}{TAIL}")

    def typed(*arguments: str) -> Done:
        return image("build", "--local", "--file", "build.yaml", "--root", "root", *arguments)

    return typed


def test_without_local_it_says_how_builds_start_in_the_cloud(image: Typed) -> None:
    done = image("build")
    assert (done.code, done.stdout) == (2, "")
    assert done.stderr == (
        "overnight: builds in Google Cloud start when a change is merged (or by `gcloud builds triggers run`); "
        "give --local to build on this machine.\n"
    )


def test_a_file_with_errors_is_not_run(build: Typed, tmp_path: Path) -> None:
    (tmp_path / "build.yaml").write_text(f"steps:\n{STEP}- {{id: test, name: x, script: b, waitFor: [none]}}\n{TAIL}")
    done = build()
    assert done.code == 2
    *findings, last = done.stderr.splitlines()
    assert last.startswith("overnight: build.yaml: ")
    assert last.endswith(" errors in the build file; put that right first; nothing was run.")
    assert findings
    assert all(line.startswith("build.yaml:") for line in findings)
    assert not (tmp_path / "root").exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["--registry", "example.com:5"],
            "--registry: 'example.com:5' is not a port of this machine; write it like localhost:5005.",
        ),
        (["--substitution", "x"], "--substitution: 'x' is not _KEY=VALUE; write it like _REGION=local."),
        (
            ["--file", "none.yaml"],
            "none.yaml: there is no such build file; give one such as cloudbuild/pull-request.yaml.",
        ),
        (["--file", "."], ".: this is a folder; give one such as cloudbuild/pull-request.yaml."),
    ],
)
def test_a_mistake_is_one_sentence(build: Typed, arguments: list[str], sentence: str) -> None:
    done = build(*arguments)
    assert (done.code, done.stderr) == (2, f"overnight: {sentence}\n")


def test_missing_tools_are_named(build: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    done = build()
    assert (done.code, done.stderr) == (
        2,
        "overnight: a local build needs podman and buildah and docker-registry and git and runc, not found here; "
        "install with: apt-get install --no-install-recommends podman buildah docker-registry git runc.\n",
    )


def test_a_registry_that_does_not_start_is_one_sentence(build: Typed, tmp_path: Path) -> None:
    done = build("--registry", "localhost:1")
    log = tmp_path / "root" / "registry" / "registry.log"
    assert done.code == 2
    assert done.stderr == f"overnight: localhost:1: the registry did not start (code 0); see {log}.\n"


def test_the_registry_command_says_when_there_is_no_program(
    image: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    done = image("registry", "--root", "root", "--registry", "localhost:1")
    assert (done.code, done.stderr) == (
        2,
        "overnight: localhost:1: there is no registry program; "
        "install it with: apt-get install --no-install-recommends docker-registry.\n",
    )


@pytest.fixture
def server() -> Iterator[RegistryServer]:
    with RegistryServer() as running:
        yield running


BUILD = """
- id: a-build
  name: $_BUILDER_IMAGE
  env: [BUILDX_NO_DEFAULT_ATTESTATIONS=1]
  entrypoint: docker
  args:
  - build
  - --build-arg=BUILDER_IMAGE=$_BASE_BUILDER
  - --build-arg=RUNTIME_IMAGE=$_BASE_STEPS
  - --build-arg=SOURCE_DATE_EPOCH=0
  - --tag=$_REPOSITORY/a:$COMMIT_SHA
  - .
images: ['$_REPOSITORY/a:$COMMIT_SHA']
timeout: 60s
options: {logging: CLOUD_LOGGING_ONLY, pool: {name: $_POOL}, requestedVerifyOption: VERIFIED}
"""


def test_the_reference_of_each_image_is_printed(build: Typed, tmp_path: Path, server: RegistryServer) -> None:
    host = f"localhost:{server.port}"
    (tmp_path / "build.yaml").write_text(f"steps:{BUILD}")
    bases = dict.fromkeys(("_BASE_BUILDER", "_BASE_STEPS"), f"{host}/bases/x@sha256:{'b' * 64}")
    (tmp_path / "bases.json").write_text(json.dumps(bases))
    # The stand-in for podman pushes nothing, so what it would push is there already, under any tag.
    digest = server.push_image("overnight-images/a")
    server.tags["overnight-images/a"] = Always(digest)
    done = build("a", "--registry", host, "--bases", "bases.json")
    assert (done.code, done.stdout) == (0, f"{host}/overnight-images/a@{digest}\n"), done.stderr
    assert "Step #0" in done.stderr
    calls = (tmp_path / "tools" / "calls").read_text().splitlines()
    assert [call.split(" ")[1] for call in calls] == ["build", "image", "push", "ps"]
    assert "WARNING: not attested: no commit holds what was built; commit it and build again" in done.stderr


def test_machines_read_json(build: Typed, server: RegistryServer) -> None:
    done = build("--json", "--quiet", "--registry", f"localhost:{server.port}")
    content = json.loads(done.stdout)
    assert done.code == 0, done.stderr
    assert (content["status"], content["images"], content["warnings"]) == ("SUCCESS", [], [])
    assert json.loads(Path(content["record"]).read_text())["id"] == content["build_id"]
    assert "Step #0" not in done.stderr


def test_a_build_that_fails_ends_with_2_and_the_end_of_the_log(
    build: Typed, tmp_path: Path, server: RegistryServer
) -> None:
    step = STEP.replace("seq", "bash").replace("['30']", "['-euc', 'seq 30; exit 3']")
    (tmp_path / "build.yaml").write_text(f"steps:\n{step}{TAIL}")
    done = build("--quiet", "--registry", f"localhost:{server.port}")
    assert (done.code, done.stdout) == (2, "")
    *lines, last = done.stderr.splitlines()
    assert lines[-20:] == [str(number) for number in range(11, 31)]
    assert 'FAILURE: build step 0 "test" failed: step exited with non-zero status: 3' in last
    assert len(list((tmp_path / "root" / "builds").glob("*.json"))) == 1


def test_two_builds_in_one_root_are_not_run_at_once(build: Typed, tmp_path: Path, server: RegistryServer) -> None:
    with locked(tmp_path / "root" / "builds", "image build"):
        done = build("--registry", f"localhost:{server.port}")
    assert (done.code, done.stderr) == (
        2,
        f"overnight: {tmp_path / 'root' / 'builds'}: another image build is running in this folder; "
        "wait until it ends, or use another folder.\n",
    )


def test_nothing_is_left_but_what_was_asked_to_be_kept(
    build: Typed, server: RegistryServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    build("--registry", f"localhost:{server.port}")
    assert list((tmp_path / "temporary").iterdir()) == []
    done = build("--keep", "--registry", f"localhost:{server.port}")
    (kept,) = (tmp_path / "temporary").iterdir()
    assert f"Kept: {kept}" in done.stderr
    assert (kept / "workspace" / "build.yaml").is_file()


class Always(dict[str, str]):
    """One digest under every tag."""

    def __init__(self, digest: str) -> None:
        super().__init__()
        self.digest = digest

    def __missing__(self, tag: str) -> str:
        return self.digest

    def get(self, tag: str, default: str | None = None) -> str:  # type: ignore[override]
        return self.digest

    def __contains__(self, tag: object) -> bool:
        return True
