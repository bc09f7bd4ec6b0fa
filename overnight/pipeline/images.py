"""Which images a template runs in: given one by one, or those of a release."""

from collections.abc import Callable, Sequence

from overnight.images.reference import Reference, parse_pinned
from overnight.pipeline.errors import TemplateError
from overnight.wording import duration

PAUSE = 30.0
"""Seconds between two looks for a release."""


def images_given(texts: Sequence[str]) -> dict[str, Reference]:
    """The images of `NAME=HOST/PATH@sha256:…` texts. Raises TemplateError, ImageError."""
    images: dict[str, Reference] = {}
    for text in texts:
        name, equals, reference = text.partition("=")
        if not (name and equals):
            raise TemplateError(
                f"{text!r} names no image", where="--image", remedy="write NAME=HOST/PATH/NAME@sha256:<64 hex digits>"
            )
        if name in images:
            raise TemplateError(f"the image {name} is given twice", where="--image", remedy="give it once")
        images[name] = parse_pinned(reference, where="--image")
    return images


def images_of_release(releases: str, commit: str, names: Sequence[str]) -> dict[str, Reference]:
    """The images `names` of the release of `commit`, in a folder or below gs://. Raises ImageError, TemplateError."""
    from overnight.images.release import read_release

    release = read_release(releases, commit)
    for name in names:
        if name not in release.images:
            raise TemplateError(
                f"the release has no image {name}", where=f"{releases}, {commit}", remedy="add it by --image"
            )
    return {name: release.images[name].reference for name in names}


def await_release(
    releases: str, commit: str, wait: float, sleep: Callable[[float], None], say: Callable[[str], object]
) -> None:
    """Return once the release of `commit` is there, or after `wait` seconds. Raises ImageError.

    The images of a commit and its templates are built at the same time, by builds that do not know of each other.
    """
    from overnight.images.places import place_of

    place, waited = place_of(releases), 0.0
    while waited < wait and place.read(f"{commit}.json") is None:
        say(f"No release of {commit} in {releases} yet; waited {duration(waited)} of at most {duration(wait)}.")
        pause = min(PAUSE, wait - waited)
        sleep(pause)
        waited += pause
