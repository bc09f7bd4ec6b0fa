"""JobService's methods on custom jobs, which run as processes of this machine (engine/)."""

from collections.abc import Mapping
from typing import Any

from google.cloud import aiplatform_v1 as v1
from google.protobuf.empty_pb2 import Empty

from overnight.vertex_local.api.dispatch import Handler
from overnight.vertex_local.api.errors import failed_precondition, invalid, not_found
from overnight.vertex_local.api.rest_front import Control
from overnight.vertex_local.engine.message import KIND, is_over, state_of
from overnight.vertex_local.engine.places import persistent_resource
from overnight.vertex_local.services.custom_job_rules import check_custom_job
from overnight.vertex_local.services.persistent_resource_rules import check_job_matches
from overnight.vertex_local.state.resource import new_id
from overnight.vertex_local.world import World

_GIVEN = ("display_name", "job_spec", "labels", "encryption_spec")
"""What a client may set; everything else in a CustomJob is output only."""


class CustomJobsService:
    """Create, get, list, cancel, delete; and the engine's beat."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._engine = world.engine

    def handlers(self) -> Mapping[str, Handler]:
        """The methods served."""
        return {
            "JobService/CreateCustomJob": self.create,
            "JobService/GetCustomJob": lambda request: self._world.resources.get(request.name),
            "JobService/ListCustomJobs": self.list,
            "JobService/CancelCustomJob": self.cancel,
            "JobService/DeleteCustomJob": self.delete,
        }

    def controls(self) -> Mapping[str, Control]:
        """What `overnight vertex` asks for and Vertex AI has no method for."""
        return {"preempt": self._preempt}

    def create(self, request: Any) -> Any:
        """The queued job."""
        check_custom_job(request.custom_job)
        job = v1.CustomJob.pb()()
        for field, value in request.custom_job.ListFields():
            if field.name in _GIVEN:
                setattr(job, field.name, value) if field.name == "display_name" else getattr(job, field.name).MergeFrom(
                    value
                )
        scheduling = job.job_spec.scheduling
        if scheduling.disable_retries:
            # API v1 protobuf: disable_retries overrides restart_job_on_worker_restart to false.
            scheduling.restart_job_on_worker_restart = False
        name = f"{request.parent}/customJobs/{new_id()}"
        self._check_resource(name, job)
        return self._engine.submit(name, job)

    def list(self, request: Any) -> Any:
        """A page of the location's jobs."""
        return self._world.resources.list(request, v1.ListCustomJobsResponse.pb()(), KIND)

    def cancel(self, request: Any) -> Any:
        """Nothing; the job is CANCELLING, or CANCELLED where it had not begun. An ended job stays as it is."""
        self._engine.cancel(request.name)
        return Empty()

    def delete(self, request: Any) -> Any:
        """Nothing, by an operation that is over. Only jobs that have ended can be deleted."""
        job = self._world.resources.get(request.name)
        if not is_over(job):
            state = f"JOB_STATE_{state_of(job)}"
            raise failed_precondition(f"The CustomJob {job.name} is in state {state}; cancel it before deleting it.")
        self._world.resources.delete(request.name)
        self._engine.files.forget(request.name)
        parent = request.name.rsplit("/", 2)[0]
        return self._world.operations.done(Empty(), parent, v1.DeleteOperationMetadata.pb()())

    def resume(self) -> None:
        """Go on with what an earlier server left."""
        self._engine.resume()

    def tick(self) -> None:
        """Follow running jobs, start waiting ones."""
        self._engine.tick()

    def stop(self) -> None:
        """End running jobs; the next server starts them again."""
        self._engine.stop()

    def _check_resource(self, name: str, job: Any) -> None:
        resource_name = persistent_resource(name, job)
        if resource_name:
            resource = self._world.store.find(resource_name)
            if resource is None:
                raise not_found(resource_name)
            check_job_matches(job, resource)

    def _preempt(self, content: dict[str, Any]) -> dict[str, Any]:
        name = content.get("name")
        if not isinstance(name, str):
            raise invalid("name must be the name of a custom job.")
        self._engine.preempt(name)
        return {"name": name}
