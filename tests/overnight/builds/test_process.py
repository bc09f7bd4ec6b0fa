"""Processes of a build: their lines, their end."""

import os
import time
from pathlib import Path

import pytest

from overnight.builds.process import Exit, Lines, run

BASH = ["bash", "-c"]


def lines_of(script: str, seconds: float | None = None) -> tuple[list[str], Exit]:
    said: list[str] = []
    ended = run([*BASH, script], os.environ, Path("/"), seconds, said.append)
    return said, ended


@pytest.mark.parametrize(
    ("pieces", "lines"),
    [
        ([b"a\nb\n"], ["a", "b"]),
        ([b"a", b"b\nc"], ["ab", "c"]),
        ([b"1%\r2%\r\nend"], ["1%", "2%", "end"]),
        ([b"\n\n"], ["", ""]),
        ([b"\xff\n"], ["\ufffd"]),
        ([b"\xe2\x82", b"\xac\n"], ["€"]),
        ([], []),
        ([b"x" * 70000], ["x" * 70000]),
    ],
)
def test_bytes_become_lines(pieces: list[bytes], lines: list[str]) -> None:
    said: list[str] = []
    taken = Lines(said.append)
    for piece in pieces:
        taken.feed(piece)
    taken.close()
    assert said == lines


def test_both_streams_are_one() -> None:
    assert lines_of("echo a; echo b >&2; echo c") == (["a", "b", "c"], Exit(0))


@pytest.mark.parametrize(("script", "code"), [("exit 3", 3), ("kill -9 $$", 137), ("kill -TERM $$", 143)])
def test_the_exit_code_is_as_a_shell_says_it(script: str, code: int) -> None:
    assert lines_of(script)[1] == Exit(code)


def test_a_lot_of_output_comes_whole() -> None:
    said, _ = lines_of("seq 200000")
    assert (len(said), said[-1]) == (200000, "200000")


def test_nothing_is_read_from_the_terminal() -> None:
    assert lines_of("cat; echo end") == (["end"], Exit(0))


def test_what_has_closed_its_output_is_still_waited_for() -> None:
    assert lines_of("exec > /dev/null 2>&1; sleep 0.5; exit 4")[1] == Exit(4)


def test_time_ends_what_ignores_sigterm() -> None:
    began = time.monotonic()
    said, ended = lines_of("trap '' TERM; echo up; while :; do sleep 1; done", 0.5)
    assert (said, ended) == (["up"], Exit(137, timed_out=True))
    assert 5 < time.monotonic() - began < 9


def test_sigterm_gives_time_to_tidy_up(tmp_path: Path) -> None:
    script = f"trap 'sleep 0.3; touch {tmp_path}/tidy; exit 0' TERM; sleep 60 & wait"
    assert lines_of(script, 0.3)[1].timed_out
    assert (tmp_path / "tidy").exists()


def test_what_runs_on_in_the_background_does_not_hold_the_end_up() -> None:
    began = time.monotonic()
    assert lines_of("sleep 30 & (while :; do echo y; done) & echo x")[1] == Exit(0)
    assert time.monotonic() - began < 5
