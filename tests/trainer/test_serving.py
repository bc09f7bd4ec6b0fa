"""Serving truth: training-time evaluation, evaluation afterwards and prediction see the same pixels and logits."""

import io
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from PIL import Image

from trainer import baseline, predict
from trainer.command import fail_in_one_sentence
from trainer.config import RunConfig, load_config
from trainer.data.loader import load_images
from trainer.data.snapshot import open_snapshot
from trainer.evaluate import Pass, evaluate, logits_of, split_logits
from trainer.evaluate import main as evaluate_main
from trainer.export import export_model, load_model
from trainer.files import sha256_file
from trainer.run import Paths

Trainer = Callable[..., Path]


@pytest.fixture
def model(run: Trainer) -> Path:
    return run("trained", "ema.decay=0.9") / "model"


def jpegs(dataset: Paths, split: str, folder: Path) -> list[Path]:
    """The images of a split as files, in row order."""
    rows = open_snapshot(dataset.snapshot, dataset.shards).rows(split)
    paths = []
    for index, key in enumerate(rows.keys.to_pylist()):
        tar = Path(rows.paths[rows.shard[index]]).read_bytes()
        paths.append(folder / f"{key.replace('/', '-')}.jpg")
        paths[-1].write_bytes(tar[rows.offset[index] : rows.offset[index] + rows.size[index]])
    return paths


def test_evaluation_and_prediction_give_the_same_logits(dataset: Paths, model: Path, tmp_path: Path) -> None:
    loaded = load_model(model)
    rows = open_snapshot(dataset.snapshot, dataset.shards).rows("validation")
    during = split_logits(loaded.module, rows, loaded.preprocessing, Pass(4, 1))
    evaluate(model, dataset.snapshot, dataset.shards, "validation", tmp_path / "p.parquet", Pass(64, 2))
    after = np.array(pq.read_table(tmp_path / "p.parquet")["logits"].to_pylist(), dtype=np.float32)
    spec = loaded.preprocessing
    images = load_images(
        jpegs(dataset, "validation", tmp_path),
        size=spec.size,
        resize_shorter_side=spec.resize_shorter_side,
        mean=spec.mean,
        std=spec.std,
    )
    served = logits_of(loaded.module, images.images, torch.device("cpu"))
    assert during is not None
    np.testing.assert_allclose(after, during, rtol=0, atol=1e-5)
    np.testing.assert_allclose(served, during, rtol=0, atol=1e-5)


def test_the_metrics_of_the_run_are_those_of_its_predictions(dataset: Paths, model: Path, tmp_path: Path) -> None:
    metrics = evaluate(model, dataset.snapshot, dataset.shards, "validation", tmp_path / "p.parquet", Pass(64, 1))
    final = json.loads((model.parent / "metrics.json").read_text())["final"]
    assert metrics is not None
    assert metrics.confusion == final["confusion"]
    assert metrics.loss == pytest.approx(final["loss"], abs=1e-5)


def test_predictions_name_labels_and_say_what_made_them(dataset: Paths, model: Path, tmp_path: Path) -> None:
    evaluate(model, dataset.snapshot, dataset.shards, "test", tmp_path / "p.parquet", Pass(64, 1))
    table = pq.read_table(tmp_path / "p.parquet")
    assert table.column_names == ["key", "group_id", "label", "predicted", "confidence", "logits"]
    assert table.num_rows == 12
    assert set(table["label"].to_pylist()) <= {"bars", "checks", "dots"}
    metadata = {key.decode(): value.decode() for key, value in table.schema.metadata.items()}
    assert json.loads(metadata["classes"]) == ["bars", "checks", "dots"]
    assert metadata["weights_sha256"] == sha256_file(model / "model.safetensors")
    assert metadata["snapshot_sha256"] == sha256_file(dataset.snapshot / "manifest.json")
    assert metadata["split"] == "test"


def test_the_same_evaluation_gives_the_same_bytes(dataset: Paths, model: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        evaluate(model, dataset.snapshot, dataset.shards, "test", tmp_path / name, Pass(64, 1))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_predict_prints_one_line_an_image(
    dataset: Paths, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    images = jpegs(dataset, "test", tmp_path)[:3]
    assert predict.main(["--model", str(model), "--top", "2", *map(str, images)]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["path"] for line in lines] == [str(image) for image in images]
    for line in lines:
        assert line["top"][0] == [line["label"], line["confidence"]]
        assert line["top"][0][1] >= line["top"][1][1]


def test_a_bad_image_is_named_and_the_others_are_predicted(
    dataset: Paths, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bad.jpg").write_bytes(b"no picture")
    images = [tmp_path / "bad.jpg", jpegs(dataset, "test", tmp_path)[0], tmp_path / "missing.jpg"]
    assert predict.main(["--model", str(model), *map(str, images)]) == 2
    bad, good, missing = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert "error" in bad
    assert "error" in missing
    assert good["label"] in {"bars", "checks", "dots"}


def test_a_turned_photograph_is_predicted_upright(dataset: Paths, model: Path, tmp_path: Path) -> None:
    source = Image.open(jpegs(dataset, "test", tmp_path)[0])
    buffer = io.BytesIO()
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera lay on its side: turn clockwise to see it upright
    source.transpose(Image.Transpose.ROTATE_90).save(buffer, "JPEG", quality=100, subsampling=0, exif=exif)
    (tmp_path / "turned.jpg").write_bytes(buffer.getvalue())
    source.save(tmp_path / "upright.jpg", quality=100, subsampling=0)
    loaded = load_model(model)
    turned, upright = predict.predict(loaded, [tmp_path / "turned.jpg", tmp_path / "upright.jpg"], 3, 1)
    assert turned["label"] == upright["label"]
    assert turned["confidence"] == pytest.approx(upright["confidence"], abs=0.02)


@pytest.mark.parametrize("damage", ["missing", "weights", "description", "swapped"])
def test_a_damaged_model_is_one_sentence(
    model: Path, damage: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = model
    if damage == "missing":
        folder = model / "nowhere"
    elif damage == "weights":
        (model / "model.safetensors").unlink()
    elif damage == "description":
        (model / "model.json").write_text("{")
    else:
        (model / "model.safetensors").write_bytes(b"other")
    assert fail_in_one_sentence(predict.main, ["--model", str(folder), str(tmp_path / "a.jpg")]) == 2
    errors = capsys.readouterr().err
    assert errors.count("\n") == 1
    assert errors.startswith(f"trainer: {folder}/")


def test_a_missing_snapshot_is_one_sentence(
    dataset: Paths, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--model", str(model), "--snapshot", str(tmp_path / "none"), "--shards", str(dataset.shards)]
    assert fail_in_one_sentence(evaluate_main, [*arguments, "--output", str(tmp_path / "p")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not (tmp_path / "p").exists()


def test_an_exported_model_is_the_same_bytes_again(model: Path, tmp_path: Path) -> None:
    config = load_config(RunConfig(), model.parent / "config.json", [])
    loaded = load_model(model)
    assert export_model(tmp_path / "again", loaded.module, config, loaded.classes) == loaded.weights_sha256
    assert (tmp_path / "again" / "model.json").read_bytes() == (model / "model.json").read_bytes()


def test_the_baseline_is_better_than_chance_and_the_same_every_time(
    dataset: Paths, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--snapshot", str(dataset.snapshot), "--shards", str(dataset.shards), "--output"]
    for name in ("a", "b"):
        assert baseline.main([*arguments, str(tmp_path / name)]) == 0
    first, second = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert first == second
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert first["majority_accuracy"] == pytest.approx(1 / 3)
    table = pq.read_table(tmp_path / "a")
    assert table.num_rows == 12
    assert json.loads(table.schema.metadata[b"classes"]) == ["bars", "checks", "dots"]
    assert first["accuracy"] == np.mean([a == b for a, b in zip(table["label"], table["predicted"], strict=True)])
