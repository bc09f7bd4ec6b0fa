"""What Vertex AI refuses or quietly ignores although the message is well-formed: one file a subject.

Each subject has its rules (what is promised, and where that is said) and its checks: pure functions of a job and of
what is known of its surroundings. `CHECKS` hold anywhere, `CLOUD_CHECKS` for jobs that are meant for Vertex AI.
"""

from overnight.jobs import block, message, reading, traps
from overnight.jobs.findings import Check, Rule
from overnight.jobs.rules import (
    accounts,
    disks,
    env_args,
    fallbacks,
    frameworks,
    image_variable,
    images,
    machines,
    network,
    parameters,
    persistent_resource,
    pools,
    reduction_server,
    regions,
    reservations,
    scheduling,
    storage,
    tensorboard,
    tpu,
    tuning,
)

_SUBJECTS = (
    pools,
    machines,
    regions,
    tpu,
    scheduling,
    reservations,
    persistent_resource,
    disks,
    storage,
    network,
    tensorboard,
    images,
    env_args,
    image_variable,
    accounts,
    reduction_server,
    frameworks,
    tuning,
    parameters,
)

CHECKS: tuple[Check, ...] = tuple(check for subject in _SUBJECTS for check in subject.CHECKS)
"""For every job."""
CLOUD_CHECKS: tuple[Check, ...] = tuple(check for subject in _SUBJECTS for check in subject.CLOUD_CHECKS)
"""For jobs that are meant for Vertex AI, on top of CHECKS."""

RULES: tuple[Rule, ...] = tuple(
    dict.fromkeys(
        value
        for subject in (reading, message, block, traps, *_SUBJECTS, fallbacks)
        for value in vars(subject).values()
        if isinstance(value, Rule)
    )
)
"""Every rule there is, once, by subject."""
