"""Which digest each reference gets: one that was given, those of a build or release, or what a tag means today.

Each function takes the references of all files and returns the digests of those that are to change.
"""

from collections.abc import Callable, Mapping, Sequence

from overnight.images.errors import ImageError
from overnight.images.reference import Reference, parse_pinned, shown
from overnight.images.reference_parts import Mistake, check_digest

Digests = dict[Reference, str]


def chosen(references: Sequence[Reference], image: str | None) -> list[Reference]:
    """The references of one image, by its name or HOST/PATH; all when none is named. Raises ImageError."""
    if image is None:
        return list(references)
    found = [reference for reference in references if image in (reference.name, reference.repository)]
    if not found:
        there = _listed(references)
        said = f"no reference to {shown(image)} stands in these files, " + (
            f"only to {there}" if there else "nor to another"
        )
        raise ImageError(said, where="--image", remedy="name one that does" if there else "name other files")
    return found


def given(references: Sequence[Reference], image: str | None, to: str) -> Digests:
    """`to`, `sha256:…` or HOST/PATH@sha256:…, for one image. Raises ImageError."""
    mine = chosen(references, image)
    repository, digest = _digest(to)
    names = sorted({reference.name for reference in mine})
    if len(names) > 1:
        said = f"one digest cannot be that of {len(names)} images ({', '.join(names)})"
        raise ImageError(said, where="--to", remedy=f"add --image NAME, such as --image {names[0]}")
    for reference in mine:
        if repository not in (None, reference.repository):
            said = f"the digest is of {repository}, and the files name {reference.repository}"
            remedy = f"give --to {digest} alone if the same image stands there"
            raise ImageError(said, where="--to", remedy=remedy)
    return dict.fromkeys(mine, digest)


def made(references: Sequence[Reference], image: str | None, digests: Mapping[str, str], what: str) -> Digests:
    """From a build or release called `what`: `digests` by HOST/PATH. Other images stay. Raises ImageError."""
    mine = chosen(references, image)
    names = {repository.rpartition("/")[2]: repository for repository in digests}
    for reference in mine:
        if reference.repository not in digests and reference.name in names:
            said = f"it made {names[reference.name]}, and the files name {reference.repository}"
            remedy = (
                f"correct the files' repository, or give --image {reference.name} --to {digests[names[reference.name]]}"
            )
            raise ImageError(said, where=what, remedy=remedy)
    found = {reference: digests[reference.repository] for reference in mine if reference.repository in digests}
    if mine and not found:
        said = f"it made {', '.join(sorted(names)) or 'no image'}, and the files name {_listed(mine)}"
        raise ImageError(said, where=what, remedy="name the build or release that made those, or other files")
    return found


def resolved(references: Sequence[Reference], image: str | None, resolve: Callable[[Reference], Reference]) -> Digests:
    """What the tags mean today; what has a digest keeps it. Raises ImageError of `resolve`."""
    found: Digests = {}
    for reference in chosen(references, image):
        if not reference.pinned and reference not in found:
            if reference.tag is None:
                remedy = "write the tag that is meant, or give --to DIGEST"
                raise ImageError("it has neither tag nor digest", where=str(reference), remedy=remedy)
            found[reference] = str(resolve(reference).digest)
    return found


def _digest(to: str) -> tuple[str | None, str]:
    """The repository, if one was given, and the digest."""
    if "/" in to:
        reference = parse_pinned(to, where="--to")
        return reference.repository, str(reference.digest)
    try:
        check_digest(to)
    except Mistake as mistake:
        raise ImageError(f"{shown(to)}: {mistake.problem}", where="--to", remedy=mistake.remedy) from None
    return None, to


def _listed(references: Sequence[Reference]) -> str:
    return ", ".join(sorted({reference.name for reference in references}))
