"""Which quotas a job draws on, by metric name: Vertex AI's own, not those of Compute Engine."""

from collections import defaultdict
from dataclasses import dataclass

from overnight.jobs.view import JobView, PoolView

SERVICE = "aiplatform.googleapis.com"
GPU_METRICS = {
    "NVIDIA_TESLA_P4": "nvidia_p4_gpus",
    "NVIDIA_TESLA_P100": "nvidia_p100_gpus",
    "NVIDIA_TESLA_V100": "nvidia_v100_gpus",
    "NVIDIA_TESLA_T4": "nvidia_t4_gpus",
    "NVIDIA_L4": "nvidia_l4_gpus",
    "NVIDIA_TESLA_A100": "nvidia_a100_gpus",
    "NVIDIA_H100_80GB": "nvidia_h100_gpus",
    "TPU_V2": "tpu_v2",
}
"""Documented or by the documented pattern (machine-learning/quotas); of newer ones no name is published."""
CPU_METRICS = {"n1": "cpus", "e2": "cpus", "n2": "n2_cpus", "n4": "n4_cpus", "c2": "c2_cpus", "m1": "m1_cpus"}
"""N1 and E2 share one; accelerator-optimised machines are counted by their accelerators."""
UNNAMED = "no name is published; list the metrics of the service in the region"
RESTRICTED = "images under vertex-ai-restricted have quotas of their own (GoogleCloudPlatform/vertex-ai-samples#3421)"


@dataclass(frozen=True)
class Quota:
    """So much of one metric while the job runs."""

    metric: str
    amount: int
    note: str = ""


def quotas_needed(job: JobView) -> list[Quota]:
    """Metrics and amounts, with all trials that run at once; a persistent resource holds its own, so none there."""
    if job.persistent_resource:
        return []
    amounts: dict[tuple[str, str], int] = defaultdict(int)
    for pool in job.pools:
        for metric, amount, note in _of_pool(pool, job.strategy in ("SPOT", "FLEX_START")):
            amounts[metric, note] += amount * pool.replicas * job.parallel_trials
    found = [Quota(metric, amount, note) for (metric, note), amount in amounts.items() if amount]
    if any(pool.is_reduction_server for pool in job.pools):
        found.append(Quota(f"{SERVICE} (restricted images)", 1, RESTRICTED))
    return found


def _of_pool(pool: PoolView, preemptible: bool) -> list[tuple[str, int, str]]:
    # Only H100's preemptible metric is documented by name; the others follow its pattern.
    prefix = f"{SERVICE}/custom_model_training_{'preemptible_' if preemptible else ''}"
    found: list[tuple[str, int, str]] = []
    if pool.accelerator:
        name = GPU_METRICS.get(pool.accelerator)
        known = f"{prefix}{name}" if name else f"{prefix}… ({pool.accelerator})"
        found.append((known, pool.accelerator_count, "" if name else UNNAMED))
    elif pool.topology:
        chips = 1
        for side in pool.topology.split("x"):
            chips *= int(side) if side.isdigit() else 1
        found.append((f"{prefix}… ({pool.machine_type})", chips, UNNAMED))
    family = (pool.machine_type or "").partition("-")[0]
    if family in CPU_METRICS and pool.machine and pool.machine.vcpus:
        found.append((f"{prefix}{CPU_METRICS[family]}", int(pool.machine.vcpus), ""))
    return found
