"""Commands are read from args and scripts as a shell would see them."""

from pathlib import Path

import pytest

from overnight.builds.commands import Command, called, commands_of
from overnight.builds.file import parse


def commands(step: str, root: Path | None = None, options: str = "{automapSubstitutions: true}") -> list[Command]:
    text = f"steps:\n- name: $_IMAGE\n{step}options: {options}\n"
    build = parse(Path("build.yaml"), text).build
    assert build is not None
    return commands_of(build, {"_A": "one", "_IMAGE": "x/docker:1"}, root)


def script(*lines: str) -> list[tuple[str, ...]]:
    body = "".join(f"    {line}\n" for line in lines)
    return [command.words for command in commands(f"  script: |\n{body}")]


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (["a b; c && d || e | f &"], ["a b", "c", "d", "e", "f"]),
        (["a \\", "  b"], ["a b"]),
        (["# a", "b # c", "d#e"], ["b", "d#e"]),
        (["A=1 B=2 c"], ["c"]),
        (["name=$_A/x", 'push "$name" "${name}" $other'], ["push one/x one/x $other"]),
        (["if [ -n x ]; then a; else b; fi"], ["[ -n x ]", "a", "b", "fi"]),
        (["a=1", "[ x ] && a=2", "b $a"], ["[ x ]", "b $a"]),
        (["a=${1:?usage: b c}", "d $a ${e#f}"], ["d $1 $_"]),
        (["a >&2 2>&1"], ["a"]),
        (["export A=$_A", "b $A"], ["b one"]),
        (["a", "b 'c"], ["a", "b"]),
    ],
)
def test_words_of_a_script(lines: list[str], words: list[str]) -> None:
    assert [" ".join(found) for found in script(*lines)] == words


def test_what_reads_another_commands_output_says_so() -> None:
    found = commands("  script: a | b && c\n")
    assert [(command.name, command.piped) for command in found] == [("a", False), ("b", True), ("c", False)]


def test_a_command_knows_what_is_set_for_it() -> None:
    found = commands("  env: [A=$_A]\n  script: B=2 b\n", options="{env: [C=3]}")
    assert found[0].environment == {"A": "one", "B": "2", "C": "3"}


@pytest.mark.parametrize(
    ("step", "words"),
    [
        ("  args: [build, $_A]\n", ["docker", "build", "one"]),
        ("  entrypoint: make\n  args: [x]\n", ["make", "x"]),
        ("  entrypoint: make\n", ["make"]),
        ("  entrypoint: bash\n  args: [-euc, 'make $$X $_A']\n", ["make", "$X", "one"]),
    ],
)
def test_words_of_args(step: str, words: list[str]) -> None:
    assert [list(command.words) for command in commands(step)] == [words]


def test_scripts_of_the_repository_are_followed(tmp_path: Path) -> None:
    (tmp_path / "ci").mkdir()
    (tmp_path / "ci/a.sh").write_text("#!/usr/bin/env bash\nci/b.sh $_A\nci/a.sh\n")
    (tmp_path / "ci/b.sh").write_text("#!/bin/sh\necho $_A\n")
    (tmp_path / "ci/c.py").write_text("#!/usr/bin/env python3\nprint()\n")
    found = commands("  script: |\n    bash ci/a.sh\n    ci/c.py\n", tmp_path)
    assert [command.words for command in found[:3]] == [("bash", "ci/a.sh"), ("ci/b.sh", "one"), ("echo", "one")]
    assert found[2].script == "ci/b.sh"
    assert found[2].path == ("steps", 0, "script")
    assert found[-1].words == ("ci/c.py",)


@pytest.mark.parametrize(
    ("words", "path"),
    [
        (["ci/a.sh", "x"], "ci/a.sh"),
        (["./ci/a.sh"], "ci/a.sh"),
        (["bash", "ci/a.sh"], "ci/a.sh"),
        (["/usr/bin/python3.11", "ci/a.py"], "ci/a.py"),
        (["python3", "-m", "a/b"], None),
        (["make"], None),
        (["/bin/make"], None),
        ([".venv/bin/python", "x"], None),
        (["../a/b"], None),
        (["$a/b"], None),
    ],
)
def test_what_is_a_script_of_the_repository(words: list[str], path: str | None) -> None:
    assert called(words) == path


def test_an_options_values_in_all_spellings() -> None:
    command = commands("  args: [build, --tag, a, --tag=b, -t, c, -t]\n")[0]
    assert command.values("--tag", "-t") == ["a", "b", "c"]
