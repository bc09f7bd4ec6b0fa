from datetime import UTC, datetime, timedelta

import pytest

from overnight.vertex_local.state.clock import Clock
from overnight.vertex_local.state.store import Store

SECOND = timedelta(seconds=1)


def test_the_clock_is_the_machine_s(clock):
    assert abs(clock.now() - datetime.now(UTC)) < SECOND


def test_the_clock_moves_forward_when_asked_and_stays_ahead_after_a_restart(clock, store, tmp_path):
    clock.advance(3600)
    clock.advance(60)
    store.close()
    again = Store(tmp_path / "state.sqlite3")
    assert abs(Clock(again).now() - datetime.now(UTC) - timedelta(seconds=3660)) < SECOND
    again.close()


def test_the_clock_does_not_go_back(clock):
    with pytest.raises(ValueError, match="back"):
        clock.advance(-1)
