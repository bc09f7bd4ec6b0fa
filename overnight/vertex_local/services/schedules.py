"""ScheduleService: pipeline jobs at the times of a cron expression, by the server's clock."""

import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from google.cloud import aiplatform_v1 as v1
from google.protobuf.empty_pb2 import Empty

from overnight.vertex_local.api.dispatch import Handler
from overnight.vertex_local.api.errors import ApiError, failed_precondition, invalid, unimplemented
from overnight.vertex_local.schedules.cron import Cron, CronError
from overnight.vertex_local.schedules.plan import Act, Clockwork, Terms, completed, first_time, resume, step
from overnight.vertex_local.services.pipeline_jobs import ENDED, check_pipeline_job, create_pipeline_job
from overnight.vertex_local.state.resource import require
from overnight.vertex_local.state.store import parent_of
from overnight.vertex_local.world import World

KIND = "google.cloud.aiplatform.v1.Schedule"
State = v1.Schedule.State
_QUEUED, _RUNS = "queued", "runs"
"""Notes on a schedule: times that wait for room, and names of the runs that had not ended when last looked at."""
_OUTPUT_ONLY = (
    "started_run_count",
    "state",
    "next_run_time",
    "last_pause_time",
    "last_resume_time",
    "catch_up",
    "last_scheduled_run_response",
)


class SchedulesService:
    """Create, get, list, update, delete, pause, resume; `tick` starts what is due."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._lock = threading.RLock()

    def handlers(self) -> Mapping[str, Handler]:
        """The methods served."""
        return {
            "ScheduleService/CreateSchedule": self.create,
            "ScheduleService/GetSchedule": lambda request: self._world.resources.get(request.name),
            "ScheduleService/ListSchedules": self.list,
            "ScheduleService/UpdateSchedule": self.update,
            "ScheduleService/DeleteSchedule": self.delete,
            "ScheduleService/PauseSchedule": self.pause,
            "ScheduleService/ResumeSchedule": self.resume_schedule,
        }

    def create(self, request: Any) -> Any:
        """The schedule, ACTIVE."""
        schedule = request.schedule
        require(request, "schedule.display_name", "schedule.max_concurrent_run_count")
        for field in _OUTPUT_ONLY:
            schedule.ClearField(field)
        if not schedule.HasField("start_time"):
            schedule.start_time.CopyFrom(self._world.clock.timestamp())
        self._check(schedule)
        _set_next(schedule, first_time(_terms(schedule), _cron(schedule).next_after))
        with self._lock:
            made = self._world.resources.create(request.parent, "schedules", schedule)
        self._world.wake()
        return made

    def list(self, request: Any) -> Any:
        """A page of the location's schedules."""
        return self._world.resources.list(request, v1.ListSchedulesResponse.pb()(), KIND)

    def update(self, request: Any) -> Any:
        """The schedule with the fields of the mask changed; its next run is the first one after now."""
        with self._lock, self._world.store.transaction():
            schedule = self._world.resources.update(
                request.schedule, request.update_mask, ("create_time", *_OUTPUT_ONLY)
            )
            self._check(schedule)
            now, start = self._world.clock.now(), schedule.start_time.ToDatetime(UTC)
            terms, cron = _terms(schedule), _cron(schedule)
            _set_next(schedule, max(first_time(terms, cron.next_after), cron.next_after(max(now, start))))
            if schedule.state == State.COMPLETED and not completed(terms, _clockwork(schedule, ())):
                schedule.state = State.ACTIVE
            # "All unstarted runs before the update time will be skipped."
            self._world.store.set_note(schedule.name, _QUEUED, None)
            return self._world.resources.change(schedule.name, lambda kept: kept.CopyFrom(schedule))

    def delete(self, request: Any) -> Any:
        """Nothing, by an operation that is over. Runs that have started go on."""
        with self._lock:
            self._world.resources.delete(request.name)
        return self._world.operations.done(Empty(), parent_of(request.name), v1.DeleteOperationMetadata.pb()())

    def pause(self, request: Any) -> Any:
        """Nothing. Raises ApiError FAILED_PRECONDITION for a schedule that is not ACTIVE."""

        def change(schedule: Any) -> None:
            _demand(schedule, State.ACTIVE, "paused")
            schedule.state = State.PAUSED
            schedule.last_pause_time.CopyFrom(self._world.clock.timestamp())

        with self._lock:
            self._world.resources.change(request.name, change)
        return Empty()

    def resume_schedule(self, request: Any) -> Any:
        """Nothing. With `catch_up` the times that were missed are made up for; else the next one comes next."""

        def change(schedule: Any) -> None:
            _demand(schedule, State.PAUSED, "resumed")
            schedule.state = State.ACTIVE
            schedule.catch_up = request.catch_up
            schedule.last_resume_time.CopyFrom(self._world.clock.timestamp())
            self._skip_missed(schedule)

        with self._lock:
            self._world.resources.change(request.name, change)
        self._world.wake()
        return Empty()

    def resume(self) -> None:
        """After a restart: what was due while no server ran is missed, unless the schedule catches up."""
        for name in self._world.store.names(KIND):
            if self._world.resources.get(name).state == State.ACTIVE:
                self._world.resources.change(name, self._skip_missed)

    def tick(self) -> None:
        """Start, queue or skip what is due."""
        with self._lock:
            for name in self._world.store.names(KIND):
                schedule = self._world.resources.get(name)
                if schedule.state == State.ACTIVE:
                    self._carry_on(schedule)

    def _carry_on(self, schedule: Any) -> None:
        terms, cron = _terms(schedule), _cron(schedule)
        while True:
            clockwork, now = self._where(schedule), self._world.clock.now()
            if completed(terms, clockwork):
                schedule.state = State.COMPLETED
                self._world.resources.change(schedule.name, lambda kept: kept.CopyFrom(schedule))
                return
            if clockwork.next > now and not clockwork.queued:
                return
            found = step(terms, clockwork, cron.next_after, now, self._active(schedule.name))
            if found is None:
                return
            self._do(schedule, *found)

    def _do(self, schedule: Any, after: Clockwork, act: Act, scheduled: datetime) -> None:
        """Carry one scheduled time out, and write down where the schedule stands then, in one transaction."""
        with self._world.store.transaction():
            if act is Act.START:
                self._start(schedule, scheduled)
            _set_next(schedule, after.next)
            schedule.started_run_count = after.started
            self._world.store.set_note(schedule.name, _QUEUED, [time.isoformat() for time in after.queued])
            self._world.resources.change(schedule.name, lambda kept: kept.CopyFrom(schedule))

    def _start(self, schedule: Any, scheduled: datetime) -> None:
        request = schedule.create_pipeline_job_request
        response = "OK"
        try:
            made = create_pipeline_job(
                self._world, parent_of(schedule.name), request.pipeline_job, schedule=schedule.name
            )
            runs = self._world.store.note(schedule.name, _RUNS, [])
            self._world.store.set_note(schedule.name, _RUNS, [*runs, made.name])
        except ApiError as error:
            response = error.message
        schedule.last_scheduled_run_response.scheduled_run_time.FromDatetime(scheduled)
        schedule.last_scheduled_run_response.run_response = response

    def _active(self, name: str) -> int:
        """How many runs of the schedule are under way."""
        runs = self._world.store.note(name, _RUNS, [])
        found = [(run, self._world.store.find(run)) for run in runs]
        active = [run for run, job in found if job is not None and job.state not in ENDED]
        if active != runs:
            self._world.store.set_note(name, _RUNS, active)
        return len(active)

    def _where(self, schedule: Any) -> Clockwork:
        queued = self._world.store.note(schedule.name, _QUEUED, [])
        return _clockwork(schedule, tuple(datetime.fromisoformat(time) for time in queued))

    def _skip_missed(self, schedule: Any) -> None:
        """Set the next run of a schedule that goes on."""
        now = self._world.clock.now()
        after = resume(_clockwork(schedule, ()), _cron(schedule).next_after, now, catch_up=schedule.catch_up)
        _set_next(schedule, after.next)

    def _check(self, schedule: Any) -> None:
        """Raises ApiError INVALID_ARGUMENT, NOT_FOUND (a template), UNIMPLEMENTED (notebooks)."""
        kind = schedule.WhichOneof("request")
        if kind == "create_notebook_execution_job_request":
            raise unimplemented("ScheduleService/CreateSchedule with a create_notebook_execution_job_request")
        if kind is None:
            raise invalid("schedule.create_pipeline_job_request: a request is required.")
        _cron(schedule)
        for field in ("max_run_count", "max_concurrent_active_run_count"):
            if getattr(schedule, field) < 0:
                raise invalid(f"schedule.{field}: must not be negative.")
        if schedule.max_concurrent_run_count < 1:
            raise invalid("schedule.max_concurrent_run_count: must be greater than 0.")
        if schedule.HasField("end_time") and schedule.end_time.ToDatetime() <= schedule.start_time.ToDatetime():
            raise invalid("schedule.end_time: must be later than start_time.")
        request = schedule.create_pipeline_job_request
        if not request.parent:
            raise invalid("schedule.create_pipeline_job_request.parent: a location is required.")
        if request.pipeline_job_id:
            raise invalid("schedule.create_pipeline_job_request.pipeline_job_id: must not be set.")
        check_pipeline_job(self._world, request.pipeline_job)


def _cron(schedule: Any) -> Cron:
    try:
        return Cron.parse(schedule.cron)
    except CronError as error:
        raise invalid(f"schedule.{error}") from None


def _terms(schedule: Any) -> Terms:
    return Terms(
        start=schedule.start_time.ToDatetime(UTC),
        end=schedule.end_time.ToDatetime(UTC) if schedule.HasField("end_time") else None,
        max_runs=schedule.max_run_count,
        max_active=schedule.max_concurrent_active_run_count,
        queueing=schedule.allow_queueing,
    )


def _clockwork(schedule: Any, queued: tuple[datetime, ...]) -> Clockwork:
    return Clockwork(schedule.next_run_time.ToDatetime(UTC), schedule.started_run_count, queued)


def _set_next(schedule: Any, moment: datetime) -> None:
    if schedule.state == State.STATE_UNSPECIFIED:
        schedule.state = State.ACTIVE
    schedule.next_run_time.FromDatetime(moment)


def _demand(schedule: Any, state: int, verb: str) -> None:
    if schedule.state != state:
        raise failed_precondition(f"{schedule.name} is {State(schedule.state).name} and cannot be {verb}.")
