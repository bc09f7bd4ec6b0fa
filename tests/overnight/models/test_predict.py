import io
import json
import subprocess
import sys

import pytest
from PIL import Image
from typer.testing import CliRunner

from overnight.cli.main import app
from overnight.errors import OvernightError
from overnight.models.predict import predict

MAKE_MODEL = """
import sys
from pathlib import Path
import torch
from trainer.export import export_model
from trainer.models import build_model
from trainer.presets import smoke

torch.manual_seed(0)
config = smoke()
module = build_model(config.model.function, config.model.arguments, 3)
export_model(Path(sys.argv[1]), module, config, ("circle", "cross", "square"))
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A model folder with random weights, made by the trainer in its own process."""
    folder = tmp_path_factory.mktemp("model") / "model"
    made = subprocess.run([sys.executable, "-c", MAKE_MODEL, str(folder)], capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    return folder


@pytest.fixture
def images(tmp_path):
    """Two pictures and a text file."""
    paths = []
    for name, colour in (("red", (200, 30, 30)), ("[blue]", (30, 30, 200))):
        data = io.BytesIO()
        Image.new("RGB", (60, 48), colour).save(data, "JPEG")
        paths.append(tmp_path / f"{name}.jpg")
        paths[-1].write_bytes(data.getvalue())
    (tmp_path / "notes.jpg").write_text("not a picture")
    return [*paths, tmp_path / "notes.jpg"]


def test_each_image_gets_its_best_classes_or_what_is_wrong_with_it(root, model, images):
    environment = {"OVERNIGHT_CONFIG": str(root.config)}
    paths = [str(path) for path in images]

    result = CliRunner().invoke(app, ["predict", str(model), *paths, "--top", "2", "--json"], env=environment)

    assert result.exit_code == 2
    red, blue, notes = (json.loads(line) for line in result.stdout.splitlines())
    assert [red["path"], blue["path"], notes["path"]] == paths
    for answer in (red, blue):
        (first, sure), (second, less) = answer["top"]
        assert answer["error"] is None
        assert {first, second} < {"circle", "cross", "square"}
        assert 0 < less <= sure < 1
    assert (notes["top"], notes["error"]) == ([], "not-a-jpeg")


def test_the_table_shows_names_as_they_are(root, model, images, tmp_path, monkeypatch):
    answer = {"path": str(images[1]), "label": "[x]", "confidence": 0.7, "top": [["[x]", 0.7], ["y", 0.2]]}
    program = tmp_path / "python"
    program.write_text(f"#!/bin/sh\necho '{json.dumps(answer)}'\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    environment = {"OVERNIGHT_CONFIG": str(root.config), "COLUMNS": "400"}
    result = CliRunner().invoke(app, ["predict", str(model), str(images[1])], env=environment)
    assert result.exit_code == 0, result.output
    heading, row = result.stdout.splitlines()
    assert heading.split() == ["image", "answer", "sure", "then"]
    assert row.split() == [str(images[1]), "[x]", "70.0", "%", "y", "20.0", "%"]


def test_an_image_that_is_not_there_is_one_sentence(model, tmp_path):
    with pytest.raises(OvernightError, match=r"nowhere\.jpg: there is no such image"):
        list(predict(model, [tmp_path / "nowhere.jpg"], 1))
