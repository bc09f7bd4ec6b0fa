"""Some images of a build file."""

from collections.abc import Sequence

import pytest

from local_builds import GIVEN, build_file
from overnight.builds.errors import BuildError
from overnight.builds.file import BuildFile
from overnight.builds.selection import image_names, owner, select

TEXT = """
steps:
- {id: setup, name: x, script: a}
- {id: trainer-build, name: x, script: a, waitFor: [setup]}
- {id: trainer-test, name: x, script: a, waitFor: [trainer-build]}
- {id: trainer-cpu-build, name: x, script: a, waitFor: [trainer-build, setup]}
- {id: trainer-cpu-test, name: x, script: a, waitFor: [trainer-test]}
- {name: x, script: a}
- {id: release, name: x, script: a}
images: ["$_REPOSITORY/trainer:$COMMIT_SHA", "${_REPOSITORY}/trainer-cpu:1"]
"""


@pytest.fixture
def build() -> BuildFile:
    return build_file(TEXT)


def ids(build: BuildFile) -> list[str]:
    return [step.id for step in build.message.steps]


def test_images_are_named_by_the_last_part(build: BuildFile) -> None:
    assert image_names(build, GIVEN) == ["trainer", "trainer-cpu"]


@pytest.mark.parametrize("wanted", [[], ["all"], ["trainer", "trainer-cpu"], ["trainer", "all"]])
def test_all_images_are_the_whole_build(build: BuildFile, wanted: Sequence[str]) -> None:
    selected = select(build, wanted, GIVEN)
    assert selected.message == build.message
    assert selected.data == build.data


def test_one_image_is_its_own_steps_and_the_shared_ones(build: BuildFile) -> None:
    selected = select(build, ["trainer-cpu"], GIVEN)
    assert ids(selected) == ["setup", "trainer-cpu-build", "trainer-cpu-test", "", "release"]
    assert list(selected.message.images) == ["${_REPOSITORY}/trainer-cpu:1"]
    assert [step.get("id", "") for step in selected.steps] == ids(selected)


def test_a_name_that_another_one_begins_with_takes_nothing_of_it(build: BuildFile) -> None:
    assert ids(select(build, ["trainer"], GIVEN)) == ["setup", "trainer-build", "trainer-test", "", "release"]


def test_nobody_waits_for_steps_that_are_gone(build: BuildFile) -> None:
    waits = {step.id: list(step.wait_for) for step in select(build, ["trainer-cpu"], GIVEN).message.steps}
    assert waits["trainer-cpu-build"] == ["setup"]
    assert waits["trainer-cpu-test"] == ["-"]
    assert waits["release"] == []


def test_a_shared_step_about_all_images_needs_all_of_them() -> None:
    text = TEXT.replace(
        "{id: release, name: x, script: a}", "{id: release, name: x, script: a, waitFor: [trainer-test]}"
    )
    build = build_file(text.replace("images:", "- {id: told, name: x, script: a, waitFor: [release]}\nimages:"))
    assert {"release", "told"} <= set(ids(select(build, ["trainer"], GIVEN)))
    assert not {"release", "told"} & set(ids(select(build, ["trainer-cpu"], GIVEN)))


def test_the_build_itself_stays_as_it_is(build: BuildFile) -> None:
    select(build, ["trainer"], GIVEN)
    assert build == build_file(TEXT)


def test_an_unknown_name_is_refused_with_those_that_there_are(build: BuildFile) -> None:
    with pytest.raises(BuildError) as refused:
        select(build, ["trainer", "trainer-gpu"], GIVEN)
    assert refused.value.sentence == (
        "build.yaml: 'trainer-gpu' is none of the images that are built here; give one of: trainer, trainer-cpu."
    )


def test_a_file_without_images_says_so() -> None:
    with pytest.raises(BuildError) as refused:
        select(build_file("steps: [{name: x, script: a}]"), ["a"], GIVEN)
    assert refused.value.sentence.endswith("; this file has no `images`.")


@pytest.mark.parametrize(
    ("step", "expected"),
    [("a-build", "a"), ("a", "a"), ("a-b-build", "a-b"), ("ab-build", None), ("setup", None), ("", None)],
)
def test_a_step_belongs_to_the_longest_name_that_fits(step: str, expected: str | None) -> None:
    assert owner(step, ["a", "a-b"]) == expected
