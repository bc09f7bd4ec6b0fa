"""`overnight image inspect` and `overnight image sbom` as a user types them."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from image_archives import Image
from overnight.cli import main
from overnight.images import sbom

BUDGET = "layer_megabytes: 1\nimage_megabytes: 1\nlayers: 3\n"


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    stdout: str
    stderr: str


@pytest.fixture
def image(tmp_path, monkeypatch, capsys):
    """Runs `overnight image ARGUMENTS` in a folder with image.tar and budget.yaml, in this process."""
    Image().docker(tmp_path / "image.tar")
    (tmp_path / "budget.yaml").write_text(BUDGET)

    def typed(*arguments: str) -> Done:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", ["overnight", "image", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main.run()
        output = capsys.readouterr()
        return Done(int(end.value.code or 0), output.out, output.err)

    return typed


def test_layers_are_printed_with_their_sizes(image) -> None:
    done = image("inspect", "image.tar", "--budget", "budget.yaml")
    head, base, ours, everything = done.stdout.splitlines()
    assert (done.code, done.stderr) == (0, "")
    assert head.split() == ["layer", "MB", "files", "most", "of", "it"]
    assert base.split()[2:] == ["1", "base", "/usr/bin", "0.0"]
    assert ours.split()[2:4] == ["3", "ours"]
    assert everything.split() == ["all", "0.0", "4"]


def test_an_image_that_holds_too_much_exits_with_3_and_a_sentence_each(image, tmp_path) -> None:
    broken = Image()
    broken.config["config"].update({"User": "root", "Entrypoint": []})
    broken.docker(tmp_path / "image.tar")
    done = image("inspect", "image.tar", "--budget", "budget.yaml")
    assert done.code == 3
    assert done.stderr.splitlines() == [
        "image.tar: The user is 'root'; set USER to a number that is not 0, such as 10001:10001.",
        "image.tar: There is no entry point; set ENTRYPOINT to the command that the image is for.",
    ]


def test_without_a_budget_nothing_is_judged(image, tmp_path) -> None:
    Image(config={}).docker(tmp_path / "image.tar")
    assert image("inspect", "image.tar").code == 0


def test_inspect_speaks_json(image, tmp_path) -> None:
    broken = Image()
    del broken.config["config"]["Entrypoint"]
    broken.docker(tmp_path / "image.tar")
    done = image("inspect", "image.tar", "--budget", "budget.yaml", "--json")
    said = json.loads(done.stdout)
    assert done.code == 3
    assert [finding["rule"] for finding in said["findings"]] == ["entrypoint"]
    assert [layer["ours"] for layer in said["layers"]] == [False, True]
    assert said["size"] == sum(layer["size"] for layer in said["layers"])
    assert said["user"] == "10001:10001"


@pytest.mark.parametrize("command", [("inspect",), ("sbom", "--output", "sbom.json")])
@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda path: path.unlink(), "image.tar: no such file or directory."),
        (
            lambda path: path.write_bytes(b""),
            "image.tar: this is no image archive; give what ",
        ),
        (
            lambda path: path.write_bytes(bytes(20_000)),
            "image.tar: this tar file holds no image; give what ",
        ),
        (lambda path: Image().docker(path, count=3), "image.tar: the archive holds 3 images; save one image into one "),
        (lambda path: (path.unlink(), path.mkdir()), "image.tar: is a directory"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(image, tmp_path, monkeypatch, command, make, sentence) -> None:
    program = tmp_path / "syft"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setattr(sbom, "find_syft", lambda: program)
    make(tmp_path / "image.tar")
    name, *options = command
    done = image(name, "image.tar", *options)
    assert (done.code, done.stdout) == (2, "")
    assert done.stderr.startswith(f"overnight: {sentence}")
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "sbom.json").exists()


@pytest.mark.parametrize("epoch", ["", "now", "-1", "99999999999", "١"])
def test_a_time_that_is_none_is_refused(image, monkeypatch, epoch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", epoch)
    done = image("sbom", "image.tar", "--output", "sbom.json")
    assert (done.code, done.stderr) == (
        2,
        f"overnight: SOURCE_DATE_EPOCH: {epoch!r} is no time; give seconds since 1970.\n",
    )


def test_a_missing_budget_is_one_sentence(image) -> None:
    done = image("inspect", "image.tar", "--budget", "none.yaml")
    assert (done.code, done.stderr) == (2, "overnight: none.yaml: no such file or directory.\n")


def test_the_examples_of_a_budget_are_those_of_the_repository() -> None:
    assert (Path(__file__).parents[3] / "images/steps/budget.yaml").is_file()
