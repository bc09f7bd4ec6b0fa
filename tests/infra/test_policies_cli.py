"""python -m infra.policies: exit codes, what is printed, and one sentence for each mistake of the user."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from infra.policies import main
from overnight.policies.policies import root

DATA = Path(__file__).parents[1] / "policies" / "data"
DAY = ("--today", "2026-12-01")


@pytest.fixture
def bad_stack(tmp_path: Path) -> Path:
    """The house with one bucket in a multi-region and one alert that nobody hears."""
    content: dict[str, Any] = json.loads((DATA / "house.tf.json").read_text())
    content["resource"]["google_storage_bucket"]["shards_bucket"]["location"] = "EU"
    del content["resource"]["google_monitoring_alert_policy"]["loader_waits_alert"]["notification_channels"]
    file = tmp_path / "cdk.tf.json"
    file.write_text(json.dumps(content))
    return file


def test_clean_files_exit_with_0() -> None:
    result = subprocess.run(
        [sys.executable, "-m", "infra.policies", DATA / "house.plan.json", DATA / "house.tf.json", *DAY],
        cwd=root().parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert "house.plan.json: 0 denied, 0 warned" in result.stdout


def test_a_denial_exits_with_3_and_is_readable(bad_stack: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(bad_stack), *DAY]) == 3
    shown = capsys.readouterr().out
    assert "1 denied, 1 warned" in shown
    assert "OVN501 deny  google_storage_bucket.shards_bucket" in shown
    assert "EU is a multi-region: training reads across regions; set location to one of: us-central1" in shown


def test_a_warning_alone_exits_with_0(bad_stack: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content = json.loads(bad_stack.read_text())
    content["resource"]["google_storage_bucket"]["shards_bucket"]["location"] = "us-central1"
    bad_stack.write_text(json.dumps(content))
    assert main([str(bad_stack), *DAY]) == 0
    assert "OVN911 warn" in capsys.readouterr().out


def test_findings_for_machines_name_rule_place_and_remedy(bad_stack: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(bad_stack), "--json", *DAY]) == 3
    found = json.loads(capsys.readouterr().out)["files"][str(bad_stack)]
    assert [(one["id"], one["level"], one["address"]) for one in found] == [
        ("OVN501", "deny", "google_storage_bucket.shards_bucket"),
        ("OVN911", "warn", "google_monitoring_alert_policy.loader_waits_alert"),
    ]
    assert found[0]["remedy"] == "set location to one of: us-central1"


def test_the_day_decides_which_pools_have_expired(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(DATA / "house.tf.json"), "--today", "2027-07-01"]) == 3
    assert "OVN802" in capsys.readouterr().out


def test_opa_finds_the_same(bad_stack: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("opa_bindings")
    main([str(bad_stack), *DAY])
    ours = capsys.readouterr().out
    assert main([str(bad_stack), "--engine", "opa", *DAY]) == 3
    assert capsys.readouterr().out == ours


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "no such file or directory"),
        (b"resource {", "not JSON; give what `terraform show -json PLAN` prints, or a cdk.tf.json"),
        (b"PK\x03\x04binary", "a saved plan, not its JSON; give what"),
        (b"[1]", "neither a plan nor a Terraform configuration"),
        (b'{"format_version": "1.0", "values": {}}', "neither a plan nor a Terraform configuration"),
    ],
)
def test_a_file_that_cannot_be_judged_exits_with_2(
    content: bytes | None, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "plan.json"
    if content is not None:
        file.write_bytes(content)
    assert main([str(file)]) == 2
    shown = capsys.readouterr().err
    assert shown.startswith(f"infra.policies: {file}: {sentence}")
    assert shown.count("\n") == 1


@pytest.mark.parametrize("engine", ["regorus", "opa"])
def test_rego_that_does_not_parse_is_named_by_its_line(
    engine: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if engine == "opa":
        pytest.importorskip("opa_bindings")
    (tmp_path / "bad.rego").write_text("package main\n\ndeny contains message if {\n")
    assert main([str(DATA / "house.tf.json"), "--policies", str(tmp_path), "--engine", engine]) == 2
    shown = capsys.readouterr().err
    assert f"{tmp_path / 'bad.rego'}:" in shown
    assert shown.count("\n") == 1


def test_a_folder_without_policies_exits_with_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--test", "--policies", str(tmp_path)]) == 2
    assert "no .rego file" in capsys.readouterr().err


def test_a_message_without_an_id_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "loose.rego").write_text('package main\n\ndeny contains "something is wrong"\n')
    assert main([str(DATA / "house.tf.json"), "--policies", str(tmp_path)]) == 2
    assert "build its message with lib.message" in capsys.readouterr().err


def test_a_failing_policy_test_exits_with_1_and_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "some_test.rego").write_text("package some_test\n\ntest_one if 1 == 1\n\ntest_two if 1 == 2\n")
    assert main(["--test", "--policies", str(tmp_path)]) == 1
    assert capsys.readouterr().out == "1 of 2 policy tests pass\n  some_test.test_two\n"


def test_the_policies_own_tests_pass(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--test"]) == 0
    assert "policy tests pass" in capsys.readouterr().out


def test_nothing_to_do_is_a_mistake(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([])
    assert ended.value.code == 2
    assert "give a FILE, or --test" in capsys.readouterr().err
