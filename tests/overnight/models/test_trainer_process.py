import sys

import pytest

from overnight.models.trainer_process import TrainerFailed, run_trainer


def stand_in(tmp_path, monkeypatch, script):
    """An interpreter that runs `script` in place of the trainer: a real process with a real ending."""
    program = tmp_path / "python"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))


def test_what_the_trainer_prints_comes_back(tmp_path, monkeypatch):
    stand_in(tmp_path, monkeypatch, 'echo "$@"')
    assert run_trainer("evaluate", ["--split", "test"]) == "-m trainer.evaluate --split test\n"


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        (
            "echo noise >&2; echo 'trainer: m/model.json: this file is missing.' >&2; exit 2",
            "m/model.json: this file is missing.",
        ),
        ("echo 'evaluate.py: error: unknown argument' >&2; exit 2", "unknown argument."),
        ("echo 'Traceback …' >&2; echo 'ValueError: odd' >&2; exit 1", "trainer.evaluate failed: ValueError: odd."),
        ("exit 7", "trainer.evaluate failed: exit code 7 without a word."),
        ("kill -9 $$", "trainer.evaluate was ended by signal 9; signal 9 mostly means that memory ran out."),
    ],
)
def test_a_bad_ending_is_the_trainers_own_sentence(tmp_path, monkeypatch, script, sentence):
    stand_in(tmp_path, monkeypatch, script)
    with pytest.raises(TrainerFailed) as failure:
        run_trainer("evaluate", [])
    assert failure.value.sentence == sentence


def test_a_part_that_is_not_installed_is_said_with_the_remedy():
    with pytest.raises(TrainerFailed, match=r"trainer.nothing_here is not installed .*; run: pip install ./trainer\."):
        run_trainer("nothing_here", [])
