"""The checked environment: variations that hold, notes about money and neighbours, and the command's own options."""

import subprocess
import sys
import time
from datetime import date
from pathlib import Path
from typing import get_args

import pytest

from config_edits import EXAMPLE, PERSISTENT, POOL, TODAY, Edit, both, drop, gpu, in_region, put, text, write
from infra.__main__ import main
from infra.settings import idle_notes, settings
from overnight.config import GoogleConfig, load
from overnight.config.names import ROLES, Names, Purpose

TODAYS_DATE = date.fromisoformat(TODAY)
SIZED = both(drop(f"{POOL}.autoscaling_spec"), put(f"{POOL}.replica_count", 1))

GOOD: dict[str, Edit] = {
    "as it stands": lambda content: content,
    "no pools": put("google.persistent_resources", []),
    "only what is required": both(
        *(drop(f"google.{section}") for section in ("cmek", "storage", "bigquery", "artifact_registry")),
        *(drop(f"google.{section}") for section in ("allowed_regions", "protect", "persistent_resources")),
        drop("google.cloud_build.private_pool"),
        *(drop(section) for section in ("labels", "split", "validation", "shards", "gate")),
    ),
    "a fixed number of replicas": SIZED,
    "H200 machines": both(
        gpu("a3-ultragpu-8g", "NVIDIA_H200_141GB", 8, "hyperdisk-balanced"),
        put(f"{PERSISTENT}.max_idle_usd_per_day", 3000),
    ),
    "processors only": gpu("n1-standard-8", None, None, "pd-standard"),
    "several accelerators": gpu("n1-highmem-16", "NVIDIA_TESLA_T4", 4),
    "another region that offers the accelerator": in_region("europe-west4"),
    "a day in quotes": put(f"{PERSISTENT}.expires", "2027-06-30"),
    "wanted until today": put(f"{PERSISTENT}.expires", TODAY),
    "no longer wanted, and not enabled": both(
        put(f"{PERSISTENT}.expires", "2026-01-01"), put(f"{PERSISTENT}.enabled", False)
    ),
    "prices a year old": put(f"{PERSISTENT}.prices_as_of", "2025-11-30"),
    "bucket names of its own": put("google.storage.bucket_names", {"data": "acme-originals", "logs": "acme_logs"}),
    "a network of the project": put(
        "google.cloud_build.private_pool.peered_network", "projects/481516234207/global/networks/builds"
    ),
    "names of weekdays": put("google.schedules.weekly.cron", "TZ=America/New_York 30 21 * * FRI"),
    "Cloud Scheduler": put("google.schedules.engine", "cloud_scheduler"),
    "Windows line ends": lambda content: content.replace("\n", "\r\n"),
    "an anchor": text("[us-central1]", "&here [us-central1]"),
}


@pytest.mark.parametrize("case", GOOD)
def test_a_variation_holds_and_writes_nothing(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    config = write(tmp_path / "env.yaml", GOOD[case])
    assert main(["--config", str(config), "--check", "--now", TODAY]) == 0, capsys.readouterr().err
    assert capsys.readouterr().out == f"{config}: the environment 'example' holds together\n"
    assert list(tmp_path.iterdir()) == [config]


def test_what_a_pool_costs_idle_is_said_every_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = write(tmp_path / "env.yaml")
    assert main(["--config", str(config), "--check", "--now", TODAY]) == 0
    assert capsys.readouterr().err == (
        f"infra: night-a100-v1: idle, its 1 x a2-highgpu-1g cost 101.28 USD a day (prices of 2026-11-01, {config})\n"
    )


def test_a_pool_that_is_not_enabled_costs_nothing(tmp_path: Path) -> None:
    config = write(tmp_path / "env.yaml", put(f"{PERSISTENT}.enabled", False))
    assert idle_notes(settings(load(config), config, today=TODAYS_DATE)) == []


def test_machines_of_several_kinds_are_added_up(tmp_path: Path) -> None:
    second = {"machine_spec": {"machine_type": "n1-standard-8"}, "replica_count": 2, "usd_per_replica_hour": 0.25}
    config = write(tmp_path / "env.yaml", lambda content: _with_second_pool(content, second))
    (note,) = idle_notes(settings(load(config), config, today=TODAYS_DATE))
    assert "its 1 x a2-highgpu-1g and 2 x n1-standard-8 cost 113.28 USD a day" in note


def _with_second_pool(content: str, second: dict[str, object]) -> str:
    pools = f"{PERSISTENT}.resource_pools"
    first = {
        "machine_spec": {
            "machine_type": "a2-highgpu-1g",
            "accelerator_type": "NVIDIA_TESLA_A100",
            "accelerator_count": 1,
        },
        "replica_count": 1,
        "usd_per_replica_hour": 4.22,
    }
    return put(pools, [first, second])(content)


def test_environments_that_differ_stand_side_by_side(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = both(
        put("environment", "dev"),
        lambda content: content.replace("acme-vision-prod", "acme-vision-dev").replace("example-pip", "dev-pip"),
    )
    (tmp_path / "local.yaml").write_text(EXAMPLE.with_name("local.yaml").read_text(encoding="utf-8"))
    (tmp_path / "notes.yaml").write_text("- not: an environment\n")
    for name, edit in {"example.yaml": GOOD["as it stands"], "dev.yml": other}.items():
        write(tmp_path / name, edit)
    for name in ("example.yaml", "dev.yml"):
        assert main(["--config", str(tmp_path / name), "--check", "--now", TODAY]) == 0, capsys.readouterr().err


def test_a_broken_sibling_is_named_and_does_not_stand_in_the_way(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = write(tmp_path / "broken.yaml", put("google.region", "US"))
    config = write(tmp_path / "env.yaml")
    assert main(["--config", str(config), "--check", "--now", TODAY]) == 0
    note, _ = capsys.readouterr().err.splitlines()
    assert note.startswith(f"infra: not compared with an environment that is wrong itself: {broken}, google.region: ")


def test_the_longest_names_still_fit_their_bounds(tmp_path: Path) -> None:
    google = load(write(tmp_path / "env.yaml")).google
    assert google is not None
    longest = GoogleConfig.model_validate({**google.model_dump(), "project_id": "p" * 30})
    names = Names(environment="e" * 21, google=longest)
    assert all(len(names.bucket(purpose)) <= 63 for purpose in get_args(Purpose))
    shortest = Names(environment="e", google=google)
    assert all(len(shortest.account_id(role)) >= 6 for role in ROLES)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--confg", "x"], "unrecognized arguments: --confg x; python -m infra --help lists the options."),
        (["--config"], "argument --config: expected one argument; python -m infra --help lists the options."),
        (["--now", "soon", "--check"], "--now: 'soon' is not a day; write it like 2026-11-30."),
        (["--config", "nowhere.yaml"], "nowhere.yaml: there is no such environment file; give one with --config"),
    ],
)
def test_a_bad_option_is_one_sentence(
    options: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(options) == 2
    (sentence,) = capsys.readouterr().err.splitlines()
    assert sentence.startswith(f"infra: {says}")


def test_an_output_folder_that_cannot_be_written_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = write(tmp_path / "env.yaml", put("google.persistent_resources", []))
    assert main(["--config", str(config), "--output", str(config / "out"), "--now", TODAY]) == 2
    (sentence,) = capsys.readouterr().err.splitlines()
    assert (
        sentence == f"infra: --output {config / 'out'}: this folder cannot be written (not a directory); give another."
    )


@pytest.mark.parametrize("now", ["2027-07-01", "2027-06-30T23:30:00-02:00"])
def test_the_day_comes_from_the_option_or_the_environment(
    now: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    config = write(tmp_path / "env.yaml")
    monkeypatch.setenv("OVERNIGHT_NOW", now)
    assert main(["--config", str(config), "--check"]) == 2
    assert "and today is 2027-07-01" in capsys.readouterr().err
    assert main(["--config", str(config), "--check", "--now", "2027-06-30"]) == 0


def test_a_mistake_is_told_without_starting_the_framework(tmp_path: Path) -> None:
    config = write(tmp_path / "env.yaml", put("google.region", "US"))
    code = "import sys; from infra.__main__ import main; main(sys.argv[1:]); print(sorted(sys.modules))"
    began = time.monotonic()
    result = subprocess.run(
        [sys.executable, "-c", code, "--config", str(config)], capture_output=True, text=True, check=True
    )
    assert "cdktf" not in result.stdout
    assert "cdktn" not in result.stdout
    assert "google.region" in result.stderr
    # 0.25 s on two idle cores; only the framework's seconds must stay out.
    assert time.monotonic() - began < 5
