"""From a folder of pictures to an explained champion, by the command as a user types it, over three weeks."""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
import pyarrow.parquet as pq
import pytest

from support import PATTERNS, draw_folder, overnight

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

JOB = Path(__file__).parents[1] / "jobs" / "local.yaml"
CONFIG = """\
environment: test
root: data
validation: {near_duplicate_distance: 0, max_near_duplicates: 1.0}
gate: {min_class_recall: 0.1, min_class_support: 5}
"""
WEEKS = ("2026-03-02T02:00:00Z", "2026-03-09T02:00:00Z", "2026-03-16T02:00:00Z")


@dataclass(frozen=True)
class Site:
    """A folder in which the weeks are played, and how commands are run there."""

    folder: Path
    environment: dict[str, str]

    def run(self, *arguments: str, week: int, expect: tuple[int, ...] = (0,)) -> str:
        environment = {**self.environment, "OVERNIGHT_CONFIG": "env.yaml", "OVERNIGHT_NOW": WEEKS[week]}
        return overnight(*arguments, cwd=self.folder, environment=environment, expect=expect).stdout

    def train(self, week: int) -> str:
        return str(json.loads(self.run("run", "job.yaml", "--json", week=week))["run_id"])

    def edit(self, statement: str) -> None:
        with duckdb.connect(str(self.folder / "data" / "labels.duckdb")) as database:
            database.execute(statement)

    def everything(self, *parts: str) -> dict[str, bytes]:
        folder = self.folder.joinpath("data", *parts)
        return {
            str(path.relative_to(folder)): path.read_bytes()
            for path in sorted(folder.rglob("*"))
            if path.is_file() and path.name != ".lock"
        }


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, command_environment: dict[str, str]) -> Site:
    folder = tmp_path_factory.mktemp("site")
    (folder / "env.yaml").write_text(CONFIG)
    (folder / "job.yaml").write_text(JOB.read_text().replace("--preset=demo", "--preset=smoke, --set=epochs=12"))
    draw_folder(folder / "pictures", 90)
    return Site(folder, command_environment)


@pytest.fixture(scope="module")
def first_week(site: Site) -> str:
    site.run("import", "pictures", week=0)
    site.run("shards", "build", week=0)
    site.run("snapshot", "create", week=0)
    run_id = site.train(week=0)
    site.run("model", "promote", run_id, week=0)
    return run_id


@pytest.fixture(scope="module")
def second_week(site: Site, first_week: str) -> str:
    draw_folder(site.folder / "pictures", 8, first=90)
    site.edit("UPDATE labels SET label = 'down' WHERE key = 'across/0003'")
    site.run("import", "pictures", week=1)
    site.run("shards", "append", week=1)
    site.run("snapshot", "create", week=1)
    return site.train(week=1)


def test_the_champion_of_a_day_is_explained(site: Site, first_week: str) -> None:
    answer = json.loads(site.run("lineage", "at", "2026-03-03", "--json", week=0))
    text = json.dumps(answer)
    record = json.loads((site.folder / "data" / "runs" / first_week / "run.json").read_text())
    for fact in (first_week, record["weights_sha256"], record["snapshot"]["name"], record["snapshot"]["sha256"]):
        assert fact in text
    site.run("lineage", "show", first_week, "--deep", week=0)


def test_prediction_says_what_the_gate_evaluated(site: Site, first_week: str) -> None:
    """The same images through `overnight predict` and through the gate's evaluation."""
    run = site.folder / "data" / "runs" / first_week
    weights = json.loads((run / "result.json").read_text())["weights_sha256"]
    (path,) = (run / "evaluation").glob(f"{weights[:12]}-*-test.parquet")
    rows = pq.read_table(path).slice(0, 8).to_pylist()
    images = [f"pictures/{row['key']}.jpg" for row in rows]
    answers = [json.loads(line) for line in site.run("predict", first_week, *images, "--json", week=0).splitlines()]
    assert [answer["label"] for answer in answers] == [row["predicted"] for row in rows]
    for answer, row in zip(answers, rows, strict=True):
        exponentials = np.exp(np.array(row["logits"]) - max(row["logits"]))
        assert answer["confidence"] == pytest.approx(exponentials.max() / exponentials.sum(), abs=1e-6)


def test_labels_that_analysts_edited_survive_an_import(site: Site, second_week: str) -> None:
    assert second_week
    with duckdb.connect(str(site.folder / "data" / "labels.duckdb"), read_only=True) as database:
        assert database.execute("SELECT label FROM labels WHERE key = 'across/0003'").fetchone() == ("down",)


def test_the_second_week_adds_shards_and_keeps_the_old_ones(site: Site, second_week: str) -> None:
    assert second_week
    manifest = json.loads((site.folder / "data" / "shards" / "0002" / "manifest.json").read_text())
    assert [shard["path"].split("/")[0] for shard in manifest["shards"]] == ["0001", "0002"]
    assert manifest["images"] == 98 * len(PATTERNS)
    site.run("shards", "verify", week=1)


def test_champion_and_challenger_meet_on_the_same_snapshot(site: Site, second_week: str) -> None:
    site.run("model", "promote", second_week, "--json", week=1, expect=(0, 3))
    lines = (site.folder / "data" / "models" / "classifier" / "promotions.jsonl").read_text().splitlines()
    last = json.loads(lines[-1])
    assert last["run_id"] == second_week
    assert last["champion_before"] == 1


def test_a_report_is_one_offline_file(site: Site, first_week: str) -> None:
    site.run("report", first_week, week=0)
    page = (site.folder / "data" / "runs" / first_week / "report.html").read_text()
    assert first_week in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert "<script" not in page


def test_a_bad_export_is_rejected_and_nothing_else_is_written(site: Site, second_week: str) -> None:
    assert second_week
    before = {part: site.everything(part) for part in ("shards", "models", "runs")}
    accepted = sorted(path for path in site.everything("snapshots") if not path.startswith("rejected"))
    site.edit("DELETE FROM labels WHERE key IN (SELECT key FROM labels WHERE label = 'plain' LIMIT 15)")
    site.edit("INSERT INTO labels SELECT * FROM labels WHERE key = 'across/0001'")
    site.run("snapshot", "create", week=2, expect=(3,))
    assert {part: site.everything(part) for part in before} == before
    now = site.everything("snapshots")
    assert sorted(path for path in now if not path.startswith("rejected")) == accepted
    assert any(path.startswith("rejected/20260316-") for path in now)


def test_training_twice_from_the_same_inputs_gives_the_same_weights(site: Site, first_week: str) -> None:
    runs = site.folder / "data" / "runs"
    first = json.loads((runs / first_week / "run.json").read_text())
    copy = site.folder / "job-again.yaml"
    shutil.copy(site.folder / "job.yaml", copy)
    copy.write_text(copy.read_text().replace("snapshot: latest", f"snapshot: {first['snapshot']['name']}"))
    again = json.loads(site.run("run", "job-again.yaml", "--json", week=2))["run_id"]
    assert json.loads((runs / again / "run.json").read_text())["weights_sha256"] == first["weights_sha256"]
