import shutil
from datetime import date

import pytest

from overnight.errors import OvernightError
from overnight.lineage.at import answer, champion_on
from overnight.lineage.render import answer_lines

FIRST = "20260303-020000-0123abcd"


@pytest.fixture
def history(world, promote, train):
    """Version 1 champion from 3 March, 2 refused on 10 March, 3 champion from 17 March."""
    for day, verdict in (("10", "refused"), ("17", "promoted")):
        run = train(world, f"202603{day}-020000-0123abcd", seed=int(day))
        promote(world.root, run, f"2026-03-{day}T03:00:00Z", verdict)
    return world.root / "models"


@pytest.mark.parametrize(
    ("day", "version"),
    [("2026-03-03", 1), ("2026-03-09", 1), ("2026-03-10", 1), ("2026-03-16", 1), ("2026-03-17", 3), ("2030-01-01", 3)],
)
def test_the_champion_of_a_day_is_the_last_promotion_up_to_its_end(day, version, history):
    assert champion_on(history, date.fromisoformat(day), None).version.version == version


def test_the_answer_says_from_when_to_when_and_what_made_it(history):
    found = answer(champion_on(history, date(2026, 3, 12), "classifier"))
    assert (found["champion_from"], found["champion_until"]) == ("2026-03-03T03:00:00Z", "2026-03-17T03:00:00Z")
    assert found["replaced_by"] == 3
    assert found["run_id"] == FIRST
    assert found["seed"] == 7
    assert found["label_table"]["snapshot_table"] == "labels_20260303"
    assert found["evaluation"]["accuracy"] == 0.9
    for name in ("weights_sha256", "environment_sha256", "git", "snapshot", "shard_set", "hyperparameters", "metrics"):
        assert found[name]


def test_the_reigning_champion_has_no_end(history):
    found = answer(champion_on(history, date(2026, 3, 20), None))
    assert (found["champion_until"], found["replaced_by"]) == (None, None)
    assert any("to now" in line.plain for line in answer_lines(found))


def test_the_printed_answer_names_settings_inside_settings(history):
    lines = "\n".join(line.plain for line in answer_lines(answer(champion_on(history, date(2026, 3, 5), None))))
    assert "optimizer.learning_rate=0.1, optimizer.name=sgd" in lines
    assert "2026-03-17T03:00:00Z (then version 3)" in lines


def test_the_answer_outlives_the_run_folder(history, world):
    shutil.rmtree(world.root / "runs")
    assert answer(champion_on(history, date(2026, 3, 20), None))["seed"] == 17


def test_before_the_first_promotion_there_is_no_answer(history):
    with pytest.raises(OvernightError, match="the first promotion was at 2026-03-03T03:00:00Z"):
        champion_on(history, date(2026, 3, 2), None)


@pytest.mark.parametrize(
    ("name", "expected"), [("nobody", "none has been promoted yet"), ("../x", "cannot be the name")]
)
def test_an_unknown_model_is_one_sentence(name, expected, history):
    with pytest.raises(OvernightError, match=expected):
        champion_on(history, date(2026, 3, 20), name)


def test_without_any_model_the_remedy_is_told(tmp_path):
    with pytest.raises(OvernightError, match="promote a run first"):
        champion_on(tmp_path, date(2026, 3, 20), None)


def test_of_two_models_one_must_be_chosen(history):
    shutil.copytree(history / "classifier", history / "other")
    with pytest.raises(OvernightError, match="choose by --model: classifier, other"):
        champion_on(history, date(2026, 3, 20), None)


def test_a_log_that_was_edited_gives_no_answer(history):
    log = history / "classifier" / "promotions.jsonl"
    log.write_text(log.read_text().replace("refused", "promoted"))
    with pytest.raises(OvernightError, match=r"promotions\.jsonl"):
        champion_on(history, date(2026, 3, 20), None)
