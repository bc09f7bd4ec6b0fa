from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overnight.config import GateConfig
from overnight.models.comparison import compare
from overnight.models.gate import decide
from overnight.models.predictions import Predictions, PredictionsError, constant

CLASSES = ("animals", "flags", "food", "objects")
LABELS = np.repeat(CLASSES, (400, 60, 240, 200))
RULES = GateConfig(bootstrap_samples=500)
LENIENT = GateConfig(bootstrap_samples=500, max_regression=0.03)


def predictions(predicted, labels=LABELS, classes=CLASSES, group_size=2):
    count = len(labels)
    return Predictions(
        keys=np.array([f"image-{i:05d}" for i in range(count)]),
        groups=np.array([f"group-{i // group_size:05d}" for i in range(count)]),
        labels=np.asarray(labels),
        predicted=np.asarray(predicted),
        confidence=np.full(count, 0.8),
        classes=classes,
        weights_sha256="0" * 64,
        snapshot_sha256="1" * 64,
        split="test",
    )


def answering(accuracy, seed=0, labels=LABELS):
    """Answers right with probability `accuracy` in every class, else the next class."""
    rng = np.random.default_rng(seed)
    wrong = np.array([CLASSES[(CLASSES.index(label) + 1) % 4] if label in CLASSES else "food" for label in labels])
    return np.where(rng.random(len(labels)) < accuracy, labels, wrong)


def judge(challenger, champion=None, rules=RULES, pixel_accuracy=0.5):
    pixel_answers = answering(pixel_accuracy, seed=9, labels=challenger.labels)
    measured = compare(
        challenger,
        champion,
        constant(challenger, "animals"),
        replace(challenger, predicted=pixel_answers, classes=CLASSES),
        confidence=rules.confidence,
        samples=rules.bootstrap_samples,
        seed=rules.seed,
    )
    return measured, decide(measured, rules)


def failed(verdict):
    return [criterion.name for criterion in verdict.criteria if not criterion.passed]


def test_a_first_model_that_beats_both_baselines_is_promoted():
    _, verdict = judge(predictions(answering(0.85)))
    assert verdict.decision == "promoted"
    assert verdict.reason.endswith("there was no champion")
    assert [criterion.name for criterion in verdict.criteria] == [
        "enough-groups",
        "beats-majority-class",
        "beats-pixel-linear",
        "class-floor",
    ]


@pytest.mark.parametrize(
    ("accuracy", "pixel_accuracy", "names"),
    [
        (0.85, 0.84, ["beats-pixel-linear"]),
        (0.45, 0.3, ["beats-majority-class"]),
        (0.40, 0.6, ["beats-majority-class", "beats-pixel-linear"]),
    ],
)
def test_a_first_model_must_beat_both_baselines_with_confidence(accuracy, pixel_accuracy, names):
    _, verdict = judge(predictions(answering(accuracy)), pixel_accuracy=pixel_accuracy)
    assert verdict.decision == "refused"
    assert failed(verdict) == names
    assert "does not surely beat" in verdict.reason


@settings(max_examples=15, deadline=None)
@given(accuracy=st.floats(0.7, 1.0), seed=st.integers(0, 1000))
def test_an_equal_challenger_is_promoted_because_it_knows_fresher_labels(accuracy, seed):
    model = predictions(answering(accuracy, seed))
    measured, verdict = judge(model, model)
    assert measured.champion is not None
    assert measured.champion.lead == type(measured.champion.lead)(0.0, 0.0, 0.0)
    assert verdict.decision == "promoted"


@settings(max_examples=15, deadline=None)
@given(loss=st.floats(0.06, 0.3), seed=st.integers(0, 1000))
def test_a_clearly_worse_challenger_is_refused(loss, seed):
    champion = predictions(answering(0.95, seed))
    _, verdict = judge(predictions(answering(0.95 - loss, seed + 1)), champion)
    assert verdict.decision == "refused"
    assert "not-worse-than-champion" in failed(verdict)


def test_a_collapsed_class_is_refused_although_the_accuracy_rose():
    champion = predictions(answering(0.8, seed=1))
    answers = answering(0.97, seed=2)
    answers[LABELS == "flags"] = "food"
    measured, verdict = judge(predictions(answers), champion)
    assert measured.champion is not None
    assert measured.champion.lead.value > 0
    assert failed(verdict) == ["class-floor", "class-drop"]
    assert "flags with 0.0 % of 60 images" in verdict.reason


def test_a_drop_within_noise_is_told_and_does_not_refuse():
    few = np.repeat(CLASSES, (400, 10, 240, 200))
    champion, challenger = few.copy(), few.copy()
    champion[400:404] = "food"
    challenger[404:410] = "food"
    measured, verdict = judge(predictions(challenger, few), predictions(champion, few), LENIENT)
    flags = next(entry for entry in measured.classes if entry.name == "flags")
    assert flags.difference is not None
    assert flags.difference.value == pytest.approx(-0.2)
    assert verdict.decision == "promoted"
    [drop] = [criterion for criterion in verdict.criteria if criterion.name == "class-drop"]
    assert drop.passed
    assert drop.sentence.startswith("recall falls more than 15.0 points only within noise: flags by 20.0")


def test_a_class_of_few_images_decides_nothing():
    few = np.repeat(CLASSES, (400, 5, 240, 200))
    challenger = few.copy()
    challenger[400:405] = "food"
    measured, verdict = judge(predictions(challenger, few), predictions(few, few), LENIENT)
    assert measured.classes[1].recall.value == 0.0
    assert failed(verdict) == []


def test_a_class_below_the_floor_does_not_refuse_when_the_champion_is_no_better_there():
    poor = LABELS.copy()
    poor[400:460] = "food"
    better = poor.copy()
    better[400:410] = "flags"
    _, alone = judge(predictions(better))
    _, against_champion = judge(predictions(better), predictions(poor))
    assert failed(alone) == ["class-floor"]
    assert failed(against_champion) == []


def test_too_few_independent_groups_decide_nothing():
    _, verdict = judge(predictions(answering(0.95), group_size=40), pixel_accuracy=0.2)
    assert failed(verdict) == ["enough-groups"]
    assert "23 independent groups, fewer than the 30 needed" in verdict.reason


def test_a_new_class_counts_against_the_champion_that_does_not_know_it():
    labels = np.concatenate([LABELS, np.repeat("tools", 80)])
    known = (*CLASSES, "tools")
    champion = predictions(np.where(labels == "tools", "objects", labels), labels)
    measured, verdict = judge(predictions(labels.copy(), labels, known), champion)
    assert measured.new_classes == ("tools",)
    assert measured.champion is not None
    assert measured.champion.lead.value == pytest.approx(80 / 980)
    assert verdict.decision == "promoted"
    assert verdict.notes == ("the champion does not know tools: it can only be wrong there",)


def test_a_class_that_the_challenger_lost_is_told_and_refused():
    champion = predictions(LABELS.copy())
    answers = np.where(LABELS == "flags", "food", LABELS)
    _, verdict = judge(predictions(answers, classes=("animals", "food", "objects")), champion)
    assert verdict.decision == "refused"
    assert verdict.notes == (
        "the challenger no longer knows flags",
        "the challenger cannot answer flags (60 images)",
    )


def test_a_class_that_vanished_from_the_labels_too_does_not_refuse():
    kept = LABELS[LABELS != "flags"]
    champion = predictions(answering(0.9, labels=kept), kept)
    challenger = predictions(answering(0.9, labels=kept), kept, ("animals", "food", "objects"))
    _, verdict = judge(challenger, champion)
    assert verdict.decision == "promoted"
    assert verdict.notes == ("the challenger no longer knows flags",)


def test_models_evaluated_on_other_images_are_not_compared():
    with pytest.raises(PredictionsError, match="different images"):
        judge(predictions(answering(0.9)), predictions(LABELS[:800], LABELS[:800]))


def test_the_same_predictions_and_seed_give_the_same_numbers_and_words():
    def once():
        return judge(predictions(answering(0.9, 3)), predictions(answering(0.88, 4)))

    assert once() == once()
