"""What the benchmark concludes from its numbers; the numbers themselves are no test's business."""

import json
import time
from pathlib import Path

import numpy as np
import pytest

from bench.input import bars, names, ours, sample
from bench.input.loader import OURS, Loaded, Loaders
from bench.input.processes import cpu_seconds, memory_mb
from bench.input.report import summary
from bench.input.timing import Cost, cost, rotate
from bench.input.workload import Workload, load


def samples(**times: float) -> sample.Samples:
    """Contenders on one corpus, by how many times our 100 microseconds they take."""
    contenders = {ours.OURS: 1.0, **times}
    rows = {name: sample.Row("torch", Cost(100 * value, 0.0), value) for name, value in contenders.items()}
    return sample.Samples({"s": rows}, {}, {})


def test_a_bar_is_missed_only_where_it_was_measured() -> None:
    verdicts = bars.judge({(bars.PEER, "s"): 2.4, (bars.FLOOR, "s"): 1.8})
    assert [verdict.bar.name for verdict in verdicts if verdict.missed] == ["times the fastest peer on s"]
    assert len(verdicts) == len(bars.BARS)


def test_the_summary_is_one_line_that_says_which_bars_were_missed() -> None:
    line = summary(bars.judge({(bars.PEER, "s"): 2.4, (bars.FLOOR, "s"): 1.8}))
    assert line == "bench-input: 1 of 2 bars missed: times the fastest peer on s: 2.4 x, at least 2.5 wanted"
    assert summary(bars.judge({(bars.PEER, "s"): 2.5})) == "bench-input: all 1 measured bars hold"


def test_the_fastest_peer_is_neither_ours_nor_the_floor_nor_the_prototype() -> None:
    found = samples(
        **{ours.FLOOR: 0.6, ours.WHOLE: 0.9, "ours, uint8": 0.9, "the prototype": 0.8, "Pillow": 5.0, "OpenCV": 3.0}
    )
    assert found.fastest_peer("s") == ("OpenCV", 3.0)
    assert found.of_floor("s") == pytest.approx(0.9 / 0.6)


def test_the_classic_recipe_is_torchvisions_own_where_it_ran() -> None:
    both = samples(**{names.CLASSIC[1]: 5.0, names.CLASSIC[0]: 6.0})
    assert both.classic("s") == 6.0
    assert samples(**{names.CLASSIC[1]: 5.0}).classic("s") == 5.0
    assert samples().classic("s") is None


def test_loaders_are_compared_by_their_cpu_time_with_one_worker() -> None:
    found = {
        (OURS, 1): Loaded("ours", 1, [0.001], [900.0, 1000.0]),
        (OURS, 2): Loaded("ours", 2, [0.001], [1900.0, 1500.0]),
        ("peer", 1): Loaded("A peer", 1, [0.004], [250.0]),
        ("peer", 2): Loaded("A peer", 2, [0.002], [500.0]),
    }
    loaders = Loaders(found, {})
    assert loaders.times_fastest() == ("A peer", pytest.approx(4.0))
    assert loaders.second_thread() == pytest.approx(1.9)


def test_every_contender_runs_twice_a_round_in_changing_order() -> None:
    calls: list[str] = []
    costs = rotate({name: lambda name=name: calls.append(name) for name in "abcd"}, count=1, rounds=3)
    orders = ["".join(calls[start : start + 8]) for start in range(4, len(calls), 8)]
    assert sorted(calls[:4]) == list("abcd")  # one round more than counted, once
    assert len(orders) == 3
    assert all(order[::2] == order[1::2] for order in orders)
    assert {"".join(sorted(order[::2])) for order in orders} == {"abcd"}
    assert len(set(orders)) > 1
    assert set(costs) == set("abcd")


def test_the_second_of_two_runs_counts() -> None:
    told = iter([0.9, 0.8, 0.1, 0.7, 0.2, 0.6, 0.3])  # a round that does not count, then pairs
    assert rotate({"a": lambda: next(told)}, count=1, rounds=3)["a"].microseconds == pytest.approx(200_000)


def test_a_contender_may_tell_its_own_seconds() -> None:
    assert rotate({"a": lambda: 2.0}, count=4, rounds=3)["a"] == Cost(0.5e6, 0.0)


def test_a_cost_is_a_median_with_its_spread() -> None:
    assert cost([3.0, 1.0, 2.0], 2) == Cost(1e6, 1.0)


def test_a_workload_survives_being_written(tmp_path: Path) -> None:
    work = Workload(
        np.frombuffer(b"abcde", np.uint8), np.array([2, 3]), np.array([[0, 1, 5, 7], [2, 2, 4, 4.0]]), np.array([0, 1])
    )
    work.save(tmp_path / "work.npz")
    again = load(tmp_path / "work.npz")
    assert again.files == [b"ab", b"cde"]
    assert [(cut.left, cut.top, cut.width, cut.height, cut.flip) for cut in again.cuts] == [
        (0, 1, 5, 6, False),
        (2, 2, 2, 2, True),
    ]


def test_busy_time_and_memory_are_seen() -> None:
    before = cpu_seconds()
    until = time.process_time() + 0.05
    while time.process_time() < until:
        json.dumps(list(range(100)))
    assert cpu_seconds() - before >= 0.04
    assert memory_mb() > 5
