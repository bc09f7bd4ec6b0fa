import io
import json
import tarfile
from pathlib import Path

import pytest
from typer.testing import CliRunner

from jpeg_files import jpeg, photograph
from overnight.cli.main import app
from overnight.errors import OvernightError


@pytest.fixture
def shards(tmp_path: Path) -> Path:
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        for number in range(6):
            content = jpeg(photograph(number, 300, 200), progressive=number == 0)
            info = tarfile.TarInfo(f"{number}.jpg")
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return tmp_path


def overnight(*arguments: str) -> str:
    result = CliRunner().invoke(app, arguments)
    if isinstance(result.exception, OvernightError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


def test_it_says_what_a_core_makes_and_what_is_left_to_libjpeg(shards: Path) -> None:
    said = overnight("bench", "input", str(shards), "--size", "160", "--seconds", "1", "--rate", "10")
    assert "6 images drawn from 1 shards" in said
    assert "images/s a core, 160 pixels" in said
    assert "16.7% (progressive 1)" in said
    assert "cores needed for that" in said


def test_json_is_the_trainers_measurement(shards: Path) -> None:
    found = json.loads(overnight("bench", "input", str(shards), "--preset", "demo", "--seconds", "1", "--json"))
    assert found["format"] == "overnight.bench-input/1"
    assert found["size"] == 64


def test_no_shards_are_the_trainers_sentence(tmp_path: Path) -> None:
    with pytest.raises(OvernightError, match=r"there is no \*\.tar here; give the folder that holds the shards"):
        overnight("bench", "input", str(tmp_path))
