"""Learning rate, image size and the plan are pure functions of the step."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainer.plan import Plan
from trainer.schedule import ScheduleConfig, SizeConfig, image_size, learning_rate


def test_the_rate_climbs_to_its_peak_and_falls_to_its_end() -> None:
    config = ScheduleConfig(warmup_epochs=1, warmup_start=0.1, final=0.05)
    rates = [learning_rate(config, 2.0, step, 50, 10.0) for step in range(50)]
    assert rates[0] == pytest.approx(0.2)
    assert rates[10] == pytest.approx(2.0)
    assert rates[-1] == pytest.approx(0.1)
    assert rates[:11] == sorted(rates[:11])
    assert rates[10:] == sorted(rates[10:], reverse=True)


@given(st.integers(1, 60), st.floats(0, 20))
def test_the_rate_is_never_above_its_peak(total: int, warmup: float) -> None:
    config = ScheduleConfig(warmup_epochs=warmup)
    rates = [learning_rate(config, 0.3, step, total, 7.5) for step in range(total)]
    assert all(0 <= rate <= 0.3 + 1e-12 for rate in rates)


def test_sizes_grow_epoch_by_epoch_in_whole_multiples() -> None:
    config = SizeConfig(start=96, end=160, ramp_start=0.2, ramp_end=0.7, multiple_of=32)
    sizes = [image_size(config, step, 100, 10.0) for step in range(100)]
    assert sizes == sorted(sizes)
    assert set(sizes) == {96, 128, 160}
    assert all(len(set(sizes[epoch * 10 : epoch * 10 + 10])) == 1 for epoch in range(10))


@given(st.integers(1, 500), st.integers(1, 64), st.integers(1, 9), st.integers(1, 9))
def test_every_run_is_measured_at_its_end_and_at_whole_epochs(
    samples: int, batch: int, epochs: int, every: int
) -> None:
    plan = Plan(samples, batch, epochs, every, 0)
    measured = {step: plan.epoch_to_evaluate(step) for step in range(plan.total_steps + 1)}
    found = [(step, epoch) for step, epoch in measured.items() if epoch is not None]
    assert found[-1] == (plan.total_steps, epochs)
    assert (plan.total_steps - 1) * batch < epochs * samples <= plan.total_steps * batch
    for step, epoch in found:
        assert (step - 1) * batch < epoch * samples <= step * batch
        assert epoch == epochs or epoch % every == 0


def test_the_head_trains_alone_until_its_epochs_are_over() -> None:
    plan = Plan(samples=42, batch_size=8, epochs=3, every_epochs=1, frozen_epochs=1)
    assert [plan.is_frozen(step) for step in range(8)] == [True] * 6 + [False] * 2
    assert not replace(plan, frozen_epochs=0).is_frozen(0)
