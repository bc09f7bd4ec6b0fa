"""Runs the server's custom jobs: keeps the queue, starts job processes, follows their events."""

import logging
import subprocess
import threading
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from overnight.vertex_local.api.errors import ApiError, failed_precondition
from overnight.vertex_local.cluster import replica_names
from overnight.vertex_local.command import NotLocal
from overnight.vertex_local.engine import verdicts
from overnight.vertex_local.engine.codes import Code
from overnight.vertex_local.engine.events import Event, Kind, append_line
from overnight.vertex_local.engine.job_files import JobFiles
from overnight.vertex_local.engine.launches import Job, kill, start_process
from overnight.vertex_local.engine.log_entries import SERVICE, write_entry
from overnight.vertex_local.engine.message import KIND, is_over, show
from overnight.vertex_local.engine.notes import PLACE, remember_submission, submitted_with
from overnight.vertex_local.engine.orders import Order
from overnight.vertex_local.engine.places import Places, persistent_resource, region_of
from overnight.vertex_local.engine.prepare import Launch, prepare_launch
from overnight.vertex_local.engine.queue import Queue, Waiting
from overnight.vertex_local.engine.stockouts import Stock
from overnight.vertex_local.engine.verdicts import End
from overnight.vertex_local.ground import Ground
from overnight.vertex_local.job import JobState

_log = logging.getLogger(__name__)


class Engine:
    """All custom jobs that have not ended.

    Its methods may be called from any thread, but not inside a transaction of the store: the engine's own thread
    takes its lock first and the store's then.
    """

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self.files = JobFiles(ground.folder / "jobs")
        self._lock = threading.RLock()
        self._jobs: dict[str, Job] = {}
        self._live: dict[str, Job] = {}
        self._queue = Queue()
        self._places = Places(ground.store, ground.settings.machine_slots)
        self._stock = Stock(ground.settings.stockouts)
        self._give_up_at: dict[str, datetime] = {}
        self._closing: list[subprocess.Popen[bytes]] = []
        self._submitted = 0
        self._stopping = False

    # What services ask for.

    def submit(
        self,
        name: str,
        custom_job: Any,
        *,
        environment: Mapping[str, str] | None = None,
        trial: str | None = None,
        place: str | None = None,
    ) -> Any:
        """Queue a job; its message is put into the store where it is not there yet. Returns the message.

        `environment` holds variables that its replicas get too, `trial` the id of the trial that it is, `place` the
        name of a place with room of its own (as many replicas as a region has), where its region's is not meant.
        Raises ApiError when the job names a persistent resource on which it can never run.
        """
        store = self._ground.store
        with self._lock, store.transaction():
            need = self._places.need(name, custom_job, place)
            message = store.find(name) or self._ground.resources.put(name, custom_job)
            remember_submission(store, name, environment, trial, place)
            job = self._new_job(name)
            job.need = need
            job.folder.path.mkdir(parents=True, exist_ok=True)
            self._tell(job, Kind.STATE, state=JobState.QUEUED)
            self._enqueue(job, message, new=True)
        self._ground.wake()
        return store.get(name)

    def cancel(self, name: str) -> None:
        """Ask a job to end; one that has ended stays as it is. Raises ApiError NOT_FOUND."""
        self._ground.store.get(name)
        with self._lock:
            job = self._jobs.get(name)
            if job is None:
                return
            if self._queue.take(name):
                self._end(job, verdicts.CANCELLED)
            elif not job.history.cancelling:
                self._tell(job, Kind.STATE, state=JobState.CANCELLING)
                job.give(Order.CANCEL)
        self._ground.wake()

    def preempt(self, name: str) -> None:
        """Take the machines of a Spot job away. Raises ApiError NOT_FOUND, FAILED_PRECONDITION."""
        message: Any = self._ground.store.get(name)
        with self._lock:
            job = self._live.get(name)
            if message.job_spec.scheduling.strategy != verdicts.SPOT:
                raise failed_precondition(f"{name} does not run on Spot machines; only those are preempted.")
            if job is None or job.history.state is not JobState.RUNNING:
                raise failed_precondition(f"{name} is not running.")
            job.give(Order.PREEMPT)

    def interrupt(self, place: str) -> None:
        """Take the machines away from every job in a place; they start again when it has room."""
        with self._lock:
            for name in self._places.jobs_in(place):
                self._jobs[name].give(Order.INTERRUPT)

    def used(self, place: str) -> Mapping[str, int]:
        """Occupied replicas by pool of a persistent resource."""
        with self._lock:
            return dict(self._places.used(place))

    def jobs_in(self, place: str) -> int:
        """How many jobs run or wait in a place."""
        with self._lock:
            return len(self._places.jobs_in(place)) + self._queue.waits_in(place)

    # What the server's housekeeping calls.

    def resume(self) -> None:
        """Take up the jobs of a server that is gone, in the order of their submission."""
        with self._lock:
            for name in self._ground.store.names(KIND):
                message = self._ground.store.get(name)
                if not is_over(message):
                    self._take_up(self._new_job(name), message)

    def tick(self) -> None:
        """Follow what runs, end what waited too long, start what fits."""
        with self._lock:
            for job in list(self._live.values()):
                self._follow(job)
            self._closing = [process for process in self._closing if process.poll() is None]
            self._give_up()
            now = time.monotonic()
            while not self._stopping and self._start_heads(now):
                pass

    def stop(self) -> None:
        """End what runs, with its grace period; the next server starts it again. Nothing starts after this."""
        with self._lock:
            self._stopping = True
            for job in self._live.values():
                job.give(Order.STOP)
        deadline = time.monotonic() + self._ground.settings.grace_seconds + 5
        while (self._live or self._closing) and time.monotonic() < deadline:
            self.tick()
            time.sleep(0.02)
        with self._lock:
            for process in (*self._closing, *(job.process for job in self._live.values())):
                kill(process)

    # One job.

    def _take_up(self, job: Job, message: Any) -> None:
        job.catch_up()
        self._show(job)
        if job.history.over:
            del self._jobs[job.name]
            return
        try:
            job.need = self._places.need(job.name, message, self._ground.store.note(job.name, PLACE))
        except ApiError as error:
            # Its persistent resource is not what it was. What runs may go on, nothing is counted for it.
            if job.history.live is None:
                self._end(job, End(JobState.FAILED, Code.INVALID_ARGUMENT, error.message))
                return
        if job.history.live is not None:
            self._live[job.name] = job
            self._places.occupy(job.name, job.need)
        elif not self._ended(job, message):
            self._enqueue(job, message, new=True)

    def _follow(self, job: Job) -> None:
        # Looked at first: what a process wrote before its end is then read below.
        alive = job.is_alive()
        if job.catch_up():
            self._show(job)
        if job.history.live is not None and not alive:
            write_entry(job.folder.log, "ERROR", SERVICE, verdicts.INTERNAL_ERROR)
            self._tell(job, Kind.LOST)
        if job.history.live is None:
            self._launch_over(job)

    def _launch_over(self, job: Job) -> None:
        del self._live[job.name]
        self._places.release(job.name)
        if job.process is not None:
            self._closing.append(job.process)
            job.process = None
        message = self._ground.store.get(job.name)
        if job.history.over:
            del self._jobs[job.name]
        elif not self._stopping and not self._ended(job, message):
            self._enqueue(job, message)

    def _start_heads(self, now: float) -> bool:
        """Start the first job of each place where it fits; whether there was any."""
        started = False
        for waiting in list(self._queue.heads(now)):
            room = self._places.room(waiting.need.place)
            if room is not None and room.takes(waiting.need):
                self._queue.take(waiting.name)
                self._start(self._jobs[waiting.name])
                started = True
        return started

    def _start(self, job: Job) -> None:
        message: Any = self._ground.store.get(job.name)
        on_demand = not persistent_resource(job.name, message)
        if on_demand and self._stock.lacks(region_of(job.name), message):
            self._tell(job, Kind.STOCKOUT)
            if not self._ended(job, message):
                self._enqueue(job, message)
            return
        number = job.history.launches + 1
        launch = Launch(
            job.name, message, number, job.history.seconds_run, **submitted_with(self._ground.store, job.name)
        )
        try:
            prepare_launch(job.folder, launch, self._ground.settings, self._ground.folder / "gcs")
            self._tell(job, Kind.LAUNCH, launch=number)
        except NotLocal as error:
            self._end(job, End(JobState.FAILED, Code.INVALID_ARGUMENT, error.sentence))
            return
        except OSError as error:
            _log.warning("%s is not started yet: %s", job.name, error)
            self._enqueue(job, message)
            return
        self._places.occupy(job.name, job.need)
        self._live[job.name] = job
        # An error here leaves a launch without a process, which the next look finds lost.
        job.process = start_process(job.folder, number)

    def _ended(self, job: Job, message: Any) -> bool:
        """End a job that may not start again; whether it has ended."""
        end = verdicts.end_of(job.history, message, region_of(job.name))
        if end is not None:
            self._end(job, end)
        return end is not None

    def _give_up(self) -> None:
        now = self._ground.clock.now()
        for name in [name for name, moment in self._give_up_at.items() if moment <= now]:
            del self._give_up_at[name]
            if self._queue.take(name):
                self._end(self._jobs[name], verdicts.no_machines(region_of(name)))

    def _enqueue(self, job: Job, message: Any, *, new: bool = False) -> None:
        # A new job asks at once; one that comes back has met a lack of machines or an error.
        delay = 0.0 if new else self._ground.settings.retry_seconds
        self._queue.put(Waiting(job.name, job.order, job.need, time.monotonic() + delay))
        longest = verdicts.longest_wait(message)
        if longest is not None and not job.history.launches:
            self._give_up_at[job.name] = message.create_time.ToDatetime(UTC) + longest

    def _end(self, job: Job, end: End) -> None:
        if end.state is JobState.FAILED:
            write_entry(job.folder.log, "ERROR", SERVICE, end.message)
        self._tell(job, Kind.END, state=end.state, code=end.code, detail=end.message)
        self._jobs.pop(job.name, None)

    def _tell(self, job: Job, kind: Kind, **said: Any) -> None:
        """Add an event, and show in the message what follows from it."""
        append_line(job.folder.events, Event(kind=kind, time=time.time(), **said).line())
        if job.catch_up():
            self._show(job)

    def _show(self, job: Job) -> None:
        shift = self._ground.clock.offset

        def change(message: Any) -> None:
            shell = message.job_spec.enable_web_access
            folders = {str(name): f"file://{job.folder.working(name)}" for name in replica_names(message) if shell}
            show(message, job.history, shift, folders)

        self._ground.store.update(job.name, change)

    def _new_job(self, name: str) -> Job:
        self._submitted += 1
        self._jobs[name] = job = Job(name, self.files.folder(name), self._submitted)
        return job
