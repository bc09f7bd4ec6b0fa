"""What study guides teach and the API has never had, or has no more: said in place of `no such field`."""

from typing import Any

from overnight.jobs.document import FieldPath
from overnight.jobs.findings import Finding, error

TPU_TF_VERSION = error(
    "tpu-tf-version",
    "A TPU is one pool with one replica: tpuTfVersion belonged to the old AI Platform.",
    "7 (b); study guides; API v1 protobuf",
)
DWS_FLEX_START = error(
    "dws-flex-start",
    "The strategy of the Dynamic Workload Scheduler is called FLEX_START.",
    "1.1; API v1 protobuf (Scheduling.Strategy)",
)
ACCELERATOR_SPELLING = error(
    "accelerator-spelling",
    "Accelerators are named as in the API: NVIDIA_TESLA_T4, not nvidia-tesla-t4.",
    "1.1; API v1 protobuf (AcceleratorType)",
)
PREEMPTIBLE = error(
    "preemptible",
    "Spare capacity is scheduling.strategy SPOT: there is no preemptible field.",
    "7 (h); study guides; training/use-spot-vms",
)

CLOUD_SDK_NAMES = {
    "nvidia-tesla-k80": "NVIDIA_TESLA_K80",
    "nvidia-tesla-p4": "NVIDIA_TESLA_P4",
    "nvidia-tesla-p100": "NVIDIA_TESLA_P100",
    "nvidia-tesla-v100": "NVIDIA_TESLA_V100",
    "nvidia-tesla-t4": "NVIDIA_TESLA_T4",
    "nvidia-tesla-a100": "NVIDIA_TESLA_A100",
    "nvidia-a100-80gb": "NVIDIA_A100_80GB",
    "nvidia-l4": "NVIDIA_L4",
    "nvidia-h100-80gb": "NVIDIA_H100_80GB",
    "nvidia-h100-mega-80gb": "NVIDIA_H100_MEGA_80GB",
    "nvidia-h200-141gb": "NVIDIA_H200_141GB",
    "nvidia-b200": "NVIDIA_B200",
    "nvidia-gb200": "NVIDIA_GB200",
    "nvidia-rtx-pro-6000": "NVIDIA_RTX_PRO_6000",
}
"""gcloud and Compute Engine call them so."""


def taught(finding: Finding, data: Any) -> Finding:
    """The finding, or what is really so when its place holds a well-known mistake; `data` is the whole document."""
    field, value = finding.path[-1], _at(data, finding.path)
    if field in ("tpuTfVersion", "tfVersion"):
        said = "this was the old AI Platform: a TPU job is one pool with one replica, its software in the image"
        return TPU_TF_VERSION.at(finding.path, said, "remove it; choose machineType and tpuTopology")
    if field == "strategy" and value == "DWS_FLEX_START":
        return DWS_FLEX_START.at(finding.path, "the API's name for it is FLEX_START", "write FLEX_START")
    if field == "acceleratorType" and isinstance(value, str) and value.lower() in CLOUD_SDK_NAMES:
        said = f"{value} is what gcloud calls it; the API has its own names"
        return ACCELERATOR_SPELLING.at(finding.path, said, f"write {CLOUD_SDK_NAMES[value.lower()]}")
    if str(field).lower() in ("preemptible", "usepreemptible", "spot", "usespotvms"):
        said = "machines that may be taken away are a strategy of the whole job"
        return PREEMPTIBLE.at(finding.path, said, "write scheduling: {strategy: SPOT}")
    return finding


def _at(data: Any, path: FieldPath) -> Any:
    for part in path:
        try:
            data = data[part]
        except (KeyError, IndexError, TypeError):
            return None
    return data
