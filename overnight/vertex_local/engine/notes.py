"""What is known of a job beside its message: notes in the store, given when it was submitted."""

from collections.abc import Mapping
from typing import Any

from overnight.vertex_local.state.store import Store

ENVIRONMENT = "environment"
"""Variables that its replicas get too: {name: value}."""
TRIAL = "trial"
"""The id of the trial that it is."""
PLACE = "place"
"""The place whose room it takes, where that is not its region's."""


def remember_submission(
    store: Store, name: str, environment: Mapping[str, str] | None, trial: str | None, place: str | None
) -> None:
    """Keep what was given, for every launch of the job."""
    given = {ENVIRONMENT: None if environment is None else dict(environment), TRIAL: trial, PLACE: place}
    for key, value in given.items():
        if value is not None:
            store.set_note(name, key, value)


def submitted_with(store: Store, name: str) -> dict[str, Any]:
    """`extra` and `trial` of the job's launches."""
    return {"extra": store.note(name, ENVIRONMENT), "trial": store.note(name, TRIAL)}
