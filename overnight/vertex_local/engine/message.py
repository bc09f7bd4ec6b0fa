"""The CustomJob message and its events: what the API shows of a job is a function of its history."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from overnight.vertex_local.engine.events import ENDED, History
from overnight.vertex_local.job import JobState

KIND = "google.cloud.aiplatform.v1.CustomJob"


def state_of(job: Any) -> JobState:
    """The message's state; one that was never set is QUEUED."""
    name = job.DESCRIPTOR.fields_by_name["state"].enum_type.values_by_number[job.state].name
    return JobState.QUEUED if name == "JOB_STATE_UNSPECIFIED" else JobState(name.removeprefix("JOB_STATE_"))


def is_over(job: Any) -> bool:
    """Whether the job has ended."""
    return state_of(job) in ENDED


def show(job: Any, history: History, shift: timedelta, web_access: Mapping[str, str]) -> None:
    """Write into the message what the history says; `shift` is how far the server's clock is ahead of the machine's.

    When it started and ended stays as it was first shown, however the clock is moved afterwards.
    `web_access` by replica is shown while the job is RUNNING, as Vertex AI does.
    """
    job.state = _state_number(job, history.state)
    for field, seconds in (
        ("start_time", history.started),
        ("end_time", history.ended),
        ("update_time", history.changed),
    ):
        if seconds is not None and (field == "update_time" or not job.HasField(field)):
            getattr(job, field).FromDatetime(datetime.fromtimestamp(seconds, UTC) + shift)
    job.ClearField("error")
    if history.code:
        job.error.code = history.code
        job.error.message = history.message
    job.web_access_uris.clear()
    if history.state is JobState.RUNNING:
        job.web_access_uris.update(web_access)


def _state_number(job: Any, state: JobState) -> int:
    values = job.DESCRIPTOR.fields_by_name["state"].enum_type.values_by_name
    return int(values[f"JOB_STATE_{state}"].number)
