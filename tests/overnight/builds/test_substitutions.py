"""Substitutions are filled in as Cloud Build does."""

from pathlib import Path

import pytest

from overnight.builds.errors import BuildError
from overnight.builds.file import BuildFile, parse
from overnight.builds.substitutions import expand, used, values_of

VALUES = {"_A": "abcdefghij", "_B": "feature/x-y", "_C": "", "SHORT_SHA": "0123456"}


def build(text: str) -> BuildFile:
    found = parse(Path("build.yaml"), text).build
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("$_A and ${_A}", "abcdefghij and abcdefghij"),
        ("${_A}_B$_C.", "abcdefghij_B."),
        ("$$_A $$$_A $$", "$_A $abcdefghij $"),
        ("$x ${x} $(pwd) $1 $?", "$x ${x} $(pwd) $1 $?"),
        ("a$", "a$"),
        ("$_AB", None),
        ("$TAG_NAME|", "|"),
    ],
)
def test_both_spellings_and_two_dollars(text: str, filled: str | None) -> None:
    if filled is None:
        with pytest.raises(BuildError, match=r"^\$_AB has no value; declare _AB under substitutions, or pass it\.$"):
            expand(text, VALUES)
        assert expand(text, VALUES, loose=True) == ""
    else:
        assert expand(text, VALUES) == filled


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("${_A:0:7}", "abcdefg"),
        ("${_A:7}", "hij"),
        ("${_A: -3}", "hij"),
        ("${_A:1:-1}", "bcdefghi"),
        ("${_B##*/}", "x-y"),
        ("${_B#*/}", "x-y"),
        ("${_B%/*}", "feature"),
        ("${_B%%-*}", "feature/x"),
        ("${_B/feature/f}", "f/x-y"),
        ("${_A/[a-c]/X}", "Xbcdefghij"),
        ("${_A//[a-c]/X}", "XXXdefghij"),
        ("${_A/#a/X}", "Xbcdefghij"),
        ("${_A/%j/X}", "abcdefghiX"),
        ("${_B^^}", "FEATURE/X-Y"),
        ("${_B^}", "Feature/x-y"),
        ("${SHORT_SHA,,}", "0123456"),
        ("${_C:-none}", "none"),
        ("${_UNKNOWN:-none}", "none"),
    ],
)
def test_expansions_need_dynamic_substitutions(text: str, filled: str) -> None:
    assert expand(text, VALUES, dynamic=True) == filled
    assert expand(text, VALUES) == text


def test_an_expansion_that_does_not_exist_is_refused() -> None:
    with pytest.raises(BuildError, match="'@Q' is no expansion that Cloud Build knows; use"):
        expand("${_A@Q}", VALUES, dynamic=True)


def test_names_count_where_the_service_fills_them_in() -> None:
    text = """
steps:
- name: $_IMAGE
  id: $_ID
  env: [A=$_ENV]
  args: [$$_NOT, '${_ARG:0:1}']
- name: x
  script: echo $_SCRIPT
images: [$_PUSHED]
options: {pool: {name: $_POOL}}
substitutions: {_DECLARED: $_OTHER}
"""
    assert used(build(text)) == {"_IMAGE", "_ENV", "_ARG", "_PUSHED", "_POOL"}
    mapped = text.replace("options: {", "options: {automapSubstitutions: true, dynamicSubstitutions: true, ")
    assert used(build(mapped)) == {"_IMAGE", "_ENV", "_ARG", "_PUSHED", "_POOL", "_SCRIPT", "_OTHER"}


def test_a_script_may_have_names_of_its_own() -> None:
    script = "_SET=1; for _EACH in a; do echo $_SET $_EACH $_ENV $HOME '\\$_ESCAPED' ${_READ:-x} $COMMIT_SHA; done"
    text = f"steps:\n- name: x\n  automapSubstitutions: true\n  env: [_ENV=1]\n  script: {script}\n"
    assert used(build(text)) == {"_READ", "COMMIT_SHA"}


def test_a_triggers_value_comes_first_and_values_refer_to_each_other() -> None:
    declared = build("steps: [{name: x}]\nsubstitutions: {_A: a, _B: $_A-$PROJECT_ID, _C: '${_B^^}', _D: $_D$_NONE}\n")
    assert values_of(declared, {"_A": "given", "PROJECT_ID": "p"}) == {
        "_A": "given",
        "_B": "given-p",
        "_C": "GIVEN-P",
        "_D": "",
        "PROJECT_ID": "p",
    }
