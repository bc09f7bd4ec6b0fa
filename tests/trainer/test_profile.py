"""Every moment of a run belongs to one phase."""

import pytest

from trainer.profile import PHASES, Profile, phase_table


class Clock:
    """Seconds that pass only when told."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_phases_add_up_to_the_wall_time() -> None:
    clock = Clock()
    profile = Profile(clock=clock)
    clock.now += 1
    with profile.phase("data_wait"):
        clock.now += 2
    with profile.phase("evaluation"):
        clock.now += 4
        with profile.phase("copy"):
            clock.now += 8
        clock.now += 16
    clock.now += 32
    seconds = profile.seconds()
    assert seconds == dict.fromkeys(PHASES, 0.0) | {"data_wait": 2, "evaluation": 20, "copy": 8, "other": 33}
    assert profile.wall_seconds() == sum(seconds.values()) == 63


def test_a_phase_ends_when_its_block_fails() -> None:
    clock = Clock()
    profile = Profile(clock=clock)

    def fail() -> None:
        with profile.phase("optimizer"):
            clock.now += 1
            raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"):
        fail()
    clock.now += 5
    assert profile.seconds()["optimizer"] == 1
    assert profile.seconds()["other"] == 5


def test_shares_are_of_the_whole() -> None:
    assert phase_table({"copy": 1.0, "other": 3.0})["copy"] == {"seconds": 1.0, "share": 0.25}


def test_the_accelerator_is_waited_for_at_each_boundary() -> None:
    waits: list[int] = []
    profile = Profile(synchronize=lambda: waits.append(1))
    with profile.phase("optimizer"):
        pass
    assert len(waits) == 2
