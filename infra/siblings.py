"""The environments beside this one: files in the same folder, with which it must share neither names nor state."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from overnight.config import ConfigError
from overnight.config.loading import read, validate
from overnight.config.mistakes import Mistake
from overnight.config.names import Names, Purpose


@dataclass(frozen=True)
class Sibling:
    """Another environment with a Google Cloud project."""

    path: Path
    names: Names


@dataclass(frozen=True)
class Siblings:
    """Those that can be read, and a note about each that cannot: a broken neighbour must not stop this one."""

    known: tuple[Sibling, ...] = ()
    notes: tuple[str, ...] = ()


def siblings(path: Path) -> Siblings:
    """The other environment files in the folder of `path`."""
    known: list[Sibling] = []
    notes: list[str] = []
    others = (other for other in path.parent.glob("*.y*ml") if other.suffix in (".yaml", ".yml"))
    for other in sorted(others):
        if other.resolve() == path.resolve():
            continue
        try:
            data = read(other)
            if "google" not in data:
                continue
            environment = validate(other, data)
        except ConfigError as error:
            notes.append(f"not compared with an environment that is wrong itself: {error.sentence}")
            continue
        if environment.google is not None:
            known.append(Sibling(other, Names(environment=environment.environment, google=environment.google)))
    return Siblings(tuple(known), tuple(notes))


def sibling_mistakes(names: Names, others: tuple[Sibling, ...]) -> Iterator[Mistake]:
    """What this environment would share with another, and must not."""
    for other in others:
        yield from _identity(names, other)
        yield from _buckets(names, other)
        if names.google.project_id == other.names.google.project_id:
            yield from _project(names, other)


def _identity(names: Names, other: Sibling) -> Iterator[Mistake]:
    if names.environment != other.names.environment:
        return
    shared = names.google.state == other.names.google.state
    state = ", and each would overwrite the other's Terraform state" if shared else ""
    yield Mistake(
        "environment",
        f"{other.path} is called {names.environment!r} as well{state}",
        "give each environment its own name",
    )


def _buckets(names: Names, other: Sibling) -> Iterator[Mistake]:
    own = {names.bucket(purpose) for purpose in get_args(Purpose)}
    theirs = {other.names.bucket(purpose): purpose for purpose in get_args(Purpose)}
    for bucket in sorted(own & {*theirs, other.names.google.state.bucket}):
        use = f"for {theirs[bucket]}" if bucket in theirs else "for Terraform's state"
        yield Mistake(
            "google.storage.bucket_names",
            f"the bucket {bucket!r} is taken by {other.path} {use}",
            "give it another name",
        )
    state = names.google.state.bucket
    if state in theirs:
        yield Mistake(
            "google.state.bucket",
            f"the bucket {state!r} is taken by {other.path} for {theirs[state]}",
            "give Terraform's state a bucket of its own",
        )


def _project(names: Names, other: Sibling) -> Iterator[Mistake]:
    """Two environments in one project: its number is one, and so is the topic that builds are published to."""
    google, theirs = names.google, other.names.google
    if google.project_number != theirs.project_number:
        yield Mistake(
            "google.project_number",
            f"{other.path} has {theirs.project_number} for the same project {google.project_id}",
            f"look it up: gcloud projects describe {google.project_id}",
        )
    if google.cloud_build.notifications and theirs.cloud_build.notifications:
        yield Mistake(
            "google.cloud_build.notifications",
            f"{other.path} makes the project's one topic for builds as well",
            "set it to false in one of the two",
        )
    if google.region == theirs.region:
        names_there = {pool.name for pool in theirs.persistent_resources if pool.enabled}
        for place, pool in enumerate(google.persistent_resources):
            if pool.enabled and pool.name in names_there:
                yield Mistake(
                    f"google.persistent_resources[{place}].name",
                    f"{other.path} has {pool.name!r} in the same project and region",
                    "give each pool its own name",
                )
