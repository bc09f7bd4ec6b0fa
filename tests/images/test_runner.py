"""Local builds with real podman and a real registry; tiny images, so that it takes seconds."""

import contextlib
import json
import os
import platform
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from local_builds import git
from overnight.builds.containers import missing_tools, release
from overnight.builds.registry_process import ask, serving
from overnight.files import sha256_bytes
from overnight.images.attach import AttachedAttestations
from overnight.images.keys import read_public_key
from overnight.images.reference import Reference, parse
from overnight.images.registry import registry_for

MISSING = missing_tools()
pytestmark = [
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
    pytest.mark.skipif(os.geteuid() != 0, reason="the store of another user would be left behind"),
    pytest.mark.skipif(platform.machine() != "x86_64", reason="the images' program is for x86-64"),
]

CODE = {
    # mov edi, 7; mov eax, 60 (exit); syscall
    "leave": bytes.fromhex("bf07000000b83c0000000f05"),
    # mov eax, 34 (pause); syscall; jmp to the beginning
    "stay": bytes.fromhex("b8220000000f05ebf7"),
    # mov edi, path; mov esi, O_WRONLY|O_CREAT; mov edx, 0644; mov eax, 2 (open); syscall; mov edi, eax; shr edi, 31;
    # mov eax, 60 (exit); syscall. The path follows: exit code 0 when it could be opened for writing, else 1.
    "write": bytes.fromhex("bfa2004000be41000000baa4010000b8020000000f0589c7c1ef1fb83c0000000f05")
    + bytes(8)
    + b"/new\0",
}


def program(code: bytes) -> bytes:
    """The smallest ELF program for Linux on x86-64 (System V ABI): one header, one segment, the code."""
    base, headers = 0x400000, 120
    size = (headers + len(code)).to_bytes(8, "little")
    header = (
        b"\x7fELF\x02\x01\x01" + bytes(9) + bytes.fromhex("02003e0001000000") + (base + headers).to_bytes(8, "little")
    )
    header += (64).to_bytes(8, "little") + bytes(12) + bytes.fromhex("4000380001000000") + bytes(4)
    segment = bytes.fromhex("0100000005000000") + bytes(8) + base.to_bytes(8, "little") * 2 + size * 2
    return header + segment + (0x1000).to_bytes(8, "little") + code


DOCKERFILE = """ARG BUILDER_IMAGE
ARG RUNTIME_IMAGE
FROM scratch
ARG SOURCE_DATE_EPOCH
COPY leave stay write data.txt /
USER 10001:10001
ENTRYPOINT ["/leave"]
"""
HEAD = """
steps:
- id: tiny-build
  name: $_BUILDER_IMAGE
  env: [DOCKER_BUILDKIT=1, BUILDX_NO_DEFAULT_ATTESTATIONS=1]
  entrypoint: docker
  args:
  - build
  - --build-arg=BUILDER_IMAGE=$_BASE_BUILDER
  - --build-arg=RUNTIME_IMAGE=$_BASE_STEPS
  - --build-arg=SOURCE_DATE_EPOCH=0
  - --network=none
  - --tag=$_REPOSITORY/tiny:$COMMIT_SHA
  - --tag=$_CACHE_REPOSITORY/tiny:$COMMIT_SHA
  - image
"""
TAIL = """
images: ['$_REPOSITORY/tiny:$COMMIT_SHA']
timeout: 300s
options:
  logging: CLOUD_LOGGING_ONLY
  automapSubstitutions: true
  requestedVerifyOption: VERIFIED
  pool: {name: $_POOL}
"""


def script(name: str, *lines: str) -> str:
    text = "".join(f"    {line}\n" for line in ("#!/usr/bin/env bash", "set -euo pipefail", *lines))
    return f"- id: {name}\n  name: $_BUILDER_IMAGE\n  script: |\n{text}"


@dataclass
class Kit:
    """A repository with one tiny image, and where its builds go."""

    folder: Path
    port: int

    @property
    def host(self) -> str:
        return f"localhost:{self.port}"

    @property
    def root(self) -> Path:
        return self.folder / "root"

    @property
    def repository(self) -> Path:
        return self.folder / "repository"

    def write(self, *steps: str) -> None:
        """The build file, committed."""
        (self.repository / "cloudbuild" / "images.yaml").write_text(HEAD + "".join(steps) + TAIL)
        git(self.repository, "add", "--all")
        git(self.repository, "commit", "--quiet", "--allow-empty", "--message=build")

    def command(self, *options: str) -> list[str]:
        where = ["--root", str(self.root), "--registry", self.host, "--bases", str(self.folder / "bases.json")]
        return [sys.executable, "-m", "overnight", "image", "build", "tiny", "--local", *where, *options]

    def build(self, *options: str, code: int = 0) -> "subprocess.CompletedProcess[str]":
        done = subprocess.run(
            self.command(*options), cwd=self.repository, capture_output=True, text=True, check=False, timeout=120
        )
        assert done.returncode == code, done.stderr
        return done

    def record(self) -> dict[str, Any]:
        """The result of the latest build."""
        latest = max((self.root / "builds").glob("*.json"), key=lambda path: path.stat().st_mtime)
        content: dict[str, Any] = json.loads(latest.read_text())
        return content

    def containers(self) -> list[str]:
        """Those of all builds, running or not."""
        settings = {
            name: str(self.root / "containers" / f"{name}.conf") for name in ("containers", "registries", "storage")
        }
        variables = {
            "CONTAINERS_CONF": settings["containers"],
            "CONTAINERS_REGISTRIES_CONF": settings["registries"],
            "CONTAINERS_STORAGE_CONF": settings["storage"],
        }
        done = subprocess.run(
            ["podman", "ps", "--all", "--external", "--quiet"],
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.split()


@pytest.fixture
def kit(tmp_path: Path) -> Iterator[Kit]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        made = Kit(tmp_path, listener.getsockname()[1])
    image = made.repository / "image"
    image.mkdir(parents=True)
    (made.repository / "cloudbuild").mkdir()
    for name, code in CODE.items():
        (image / name).write_bytes(program(code))
        (image / name).chmod(0o755)
    (image / "data.txt").write_text("data\n")
    (image / "Dockerfile").write_text(DOCKERFILE)
    git(made.repository, "init", "--quiet")
    git(made.repository, "remote", "add", "origin", "https://github.com/acme/vision.git")
    bases = dict.fromkeys(("_BASE_BUILDER", "_BASE_STEPS"), f"{made.host}/bases/none@sha256:{'0' * 64}")
    (tmp_path / "bases.json").write_text(json.dumps(bases))
    yield made
    release(made.root / "containers")  # `containers` may have looked into it since
    shutil.rmtree(tmp_path)


def pushed(kit: Kit, done: "subprocess.CompletedProcess[str]") -> Reference:
    reference = parse(done.stdout.strip())
    assert reference.repository == f"{kit.host}/overnight-images/tiny"
    return reference


def test_an_image_is_built_run_pushed_and_attested(kit: Kit) -> None:
    kit.write(
        script(
            "tiny-test",
            'image="$_REPOSITORY/tiny:$COMMIT_SHA"',
            'code=0; docker run --rm --network none --read-only --cap-drop all "$image" || code=$?',
            '[ "$code" = 7 ]',
        ),
        script("tiny-digest", 'docker push "$_CACHE_REPOSITORY/tiny:$COMMIT_SHA"'),
    )
    reference = pushed(kit, kit.build())
    assert ask(kit.port) == "nothing"
    commit = git(kit.repository, "rev-parse", "HEAD")
    with serving(kit.host, kit.root / "registry"):
        registry = registry_for(reference)
        manifest = registry.manifest(reference.path, commit)
        assert f"sha256:{sha256_bytes(manifest.body)}" == reference.digest
        # A manifest names no repository: the same digest in both.
        assert registry.manifest("overnight-cache/tiny", commit).digest == reference.digest
        key = read_public_key(kit.root / "keys" / "attestation.pub")
        (evidence,) = AttachedAttestations(registry, [key]).find(reference)
    assert evidence.trusted
    assert evidence.provenance is not None
    assert (evidence.provenance.source, evidence.provenance.commit) == ("https://github.com/acme/vision", commit)
    record = kit.record()
    assert (record["status"], record["results"]["images"][0]["digest"]) == ("SUCCESS", reference.digest)


def test_two_builds_from_empty_stores_give_one_digest_and_so_does_one_from_a_full_one(kit: Kit) -> None:
    kit.write()
    first = kit.build("--store", str(kit.folder / "one"))
    os.utime(kit.repository / "image" / "data.txt", (1, 1))
    second = kit.build("--store", str(kit.folder / "two"))
    third = kit.build("--store", str(kit.folder / "two"))
    assert first.stdout == second.stdout == third.stdout != ""


def test_another_content_gives_another_digest(kit: Kit) -> None:
    kit.write()
    first = pushed(kit, kit.build())
    (kit.repository / "image" / "data.txt").write_text("other\n")
    done = kit.build()
    assert pushed(kit, done).digest != first.digest
    assert "The checkout differs from its commit" in done.stderr
    assert "WARNING: not attested" in done.stderr
    assert len(kit.record()["substitutions"]["COMMIT_SHA"]) == 64


@pytest.mark.parametrize(("options", "code"), [("--user 0", 0), ("--read-only --user 0", 1), ("", 1)])
def test_limits_of_containers_are_kept(kit: Kit, options: str, code: int) -> None:
    """Root may write into the image, but not into a read-only one; another user may not at all."""
    run = f'docker run --rm --network none {options} --entrypoint /write "$_REPOSITORY/tiny:$COMMIT_SHA" || code=$?'
    kit.write(script("tiny-test", "code=0", run, f'[ "$code" = {code} ] || (echo "code $code"; exit 9)'))
    kit.build()


def test_an_image_is_saved_and_loaded_as_docker_does_it(kit: Kit) -> None:
    kit.write(
        script(
            "tiny-save",
            'image="$_REPOSITORY/tiny:$COMMIT_SHA"',
            "touch image.tar",
            'docker save --output image.tar "$image"',
            "tar --list --file image.tar | grep -x manifest.json",
            'before=$(docker inspect --format "{{.Id}}" "$image")',
            'docker tag "$image" other:1; docker rmi "$image"',
            "docker load --input image.tar",
            '[ "$(docker image inspect --format "{{.Id}}" "$image")" = "$before" ]',
        )
    )
    kit.build()


def test_containers_that_steps_left_end_with_the_build(kit: Kit) -> None:
    run = 'docker run --detach --network none --entrypoint /stay "$_REPOSITORY/tiny:$COMMIT_SHA"'
    kit.write(script("tiny-start", run, "docker version"))
    kit.build()
    assert kit.containers() == []


def test_a_build_that_fails_pushes_nothing(kit: Kit) -> None:
    kit.write(script("tiny-test", "exit 4"))
    done = kit.build(code=2)
    assert done.stdout == ""
    assert 'build step 1 "tiny-test" failed: step exited with non-zero status: 4' in done.stderr
    with serving(kit.host, kit.root / "registry"):
        reference = parse(f"{kit.host}/overnight-images/tiny:1")
        assert not registry_for(reference).exists(reference.path, git(kit.repository, "rev-parse", "HEAD"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_build_leaves_nothing_that_runs(kit: Kit, number: signal.Signals) -> None:
    run = 'docker run --rm --network none --entrypoint /stay "$_REPOSITORY/tiny:$COMMIT_SHA"'
    kit.write(script("tiny-stay", "echo now", run))
    temporary = kit.folder / "temporary"
    temporary.mkdir()
    process = subprocess.Popen(
        kit.command(),
        cwd=kit.repository,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(temporary)},
    )
    assert process.stderr is not None
    for line in process.stderr:
        if line.endswith(": now\n"):
            break
    until = time.monotonic() + 20
    while not kit.containers() and time.monotonic() < until:
        time.sleep(0.1)
    process.send_signal(number)
    said = process.stderr.read()
    assert process.wait(30) == 130, said
    assert said.splitlines()[-1] == (
        "overnight: interrupted; all that ran has ended, and nothing half written was kept."
    )
    record = kit.record()
    assert (record["status"], [step["status"] for step in record["steps"]]) == ("CANCELLED", ["SUCCESS", "CANCELLED"])
    assert kit.containers() == []
    assert ask(kit.port) == "nothing"
    assert list(temporary.iterdir()) == []


def test_two_builds_at_the_same_time_do_not_meet(kit: Kit) -> None:
    kit.write(script("tiny-wait", "echo now", "sleep 20"))
    first = subprocess.Popen(kit.command(), cwd=kit.repository, stderr=subprocess.PIPE, text=True)
    assert first.stderr is not None
    with contextlib.closing(first.stderr):
        for line in first.stderr:
            if line.endswith(": now\n"):
                break
        second = kit.build(code=2)
        first.send_signal(signal.SIGTERM)
        first.stderr.read()
        assert first.wait(30) == 130
    assert second.stderr.splitlines()[-1] == (
        f"overnight: {kit.root / 'builds'}: another image build is running in this folder; "
        "wait until it ends, or use another folder."
    )
