"""Base images of local builds: read, looked for, made."""

import json
from pathlib import Path
from typing import Any

import pytest

from local_builds import recorded
from overnight.builds.bases import BOOTSTRAP, KEYS, bootstrap, read_bases, usable
from overnight.builds.errors import BuildError
from overnight.errors import OvernightError
from overnight.images.reference import Reference

HOST = "localhost:5005"
BASES = {key: f"{HOST}/bases/{key.lower().strip('_')}@sha256:{'a' * 64}" for key in KEYS}


def write(path: Path, content: Any) -> Path:
    path.write_text(json.dumps(content))
    return path


def everywhere(reference: Reference) -> bool:
    return True


def test_a_file_of_bases_is_read(tmp_path: Path) -> None:
    assert read_bases(write(tmp_path / "b.json", BASES)) == BASES


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "",
            "this is not JSON; give a JSON object with "
            "_BASE_BUILDER, _BASE_STEPS, _BASE_TRAINER_CPU, _BASE_TRAINER_GPU.",
        ),
        ("\xff", "this is not JSON;"),
        ("[" * 100000, "this is not JSON;"),
        ("[]", "this is no file of bases;"),
        ("{}", "this is no file of bases;"),
        ('{"_BASE": "x"}', "this is no file of bases;"),
    ],
)
def test_what_is_no_file_of_bases_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "b.json").write_text(text, encoding="latin-1")
    with pytest.raises(BuildError) as refused:
        read_bases(tmp_path / "b.json")
    assert refused.value.sentence.startswith(f"{tmp_path / 'b.json'}: {problem}")


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "none.json", tmp_path):
        with pytest.raises(BuildError):
            read_bases(path)


@pytest.mark.parametrize("value", ["localhost:5005/bases/x:1", 1, None, ""])
def test_a_base_that_is_not_pinned_is_refused(tmp_path: Path, value: Any) -> None:
    with pytest.raises(OvernightError) as refused:
        read_bases(write(tmp_path / "b.json", {**BASES, "_BASE_STEPS": value}))
    assert refused.value.sentence.startswith(f"{tmp_path / 'b.json'}, _BASE_STEPS: ")


def test_bases_that_stand_in_the_registry_are_used(tmp_path: Path) -> None:
    assert usable(write(tmp_path / "b.json", BASES), HOST, everywhere) == BASES


def test_bases_are_made_anew_when_one_is_gone_or_elsewhere(tmp_path: Path) -> None:
    path = write(tmp_path / "b.json", BASES)
    assert usable(path, HOST, lambda reference: reference.name != "base_steps") is None
    assert usable(path, "localhost:5006", everywhere) is None
    assert usable(tmp_path / "none.json", HOST, everywhere) is None
    assert usable(write(tmp_path / "c.json", {"_BASE_STEPS": BASES["_BASE_STEPS"]}), HOST, everywhere) is None


def test_stand_ins_are_made_by_the_checkout_s_own_program(tmp_path: Path) -> None:
    out = tmp_path / "root" / "bases.json"
    calls = recorded((tmp_path / BOOTSTRAP).parent, BOOTSTRAP.name, f"echo making; echo '{json.dumps(BASES)}' > \"$2\"")
    lines: list[str] = []
    assert bootstrap(tmp_path, out, HOST, {"CONTAINERS_CONF": "x"}, lines.append) == BASES
    assert calls.read_text() == f"bootstrap {HOST} {out}\n"
    assert lines == ["making"]


def test_why_stand_ins_could_not_be_made_is_told_in_the_program_s_words(tmp_path: Path) -> None:
    recorded((tmp_path / BOOTSTRAP).parent, BOOTSTRAP.name, "echo 'bases: mmdebstrap is not installed.'; exit 2")
    with pytest.raises(BuildError) as refused:
        bootstrap(tmp_path, tmp_path / "b.json", HOST, {}, lambda line: None)
    assert refused.value.sentence == (
        "images/bases/bootstrap: the base images could not be made (bases: mmdebstrap is not installed)."
    )


def test_a_checkout_without_the_program_must_name_its_bases(tmp_path: Path) -> None:
    with pytest.raises(BuildError) as refused:
        bootstrap(tmp_path, tmp_path / "b.json", HOST, {}, lambda line: None)
    assert refused.value.sentence == (
        f"{tmp_path}: images/bases/bootstrap is not in this checkout, and base images are needed; "
        "name base images with --bases FILE."
    )
