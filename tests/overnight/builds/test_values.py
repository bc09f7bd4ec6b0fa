"""What a local build is given in the place of a trigger's values."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from overnight.builds.bases import KEYS
from overnight.builds.errors import BuildError
from overnight.builds.given import TRIGGERS
from overnight.builds.substitutions import BUILT_IN
from overnight.builds.values import Revision, check_overrides, given, parse_overrides
from overnight.builds.workspace import Checkout

CHECKOUT = Checkout(Path("/repo"), "c" * 40, False, "main", "https://github.com/acme/vision")
REVISION = Revision(checkout=CHECKOUT, content="d" * 64)
PULL_REQUESTS_ONLY = {"_HEAD_BRANCH", "_BASE_BRANCH", "_HEAD_REPO_URL", "_PR_NUMBER"}


def values(revision: Revision = REVISION) -> dict[str, str]:
    return given(revision, Path("/root"), "localhost:5007", "b1", "cloudbuild/images.yaml")


def test_a_local_build_is_given_all_that_a_trigger_s_is() -> None:
    assert set(values()) | set(KEYS) == set(TRIGGERS) | (set(BUILT_IN) - PULL_REQUESTS_ONLY)


def test_images_go_to_the_registry_that_was_named() -> None:
    found = values()
    assert found["_REPOSITORY"] == "localhost:5007/overnight-images"
    assert found["_CACHE_REPOSITORY"] == "localhost:5007/overnight-cache"
    assert re.fullmatch(r"localhost:5007/builder@sha256:[0-9a-f]{64}", found["_BUILDER_IMAGE"])


def test_a_clean_checkout_is_named_by_its_commit() -> None:
    found = values()
    assert (found["COMMIT_SHA"], found["REVISION_ID"], found["SHORT_SHA"]) == ("c" * 40, "c" * 40, "c" * 7)
    assert (found["REPO_NAME"], found["REPO_FULL_NAME"]) == ("vision", "acme/vision")
    assert REVISION.note is None


def test_a_dirty_checkout_is_named_by_its_content() -> None:
    dirty = replace(REVISION, checkout=replace(CHECKOUT, dirty=True))
    assert values(dirty)["COMMIT_SHA"] == "d" * 64
    assert dirty.note == (
        "The checkout differs from its commit cccccccccccc: images are tagged by its content, dddddddddddd…, "
        "and not attested"
    )


def test_a_folder_outside_git_is_named_by_its_content() -> None:
    plain = replace(REVISION, checkout=replace(CHECKOUT, commit=None, dirty=True))
    assert values(plain)["COMMIT_SHA"] == "d" * 64
    assert plain.note == "No commit holds this folder: images are tagged by its content, dddddddddddd…"


def test_substitutions_of_the_command_line() -> None:
    assert parse_overrides(["_A=1", "_B=x=y", "_C="]) == {"_A": "1", "_B": "x=y", "_C": ""}


@pytest.mark.parametrize(
    ("written", "sentence"),
    [
        (["_A"], "--substitution: '_A' is not _KEY=VALUE; write it like _REGION=local."),
        (["=1"], "--substitution: '=1' is not _KEY=VALUE; write it like _REGION=local."),
        (["_A=1", "_A=2"], "--substitution: _A is given twice; keep one."),
    ],
)
def test_what_is_no_substitution_is_refused(written: list[str], sentence: str) -> None:
    with pytest.raises(BuildError) as refused:
        parse_overrides(written)
    assert refused.value.sentence == sentence


def test_only_known_substitutions_may_be_given() -> None:
    check_overrides({"_A": "1", "_B": "1"}, {"_A": "", "BUILD_ID": ""}, {"_B": ""})
    with pytest.raises(BuildError) as refused:
        check_overrides({"_C": "1"}, {"_A": "", "BUILD_ID": ""}, {"_B": ""})
    assert refused.value.sentence == "--substitution: there is no substitution _C; give one of: _A, _B."


def test_what_the_service_sets_may_not_be_given() -> None:
    with pytest.raises(BuildError) as refused:
        check_overrides({"BUILD_ID": "1"}, {"BUILD_ID": ""}, {})
    assert refused.value.sentence == (
        "--substitution: BUILD_ID is set by the service, and a user's own substitutions begin with _."
    )
