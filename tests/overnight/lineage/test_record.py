import json
from dataclasses import replace

import pytest

from overnight.errors import OvernightError
from overnight.files import canonical_json, sha256_file
from overnight.lineage.record import RECORDED_FILES, assemble, write_record


@pytest.fixture
def snapshot(world):
    return world.root / "snapshots" / world.snapshot


def test_the_record_holds_what_made_the_weights(world, snapshot, facts):
    record = json.loads((world.run / "run.json").read_text())
    assert record["format"] == "overnight.run/1"
    assert (record["started"], record["ended"]) == ("2026-03-03T02:00:00Z", "2026-03-03T02:05:00Z")
    assert record["snapshot"] == {
        "name": world.snapshot,
        "uri": f"snapshots/{world.snapshot}",
        "sha256": sha256_file(snapshot / "manifest.json"),
    }
    assert record["shard_set"]["sha256"] == sha256_file(world.root / "shards/0002/manifest.json")
    assert record["label_table"]["snapshot_table"] == "labels_20260303"
    assert record["seed"] == 7
    assert record["hyperparameters"]["optimizer"]["name"] == "sgd"
    assert record["metrics"]["accuracy"] == 0.9
    assert record["timings"] == {"copy": 0.5, "data_wait": 1.5}
    assert record["weights_sha256"] == sha256_file(world.run / "model/model.safetensors")
    assert record["git"]["repository"] == "https://example.com/team/code.git"
    assert record["git"]["dirty"] is False
    assert record["environment"]["packages"]["pydantic"]


def test_every_file_of_the_run_is_recorded_with_its_digest(world):
    record = json.loads((world.run / "run.json").read_text())
    assert {entry["path"]: entry["sha256"] for entry in record["files"]} == {
        path: sha256_file(world.run / path) for path in RECORDED_FILES
    }


def test_the_same_run_gives_the_same_bytes(world, snapshot, facts):
    first, second = (canonical_json(assemble(world.run, facts(world.root, snapshot))) for _ in range(2))
    assert first == second == (world.run / "run.json").read_bytes()


def test_a_run_that_failed_has_a_record_without_results(world, snapshot, facts):
    folder = world.root / "runs" / "20260303-030000-00000000"
    folder.mkdir()
    (folder / "spec.json").write_text("{}\n")
    record = write_record(folder, replace(facts(world.root, snapshot), status="failed", verdict="Replica x ended."))
    assert (record["status"], record["verdict"]) == ("failed", "Replica x ended.")
    assert record["weights_sha256"] is None
    assert [entry["path"] for entry in record["files"]] == ["spec.json"]


def test_images_are_recorded_as_the_spec_names_them(world, snapshot, facts):
    digest = f"sha256:{'a' * 64}"
    images = ((0, f"europe-docker.pkg.dev/p/r/train@{digest}"), (1, "train:latest"))
    record = assemble(world.run, replace(facts(world.root, snapshot), images=images))
    assert [image["digest"] for image in record["images"]] == [digest, None]


DIGEST, OTHER = f"sha256:{'0a' * 32}", f"sha256:{'0b' * 32}"
SAID = {
    "reference": f"localhost:5005/images/trainer-cpu@{DIGEST}",
    "digest": DIGEST,
    "name": "trainer-cpu",
    "source": "https://example.com/team/code",
    "revision": "c0ffee",
    "cpu": "baseline",
}


def says(world, image) -> None:
    """What the trainer's result says of its image."""
    path = world.run / "result.json"
    path.write_bytes(canonical_json({**json.loads(path.read_text()), "image": image}))


def test_the_image_that_the_trainer_ran_in_is_recorded(world, snapshot, facts):
    says(world, SAID)
    images = ((0, f"localhost:5005/images/trainer-cpu@{DIGEST}"), (1, f"localhost:5005/images/other@{OTHER}"))
    record = assemble(world.run, replace(facts(world.root, snapshot), images=images))
    assert record["trainer_image"] == SAID
    assert record["images"][0]["digest"] == DIGEST
    assert record["git"]["repository"] == "https://example.com/team/code.git"


@pytest.mark.parametrize("image", [None, "absent"])
def test_a_training_outside_an_image_is_recorded_without(image, world, snapshot, facts):
    if image is None:
        says(world, None)
    images = ((0, f"localhost:5005/images/trainer-cpu@{DIGEST}"),)
    assert assemble(world.run, replace(facts(world.root, snapshot), images=images))["trainer_image"] is None


@pytest.mark.parametrize(
    ("said", "images", "words"),
    [
        (OTHER, ((0, f"h/p@{DIGEST}"),), f"the training ran in image {OTHER}, the job was given {DIGEST}"),
        (DIGEST, ((0, f"h/p@{OTHER}"), (1, f"h/p@{DIGEST}")), f"ran in image {DIGEST}, the job was given {OTHER}"),
        (DIGEST, ((0, "h/p:latest"),), f"ran in image {DIGEST}, the job was given of no known digest"),
        (DIGEST, (), f"ran in image {DIGEST}, the job was given of no known digest"),
        (None, ((0, f"h/p@{DIGEST}"),), f"ran in image of no known digest, the job was given {DIGEST}"),
    ],
)
def test_a_training_that_ran_in_another_image_is_told(said, images, words, world, snapshot, facts):
    says(world, {**SAID, "digest": said})
    with pytest.raises(OvernightError) as caught:
        assemble(world.run, replace(facts(world.root, snapshot), images=images))
    assert words in caught.value.sentence
    assert caught.value.sentence.startswith(f"{world.run / 'result.json'}: ")
    assert caught.value.sentence.endswith("pin the image in the spec's imageUri of pool 0 only, not in its env.")


def test_a_training_that_read_another_snapshot_is_told(world, snapshot, facts):
    manifest = json.loads((snapshot / "manifest.json").read_text())
    (snapshot / "manifest.json").write_bytes(canonical_json({**manifest, "created": "2026-03-04T00:00:00Z"}))
    with pytest.raises(OvernightError, match="the training read snapshot"):
        assemble(world.run, facts(world.root, snapshot))


def test_outside_a_checkout_there_is_no_commit(world, snapshot, facts, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert assemble(world.run, facts(world.root, snapshot))["git"] is None
