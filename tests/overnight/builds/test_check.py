"""`overnight build check`: findings of the service's rules and of the house's policies, with their lines."""

import json
import shutil
import sys
from pathlib import Path

import pytest

from build_edits import HOUSE, ROOT
from overnight.builds.check import address, check, check_file, field_path
from overnight.builds.file import read_build
from overnight.builds.given import TRIGGERS, of_environment
from overnight.builds.rules.table import rules_table
from overnight.cli import main
from overnight.config import load


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the small repository to work in."""
    monkeypatch.delenv("OVERNIGHT_CONFIG", raising=False)
    shutil.copytree(HOUSE, tmp_path / "house")
    (tmp_path / "house/.git").mkdir()
    monkeypatch.chdir(tmp_path / "house")
    return tmp_path / "house"


def run(*arguments: str, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(sys, "argv", ["overnight", "build", *arguments])
    with pytest.raises(SystemExit) as ended:
        main.run()
    return int(ended.value.code or 0)


def test_files_in_order_exit_with_0(
    house: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("check", ".", monkeypatch=monkeypatch) == 0
    assert capsys.readouterr().out == "1 build file checked: 0 errors, 0 warnings.\n"


def test_findings_are_shown_with_line_field_rule_and_remedy(
    house: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (house / "cloudbuild.yaml").read_text().replace("waitFor: [wheels]", "waitFor: [wheel]")
    (house / "cloudbuild.yaml").write_text(text.replace("logging: CLOUD_LOGGING_ONLY", "logging: LEGACY"))
    assert run("check", "cloudbuild.yaml", monkeypatch=monkeypatch) == 2
    shown = capsys.readouterr().out
    assert "cloudbuild.yaml:13" in shown
    assert "steps[1].waitFor[0]" in shown
    assert "no step is called 'wheel'" in shown
    assert "OVN2011" in shown
    assert shown.endswith("1 build file checked: 2 errors, 0 warnings.\n")


def test_findings_for_machines(
    house: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (house / "empty.yaml").write_text("")
    assert run("check", "--json", "empty.yaml", "missing.yaml", monkeypatch=monkeypatch) == 2
    said = json.loads(capsys.readouterr().out)
    assert said["errors"] == 2
    assert said["builds"][0] == {
        "path": "empty.yaml",
        "findings": [
            {
                "rule": "not-a-build",
                "severity": "error",
                "line": None,
                "field": "",
                "message": "this file is empty",
                "remedy": "see cloudbuild/pull-request.yaml",
            }
        ],
    }


def test_a_folder_without_build_files_is_refused(
    house: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("check", "scripts", monkeypatch=monkeypatch) == 2
    assert capsys.readouterr().err == (
        "overnight: scripts: there is no *.yaml file here; give a folder with build files.\n"
    )


def test_an_environments_own_values_are_judged(
    house: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (house / "cloudbuild.yaml").read_text()
    pushed = text.replace(
        'docker push "$cached"', "docker push us-central1-docker.pkg.dev/acme-vision-prod/example-cache/app:1"
    )
    region = load(ROOT / "config/example.yaml").google
    assert region is not None
    (house / "cloudbuild.yaml").write_text(pushed.replace("us-central1-docker", f"{region.region}-docker"))
    assert run("check", ".", monkeypatch=monkeypatch) == 2
    assert "OVN2022" in capsys.readouterr().out
    assert run("check", ".", "--config", str(ROOT / "config/example.yaml"), monkeypatch=monkeypatch) == 0


def test_outside_of_a_repository_its_files_are_not_looked_for(tmp_path: Path) -> None:
    shutil.copy(HOUSE / "cloudbuild.yaml", tmp_path)
    assert check_file(tmp_path / "cloudbuild.yaml").findings == ()


def test_what_a_trigger_does_not_pass_is_missing() -> None:
    build = read_build(ROOT / "cloudbuild/infra-plan.yaml")
    given = {name: value for name, value in TRIGGERS.items() if name != "_CONFIG"}
    assert [(finding.rule, finding.message) for finding in check(build, given)] == [
        ("undeclared-substitution", "nothing gives a value to $_CONFIG")
    ]


def test_an_environment_passes_what_its_triggers_pass() -> None:
    environment = load(ROOT / "config/example.yaml")
    given = of_environment(environment)
    assert set(given) == set(TRIGGERS)
    assert given["_ENVIRONMENT"] == "example"
    assert given["_REPOSITORY"].endswith("/example-images")


@pytest.mark.parametrize("path", [(), ("steps", 0, "args", 12), ("options", "pool"), ("steps", 3)])
def test_an_address_is_a_path_again(path: tuple[str | int, ...]) -> None:
    assert field_path(address(path)) == path


def test_the_page_holds_the_table_of_rules(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("rules", monkeypatch=monkeypatch) == 0
    assert capsys.readouterr().out == f"{rules_table()}\n"
    assert rules_table() in (ROOT / "docs/builds.md").read_text()
