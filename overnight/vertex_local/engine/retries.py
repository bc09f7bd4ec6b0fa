"""When a replica or a job starts again: Vertex AI's documented policy, as a pure function.

Source: "Understand the training service" (vertex-facts 6.2). `overnight run` has a policy of its own (job.py).
"""

import signal
from dataclasses import dataclass
from enum import StrEnum

from overnight.vertex_local.process import Exit

IN_PLACE_RESTARTS = 5
"""A worker that exits otherwise than with 0 starts again on its machine at most this often."""
JOB_RESTARTS = 3
"""After that the whole job starts again at most this often."""

_OUT_OF_MEMORY = (128 + signal.SIGKILL, -signal.SIGKILL)
_TRANSIENT = tuple(code for number in (signal.SIGABRT, signal.SIGSEGV) for code in (128 + number, -number, int(number)))
"""134 or 6, 139 or 11: "potentially transient", the job starts again at most three times."""


class Decision(StrEnum):
    """What follows from a replica's bad end."""

    RESTART_REPLICA = "restart the replica"
    RESTART_JOB = "restart the job"
    FAIL = "fail"


@dataclass(frozen=True)
class RetryPolicy:
    """What a job's message and the server's settings allow; `together`: a lost worker restarts the whole job."""

    in_place: int = IN_PLACE_RESTARTS
    whole_job: int = JOB_RESTARTS
    together: bool = False


def decide(policy: RetryPolicy, failed: Exit, in_place: int, whole_job: int) -> Decision:
    """What to do about `failed`, whose replica was restarted `in_place` times since the job was, `whole_job` times."""
    if failed.code in _OUT_OF_MEMORY:
        return Decision.FAIL
    alone = not policy.together and failed.code not in _TRANSIENT
    if alone and in_place < policy.in_place:
        return Decision.RESTART_REPLICA
    return Decision.RESTART_JOB if whole_job < policy.whole_job else Decision.FAIL


def replica_error(failed: Exit) -> str:
    """CustomJob.error.message for the replica that failed the job (wording: vertex-facts 6.3 and the same page)."""
    status = failed.code if failed.code >= 0 else 128 - failed.code
    if failed.code in _OUT_OF_MEMORY:
        return f"The replica {failed.replica} ran out of memory and exited with a non-zero status of {status}."
    reason = f"Termination reason: {'Error' if failed.signal_name is None else failed.signal_name}."
    return f"The replica {failed.replica} exited with a non-zero status of {status}. {reason}"
