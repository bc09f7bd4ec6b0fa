"""Reports a metric to a Vertex AI hyperparameter tuning job, in the file format of cloudml-hypertune."""

import json
from collections.abc import Mapping
from pathlib import Path

_LINES_KEPT = 100


def report_metric(
    environment: Mapping[str, str], tag: str, value: float, step: int, timestamp: float, checkpoint: str = ""
) -> None:
    """Append one line to CLOUD_ML_HP_METRIC_FILE, where that is set; value and step are strings there.

    `tag` must be the study's metricId. Only rank 0 may call this. The last 100 lines stay
    (source: the package cloudml-hypertune on PyPI).
    """
    name = environment.get("CLOUD_ML_HP_METRIC_FILE")
    if not name:
        return
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = path.read_text().splitlines() if path.exists() else []
    line = {
        "timestamp": timestamp,
        "trial": environment.get("CLOUD_ML_TRIAL_ID", "0"),
        tag: str(value),
        "global_step": str(step),
        "checkpoint_path": checkpoint,
    }
    lines = [*lines, json.dumps(line)][-_LINES_KEPT:]
    temporary = path.with_name(f"{path.name}.tmp")
    temporary.write_text("\n".join(lines) + "\n")
    temporary.replace(path)
