"""The image of a run in the audit and in the answer: digest and commit are told, and what was altered is found."""

import json
from datetime import date

import pytest

from overnight.files import canonical_json
from overnight.lineage.at import answer, champion_on
from overnight.lineage.find import explain
from overnight.lineage.render import answer_lines
from overnight.lineage.tree import all_problems, to_plain

RUN_ID = "20260303-020000-0123abcd"


@pytest.fixture
def commit(world, git) -> str:
    return git(world.checkout, "rev-parse", "HEAD")


def audited(world):
    node = explain(world.environment, RUN_ID, world.checkout, deep=False)
    return list(all_problems(node)), to_plain(node)


def image_node(plain):
    return next(node for node in plain["inputs"] if node["kind"] == "trainer image")


def edit_record(world, change) -> None:
    record = json.loads((world.run / "run.json").read_text())
    change(record)
    (world.run / "run.json").write_bytes(canonical_json(record))


def test_the_audit_names_digest_and_commit(world, in_an_image, commit):
    image = in_an_image(world, commit)
    problems, plain = audited(world)
    assert problems == []
    node = image_node(plain)
    assert node["name"] == image["digest"]
    assert node["facts"] == {
        "name": "trainer-cpu",
        "commit": commit,
        "repository": "https://example.com/team/code",
        "cpu": "baseline",
    }


def test_a_run_without_an_image_has_no_such_node(world):
    problems, plain = audited(world)
    assert problems == []
    assert not [node for node in plain["inputs"] if node["kind"] == "trainer image"]


@pytest.mark.parametrize(
    ("field", "value"), [("digest", f"sha256:{'0b' * 32}"), ("revision", "0" * 40), ("name", "x"), ("cpu", "x86-64-v3")]
)
def test_an_altered_field_is_found(field, value, world, in_an_image, commit):
    in_an_image(world, commit)
    edit_record(world, lambda record: record["trainer_image"].update({field: value}))
    problems, _ = audited(world)
    result = world.run / "result.json"
    assert problems[0] == f"run.json was altered: its trainer_image is not the image of {result}."


def test_an_image_taken_out_of_the_record_is_found(world, in_an_image, commit):
    in_an_image(world, commit)
    edit_record(world, lambda record: record.update(trainer_image=None))
    problems, _ = audited(world)
    assert problems == [f"run.json was altered: its trainer_image is not the image of {world.run / 'result.json'}."]


def test_an_altered_digest_of_the_spec_is_found(world, in_an_image, commit):
    image = in_an_image(world, commit)
    other = f"sha256:{'0b' * 32}"
    edit_record(world, lambda record: record["images"][0].update(digest=other))
    problems, _ = audited(world)
    assert problems == [f"The trainer's image in run.json is {image['digest']}, the spec's is {other}."]


def test_an_image_of_a_checkout_with_changes_is_noted(world, in_an_image, commit):
    in_an_image(world, f"{commit}-dirty-0123")
    problems, plain = audited(world)
    assert problems == []
    assert image_node(plain)["notes"] == ["files differed from the commit when the image was built"]


def test_a_commit_of_the_image_that_was_lost_is_named(world, in_an_image):
    in_an_image(world, "0" * 40)
    problems, _ = audited(world)
    assert problems == [f"Commit {'0' * 40} of the trainer's image is missing from this checkout."]


@pytest.fixture
def answered(world, in_an_image, train, promote, commit):
    """The answer about a day whose champion was trained in an image."""
    run = train(world, "20260310-020000-0123abcd", seed=10)
    in_an_image(world, commit, run)
    promote(world.root, run, "2026-03-10T03:00:00Z")
    return answer(champion_on(world.root / "models", date(2026, 3, 11), None))


def test_the_answer_about_a_day_names_the_image_and_its_commit(answered, commit):
    found, image = answered, answered["trainer_image"]
    assert image["digest"] == f"sha256:{'0a' * 32}"
    assert image["revision"] == commit
    assert set(found["git"]) == {"commit", "dirty", "repository"}
    lines = [line.plain for line in answer_lines(found)]
    assert f"trainer image   trainer-cpu {image['digest']}" in lines
    assert f"image commit    {commit} of https://example.com/team/code" in lines


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        (None, ["images", "environment"]),
        ({"name": None, "digest": "sha256:0a", "revision": None, "source": None}, ["trainer image   sha256:0a"]),
        ({"name": None, "digest": "sha256:0a", "revision": None, "source": None}, ["image commit    not known"]),
    ],
)
def test_what_is_not_known_of_an_image_is_said(image, expected, answered):
    lines = "\n".join(line.plain for line in answer_lines({**answered, "trainer_image": image}))
    assert all(words in lines for words in expected)
