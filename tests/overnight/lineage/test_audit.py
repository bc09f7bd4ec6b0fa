"""Every recorded input, one by one, is taken away or changed, and the audit says which."""

import json
import shutil

import pytest

from overnight.errors import OvernightError
from overnight.files import canonical_json, sha256_file
from overnight.lineage.find import explain
from overnight.lineage.tree import all_problems, to_plain

RUN_ID = "20260303-020000-0123abcd"
VERSION = "models/classifier/versions/1"
SNAPSHOT = "snapshots/{snapshot}"

FILES = {
    "spec": f"runs/{RUN_ID}/spec.json",
    "configuration": f"runs/{RUN_ID}/config.json",
    "metrics": f"runs/{RUN_ID}/metrics.json",
    "profile": f"runs/{RUN_ID}/profile.json",
    "result": f"runs/{RUN_ID}/result.json",
    "run's model.json": f"runs/{RUN_ID}/model/model.json",
    "run's weights": f"runs/{RUN_ID}/model/model.safetensors",
    "run record": f"runs/{RUN_ID}/run.json",
    "gate's evidence": f"runs/{RUN_ID}/evaluation/gate.json",
    "version's weights": f"{VERSION}/model.safetensors",
    "version's model.json": f"{VERSION}/model.json",
    "version's run record": f"{VERSION}/run.json",
    "snapshot's manifest": f"{SNAPSHOT}/manifest.json",
    "manifest of the shard set before": "shards/0001/manifest.json",
    "first label file": f"{SNAPSHOT}/labels-00000.parquet",
    "second label file": f"{SNAPSHOT}/labels-00001.parquet",
    "class list": f"{SNAPSHOT}/classes.json",
    "label database": "labels.duckdb",
    "shard set's manifest": "shards/0002/manifest.json",
    "index": "shards/0002/index.parquet",
    "quarantine": "shards/0002/quarantine.parquet",
    "old tar": "shards/0001/shard-000000.tar",
    "new tar": "shards/0002/shard-000001.tar",
}
ONLY_PRESENCE = {"validation report": f"{SNAPSHOT}/report.json"}
"""What no manifest holds a digest of."""


def problems(world, target="classifier:1", deep=False) -> list[str]:
    return list(all_problems(explain(world.environment, target, world.checkout, deep)))


def place(world, path: str):
    return world.root / path.format(snapshot=world.snapshot)


def edit_record(world, change) -> None:
    """Change the run's own record; what is changed in it is what the test is about."""
    record = json.loads((world.run / "run.json").read_text())
    change(record)
    (world.run / "run.json").write_bytes(canonical_json(record))


@pytest.fixture
def seal():
    """Changes a snapshot's manifest and puts its new digest into the run record, as if it had been so always."""

    def change_manifest(world, change) -> None:
        path = world.root / "snapshots" / world.snapshot / "manifest.json"
        manifest = json.loads(path.read_text())
        change(manifest)
        path.write_bytes(canonical_json(manifest))
        edit_record(world, lambda record: record["snapshot"].update(sha256=sha256_file(path)))

    return change_manifest


@pytest.mark.parametrize("target", ["classifier:1", "classifier", RUN_ID])
@pytest.mark.parametrize("deep", [False, True])
def test_a_whole_root_has_no_problem(target, deep, world):
    assert problems(world, target, deep) == []


@pytest.mark.parametrize("path", [*FILES.values(), *ONLY_PRESENCE.values()], ids=[*FILES, *ONLY_PRESENCE])
def test_a_deleted_input_is_named(path, world):
    place(world, path).unlink()
    assert any(str(place(world, path)) in problem and "missing" in problem for problem in problems(world))


@pytest.mark.parametrize("path", FILES.values(), ids=FILES.keys())
def test_an_altered_input_is_named(path, world):
    with place(world, path).open("ab") as file:
        file.write(b"x")
    if path == "labels.duckdb":
        place(world, path).write_bytes(b"not a database")
    assert any(str(place(world, path)) in problem for problem in problems(world))


@pytest.mark.parametrize("tar", [FILES["old tar"], FILES["new tar"]])
def test_bytes_changed_inside_a_tar_are_found_by_deep(tar, world):
    with place(world, tar).open("r+b") as file:
        file.seek(600)
        file.write(b"\x00\x01\x02")
    assert problems(world) == []
    assert len(problems(world, deep=True)) == 1
    assert str(place(world, tar)) in problems(world, deep=True)[0]


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("DROP TABLE labels_20260303", "table labels_20260303 is missing."),
        ("DELETE FROM labels_20260303 WHERE key = 'cats/no-image'", "recorded 13 rows, found 12 rows"),
        ("INSERT INTO labels_20260303 VALUES ('cats/more', 'cats', 'g')", "recorded 13 rows, found 14 rows"),
        (
            "UPDATE labels_20260303 SET label = 'dogs' WHERE key = 'cats/image-000'",
            "1 row of the snapshot is not in it as recorded",
        ),
        (
            "UPDATE labels_20260303 SET group_id = 'other' WHERE label = 'dogs'",
            "6 rows of the snapshot are not in it as recorded",
        ),
        ("ALTER TABLE labels_20260303 DROP COLUMN group_id", "cannot be read"),
    ],
)
def test_a_changed_dated_label_table_is_named(statement, expected, world):
    world.sql(statement)
    found = problems(world)
    assert len(found) == 1
    assert expected in found[0]
    assert "labels.duckdb" in found[0]


def test_edits_of_the_live_label_table_are_the_analysts_own_affair(world):
    world.sql("UPDATE labels SET label = 'dogs'")
    assert problems(world) == []


@pytest.mark.parametrize("folder", [f"runs/{RUN_ID}", "shards/0001", "shards/0002", f"{SNAPSHOT}"])
def test_a_deleted_folder_is_named_and_the_rest_is_still_explained(folder, world):
    shutil.rmtree(place(world, folder))
    node = explain(world.environment, "classifier:1", world.checkout, deep=False)
    assert any(str(place(world, folder)) in problem for problem in all_problems(node))
    kinds = json.dumps(to_plain(node))
    assert '"snapshot"' in kinds
    assert '"shard set"' in kinds


def test_a_class_list_in_another_order_is_found(world):
    path = place(world, FILES["class list"])
    path.write_bytes(canonical_json({"format": "overnight.classes/1", "classes": ["dogs", "cats"]}))
    assert any(str(path) in problem for problem in problems(world))


def test_a_promotion_log_that_was_rewritten_is_told(world):
    log = world.root / "models/classifier/promotions.jsonl"
    log.write_text(
        log.read_text().replace("it was promoted", "it was splendid", 1).replace('"version": 1', '"version":  1')
    )
    assert any("promotions.jsonl" in problem for problem in problems(world))


def test_a_commit_that_was_lost_is_named(world, git):
    shutil.rmtree(world.checkout / ".git")
    git(world.checkout, "init", "-q")
    git(world.checkout, "commit", "-q", "--allow-empty", "-m", "another history")
    git(world.checkout, "remote", "add", "origin", "https://example.com/team/code.git")
    assert any("is missing from this checkout" in problem for problem in problems(world))


def test_a_package_list_that_was_edited_is_told(world):
    edit_record(world, lambda record: record["environment"]["packages"].update(numpy="0"))
    assert problems(world, RUN_ID) == ["The list of packages in run.json is not the one that its sha256 was taken of."]


def test_images_and_a_dirty_checkout_are_shown_with_what_was_not_checked(world):
    def change(record):
        record["images"] = [{"pool": 0, "reference": "host/p/r/train@sha256:00", "digest": "sha256:00"}]
        record["git"]["dirty"] = True

    edit_record(world, change)
    shown = json.dumps(to_plain(explain(world.environment, RUN_ID, world.checkout, deep=False)))
    assert "host/p/r/train@sha256:00" in shown
    assert "image registries are not asked here" in shown
    assert "files differed from the commit" in shown


def test_a_table_of_another_kind_is_noted_and_not_read(world, seal):
    seal(world, lambda manifest: manifest["source"].update(kind="bigquery"))
    node = explain(world.environment, RUN_ID, world.checkout, deep=False)
    assert list(all_problems(node)) == []
    assert "tables of kind bigquery are not read here" in json.dumps(to_plain(node))


def test_elsewhere_the_commit_is_not_checked(world, tmp_path):
    node = explain(world.environment, RUN_ID, tmp_path, deep=False)
    assert list(all_problems(node)) == []
    assert "not checked" in json.dumps(to_plain(node))


@pytest.mark.parametrize("target", ["20260101-000000-00000000", "classifier:7", "nobody", "classifier:x", "../x", ""])
def test_what_does_not_exist_is_one_sentence(target, world):
    with pytest.raises(OvernightError) as caught:
        explain(world.environment, target, world.checkout, deep=False)
    assert "\n" not in caught.value.sentence


def test_the_same_root_gives_the_same_tree(world):
    first, second = (to_plain(explain(world.environment, "classifier", world.checkout, deep=True)) for _ in range(2))
    assert canonical_json(first) == canonical_json(second)
