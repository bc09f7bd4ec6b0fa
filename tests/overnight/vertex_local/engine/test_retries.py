"""Vertex AI's restarts, and that `overnight run` keeps its own."""

import pytest

from overnight.vertex_local.cluster import ReplicaName
from overnight.vertex_local.engine.retries import Decision, RetryPolicy, decide, replica_error
from overnight.vertex_local.job import will_restart
from overnight.vertex_local.messages import parse_custom_job
from overnight.vertex_local.process import Exit

REPLICA, JOB, FAIL = Decision.RESTART_REPLICA, Decision.RESTART_JOB, Decision.FAIL
TOGETHER = RetryPolicy(together=True)
NONE = RetryPolicy(in_place=0, whole_job=0)


@pytest.mark.parametrize(
    ("policy", "code", "in_place", "whole_job", "decision"),
    [
        (RetryPolicy(), 1, 0, 0, REPLICA),
        (RetryPolicy(), 1, 4, 3, REPLICA),
        (RetryPolicy(), 1, 5, 2, JOB),
        (RetryPolicy(), 1, 5, 3, FAIL),
        (RetryPolicy(), 2, 0, 0, REPLICA),
        (RetryPolicy(), -15, 0, 0, REPLICA),
        (RetryPolicy(), 137, 0, 0, FAIL),
        (RetryPolicy(), -9, 0, 0, FAIL),
        *((RetryPolicy(), code, 0, 2, JOB) for code in (134, -6, 6, 139, -11, 11)),
        (RetryPolicy(), 139, 0, 3, FAIL),
        (TOGETHER, 1, 0, 0, JOB),
        (TOGETHER, 1, 0, 3, FAIL),
        (NONE, 1, 0, 0, FAIL),
    ],
)
def test_a_bad_end_restarts_the_replica_then_the_job_then_nothing(policy, code, in_place, whole_job, decision):
    assert decide(policy, Exit(ReplicaName(1, 0), code), in_place, whole_job) is decision


def test_overnight_run_still_ends_at_once_on_exit_code_2():
    message = {"jobSpec": {"scheduling": {"restartJobOnWorkerRestart": True}}}
    failed = Exit(ReplicaName(0, 0), 2)
    assert not will_restart(parse_custom_job(message), failed, 0)
    assert decide(TOGETHER, failed, 0, 0) is JOB


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (1, "The replica workerpool1-3 exited with a non-zero status of 1. Termination reason: Error."),
        (-11, "The replica workerpool1-3 exited with a non-zero status of 139. Termination reason: SIGSEGV."),
        (137, "The replica workerpool1-3 ran out of memory and exited with a non-zero status of 137."),
    ],
)
def test_the_error_is_worded_as_vertex_ai_does(code, text):
    assert replica_error(Exit(ReplicaName(1, 3), code)) == text
