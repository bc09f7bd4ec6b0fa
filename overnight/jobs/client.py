"""Vertex AI's job service through the official client: the one place that talks to it."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from typing import Any, Protocol

from overnight.errors import OvernightError
from overnight.jobs.endpoint import Endpoint, job_client, no_credentials
from overnight.jobs.explain import Kind, refusal_kind
from overnight.jobs.request import RUN_LABEL, Request, request_type
from overnight.jobs.view import Kind as JobKind

SECONDS_A_CALL = 60.0
ENDED = ("SUCCEEDED", "FAILED", "CANCELLED", "EXPIRED", "PARTIALLY_SUCCEEDED")
"""States from which none follows."""
_METHODS: dict[JobKind, str] = {
    "customJob": "custom_job",
    "hyperparameterTuningJob": "hyperparameter_tuning_job",
}
_COLLECTIONS: dict[str, JobKind] = {
    "customJobs": "customJob",
    "hyperparameterTuningJobs": "hyperparameterTuningJob",
}


class Refused(OvernightError):
    """The service answered with an error."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"Vertex AI answered {code}: {message.rstrip('.')}")
        self.code = code
        self.message = message

    @property
    def kind(self) -> Kind:
        """What to do about it."""
        return refusal_kind(self.code, self.message)


@dataclass(frozen=True)
class Job:
    """A job as the service sees it now. Times are UTC."""

    name: str
    kind: JobKind
    display_name: str
    state: str
    """As in the API, without JOB_STATE_."""
    created: datetime | None = None
    started: datetime | None = None
    ended: datetime | None = None
    error: str = ""
    labels: dict[str, str] = field(default_factory=dict)
    trials: tuple[str, ...] = ()
    """States of a study's trials, as in the API."""

    @property
    def over(self) -> bool:
        """Whether it has ended."""
        return self.state in ENDED

    @property
    def region(self) -> str:
        """Where it runs."""
        return self.name.split("/")[3]

    @property
    def id(self) -> str:
        """The last part of the name."""
        return self.name.rpartition("/")[2]


class Jobs(Protocol):
    """What Overnight asks of the job service; every method raises Refused."""

    def create(self, request: Request) -> Job:
        """Start a job."""
        ...

    def get(self, name: str) -> Job:
        """A job by its full name."""
        ...

    def of_run(self, request: Request) -> list[Job]:
        """The jobs of the request's kind, region and run."""
        ...

    def all(self, parent: str, filter_: str = "") -> list[Job]:
        """Custom and tuning jobs of a region, newest first."""
        ...

    def cancel(self, name: str) -> None:
        """Ask a job to end."""
        ...


class VertexJobs:
    """The real one, or whatever serves the same API."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._client = cache(lambda region: job_client(endpoint, region))

    def create(self, request: Request) -> Job:
        """Send exactly `request.message`."""
        with _refusals():
            call = getattr(self._client(request.region), f"create_{_METHODS[request.kind]}")
            made = call(request=request_type(request.kind).wrap(request.message), timeout=SECONDS_A_CALL)
        return _job(made, request.kind)

    def get(self, name: str) -> Job:
        """One job; raises OvernightError when the name is none."""
        kind, region = parts(name)
        with _refusals():
            found = getattr(self._client(region), f"get_{_METHODS[kind]}")(name=name, timeout=SECONDS_A_CALL)
        return _job(found, kind)

    def of_run(self, request: Request) -> list[Job]:
        """A label that the filter passed over would start a job twice, so it is compared here once more."""
        found = self._listed(request.kind, request.parent, f'labels.{RUN_LABEL}="{request.run_id}"')
        return [job for job in found if job.labels.get(RUN_LABEL) == request.run_id]

    def all(self, parent: str, filter_: str = "") -> list[Job]:
        """Both kinds."""
        found = [job for kind in _METHODS for job in self._listed(kind, parent, filter_)]
        beginning = datetime.min.replace(tzinfo=UTC)
        return sorted(found, key=lambda job: job.created or beginning, reverse=True)

    def cancel(self, name: str) -> None:
        """The job is CANCELLING from now on, CANCELLED later."""
        kind, region = parts(name)
        with _refusals():
            getattr(self._client(region), f"cancel_{_METHODS[kind]}")(name=name, timeout=SECONDS_A_CALL)

    def _listed(self, kind: JobKind, parent: str, filter_: str) -> list[Job]:
        with _refusals():
            client = self._client(parent.rpartition("/")[2])
            pages = getattr(client, f"list_{_METHODS[kind]}s")(
                request={"parent": parent, "filter": filter_}, timeout=SECONDS_A_CALL
            )
            return [_job(item, kind) for item in pages]


def parts(name: str) -> tuple[JobKind, str]:
    """Kind and region of a job's full name; raises OvernightError when it is none."""
    pieces = name.split("/")
    kind = _COLLECTIONS.get(pieces[4]) if len(pieces) == 6 and pieces[::2][:2] == ["projects", "locations"] else None
    if kind is None or not all(pieces):
        raise OvernightError(
            f"{name!r} is no job",
            remedy="give a run id, or projects/PROJECT/locations/REGION/customJobs/ID",
        )
    return kind, pieces[3]


def _job(message: Any, kind: JobKind) -> Job:
    data = type(message).pb(message)
    return Job(
        name=data.name,
        kind=kind,
        display_name=data.display_name,
        state=message.state.name.removeprefix("JOB_STATE_"),
        created=_time(data, "create_time"),
        started=_time(data, "start_time"),
        ended=_time(data, "end_time"),
        error=data.error.message,
        labels=dict(data.labels),
        trials=tuple(trial.state.name for trial in getattr(message, "trials", ())),
    )


def _time(data: Any, name: str) -> datetime | None:
    return getattr(data, name).ToDatetime(tzinfo=UTC) if data.HasField(name) else None


@contextmanager
def _refusals() -> Iterator[None]:
    """Turn what the client raises into Refused."""
    from google.api_core.exceptions import GoogleAPICallError, RetryError
    from google.auth.exceptions import GoogleAuthError
    from requests.exceptions import ConnectionError as NoConnection
    from requests.exceptions import Timeout

    try:
        yield
    except GoogleAPICallError as error:
        raise Refused(_code(error), _CALL.sub("", str(error.message))) from error
    except (RetryError, Timeout) as error:
        raise Refused("DEADLINE_EXCEEDED", str(error)) from error
    except NoConnection as error:
        raise Refused("UNAVAILABLE", "nobody answers at this endpoint") from error
    except GoogleAuthError as error:
        raise no_credentials(error) from error


_CALL = re.compile(r"^[A-Z]+ https?://\S+: ")
"""What the REST client puts before the service's own words."""
_HTTP = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "ALREADY_EXISTS",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    501: "UNIMPLEMENTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
"""google/rpc/code.proto; where several share a number, the commonest."""


def _code(error: Any) -> str:
    """The name of the google.rpc.Code, over gRPC and REST."""
    if error.grpc_status_code is not None and not _is_rest(error):
        return str(error.grpc_status_code.name)
    try:
        return str(error.response.json()["error"]["status"])
    except (AttributeError, KeyError, TypeError, ValueError):
        return _HTTP.get(int(error.code or 0), "UNKNOWN")


def _is_rest(error: Any) -> bool:
    return hasattr(error.response, "json")
