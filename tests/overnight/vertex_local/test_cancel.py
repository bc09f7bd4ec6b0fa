import os
import signal

import pytest

from overnight.vertex_local.cancel import cancel_on_signals


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_are_counted_and_not_died_of(number):
    with cancel_on_signals() as count:
        assert count() == 0
        os.kill(os.getpid(), number)
        os.kill(os.getpid(), number)
        assert count() == 2


def test_afterwards_signals_mean_what_they_meant_before():
    before = signal.getsignal(signal.SIGINT)
    with cancel_on_signals():
        assert signal.getsignal(signal.SIGINT) is not before
    assert signal.getsignal(signal.SIGINT) is before
