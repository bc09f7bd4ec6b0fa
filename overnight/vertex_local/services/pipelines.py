"""PipelineService's pipeline jobs: compiled KFP specifications, their containers as processes of the engine."""

import logging
import threading
from collections.abc import Callable, Mapping
from typing import Any

from google.cloud import aiplatform_v1 as v1
from google.protobuf.empty_pb2 import Empty

from overnight.vertex_local.api.dispatch import Handler
from overnight.vertex_local.api.errors import ApiError, failed_precondition
from overnight.vertex_local.engine.codes import Code
from overnight.vertex_local.engine.message import state_of
from overnight.vertex_local.job import JobState
from overnight.vertex_local.pipelines.detail import FAILED_CODE, show
from overnight.vertex_local.pipelines.node import ROOT, Node, Outcome, State
from overnight.vertex_local.pipelines.outputs import clear, read_outputs
from overnight.vertex_local.pipelines.placeholders import executor_input
from overnight.vertex_local.pipelines.run import Run
from overnight.vertex_local.services.child_jobs import child_number
from overnight.vertex_local.services.pipeline_jobs import ENDED, KIND, create_pipeline_job, read_job, start_run
from overnight.vertex_local.services.pipeline_steps import Steps
from overnight.vertex_local.state.store import parent_of
from overnight.vertex_local.world import World

_log = logging.getLogger(__name__)
_RUN = "run"
"""Note on a job: where its run stands."""
_PIPELINE_STATES = {
    State.SUCCEEDED: v1.PipelineState.PIPELINE_STATE_SUCCEEDED,
    State.FAILED: v1.PipelineState.PIPELINE_STATE_FAILED,
    State.CANCELLED: v1.PipelineState.PIPELINE_STATE_CANCELLED,
}


class PipelinesService:
    """Create, get, list, cancel, delete; `tick` carries every job on that has not ended."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._lock = threading.RLock()
        self._seen: set[str] = set()
        self._runs: dict[str, Run] = {}
        self._steps = Steps(world)

    def handlers(self) -> Mapping[str, Handler]:
        """The methods served."""
        return {
            "PipelineService/CreatePipelineJob": lambda request: create_pipeline_job(
                self._world, request.parent, request.pipeline_job, request.pipeline_job_id
            ),
            "PipelineService/GetPipelineJob": lambda request: self._world.resources.get(request.name),
            "PipelineService/ListPipelineJobs": self.list,
            "PipelineService/CancelPipelineJob": self.cancel,
            "PipelineService/BatchCancelPipelineJobs": self.cancel_many,
            "PipelineService/DeletePipelineJob": self.delete,
            "PipelineService/BatchDeletePipelineJobs": self.delete_many,
        }

    def list(self, request: Any) -> Any:
        """A page of the location's jobs, without their details."""
        parts = _spec_parts(request)
        extras = {"pipeline_name": lambda job: job.pipeline_spec["pipelineInfo"]["name"]}
        response = self._world.resources.list(request, v1.ListPipelineJobsResponse.pb()(), KIND, extras)
        for job in response.pipeline_jobs:
            job.ClearField("job_detail")
            for key in set(job.pipeline_spec.fields) - parts if parts else ():
                del job.pipeline_spec.fields[key]
        return response

    def cancel(self, request: Any) -> Any:
        """Nothing; the job is CANCELLED when its containers have stopped. One that has ended stays as it is."""
        self._cancel(request.name)
        return Empty()

    def cancel_many(self, request: Any) -> Any:
        """The jobs, by an operation that is over."""
        for name in request.names:
            self._cancel(name)
        jobs = [self._world.resources.get(name) for name in request.names]
        response = v1.BatchCancelPipelineJobsResponse.pb()(pipeline_jobs=jobs)
        return self._world.operations.done(response, request.parent)

    def delete(self, request: Any) -> Any:
        """Nothing, by an operation that is over. Raises ApiError FAILED_PRECONDITION for a job that runs."""
        self._delete(request.name)
        return self._world.operations.done(Empty(), parent_of(request.name), v1.DeleteOperationMetadata.pb()())

    def delete_many(self, request: Any) -> Any:
        """The jobs, by an operation that is over."""
        jobs = [self._delete(name) for name in request.names]
        response = v1.BatchDeletePipelineJobsResponse.pb()(pipeline_jobs=jobs)
        return self._world.operations.done(response, request.parent)

    def tick(self) -> None:
        """Look after every job that has not ended, those of a server that is gone included."""
        with self._lock:
            for name in self._world.store.names(KIND):
                if name not in self._seen:
                    self._guarded(name, self._take_up)
            for name in list(self._runs):
                self._guarded(name, self._carry_on)

    def _delete(self, name: str) -> Any:
        with self._lock:
            if self._world.resources.get(name).state not in ENDED:
                raise failed_precondition(f"{name} has not ended; cancel it before deleting it.")
            return self._world.resources.delete(name)

    def _cancel(self, name: str) -> None:
        with self._lock:
            if self._world.resources.get(name).state in ENDED:
                return
            self._take_up(name)
            run = self._runs[name]
            run.cancel()
            self._world.store.set_note(name, _RUN, run.to_json())
            self._world.resources.change(name, _cancelling)
            for node in run.running():
                job = self._steps.job(name, node)
                if self._world.store.find(job):
                    self._world.engine.cancel(job)
        self._world.wake()

    def _guarded(self, name: str, look_after: Callable[[str], None]) -> None:
        """Look after a job; one that cannot be looked after fails, and does not keep the others from going on."""
        try:
            look_after(name)
        except Exception as error:
            _log.exception("%s of %s failed", look_after.__name__, name)
            message = error.message if isinstance(error, ApiError) else "Internal error."
            self._runs.pop(name, None)
            self._world.resources.change(name, lambda job: _fail(job, message, self._world.clock.timestamp()))

    def _take_up(self, name: str) -> None:
        if name in self._seen:
            return
        self._seen.add(name)
        job = self._world.resources.get(name)
        if job.state in ENDED:
            return
        known = self._world.store.note(name, _RUN)
        pipeline = read_job(job)
        self._runs[name] = Run.from_json(pipeline, known) if known else start_run(self._world, job)

    def _carry_on(self, name: str) -> None:
        run, job = self._runs[name], self._world.resources.get(name)
        now = self._world.clock.now().timestamp()
        ended = [node for node in run.running() if self._settle(job, run, node, now)]
        waits = run.next_start()
        first = job.state == v1.PipelineState.PIPELINE_STATE_PENDING
        if ended or first or run.cancelled or (waits is not None and waits <= now):
            run.advance(now)
            self._write(name, run)
            # Its containers are submitted now that it is written down that they run.
            for node in run.running():
                self._settle(job, run, node, now)

    def _settle(self, job: Any, run: Run, node: Node, now: float) -> bool:
        """Submit the custom job of a container, or take in its end; whether it has ended."""
        custom: Any = self._world.store.find(self._steps.job(job.name, node))
        outcome = None
        if custom is not None:
            outcome = self._outcome(job, run, node, custom)
        elif run.cancelled:
            outcome = Outcome(State.CANCELLED)
        else:
            outcome = self._submit(job, run, node)
        if outcome is not None:
            run.finish(node.path, outcome, now)
        return outcome is not None

    def _submit(self, job: Any, run: Run, node: Node) -> Outcome | None:
        component, place = run.component(node), self._steps.place(job, node)
        try:
            custom = self._steps.custom_job(job, node, component)
            clear(component, place)
            self._steps.submit(job.name, node, custom)
        except (ValueError, ApiError) as error:
            return Outcome(State.FAILED, error.message if isinstance(error, ApiError) else str(error))
        return None

    def _outcome(self, job: Any, run: Run, node: Node, custom: Any) -> Outcome | None:
        state = state_of(custom)
        if state is JobState.SUCCEEDED:
            component, place = run.component(node), self._steps.place(job, node)
            return read_outputs(component, executor_input(component, node.parameters, node.artifacts, place), place)
        if state in (JobState.FAILED, JobState.CANCELLED):
            cancelled = state is JobState.CANCELLED and run.cancelled
            return Outcome(State.CANCELLED if cancelled else State.FAILED, custom.error.message)
        return None

    def _write(self, name: str, run: Run) -> None:
        """Keep where the run stands, and show it in the job."""

        def change(job: Any) -> None:
            moment = self._world.clock.timestamp()
            show(job, run, lambda path: child_number(name, path), lambda node: self._steps.jobs(name, node), moment)
            if job.state == v1.PipelineState.PIPELINE_STATE_PENDING:
                job.state = v1.PipelineState.PIPELINE_STATE_RUNNING
                job.start_time.CopyFrom(moment)
            if run.state in _PIPELINE_STATES:
                _end(job, run, moment)

        with self._world.store.transaction():
            self._world.store.set_note(name, _RUN, run.to_json())
            self._world.resources.change(name, change)
        if run.state in _PIPELINE_STATES:
            del self._runs[name]


def _spec_parts(request: Any) -> set[str]:
    """Which parts of the specification a read mask asks for; empty for all of it.

    The SDK masks `pipeline_spec.pipeline_info`, which is no field but a key of a Struct.
    """
    inside = [path for path in request.read_mask.paths if path.startswith("pipeline_spec.")]
    for path in inside:
        request.read_mask.paths.remove(path)
    if inside:
        request.read_mask.paths.append("pipeline_spec")
    words = [path.split(".")[1].split("_") for path in inside]
    return {first + "".join(word.title() for word in rest) for first, *rest in words}


def _cancelling(job: Any) -> None:
    job.state = v1.PipelineState.PIPELINE_STATE_CANCELLING


def _fail(job: Any, message: str, moment: Any) -> None:
    job.state = v1.PipelineState.PIPELINE_STATE_FAILED
    job.error.code, job.error.message = FAILED_CODE, message
    job.end_time.CopyFrom(moment)


def _end(job: Any, run: Run, moment: Any) -> None:
    if run.state is State.FAILED:
        _fail(job, run.nodes[ROOT].error, moment)
        return
    job.state = _PIPELINE_STATES[run.state]
    job.end_time.CopyFrom(moment)
    if run.state is State.CANCELLED:
        job.error.code, job.error.message = Code.CANCELLED, "The pipeline job was cancelled."
