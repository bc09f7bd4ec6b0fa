"""Reading a build file: the API's message, or one sentence by file, line and field."""

from itertools import pairwise
from pathlib import Path

import pytest

from build_edits import FILES
from overnight.builds.errors import BuildError
from overnight.builds.file import read_build

STEP = "steps:\n- name: x\n"


def refusal(path: Path) -> str:
    with pytest.raises(BuildError) as refused:
        read_build(path)
    return refused.value.sentence.replace(str(path), "FILE")


@pytest.mark.parametrize("file", FILES)
def test_a_build_file_becomes_cloud_builds_own_message(file: str) -> None:
    build = read_build(FILES[file])
    assert [step.id for step in build.message.steps] == [step["id"] for step in build.steps]
    assert [step.script for step in build.message.steps] == [step.get("script", "") for step in build.steps]
    assert build.message.options.logging.name == "CLOUD_LOGGING_ONLY"


def test_a_field_has_its_line_and_a_missing_one_its_parents() -> None:
    build = read_build(FILES["house"])
    assert build.text.splitlines()[(build.line(("steps", 1, "args", 2)) or 0) - 1].strip() == "- images/app/Dockerfile"
    assert build.line(("steps", 1, "none", "at", "all")) == build.line(("steps", 1))
    assert build.line(("none",)) is None


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "FILE: this file is empty; see cloudbuild/pull-request.yaml."),
        ("- a\n", "FILE: a build file must be a mapping of fields; see cloudbuild/pull-request.yaml."),
        (
            f"{STEP}  name: y\n",
            'FILE: this is not YAML: found duplicate key "name" with value "y" (original value: "x") at line 3; '
            "correct that line.",
        ),
        (f"{STEP}---\n{STEP}", "FILE: this is not YAML: but found another document at line 3; correct that line."),
        (
            "steps: [\n",
            "FILE: this is not YAML: expected the node content, but found '<stream end>' at line 2; correct that line.",
        ),
        (
            f"{STEP}  waitfor: [a]\n",
            "FILE line 3, steps[0].waitfor: BuildStep has no such field; did you mean 'waitFor'?",
        ),
        (
            f"{STEP}machineType: E2_MEDIUM\n",
            "FILE line 3, machineType: Build has no such field; known names: name, id,",
        ),
        (
            f"{STEP}options: {{logging: cloud_logging_only}}\n",
            "FILE line 3, options.logging: 'cloud_logging_only' is no LoggingMode; did you mean 'CLOUD_LOGGING_ONLY'?",
        ),
        (
            f"{STEP}options: {{logging: 1}}\n",
            "FILE line 3, options.logging: 1 is no LoggingMode; known names: LOGGING_UNSPECIFIED, LEGACY, GCS_ONLY, "
            "STACKDRIVER_ONLY, NONE, CLOUD_LOGGING_ONLY.",
        ),
        (
            f"{STEP}timeout: 30m\n",
            "FILE line 3, timeout: '30m' is no Duration; write seconds with an s, such as '3600s'.",
        ),
        (
            f"{STEP}  args: a b\n",
            "FILE line 3, steps[0].args: 'a b' stands where a list is expected; begin each item with '- '.",
        ),
        (
            f"{STEP}  args: [a, 5]\n",
            "FILE line 3, steps[0].args[1]: 5 stands where text is expected; write it in quotes.",
        ),
        (
            f"{STEP}substitutions: {{_A: true}}\n",
            "FILE line 3, substitutions._A: true stands where text is expected; write it in quotes.",
        ),
        (
            f"{STEP}  timeout:\n",
            "FILE line 3, steps[0].timeout: this field has no value; give it one, or remove the line.",
        ),
        (f"{STEP}status: SUCCESS\n", "FILE line 3, status: status is filled in by the service; remove the line."),
        (
            f"{STEP}source: {{storageSource: {{}}, repoSource: {{}}}}\n",
            "FILE line 3, source.repoSource: storageSource and repoSource exclude each other; keep one of them.",
        ),
        (
            "steps:\n- [a]\n",
            "FILE line 2, steps[0]: a list stands where a BuildStep is expected; write its fields here.",
        ),
        ("a: &a [*a]\n", "FILE line 1, a: Build has no such field; known names: "),
        ("[" * 600, "FILE: this is not YAML: "),
    ],
)
def test_a_file_that_is_no_build_is_refused_in_one_sentence(text: str, sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "build.yaml"
    path.write_text(text)
    said = refusal(path)
    assert said.startswith(sentence)
    assert "\n" not in said


def test_aliases_of_aliases_take_no_time(tmp_path: Path) -> None:
    path = tmp_path / "build.yaml"
    names = "abcdefghijkl"
    lines = [f"{name}: &{name} [{', '.join([f'*{last}'] * 9)}]" for last, name in pairwise(names)]
    path.write_text("\n".join(["a: &a [x]", *lines]))
    assert refusal(path).startswith("FILE line 1, a: Build has no such field;")


def test_a_file_that_cannot_be_read_is_refused_in_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "build.yaml"
    remedy = "give one such as cloudbuild/pull-request.yaml."
    assert refusal(path) == f"FILE: there is no such build file; {remedy}"
    path.mkdir()
    assert refusal(path) == f"FILE: this is a folder; {remedy}"
    (tmp_path / "binary.yaml").write_bytes(b"\x80\x00\xff")
    assert refusal(tmp_path / "binary.yaml") == f"FILE: this is not UTF-8 text; {remedy}"
    assert refusal(tmp_path / "binary.yaml" / "below") == "FILE: not a directory; give this user permission to read it."
