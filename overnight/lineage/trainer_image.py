"""The image that a trainer said it ran in: held against what the job was given, and against its own result."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from overnight.errors import OvernightError
from overnight.files import read_json
from overnight.lineage.git import git_state, has_commit
from overnight.lineage.tree import Node, digest_problems

_TRAINING_POOL = 0
"""Rank 0, which writes the result, is its first replica (docs/launch.md)."""


def said_image(result: dict[str, Any], images: Sequence[dict[str, Any]], where: Path) -> dict[str, Any] | None:
    """`image` of result.json, null where it names none; `images` are those that the spec names.

    Raises OvernightError when its digest is not the one that the job was given.
    """
    said: dict[str, Any] | None = result.get("image")
    given = given_digest(images)
    if said and said["digest"] != given:
        raise OvernightError(
            f"the training ran in image {_named(said['digest'])}, the job was given {_named(given)}",
            where=str(where),
            remedy=f"pin the image in the spec's imageUri of pool {_TRAINING_POOL} only, not in its env",
        )
    return said


def given_digest(images: Sequence[dict[str, Any]]) -> str | None:
    """The digest that the spec names for the pool of rank 0."""
    return next((image["digest"] for image in images if image["pool"] == _TRAINING_POOL), None)


def image_nodes(folder: Path, record: dict[str, Any], checkout: Path) -> tuple[Node, ...]:
    """The trainer's image in an audit of the run in `folder`; nothing where it named none.

    What run.json says of it must be what result.json says, and the digest that of the spec.
    """
    said = record.get("trainer_image")
    problems = (*_result_problems(folder, record, said), *_commit_problems(checkout, said))
    if said is None:
        return (Node("trainer image", "none", problems=problems),) if problems else ()
    if said["digest"] != given_digest(record["images"]):
        given = _named(given_digest(record["images"]))
        problems += (f"The trainer's image in run.json is {_named(said['digest'])}, the spec's is {given}.",)
    facts = tuple((label, said[field]) for label, field in _FACTS.items() if said[field])
    notes: tuple[str, ...] = () if said["name"] else ("nothing inside the image says what it is",)
    if _DIRTY in (said["revision"] or ""):
        notes += ("files differed from the commit when the image was built",)
    return (Node("trainer image", _named(said["digest"]), facts, problems, notes),)


_DIRTY = "-dirty"
"""Follows the commit where the checkout had changes (images/stage/check)."""
_FACTS = {"name": "name", "commit": "revision", "repository": "source", "cpu": "cpu"}


def _result_problems(folder: Path, record: dict[str, Any], said: dict[str, Any] | None) -> tuple[str, ...]:
    """An altered or missing result.json is told where files are; here it says nothing."""
    path = folder / "result.json"
    recorded = next((entry["sha256"] for entry in record["files"] if entry["path"] == "result.json"), None)
    if recorded is None or digest_problems(path, recorded):
        return ()
    if read_json(path, "overnight.result/1").get("image") == said:
        return ()
    return (f"run.json was altered: its trainer_image is not the image of {path}.",)


def _commit_problems(checkout: Path, said: dict[str, Any] | None) -> tuple[str, ...]:
    """The image's commit must be in the checkout, where that is the image's repository."""
    here = git_state(checkout)
    if not said or not said["revision"] or here is None or here.repository is None:
        return ()
    commit = said["revision"].partition(_DIRTY)[0]
    if here.repository.removesuffix(".git") != said["source"] or has_commit(checkout, commit):
        return ()
    return (f"Commit {commit} of the trainer's image is missing from this checkout.",)


def _named(digest: str | None) -> str:
    return digest or "of no known digest"
