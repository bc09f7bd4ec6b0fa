from datetime import UTC, datetime

import pytest

from overnight.config import Environment
from overnight.files import FolderInUse, read_json, sha256_file
from overnight.models import promotions, registry
from overnight.models.promote import promote, rollback
from overnight.models.trainer_process import TrainerFailed

FIRST = "20260302-020000-aaaaaaaa"
SECOND = "20260309-020000-bbbbbbbb"
WEEK_1 = datetime(2026, 3, 2, 3, tzinfo=UTC)
WEEK_2 = datetime(2026, 3, 9, 3, tzinfo=UTC)


@pytest.fixture
def environment(root):
    return Environment(environment="test", root=str(root.path))


def promoted(environment, run_id, now, name=None):
    return promote(environment, run_id, name, now, lambda _: None)


def test_a_first_good_model_becomes_champion_and_leaves_its_reasons(root, environment):
    run = root.evaluated_run(FIRST, root.snapshot(), accuracy=0.9)

    outcome = promoted(environment, FIRST, WEEK_1)

    assert outcome.promoted
    assert promotions.champion_now(root.models, "demo") == 1
    [decision] = promotions.entries(root.models, "demo")
    assert decision == outcome.decision
    assert (decision.time, decision.champion_before) == ("2026-03-02T03:00:00Z", None)
    assert decision.evaluation["gate_sha256"] == sha256_file(run / "evaluation" / "gate.json")
    gate = read_json(run / "evaluation" / "gate.json", "overnight.gate/1")
    assert gate["comparison"]["challenger"]["accuracy"] == decision.evaluation["accuracy"]


def test_a_better_challenger_replaces_the_champion_on_the_challengers_snapshot(root, environment):
    first = root.evaluated_run(FIRST, root.snapshot(), accuracy=0.8)
    promoted(environment, FIRST, WEEK_1)
    snapshot = root.snapshot("20260309")
    second = root.evaluated_run(SECOND, snapshot, accuracy=0.95)
    root.evaluate(first, snapshot, accuracy=0.8, cache=second)

    outcome = promoted(environment, SECOND, WEEK_2)

    assert outcome.promoted
    assert outcome.decision.champion_before == 1
    assert outcome.decision.snapshot == {"name": snapshot.name, "sha256": sha256_file(snapshot / "manifest.json")}
    assert [entry.version for entry in promotions.entries(root.models, "demo")] == [1, 2]


def test_a_worse_challenger_is_refused_and_the_champion_stays(root, environment):
    snapshot = root.snapshot()
    first = root.evaluated_run(FIRST, snapshot, accuracy=0.95)
    promoted(environment, FIRST, WEEK_1)
    second = root.evaluated_run(SECOND, snapshot, accuracy=0.8)
    root.evaluate(first, snapshot, accuracy=0.95, cache=second)

    outcome = promoted(environment, SECOND, WEEK_2)

    assert not outcome.promoted
    assert "worse than the champion" in outcome.decision.reason
    assert promotions.champion_now(root.models, "demo") == 1
    assert [entry.decision for entry in promotions.entries(root.models, "demo")] == ["promoted", "refused"]
    assert len(registry.versions(root.models, "demo")) == 2


def test_the_champion_promoted_again_changes_nothing(root, environment):
    root.evaluated_run(FIRST, root.snapshot(), accuracy=0.9)
    promoted(environment, FIRST, WEEK_1)
    again = promoted(environment, FIRST, WEEK_2)
    assert (again.promoted, again.verdict) == (True, None)
    assert len(promotions.entries(root.models, "demo")) == 1


def test_the_same_run_judged_twice_gives_the_same_bytes(root, environment, tmp_path):
    twin = type(root)(tmp_path / "twin")
    for each in (root, twin):
        each.evaluated_run(FIRST, each.snapshot(), accuracy=0.9)
        promoted(Environment(environment="test", root=str(each.path)), FIRST, WEEK_1)
    for name in (f"runs/{FIRST}/evaluation/gate.json", "models/demo/promotions.jsonl"):
        assert (root.path / name).read_bytes() == (twin.path / name).read_bytes()


def test_a_rollback_is_a_decision_with_its_reason(root, environment):
    snapshot = root.snapshot()
    first = root.evaluated_run(FIRST, snapshot, accuracy=0.8)
    promoted(environment, FIRST, WEEK_1)
    second = root.evaluated_run(SECOND, snapshot, accuracy=0.95)
    root.evaluate(first, snapshot, accuracy=0.8, cache=second)
    promoted(environment, SECOND, WEEK_2)

    decision = rollback(environment, "demo", 1, "flags look wrong in the shop", WEEK_2)

    assert (decision.decision, decision.champion_before, decision.snapshot) == ("promoted", 2, None)
    assert decision.reason == "rollback: flags look wrong in the shop"
    assert promotions.champion_now(root.models, "demo") == 1
    with pytest.raises(registry.RegistryError, match="demo:1 is the champion already"):
        rollback(environment, "demo", 1, "again", WEEK_2)


def test_a_rollback_to_a_damaged_version_is_refused(root, environment):
    run = root.evaluated_run(FIRST, root.snapshot(), accuracy=0.9)
    promoted(environment, FIRST, WEEK_1)
    (root.models / "demo" / "versions" / "1" / "model.safetensors").write_bytes(b"other")
    with pytest.raises(registry.RegistryError, match="not the one that was registered"):
        rollback(environment, "demo", 1, "why not", WEEK_2)
    assert run.is_dir()


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        ("unknown", rf"there is no run '2026.*'; the newest runs are {FIRST}\."),
        ("failed", r"status is 'failed'"),
        ("unfinished", r"has no run record: it has not ended, or was killed"),
        ("snapshot gone", r"the snapshot that this run was trained on is gone"),
        ("snapshot changed", r"the snapshot changed since the run was trained on it"),
    ],
)
def test_what_cannot_be_promoted_is_one_sentence(root, environment, spoil, sentence):
    snapshot = root.snapshot()
    run = root.run(FIRST, snapshot, status="failed" if spoil == "failed" else "succeeded")
    wanted = SECOND if spoil == "unknown" else FIRST
    if spoil == "unfinished":
        (run / "run.json").unlink()
    elif spoil == "snapshot gone":
        (snapshot / "manifest.json").unlink()
    elif spoil == "snapshot changed":
        with (snapshot / "manifest.json").open("a") as file:
            file.write(" ")
    with pytest.raises(registry.OvernightError, match=sentence):
        promoted(environment, wanted, WEEK_1)
    assert promotions.entries(root.models, "demo") == []


def test_two_promotions_of_one_model_do_not_mix(root, environment):
    root.evaluated_run(FIRST, root.snapshot(), accuracy=0.9)
    with registry.hold(root.models, "demo"), pytest.raises(FolderInUse):
        promoted(environment, FIRST, WEEK_1)


def test_foreign_predictions_are_not_believed_and_a_failed_evaluation_leaves_no_decision(root, environment):
    snapshot = root.snapshot()
    run = root.evaluated_run(FIRST, snapshot, accuracy=0.9)
    other = root.evaluated_run(SECOND, snapshot, accuracy=0.9)
    [cached] = own_predictions(run)
    [foreign] = own_predictions(other)
    cached.write_bytes(foreign.read_bytes())
    before = sorted((run / "evaluation").iterdir())
    with pytest.raises(TrainerFailed):  # it is evaluated anew, and these weights are not real ones
        promoted(environment, FIRST, WEEK_1)
    assert promotions.entries(root.models, "demo") == []
    assert sorted((run / "evaluation").iterdir()) == before


def own_predictions(run):
    return [path for path in (run / "evaluation").iterdir() if not path.name.startswith("pixel")]
