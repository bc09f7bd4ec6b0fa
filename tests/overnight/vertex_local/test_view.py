import io

import pytest
from rich.console import Console

from overnight.vertex_local.cluster import ReplicaName
from overnight.vertex_local.job import JobState, LogLine, StateChanged
from overnight.vertex_local.view import compact_view, readable, verbose_view


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("epoch 1/6", "epoch 1/6"),
        ('{"step": 3, "loss": 0.123456, "note": "ok"}', "step 3  loss 0.1235  note ok"),
        ('{"phases": {"copy": 1}, "step": 3}', "step 3"),
        ("[1, 2]", "[1, 2]"),
        ("{broken", "{broken"),
        ("x" * 500, "x" * 200),
    ],
)
def test_progress_reads_well_whatever_the_trainer_prints(line, expected):
    assert readable(line) == expected


def test_the_verbose_view_names_the_replica_of_each_line():
    console = Console(file=io.StringIO(), width=40)
    with verbose_view(console) as listener:
        listener(StateChanged(JobState.RUNNING))
        listener(LogLine(ReplicaName(1, 0), "[bold]not markup[/bold]"))
    assert console.file.getvalue() == "RUNNING\nworkerpool1-0 | [bold]not markup[/bold]\n"


def test_the_compact_view_tells_states_only_where_there_is_no_terminal():
    console = Console(file=io.StringIO(), width=80)
    with compact_view(console) as listener:
        listener(StateChanged(JobState.PENDING, "again"))
        listener(LogLine(ReplicaName(0, 0), "step 1"))
        listener(StateChanged(JobState.FAILED, "told elsewhere"))
    assert console.file.getvalue() == "PENDING: again\nFAILED\n"


def test_on_a_terminal_the_compact_view_shows_the_primarys_last_line():
    console = Console(file=io.StringIO(), width=80, force_terminal=True)
    with compact_view(console) as listener:
        listener(StateChanged(JobState.RUNNING))
        listener(LogLine(ReplicaName(0, 0), '{"step": 7}'))
        listener(LogLine(ReplicaName(1, 0), "of no interest"))
        console.print("end")
    assert "step 7" in console.file.getvalue()
    assert "of no interest" not in console.file.getvalue()
