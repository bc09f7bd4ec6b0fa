"""Who is in a job, and what Vertex AI tells each replica about the others: pure functions of the message.

The variables are those of the "Distributed training" and "Code requirements" pages of Vertex AI's documentation.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from overnight.vertex_local.messages import CustomJob, to_json

TF_ROLES = ("chief", "worker", "ps", "evaluator")
"""TensorFlow's name for each pool, by index."""


@dataclass(frozen=True, order=True)
class ReplicaName:
    """One replica: its pool and its index there. `workerpool1-0` as text, as in Vertex AI's logs."""

    pool: int
    index: int

    def __str__(self) -> str:
        return f"workerpool{self.pool}-{self.index}"


PRIMARY = ReplicaName(0, 0)


@dataclass(frozen=True)
class JobIdentity:
    """What Vertex AI numbers: both are decimal digits."""

    project_number: str
    job_id: str


def replica_names(job: CustomJob) -> tuple[ReplicaName, ...]:
    """Every replica, primary first. A pool that is an empty placeholder has none."""
    return tuple(
        ReplicaName(pool, index)
        for pool, spec in enumerate(job.job_spec.worker_pool_specs)
        if spec.WhichOneof("task") is not None
        for index in range(spec.replica_count or 1)
    )


def cluster_spec(
    job: CustomJob, addresses: Mapping[ReplicaName, str], replica: ReplicaName, trial: str | None = None
) -> dict[str, Any]:
    """CLUSTER_SPEC of `replica`; `addresses` gives `host:port` for every replica of the job, `trial` the trial's id."""
    return {
        "cluster": _by_pool(addresses, [f"workerpool{pool}" for pool in range(4)]),
        "environment": "cloud",
        "task": {"type": f"workerpool{replica.pool}", "index": replica.index, **_trial(trial)},
        "job": _job_text(job),
    }


def tf_config(
    job: CustomJob, addresses: Mapping[ReplicaName, str], replica: ReplicaName, trial: str | None = None
) -> dict[str, Any] | None:
    """TF_CONFIG of `replica`, None for a job of one replica. The evaluator never stands in `cluster`."""
    if len(addresses) < 2:
        return None
    cluster = _by_pool(addresses, list(TF_ROLES))
    cluster.pop("evaluator", None)
    return {
        "cluster": cluster,
        "environment": "cloud",
        "task": {"type": TF_ROLES[replica.pool], "index": replica.index, **_trial(trial)},
        "job": _job_text(job),
    }


def service_environment(
    job: CustomJob,
    identity: JobIdentity,
    addresses: Mapping[ReplicaName, str],
    replica: ReplicaName,
    trial: str | None = None,
) -> dict[str, str]:
    """Every variable that Vertex AI sets in the container of `replica`."""
    variables = {
        "CLOUD_ML_PROJECT_ID": identity.project_number,
        "CLOUD_ML_JOB_ID": identity.job_id,
        "CLUSTER_SPEC": _compact(cluster_spec(job, addresses, replica, trial)),
    }
    tensorflow = tf_config(job, addresses, replica, trial)
    if tensorflow is not None:
        variables["TF_CONFIG"] = _compact(tensorflow)
    base = job.job_spec.base_output_directory.output_uri_prefix
    if base:
        base = base if base.endswith("/") else f"{base}/"
        variables["AIP_MODEL_DIR"] = f"{base}model/"
        variables["AIP_CHECKPOINT_DIR"] = f"{base}checkpoints/"
        variables["AIP_TENSORBOARD_LOG_DIR"] = f"{base}logs/"
    return variables


def _trial(trial: str | None) -> dict[str, str]:
    return {"trial": trial} if trial else {}


def _by_pool(addresses: Mapping[ReplicaName, str], names: list[str]) -> dict[str, list[str]]:
    pools: dict[str, list[str]] = {}
    for replica in sorted(addresses):
        pools.setdefault(names[replica.pool], []).append(addresses[replica])
    return pools


def _job_text(job: CustomJob) -> str:
    return _compact(to_json(job).get("jobSpec", {}))


def _compact(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
