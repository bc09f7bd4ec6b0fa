"""Every rule about build files: what is in order passes, each mistake is found by its own rule in one sentence."""

import re
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from build_edits import FILES, Mistake, build_of, found, found_in, text_of
from build_mistakes import MISTAKES
from overnight.builds.rules import RULES
from overnight.policies.policies import root


@pytest.mark.parametrize("file", FILES)
def test_a_file_in_order_passes(file: str) -> None:
    assert found_in(FILES[file].read_text(), file) == []


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.label)
def test_a_mistake_is_found_by_its_own_rules_and_no_others(mistake: Mistake) -> None:
    assert tuple(sorted(finding.rule for finding in found(mistake))) == mistake.expected


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.label)
def test_what_is_said_is_one_sentence_with_a_remedy(mistake: Mistake) -> None:
    for finding in found(mistake):
        assert "\n" not in finding.message + finding.remedy
        assert len(finding.message.split()) >= 3
        assert len(finding.remedy.split()) >= 2
        assert not finding.message.endswith(".")
        assert not finding.remedy.endswith(".")


def test_every_rule_is_broken_by_a_mistake() -> None:
    policies = [file for file in (root() / "cloudbuild").glob("*.rego") if not file.name.endswith("_test.rego")]
    written = {found for file in policies for found in re.findall(r'"(OVN2\d{3})"', file.read_text())}
    broken = {rule for mistake in MISTAKES for rule in mistake.expected}
    # What is no YAML, and what excludes each other, stands in test_file.py.
    assert written | {rule.slug for rule in RULES} == broken | {"not-a-build", "exclusive-fields"}


def test_there_are_over_a_hundred_mistakes_with_names_of_their_own() -> None:
    assert len({mistake.label for mistake in MISTAKES}) == len(MISTAKES) > 100


def test_rules_have_names_and_sentences_of_their_own() -> None:
    assert len({rule.slug for rule in RULES}) == len({rule.sentence for rule in RULES}) == len(RULES)


ANYTHING: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.sampled_from(["", "$", "${", "$_", "${_X:", "$_BASE", "-", "1s", "-1s", "\0", "latest", "a\nb", "\u200b", "="])
    | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=4) | st.sampled_from(["name", "env"]), inner, max_size=3)
    ),
    max_leaves=6,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of every value inside."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(inner for name, item in items for inner in places(item, (*path, name)))]


def changed(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """A copy with another value at a path."""
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = changed(copy[path[0]], path[1:], new)
    return copy


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data(), new=ANYTHING)
def test_any_value_at_any_place_is_judged_in_sentences(data: st.DataObject, new: Any) -> None:
    build = build_of("house")
    place = data.draw(st.sampled_from(places(build)))
    for finding in found_in(text_of(changed(build, place, new)), "house"):
        assert finding.message
        assert finding.remedy
        assert "\n" not in finding.message


def test_a_line_end_in_a_name_does_not_break_the_sentence() -> None:
    build = build_of("house")
    for name in ("\n", "a\nb:latest", "\r\n"):
        found = found_in(text_of(changed(build, ("steps", 0, "name"), name)), "house")
        assert found
        assert not [finding for finding in found if "\n" in finding.message + finding.remedy]


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    data=st.data(),
    new=st.text(max_size=12) | st.sampled_from(["$", "${_A", "`", '"', "<<E", "$(", "\r", "\x00", "&&", "|"]),
)
def test_any_text_in_the_place_of_a_text_is_judged_in_sentences(data: st.DataObject, new: str) -> None:
    build = build_of("house")
    place = data.draw(st.sampled_from([path for path in places(build) if isinstance(value_at(build, path), str)]))
    for finding in found_in(text_of(changed(build, place, new)), "house"):
        assert finding.message
        assert finding.remedy
        assert "\n" not in finding.message


def value_at(value: Any, path: tuple[Any, ...]) -> Any:
    for part in path:
        value = value[part]
    return value


@settings(max_examples=80, deadline=None)
@given(text=st.text(max_size=60) | st.text(alphabet="steps: -[]{}&*!|>'\"\n\t#%@,?x1", max_size=60))
def test_any_text_as_a_file_is_judged_in_sentences(text: str) -> None:
    for finding in found_in(text, "house"):
        assert finding.message
        assert finding.remedy
        assert "\n" not in finding.message
