"""`overnight lineage show|at` as a user types them (here, for the root that this folder's conftest makes)."""

import json
import sys

import pytest

from overnight.cli import main

RUN_ID = "20260303-020000-0123abcd"


@pytest.fixture
def lineage(world, monkeypatch, capsys):
    """Runs `overnight lineage ARGUMENTS`; gives exit code, standard output, standard error."""

    def typed(*arguments: str):
        monkeypatch.setattr(sys, "argv", ["overnight", "lineage", *arguments, "--config", str(world.config)])
        with pytest.raises(SystemExit) as end:
            main.run()
        output = capsys.readouterr()
        return end.value.code or 0, output.out, output.err

    return typed


@pytest.mark.parametrize("target", [RUN_ID, "classifier:1", "classifier"])
def test_show_prints_every_input_and_ends_well(target, lineage, world):
    code, out, err = lineage("show", target)
    assert (code, err) == (0, "")
    for part in (RUN_ID, world.snapshot, "labels_20260303", "0002", "0001/shard-000000.tar", "git commit", "seed 7"):
        assert part in out
    assert "✗" not in out


def test_show_names_what_is_gone_and_still_prints_the_tree(lineage, world):
    tar = world.root / "shards/0001/shard-000000.tar"
    tar.unlink()
    code, out, err = lineage("show", "classifier")
    assert code == 2
    assert err == f"overnight: {tar} is missing.\n"
    assert "✗ tar 0001/shard-000000.tar" in out
    assert "✓ tar 0002/shard-000001.tar" in out


def test_show_as_json_is_the_same_tree(lineage, world):
    (world.run / "config.json").unlink()
    code, out, err = lineage("show", "classifier:1", "--json")
    assert code == 2
    tree = json.loads(out)
    assert (tree["kind"], tree["name"]) == ("model version", "classifier:1")
    run = next(item for item in tree["inputs"] if item["kind"] == "run")
    problems = [problem for item in run["inputs"] for problem in item["problems"]]
    assert problems == [f"{world.run / 'config.json'} is missing."]
    assert "config.json is missing" in err


def test_only_deep_reads_every_tar(lineage, world):
    tar = world.root / "shards/0002/shard-000001.tar"
    data = bytearray(tar.read_bytes())
    data[600] ^= 1
    tar.write_bytes(data)
    assert lineage("show", "classifier")[0] == 0
    code, _, err = lineage("show", "classifier", "--deep")
    assert code == 2
    assert f"{tar} was altered" in err


def test_at_answers_for_a_day(lineage, world):
    code, out, _ = lineage("at", "2026-03-04")
    assert code == 0
    for part in ("classifier:1", "2026-03-03T03:00:00Z to now", RUN_ID, world.snapshot, "accuracy=0.9", "epochs=3"):
        assert part in out


def test_at_as_json_holds_everything(lineage):
    code, out, _ = lineage("at", "2026-03-04", "--model", "classifier", "--json")
    found = json.loads(out)
    assert code == 0
    assert (found["version"], found["run_id"], found["seed"]) == (1, RUN_ID, 7)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["at", "2026-03-02"], "the first promotion was at 2026-03-03T03:00:00Z"),
        (["at", "monday"], "write it like 2026-03-03"),
        (["at", "2026-03-04", "--model", "other"], "no version of other was champion"),
        (["show", "other"], "there is no model 'other'"),
        (["show", "classifier:9"], "has no version 9"),
        (["show", "20260101-000000-00000000"], "has no run.json"),
    ],
)
def test_a_mistake_is_one_sentence(arguments, expected, lineage):
    code, out, err = lineage(*arguments)
    assert code == 2
    assert out == ""
    assert expected in err
    assert len(err.splitlines()) == 1


def test_a_run_record_that_lost_a_field_is_one_sentence(lineage, world):
    record = json.loads((world.run / "run.json").read_text())
    del record["snapshot"]
    (world.run / "run.json").write_text(json.dumps(record))
    code, _, err = lineage("show", RUN_ID)
    assert code == 2
    assert "does not hold what docs/formats.md says (KeyError: 'snapshot')" in err
