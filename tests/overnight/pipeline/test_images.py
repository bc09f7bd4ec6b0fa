"""Where a template's images come from."""

from pathlib import Path

import pytest

from overnight.errors import OvernightError
from overnight.images.release import released, write_release
from overnight.pipeline.images import await_release, images_given, images_of_release

COMMIT = "c0" * 20
STEPS = f"us-central1-docker.pkg.dev/acme/images/steps@sha256:{'a' * 64}"


def release(folder: Path, **images: str) -> None:
    write_release(str(folder), released(COMMIT, "https://github.com/acme/vision", "b1", images))


def test_images_are_given_by_name_and_digest() -> None:
    assert {name: str(image) for name, image in images_given([f"steps={STEPS}"]).items()} == {"steps": STEPS}


@pytest.mark.parametrize(
    ("texts", "beginning"),
    [
        (["steps"], "--image: 'steps' names no image; write NAME=HOST/PATH/NAME@sha256:<64 hex digits>."),
        ([f"={STEPS}"], f"--image: '={STEPS}' names no image; "),
        ([f"steps={STEPS}"] * 2, "--image: the image steps is given twice; give it once."),
        (["steps=gcr.io/acme/steps"], "--image: 'gcr.io/acme/steps': Container Registry (gcr.io) is gone; "),
        ([f"steps={STEPS.partition('@')[0]}:v1"], f"--image: '{STEPS.partition('@')[0]}:v1': the tag 'v1' can move, "),
        (["steps="], "--image: '': an image reference is empty; "),
    ],
)
def test_an_image_that_is_not_named_by_digest_is_refused(texts: list[str], beginning: str) -> None:
    with pytest.raises(OvernightError) as error:
        images_given(texts)
    assert error.value.sentence.startswith(beginning)
    assert "\n" not in error.value.sentence


def test_a_release_says_which_images_a_commit_has(tmp_path: Path) -> None:
    release(tmp_path, steps=STEPS)
    found = images_of_release(str(tmp_path), COMMIT, ["steps"])
    assert {name: str(image) for name, image in found.items()} == {"steps": STEPS}


def test_an_image_that_the_release_does_not_have_is_named(tmp_path: Path) -> None:
    release(tmp_path, steps=STEPS)
    with pytest.raises(OvernightError) as error:
        images_of_release(str(tmp_path), COMMIT, ["trainer-cpu"])
    assert error.value.sentence == f"{tmp_path}, {COMMIT}: the release has no image trainer-cpu; add it by --image."


def test_a_release_that_is_still_being_made_is_waited_for(tmp_path: Path) -> None:
    naps: list[float] = []
    said: list[str] = []

    def sleep(seconds: float) -> None:
        naps.append(seconds)
        if len(naps) == 2:
            release(tmp_path, steps=STEPS)

    await_release(str(tmp_path), COMMIT, 600, sleep, said.append)
    assert naps == [30, 30]
    assert said[1] == f"No release of {COMMIT} in {tmp_path} yet; waited 30 s of at most 10 min 00 s."


def test_waiting_ends(tmp_path: Path) -> None:
    naps: list[float] = []
    await_release(str(tmp_path), COMMIT, 70, naps.append, str)
    assert naps == [30, 30, 10]
    with pytest.raises(OvernightError, match="there is no release of this commit"):
        images_of_release(str(tmp_path), COMMIT, ["steps"])


def test_without_a_wait_nothing_sleeps(tmp_path: Path) -> None:
    await_release(str(tmp_path), COMMIT, 0, lambda seconds: pytest.fail(f"slept {seconds}"), str)
