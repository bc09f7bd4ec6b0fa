"""`overnight pipeline` as a user types it, with a registry on this machine."""

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from kfp_registry import KfpRegistry, kfp_registry
from overnight.cli import main
from overnight.files import sha256_file
from overnight.images.release import released, write_release

REPOSITORY = "acme/pipelines"
STEPS = f"us-central1-docker.pkg.dev/acme/images/steps@sha256:{'a' * 64}"
COMMIT = "c0" * 20


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    stdout: str
    stderr: str


@pytest.fixture
def pipeline(tmp_path, monkeypatch, capsys):
    """Runs `overnight pipeline ARGUMENTS` in an empty folder, in this process."""

    def typed(*arguments: str) -> Done:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", ["overnight", "pipeline", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main.run()
        output = capsys.readouterr()
        return Done(end.value.code or 0, output.out, output.err)

    return typed


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[KfpRegistry]:
    with kfp_registry(tmp_path / "templates", REPOSITORY) as running:
        yield running


def test_templates_are_listed_with_what_they_ask_for(pipeline):
    assert "weekly: From this week's images and labels" in pipeline("list").stdout
    listed = {each["name"]: each for each in json.loads(pipeline("list", "--json").stdout)}
    assert listed["weekly"]["images"] == ["steps"]
    assert listed["tuning"]["parameters"] == {"config": None, "job": None, "endpoint": ""}


def test_compiling_twice_gives_the_same_bytes(pipeline, tmp_path):
    for name in ("a.json", "b.json"):
        done = pipeline("compile", "weekly", "--image", f"steps={STEPS}", "--output", name)
        assert done.code == 0
        assert done.stdout == f"{name}: template weekly, sha256:{sha256_file(tmp_path / name)}\n"
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


def test_the_images_of_a_release_are_those_that_were_built(pipeline, tmp_path):
    write_release(
        str(tmp_path / "releases"), released(COMMIT, "https://github.com/acme/vision", "b1", {"steps": STEPS})
    )
    chosen = ("--from-release", COMMIT, "--releases", "releases", "--wait", "60")
    assert pipeline("compile", "weekly", *chosen, "--output", "a.json").code == 0
    assert pipeline("compile", "weekly", "--image", f"steps={STEPS}", "--output", "b.json").code == 0
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "beginning"),
    [
        (("compile", "weekly", "--output", "x"), "the template weekly runs in the image steps, and none is given; "),
        (("compile", "none", "--output", "x"), "there is no template 'none'; give one of tuning, weekly."),
        (
            ("compile", "weekly", "--image", "steps=a.b/c:1", "--output", "x"),
            "--image: 'a.b/c:1': the tag '1' can move",
        ),
        (
            ("compile", "weekly", "--from-release", COMMIT, "--output", "x"),
            "--from-release does not say where releases",
        ),
        (
            ("compile", "weekly", "--from-release", COMMIT, "--releases", "none", "--output", "x"),
            f"none/{COMMIT}.json: there is no release of this commit",
        ),
        (
            ("compile", "weekly", "--image", f"steps={STEPS}", "--output", "."),
            "Invalid value for '--output' / '-o': file '.' is a directory",
        ),
        (("publish", "none.json", "--repository", "http://127.0.0.1:9/a/b", "--tag", "v1"), "none.json: no such file"),
        (
            ("publish", "x", "--repository", "http://127.0.0.1:9/a/b", "--tag", "latest"),
            "--tag: a release is not tagged",
        ),
        (("resolve", "weekly"), "'weekly' is no address of a template; "),
        (("step", "--output", "x", "--", "pipeline", "list"), "--output: 'x' is no output; write NAME=FILE."),
    ],
)
def test_a_mistake_is_one_sentence(arguments, beginning, pipeline, tmp_path):
    done = pipeline(*arguments)
    assert done.code == 2
    assert done.stdout == ""
    assert done.stderr.startswith(f"overnight: {beginning}")
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_what_is_published_resolves_to_the_same_address(pipeline, registry, tmp_path):
    for name in ("weekly", "tuning"):
        pipeline("compile", name, "--image", f"steps={STEPS}", "--output", f"{name}.json")
    where = ("--repository", registry.address(REPOSITORY), "--tag", COMMIT)
    done = pipeline("publish", "weekly.json", "tuning.json", *where)
    assert done.code == 0
    uris = [
        f"{registry.address(REPOSITORY)}/{name}/sha256:{sha256_file(tmp_path / f'{name}.json')}"
        for name in ("weekly", "tuning")
    ]
    assert done.stdout.splitlines() == uris
    assert done.stderr.splitlines()[0] == f"weekly, in config/*.yaml: template_uri: {uris[0]}"
    again = json.loads(pipeline("publish", "weekly.json", "tuning.json", *where, "--json").stdout)
    assert [each["template_uri"] for each in again] == uris
    tagged = pipeline("resolve", f"{registry.address(REPOSITORY)}/weekly:{COMMIT}")
    assert (tagged.code, tagged.stdout) == (0, f"{uris[0]}\n")
    assert json.loads(pipeline("resolve", uris[0], "--json").stdout) == again[0]


def test_nothing_is_sent_when_one_of_the_files_is_no_template(pipeline, registry, tmp_path):
    pipeline("compile", "weekly", "--image", f"steps={STEPS}", "--output", "weekly.json")
    (tmp_path / "other.json").write_text("{}")
    done = pipeline(
        "publish", "weekly.json", "other.json", "--repository", registry.address(REPOSITORY), "--tag", COMMIT
    )
    assert done.code == 2
    assert done.stderr.startswith("overnight: other.json: this is no compiled template; ")
    assert registry.asked == []


def test_a_step_ends_with_the_exit_code_of_its_command(pipeline):
    assert pipeline("step", "--", "shards", "show", "--config", "none.yaml").code == 2
    assert pipeline("step", "--", "pipeline", "list").code == 0
