"""A pipeline's steps as custom jobs of one replica: names, outputs' places, messages."""

from typing import Any

from google.cloud import aiplatform_v1 as v1

from overnight.vertex_local.engine.paths import local_folder
from overnight.vertex_local.engine.places import region_of
from overnight.vertex_local.pipelines.node import Node, State
from overnight.vertex_local.pipelines.placeholders import Place, Rendering, executor_input
from overnight.vertex_local.pipelines.spec import Component
from overnight.vertex_local.services.child_jobs import child_name, child_number
from overnight.vertex_local.world import World

MACHINE = "e2-standard-4"
"""What Vertex AI gives a step by default (vertex-facts 1.7)."""


class Steps:
    """Of all pipeline jobs of a server."""

    def __init__(self, world: World) -> None:
        self._world = world

    def job(self, pipeline_job: str, node: Node) -> str:
        """The name of the custom job of a container's current start."""
        return child_name(pipeline_job, node.path, str(node.failures))

    def jobs(self, pipeline_job: str, node: Node) -> list[str]:
        """The custom jobs of all its starts so far; the current one's name is known before it is submitted."""
        names = [child_name(pipeline_job, node.path, str(start)) for start in range(node.failures + 1)]
        current = names[-1] if node.state is State.RUNNING else ""
        return [name for name in names if name == current or self._world.store.find(name)]

    def place(self, job: Any, node: Node) -> Place:
        """Where a task's outputs go: `<root>/<project number>/<job id>/<task>_<task id>/`, as on Vertex AI."""
        _, project, *_, job_id = job.name.split("/")
        number = child_number(job.name, node.path)
        root = job.runtime_config.gcs_output_directory.rstrip("/")
        facts = {
            "pipeline_job_name": job_id,
            "pipeline_job_resource_name": job.name,
            "pipeline_job_uuid": str(child_number(job.name)),
            "pipeline_job_create_time_utc": job.create_time.ToJsonString(),
            "pipeline_root": root,
            "pipeline_task_name": node.task,
            "pipeline_task_uuid": str(number),
        }
        return Place(f"{root}/{project}/{job_id}/{node.task}_{number}", self._local, facts)

    def custom_job(self, job: Any, node: Node, component: Component) -> Any:
        """The message of a step. Raises PipelineError for a placeholder that has no value."""
        place = self.place(job, node)
        rendering = Rendering(executor_input(component, node.parameters, node.artifacts, place), place)
        raw = component.container
        custom = v1.CustomJob.pb()(display_name=f"{place.facts['pipeline_job_name']}-{node.task}"[:128])
        custom.labels.update(job.labels)
        spec = custom.job_spec
        spec.service_account, spec.network = job.service_account, job.network
        # A step is tried again by its own retry policy only.
        spec.scheduling.disable_retries = True
        pool = spec.worker_pool_specs.add(replica_count=1)
        pool.machine_spec.machine_type = raw.get("resources", {}).get("machineType", MACHINE)
        pool.container_spec.image_uri = raw.get("image", "")
        pool.container_spec.command.extend(rendering.arguments(raw.get("command", [])))
        pool.container_spec.args.extend(rendering.arguments(raw.get("args", [])))
        for variable in raw.get("env", []):
            pool.container_spec.env.add(name=variable["name"], value=rendering.text(str(variable.get("value", ""))))
        return custom

    def submit(self, pipeline_job: str, node: Node, custom: Any) -> None:
        """Give a step to the engine. Steps have room of their own: one that waits for a job must not keep it out."""
        region = region_of(pipeline_job)
        self._world.engine.submit(self.job(pipeline_job, node), custom, place=f"pipelines/{region}")

    def _local(self, uri: str) -> str:
        if not uri.startswith("gs://"):
            return uri
        return str(local_folder(self._world.folder / "gcs", uri))
