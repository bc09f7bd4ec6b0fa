"""Hyperparameter tuning: how many trials, towards what, and what the service does not do."""

import re
from collections.abc import Iterator
from typing import Any

from overnight.jobs.context import Context
from overnight.jobs.findings import Check, Finding, error, warning
from overnight.jobs.view import JobView

MAX_TRIALS = error("max-trials", "maxTrialCount and parallelTrialCount are at least 1.", "1.6; API v1 protobuf")
PARALLEL_TRIALS = error(
    "parallel-trials", "parallelTrialCount is at most maxTrialCount.", "0 rule 21; training/using-hyperparameter-tuning"
)
PARALLEL_ALL = warning(
    "parallel-all",
    "Trials run in turns: all at once, none learns from another, which is random search at full price.",
    "1.6; training/hyperparameter-tuning-overview",
)
FEW_TRIALS = warning(
    "few-trials", "There are ten trials a parameter or more.", "1.6; training/using-hyperparameter-tuning"
)
FAILED_TRIALS = warning(
    "failed-trials",
    "maxFailedTrialCount is set: else one failing first trial ends the job.",
    "0 rule 21, 1.6; API v1 protobuf",
)
FAILED_TRIALS_RANGE = error(
    "failed-trials-range", "maxFailedTrialCount lies between 0 and maxTrialCount.", "1.6; API v1 protobuf"
)
METRIC = error(
    "metric",
    "A study has metrics; each has its own metricId without spaces, and a goal.",
    "0 rule 21, 1.6; API v1 protobuf",
)
EARLY_STOPPING = warning(
    "early-stopping",
    "Automated stopping has no effect in tuning jobs: the code stops a bad trial itself.",
    "0 rule 21, 1.6, 7 (i); training/using-hyperparameter-tuning; GoogleCloudPlatform/vertex-ai-samples#180",
)
STUDY_STOPPING = warning(
    "study-stopping", "Whether studyStoppingConfig acts in tuning jobs is not documented.", "1.6, 8"
)
OBSERVATION_NOISE = warning(
    "observation-noise", "observationNoise is for Vizier studies, not for tuning jobs.", "1.6; API v1 protobuf"
)
TUNING_TPU = error("tuning-tpu", "Trials do not run on TPUs.", "0 rule 6, 1.6; training/using-hyperparameter-tuning")
SUBSAMPLE = error(
    "subsample", "A subsample is for trials: a training sees its whole snapshot.", "docs/jobs.md; study guides"
)
STOPPING_SPECS = ("decayCurveStoppingSpec", "medianAutomatedStoppingSpec", "convexAutomatedStoppingSpec")
TRIALS_A_PARAMETER = 10
_NO_SPACE = re.compile(r"\S+")


def study(job: JobView) -> dict[str, Any]:
    """The study's fields; empty for other jobs."""
    return dict(job.data.get("studySpec", {})) if job.kind == "hyperparameterTuningJob" else {}


def trials(job: JobView, context: Context) -> Iterator[Finding]:
    """How many, how many at once, how many may fail."""
    if job.kind != "hyperparameterTuningJob":
        return
    most, parallel = (int(job.data.get(name, 0)) for name in ("maxTrialCount", "parallelTrialCount"))
    for name, count in (("maxTrialCount", most), ("parallelTrialCount", parallel)):
        if count < 1:
            yield MAX_TRIALS.at((*job.path, name), f"{name} is at least 1", "write a number such as 40 and 4")
    where = (*job.path, "parallelTrialCount")
    if parallel > most >= 1:
        said = f"{parallel} trials at once are more than the {most} there are"
        yield PARALLEL_TRIALS.at(where, said, f"write {max(1, most // 8)}")
    elif parallel == most > 1:
        said = f"with all {most} trials at once, none can learn from another"
        yield PARALLEL_ALL.at(where, said, f"write {max(1, most // 8)}")
    number = len(study(job).get("parameters", []))
    if 1 <= most < TRIALS_A_PARAMETER * number and study(job).get("algorithm") != "GRID_SEARCH":
        said = f"{most} trials are few for {number} parameters"
        yield FEW_TRIALS.at((*job.path, "maxTrialCount"), said, f"write {TRIALS_A_PARAMETER * number}, or tune fewer")


def failures(job: JobView, context: Context) -> Iterator[Finding]:
    """How many trials may fail."""
    if job.kind != "hyperparameterTuningJob":
        return
    most, failed = int(job.data.get("maxTrialCount", 0)), int(job.data.get("maxFailedTrialCount", 0))
    where = (*job.path, "maxFailedTrialCount")
    if failed == 0:
        said = "where this is 0 or not set the service decides, and one failing first trial ends the job"
        yield FAILED_TRIALS.at(where, said, f"write {max(1, most // 5)}")
    elif failed < 0 or failed > most:
        yield FAILED_TRIALS_RANGE.at(where, f"{failed} of {most} trials cannot fail", f"write {max(1, most // 5)}")


def metrics(job: JobView, context: Context) -> Iterator[Finding]:
    """What is measured."""
    if job.kind != "hyperparameterTuningJob":
        return
    where = (*job.path, "studySpec", "metrics")
    found = study(job).get("metrics", [])
    if not found:
        yield METRIC.at(
            where, "nothing is measured", "write metricId and goal: what the code reports through hypertune"
        )
    seen: set[str] = set()
    for position, metric in enumerate(found):
        name = metric.get("metricId", "")
        if not _NO_SPACE.fullmatch(name):
            yield METRIC.at((*where, position, "metricId"), f"{name!r} is no metricId", "write one without spaces")
        elif name in seen:
            yield METRIC.at((*where, position, "metricId"), f"{name} is there twice", "keep one")
        if metric.get("goal", "GOAL_TYPE_UNSPECIFIED") == "GOAL_TYPE_UNSPECIFIED":
            said = "without a goal the service maximises, losses too"
            yield METRIC.at((*where, position, "goal"), said, "write MAXIMIZE or MINIMIZE")
        seen.add(name)


def without_effect(job: JobView, context: Context) -> Iterator[Finding]:
    """Fields that the API takes and tuning jobs do not read."""
    spec = study(job)
    where = (*job.path, "studySpec")
    for name in STOPPING_SPECS:
        if name in spec:
            said = "automated stopping has no effect in tuning jobs, whatever study guides say: no trial is stopped"
            yield EARLY_STOPPING.at((*where, name), said, "remove it, and stop bad trials in the code")
    if "studyStoppingConfig" in spec:
        said = "whether this acts in tuning jobs is not documented"
        yield STUDY_STOPPING.at((*where, "studyStoppingConfig"), said, "set maxTrialCount")
    if spec.get("observationNoise", "OBSERVATION_NOISE_UNSPECIFIED") != "OBSERVATION_NOISE_UNSPECIFIED":
        said = "observationNoise is read by Vizier studies only"
        yield OBSERVATION_NOISE.at((*where, "observationNoise"), said, "remove it")


def machines(job: JobView, context: Context) -> Iterator[Finding]:
    """Where trials run."""
    if job.kind != "hyperparameterTuningJob":
        return
    for pool in job.pools:
        if pool.is_tpu:
            yield TUNING_TPU.at(pool.at("machineSpec"), "trials do not run on TPUs", "tune on GPUs")


def sample(job: JobView, context: Context) -> Iterator[Finding]:
    """A share of the data is for ranking settings, not for the model that is kept."""
    if job.subsample is not None and job.kind != "hyperparameterTuningJob":
        said = "a training sees its whole snapshot; a share of it ranks settings"
        yield SUBSAMPLE.at(("overnight", "subsample"), said, "remove it")


CHECKS: tuple[Check, ...] = (sample, trials, failures, metrics, without_effect)
CLOUD_CHECKS: tuple[Check, ...] = (machines,)
