"""What a trial has measured: the file that the library cloudml-hypertune writes, and the measurement that counts.

One JSON object a line, `{"timestamp": 1.0, "trial": "1", "accuracy": "0.93", "global_step": "10", …}`, the last
hundred kept; the metric and the step are strings (PyPI, cloudml-hypertune).
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Measurement:
    """The metrics that a trial reported for one step."""

    step: int
    time: float
    """Unix seconds of the last report for this step."""
    metrics: dict[str, float] = field(default_factory=dict)


def read_measurements(text: str, metric_ids: Sequence[str]) -> tuple[Measurement, ...]:
    """Measurements in rising order of step. Metrics that the study does not name are left out.

    A line that is not such an object (the last one may be half written) and a value that is no finite number do not
    count.
    """
    by_step: dict[int, Measurement] = {}
    for line in text.splitlines():
        entry = _entry(line)
        step = _number(entry.get("global_step", 0))
        reported = {name: value for name in metric_ids if (value := _number(entry.get(name))) is not None}
        if step is None or not reported:
            continue
        known = by_step.get(int(step), Measurement(int(step), 0.0))
        time = _number(entry.get("timestamp")) or known.time
        by_step[int(step)] = Measurement(int(step), time, {**known.metrics, **reported})
    return tuple(by_step[step] for step in sorted(by_step))


def _entry(line: str) -> dict[str, Any]:
    try:
        entry = json.loads(line)
    except ValueError:
        return {}
    return entry if isinstance(entry, dict) else {}


def _number(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def final_measurement(
    measurements: Sequence[Measurement], metric_ids: Sequence[str], *, best: bool, maximize: bool
) -> Measurement | None:
    """The measurement that stands for the trial: the last, or the best by the study's first metric.

    Only measurements that hold every metric count; None where there is none.
    """
    complete = [each for each in measurements if all(name in each.metrics for name in metric_ids)]
    if not complete:
        return None
    if not best:
        return complete[-1]
    sign = 1 if maximize else -1
    return max(complete, key=lambda each: sign * each.metrics[metric_ids[0]])
