"""Which references get which digest, and every reason why none does."""

import pytest

from overnight.images import pin_sources
from overnight.images.errors import ImageError
from overnight.images.reference import Reference, parse

REPOSITORY = "europe-west4-docker.pkg.dev/acme/prod-images"
A, B = f"sha256:{'a' * 64}", f"sha256:{'b' * 64}"
TAGGED = parse(f"{REPOSITORY}/trainer-gpu:v1")
PINNED = parse(f"{REPOSITORY}/trainer-gpu@{A}")
STEPS = parse(f"{REPOSITORY}/steps:v1")
ELSEWHERE = parse("us-docker.pkg.dev/acme-shared/images/trainer-gpu:v1")


def refused(call) -> str:
    with pytest.raises(ImageError) as error:
        call()
    return error.value.sentence


def test_a_digest_goes_to_the_one_image():
    assert pin_sources.given([TAGGED, PINNED], None, B) == {TAGGED: B, PINNED: B}


def test_a_digest_goes_to_the_named_image_only():
    assert pin_sources.given([TAGGED, STEPS], "steps", B) == {STEPS: B}


def test_a_digest_goes_to_the_image_named_with_host_and_path_only():
    assert pin_sources.given([TAGGED, ELSEWHERE], ELSEWHERE.repository, B) == {ELSEWHERE: B}


def test_a_whole_reference_of_the_same_image_is_a_digest():
    assert pin_sources.given([TAGGED, STEPS], "steps", f"{REPOSITORY}/steps:v9@{B}") == {STEPS: B}


@pytest.mark.parametrize(
    ("image", "to", "says"),
    [
        (None, B, "--to: one digest cannot be that of 2 images (steps, trainer-gpu); add --image NAME"),
        (
            "trainer",
            B,
            "--image: no reference to 'trainer' stands in these files, only to steps, trainer-gpu; name one",
        ),
        (
            "steps",
            f"us-docker.pkg.dev/acme/x/steps@{B}",
            "the digest is of us-docker.pkg.dev/acme/x/steps, and the files",
        ),
        ("steps", f"{REPOSITORY}/trainer-gpu@{B}", "the digest is of"),
        ("steps", f"{REPOSITORY}/steps:v2", "--to: "),
        ("steps", "gcr.io/acme/steps@" + B, "Container Registry (gcr.io) is gone"),
        ("steps", "", "--to: '': there is nothing after the @"),
        ("steps", "v2", "--to: 'v2': 'v2' after the @ is no digest"),
        ("steps", "a" * 64, "is no digest"),
        ("steps", "@" + B, "is no digest"),
        ("steps", B[:-1], "the digest is too short"),
        ("steps", B + "b", "the digest is too long"),
        ("steps", B.upper(), "the algorithm is written 'SHA256'"),
        ("steps", f"sha256:{'B' * 64}", "the digest has upper-case digits"),
        ("steps", f"sha512:{'b' * 128}", "the digest is of 'sha512'"),
        ("steps", f" {B}", "is no digest"),
        ("steps", f"{B}\n", "is no hex digit"),
    ],
)
def test_what_is_no_digest_of_one_image_is_refused(image, to, says):
    sentence = refused(lambda: pin_sources.given([TAGGED, PINNED, STEPS], image, to))
    assert says in sentence
    assert "\n" not in sentence


def test_without_any_reference_a_named_image_is_refused():
    assert refused(lambda: pin_sources.chosen([], "steps")) == (
        "--image: no reference to 'steps' stands in these files, nor to another; name other files."
    )


def test_a_release_gives_its_images_their_digests_and_leaves_others():
    made = {TAGGED.repository: A, f"{REPOSITORY}/trainer-cpu": B}
    assert pin_sources.made([TAGGED, STEPS], None, made, "release x") == {TAGGED: A}


@pytest.mark.parametrize(
    ("references", "image", "says"),
    [
        (
            [ELSEWHERE],
            None,
            f"release x: it made {REPOSITORY}/trainer-gpu, and the files name {ELSEWHERE.repository}; ",
        ),
        ([TAGGED, ELSEWHERE], None, "correct the files' repository, or give --image trainer-gpu --to sha256:aaaa"),
        ([STEPS], None, "release x: it made trainer-cpu, trainer-gpu, and the files name steps; "),
        ([TAGGED, STEPS], "steps", "release x: it made trainer-cpu, trainer-gpu, and the files name steps; "),
        ([TAGGED], "steps", "--image: no reference to 'steps'"),
    ],
)
def test_a_release_of_other_images_is_refused(references, image, says):
    made = {TAGGED.repository: A, f"{REPOSITORY}/trainer-cpu": B}
    assert says in refused(lambda: pin_sources.made(references, image, made, "release x"))


def test_tags_are_looked_up_once_and_digests_kept():
    asked: list[Reference] = []

    def resolve(reference: Reference) -> Reference:
        asked.append(reference)
        return reference.with_digest(B)

    both = parse(f"{REPOSITORY}/steps:v1@{A}")
    assert pin_sources.resolved([TAGGED, PINNED, both, TAGGED, STEPS], None, resolve) == {TAGGED: B, STEPS: B}
    assert asked == [TAGGED, STEPS]


def test_what_has_neither_tag_nor_digest_is_not_guessed():
    sentence = refused(lambda: pin_sources.resolved([parse(f"{REPOSITORY}/steps")], None, lambda reference: reference))
    assert sentence == (
        f"{REPOSITORY}/steps: it has neither tag nor digest; write the tag that is meant, or give --to DIGEST."
    )
