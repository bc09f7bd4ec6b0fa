"""A command as a step of a pipeline: its JSON becomes files, its exit code the step's."""

from pathlib import Path

import pytest

from overnight.errors import OvernightError
from overnight.pipeline.step import parse_outputs, run_step

QUOTA = "quota metrics exceed quota limits: aiplatform.googleapis.com/custom_model_training_nvidia_l4_gpus"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_fields_of_a_commands_json_become_files(here: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    outputs = {"known": here / "deep" / "known", "quota_metrics": here / "metrics"}
    assert run_step(["job", "explain", QUOTA], outputs) == 0
    assert outputs["quota_metrics"].read_text() == '["aiplatform.googleapis.com/custom_model_training_nvidia_l4_gpus"]'
    assert outputs["known"].read_text().startswith("[{")
    assert b'"quota_metrics"' in capfdbinary.readouterr().out


def test_a_step_without_outputs_is_the_command(capfd: pytest.CaptureFixture[str]) -> None:
    assert run_step(["pipeline", "list"], {}) == 0
    assert capfd.readouterr().out.startswith("tuning: ")


def test_a_command_that_fails_writes_nothing_and_its_exit_code_stays(
    here: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run_step(["snapshot", "create", "--config", "none.yaml"], {"name": here / "name"}) == 2
    assert not (here / "name").exists()
    assert "none.yaml" in capfd.readouterr().err


def test_a_field_that_is_not_there_is_one_sentence_and_nothing_is_written(here: Path) -> None:
    outputs = {"known": here / "known", "accuracy": here / "accuracy"}
    with pytest.raises(OvernightError) as error:
        run_step(["job", "explain", QUOTA], outputs)
    assert error.value.sentence == f"overnight job explain '{QUOTA}': its JSON has no field 'accuracy'."
    assert not any(path.exists() for path in outputs.values())


def test_a_command_that_prints_a_list_has_no_fields(here: Path) -> None:
    with pytest.raises(OvernightError) as error:
        run_step(["pipeline", "list"], {"name": here / "name"})
    assert error.value.sentence == "overnight pipeline list: it printed no JSON object."


@pytest.mark.parametrize("text", ["", "name", "=file", "name="])
def test_an_output_is_a_name_and_a_file(text: str) -> None:
    with pytest.raises(OvernightError) as error:
        parse_outputs([text])
    assert error.value.sentence == f"--output: {text!r} is no output; write NAME=FILE."


def test_a_path_may_hold_an_equals_sign() -> None:
    assert parse_outputs(["name=/a=b/name"]) == {"name": Path("/a=b/name")}
