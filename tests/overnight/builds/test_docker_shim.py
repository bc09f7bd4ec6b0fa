"""docker's command lines, and what podman is called with."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from local_builds import recorded
from overnight.builds.docker_shim import translate
from overnight.builds.errors import BuildError

BUILD = "podman build --format=oci --identity-label=false --http-proxy=false --layers=false"


def podman(line: str, **environment: str) -> str:
    return " ".join(translate(line.split(), environment).command)


@pytest.mark.parametrize(
    ("docker", "called"),
    [
        ("build .", f"{BUILD} --file=Dockerfile ."),
        ("build images/a", f"{BUILD} --file=images/a/Dockerfile images/a"),
        ("build -f images/a/Dockerfile -t x:1 .", f"{BUILD} --file=images/a/Dockerfile --tag=x:1 ."),
        ("build . --tag=x:1 --tag y:1", f"{BUILD} --file=Dockerfile --tag=x:1 --tag=y:1 ."),
        ("build -tx:1 -q .", f"{BUILD} --file=Dockerfile --tag=x:1 --quiet ."),
        ("build --no-cache .", f"{BUILD} --file=Dockerfile --no-cache ."),
        ("build --no-cache=false .", f"{BUILD} --file=Dockerfile --no-cache=false ."),
        ("build --network none .", f"{BUILD} --file=Dockerfile --isolation=oci --network=none ."),
        (
            "build --build-arg A=1 --target t --label l=m --platform linux/amd64 --pull .",
            f"{BUILD} --file=Dockerfile --build-arg=A=1 --target=t --label=l=m --platform=linux/amd64 --pull .",
        ),
        (
            "build --progress plain --cache-from a --cache-to b --load --provenance=false --sbom=false .",
            f"{BUILD} --file=Dockerfile .",
        ),
        (
            "build --build-arg SOURCE_DATE_EPOCH=7 .",
            f"{BUILD} --file=Dockerfile --timestamp=7 --build-arg=SOURCE_DATE_EPOCH=7 .",
        ),
        ("image build .", f"{BUILD} --file=Dockerfile ."),
        ("run x:1", "podman run --http-proxy=false x:1"),
        ("run -it x:1 -v --rm", "podman run --http-proxy=false --interactive --tty x:1 -v --rm"),
        ("run -eA=1 -e=B=2 -e C=3 x", "podman run --http-proxy=false --env=A=1 --env=B=2 --env=C=3 x"),
        (
            "run --rm --network none --read-only --cap-drop all --security-opt no-new-privileges --tmpfs /tmp "
            "--volume /a:/b:ro --user 1:1 --entrypoint e --memory 2g x a",
            "podman run --http-proxy=false --read-only-tmpfs=false --rm --network=none --read-only --cap-drop=all "
            "--security-opt=no-new-privileges --tmpfs=/tmp --volume=/a:/b:ro --user=1:1 --entrypoint=e --memory=2g x a",
        ),
        ("run --read-only=false x", "podman run --http-proxy=false --read-only=false x"),
        ("run --network cloudbuild x", "podman run --http-proxy=false --network=host x"),
        ("create --name c x", "podman create --http-proxy=false --name=c x"),
        ("push h/x:1", "podman push --format=oci h/x:1"),
        ("image push -q h/x:1", "podman push --format=oci --quiet h/x:1"),
        ("pull h/x:1", "podman pull h/x:1"),
        ("tag a b", "podman tag a b"),
        ("save -o f x", "podman save --format=docker-archive --output=f x"),
        ("save x y", "podman save --format=docker-archive --multi-image-archive x y"),
        ("load --input f", "podman load --input=f"),
        ("inspect -f {{.Id}} x", "podman inspect --format={{.Id}} x"),
        ("image inspect x", "podman inspect x"),
        ("images --digests", "podman images --digests"),
        ("image ls", "podman images"),
        ("cp c:/a b", "podman cp c:/a b"),
        ("rm -fv c", "podman rm --force --volumes c"),
        ("image rm x", "podman rmi x"),
        ("run -- x:1 a", "podman run --http-proxy=false x:1 a"),
    ],
)
def test_docker_s_words_become_podman_s(docker: str, called: str) -> None:
    assert podman(docker) == called


def test_the_time_of_the_environment_is_a_build_argument_too() -> None:
    assert podman("build .", SOURCE_DATE_EPOCH="0") == (
        f"{BUILD} --file=Dockerfile --timestamp=0 --build-arg=SOURCE_DATE_EPOCH=0 ."
    )
    called = podman("build --build-arg SOURCE_DATE_EPOCH=7 .", SOURCE_DATE_EPOCH="0")
    assert "--timestamp=7" in called
    assert "=0" not in called


def test_a_dockerfile_s_own_dockerignore_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("D.dockerignore").write_text("*\n")
    assert "--ignorefile=D.dockerignore" in podman("build -f D .")
    assert "--ignorefile" not in podman("build -f E .")


def test_containers_of_a_build_are_labelled() -> None:
    assert podman("run x", OVERNIGHT_BUILD_ID="b1") == "podman run --http-proxy=false --label=dev.overnight.build=b1 x"


@pytest.mark.parametrize(
    ("docker", "beginning"),
    [
        ("", "`docker` was called without a command; give one"),
        ("login -u x", "`docker login` has no stand-in here; a local build has: build, cp,"),
        ("compose up", "`docker compose` has no stand-in here;"),
        ("buildx build .", "`docker buildx` has no stand-in here;"),
        ("--config x build .", "`docker --config` has no stand-in here;"),
        ("image prune", "`docker image prune` has no stand-in here;"),
        ("build", "`docker build` takes one folder as its context here; give it, such as ."),
        ("build - -t x", "`docker build` takes one folder"),
        ("build https://github.com/a/b", "`docker build` takes one folder"),
        ("build --output type=oci .", "`docker build --output` has no stand-in here; these have: --add-host,"),
        ("build --push .", "`docker build --push` has no stand-in here;"),
        ("build . -t", "`docker build -t` has no value; give one."),
        ("build --provenance=mode=max .", "`docker build --provenance` would push an index beside the image; give"),
        ("build --build-arg SOURCE_DATE_EPOCH=now .", "SOURCE_DATE_EPOCH is 'now'; give whole seconds since 1970"),
        ("run --privileged x", "`docker run --privileged` has no stand-in here;"),
        ("run --gpus all x", "`docker run --gpus` has no stand-in here;"),
        ("run -Z x", "`docker run -Z` has no stand-in here;"),
        ("run --rm", "`docker run` names no image; give one."),
        ("push --all-tags x", "`docker push --all-tags` has no stand-in here; these have: --quiet."),
        ("push x y", "`docker push` takes 1 argument here, not 2."),
        ("tag --x a b", "`docker tag --x` has no stand-in here; leave it out."),
        ("inspect -f {{.RepoDigests}} x", "podman's RepoDigests are not always what the registry holds; ask"),
    ],
)
def test_what_has_no_stand_in_is_said_in_one_sentence(docker: str, beginning: str) -> None:
    with pytest.raises(BuildError) as refused:
        translate(docker.split(), {})
    assert refused.value.sentence.startswith(beginning)


def docker(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "overnight.builds.docker_shim", *arguments],
        env={"PATH": f"{folder}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_refusal_ends_with_docker_s_own_code(tmp_path: Path) -> None:
    done = docker(tmp_path, "login")
    assert done.returncode == 125
    assert done.stderr.startswith("docker: `docker login` has no stand-in here;")


def test_podman_s_code_is_docker_s(tmp_path: Path) -> None:
    recorded(tmp_path, "podman", "exit 7")
    assert docker(tmp_path, "tag", "a", "b").returncode == 7
    assert docker(tmp_path, "run", "x").returncode == 7


def test_a_push_ends_with_the_digest(tmp_path: Path) -> None:
    write = f'for a; do case $a in --digestfile=*) printf "sha256:{"a" * 64}" > "${{a#*=}}";; esac; done'
    recorded(tmp_path, "podman", write)
    assert docker(tmp_path, "push", "h/x:v1").stdout == f"v1: digest: sha256:{'a' * 64}\n"


def test_a_push_that_fails_says_no_digest(tmp_path: Path) -> None:
    recorded(tmp_path, "podman", "exit 1")
    done = docker(tmp_path, "push", "h/x:v1")
    assert (done.returncode, done.stdout) == (1, "")


def test_an_archive_that_is_there_is_overwritten(tmp_path: Path) -> None:
    recorded(tmp_path, "podman", f'[ ! -e "{tmp_path}/f" ]')
    (tmp_path / "f").write_text("old")
    assert docker(tmp_path, "save", "-o", str(tmp_path / "f"), "x").returncode == 0


def test_a_known_reason_of_podman_is_added_in_one_sentence(tmp_path: Path) -> None:
    recorded(tmp_path, "podman", 'echo "Error: crun: cgroups in hybrid mode not supported, drop all" >&2; exit 126')
    done = docker(tmp_path, "run", "x")
    assert done.returncode == 126
    assert done.stderr.splitlines() == [
        "Error: crun: cgroups in hybrid mode not supported, drop all",
        "docker: the runtime crun does not work with this machine's hybrid cgroups; install runc "
        "(apt-get install runc).",
    ]


def test_output_of_both_kinds_passes_through(tmp_path: Path) -> None:
    recorded(tmp_path, "podman", "echo out; echo err >&2; cat")
    done = subprocess.run(
        [sys.executable, "-m", "overnight.builds.docker_shim", "run", "-i", "x"],
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        input="in\n",
        check=False,
    )
    assert (done.stdout, done.stderr) == ("out\nin\n", "err\n")
