"""TensorBoard and experiments."""

import re
from collections.abc import Iterator

from overnight.jobs.context import Context
from overnight.jobs.findings import Check, Finding, error, warning
from overnight.jobs.view import JobView

TENSORBOARD_ACCOUNT = error(
    "tensorboard-account",
    "A job with tensorboard has a service account: it uploads as that account.",
    "0 rule 14; API v1 protobuf; kubeflow/pipelines#7123",
)
TENSORBOARD_NAME = error(
    "tensorboard-name",
    "tensorboard is projects/PROJECT/locations/REGION/tensorboards/ID, in the job's region.",
    "0 rule 14, 1.1; API v1 protobuf",
)
TENSORBOARD_EXPERIMENT = error(
    "tensorboard-experiment", "tensorboard and experiment exclude each other.", "0 rule 14; Vertex AI SDK (jobs.py)"
)
TENSORBOARD_OUTPUT = warning(
    "tensorboard-output",
    "A job with tensorboard has baseOutputDirectory: logs are read from AIP_TENSORBOARD_LOG_DIR.",
    "3; training/code-requirements",
)

_NAME = re.compile(r"projects/[^/]+/locations/([^/]+)/tensorboards/[^/]+")


def tensorboard(job: JobView, context: Context) -> Iterator[Finding]:
    """The instance, and what it needs."""
    name = job.spec.get("tensorboard")
    if not name:
        return
    where = job.at("tensorboard")
    match = _NAME.fullmatch(name)
    if match is None:
        said = f"{name!r} is not the full name of a TensorBoard"
        yield TENSORBOARD_NAME.at(where, said, "write projects/PROJECT/locations/REGION/tensorboards/ID")
    elif job.region and match[1] != job.region:
        said = f"the TensorBoard stands in {match[1]}, the job runs in {job.region}"
        yield TENSORBOARD_NAME.at(where, said, "use one of the job's region")
    if not job.service_account:
        said = "a job that uploads to TensorBoard needs a service account of its own"
        yield TENSORBOARD_ACCOUNT.at(job.at("serviceAccount"), said, "add serviceAccount")
    if job.spec.get("experiment"):
        said = "tensorboard and experiment exclude each other"
        yield TENSORBOARD_EXPERIMENT.at(job.at("experiment"), said, "keep one: an experiment has its own TensorBoard")
    if job.output is None:
        said = "without baseOutputDirectory there is no AIP_TENSORBOARD_LOG_DIR to read from"
        yield TENSORBOARD_OUTPUT.at(where, said, "add baseOutputDirectory")


CHECKS: tuple[Check, ...] = ()
CLOUD_CHECKS: tuple[Check, ...] = (tensorboard,)
