"""A run is a function of its configuration and its snapshot: equal bytes, whatever happens on the way."""

import io
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file

from trainer.checkpoint import newest
from trainer.errors import BadSampleError, CheckpointError, ConfigError
from trainer.files import sha256_file
from trainer.run import Paths
from trainer.train import Diverged

Trainer = Callable[..., Path]

LOG = ("data.log_samples=true",)


def weights_sha256(output: Path) -> str:
    digest = json.loads((output / "result.json").read_text())["weights_sha256"]
    assert digest == sha256_file(output / "model" / "model.safetensors")
    return str(digest)


def read(output: Path, name: str) -> dict[str, object]:
    return dict(json.loads((output / name).read_text()))


def forget_after(step: int, output: Path) -> None:
    """Make `output` what it was after `step`."""
    for folder in (output / "checkpoints").glob("step-*"):
        if int(folder.name.removeprefix("step-")) > step:
            shutil.rmtree(folder)
    (output / "result.json").unlink()


def test_the_same_inputs_give_the_same_bytes(run: Trainer) -> None:
    first, second = run("a"), run("b", "data.threads=2", "data.depth=5", "checkpoint.every_steps=2")
    for name in ("model/model.safetensors", "model/model.json", "metrics.json"):
        if name == "metrics.json":
            assert read(first, name)["final"] == read(second, name)["final"]
        else:
            assert (first / name).read_bytes() == (second / name).read_bytes()


def test_another_seed_gives_another_model(run: Trainer) -> None:
    assert weights_sha256(run("a")) != weights_sha256(run("b", "seed=1"))


@pytest.mark.parametrize(
    "settings",
    [
        ("model.arguments={width=4, dropout=0.3}", "ema.decay=0.9"),
        ("optimizer.name=sgd", "optimizer.learning_rate=0.05", "optimizer.clip_norm=1", "data.sampling=balanced"),
        ("model.frozen_epochs=1", "optimizer.name=adamw", "loss.class_weight_power=-1"),
        ("compute.precision=bf16", "compute.channels_last=false", "micro_batch_size=4", "augment.erasing=true"),
    ],
)
def test_a_resumed_run_ends_in_the_same_bytes(run: Trainer, settings: tuple[str, ...]) -> None:
    every = (*settings, "checkpoint.every_steps=4", "checkpoint.keep=9")
    output = run("a", *every)
    digest, metrics = weights_sha256(output), read(output, "metrics.json")
    forget_after(4, output)
    run("a", *every)
    assert weights_sha256(output) == digest
    again = read(output, "metrics.json")
    assert again["final"] == metrics["final"]
    assert [entry["train_loss"] for entry in again["epochs"]] == [entry["train_loss"] for entry in metrics["epochs"]]  # type: ignore[attr-defined]
    assert read(output, "result.json")["restarts"] == 1


def test_a_resumed_run_goes_on_at_the_next_sample(run: Trainer) -> None:
    every = (*LOG, "checkpoint.every_steps=3", "checkpoint.keep=9")
    output = run("a", *every)
    before = [json.loads(line) for line in (output / "samples.log").read_text().splitlines()]
    assert [line["step"] for line in before] == list(range(11))
    forget_after(6, output)
    run("a", *every)
    lines = [json.loads(line) for line in (output / "samples.log").read_text().splitlines()][11:]
    assert [(line["step"], line["digest"]) for line in lines] == [(line["step"], line["digest"]) for line in before[6:]]
    assert {line["attempt"] for line in lines} == {2}


def test_every_sample_comes_once_an_epoch(run: Trainer) -> None:
    lines = [json.loads(line) for line in (run("a", *LOG) / "samples.log").read_text().splitlines()]
    seen = [pair for line in lines for pair in zip(line["epochs"], line["samples"], strict=True)]
    for epoch in (0, 1):
        assert sorted(sample for e, sample in seen if e == epoch) == list(range(42))


def test_micro_batches_sum_to_the_whole_batch(run: Trainer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without batch norms, whose statistics are of a micro-batch, accumulation is only another order of sums."""
    (tmp_path / "plain.py").write_text(
        "from torch import nn\n"
        "def network(num_classes):\n"
        "    return nn.Sequential(nn.Conv2d(3, 6, 5, stride=3), nn.ReLU(), nn.AdaptiveAvgPool2d(3), nn.Flatten(),\n"
        "                         nn.Linear(54, num_classes))\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    plain = ("model.function=plain:network", "model.arguments={}", "optimizer.name=sgd", "epochs=1")
    whole = load_file(run("a", *plain) / "model" / "model.safetensors")
    parts = load_file(run("b", *plain, "micro_batch_size=2") / "model" / "model.safetensors")
    for name, tensor in whole.items():
        torch.testing.assert_close(parts[name], tensor, rtol=1e-4, atol=1e-6)


def test_a_teams_own_model_trains_as_it_is(run: Trainer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "our_team.py").write_text(
        "from torch import nn\n"
        "def classifier(num_classes, hidden):\n"
        "    return nn.Sequential(nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(48, hidden), nn.ReLU(),\n"
        "                         nn.Linear(hidden, num_classes))\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    output = run("a", "model.function=our_team:classifier", "model.arguments={hidden=7}")
    assert read(output, "model/model.json")["architecture"] == {
        "function": "our_team:classifier",
        "arguments": {"hidden": 7},
    }


def test_frozen_epochs_change_the_head_alone(run: Trainer) -> None:
    source = run("source")
    settings = (f"model.pretrained={source / 'model'}", "model.frozen_epochs=1")
    output = run("tuned", *settings, "checkpoint.every_steps=3", "checkpoint.keep=9")
    frozen = load_file(output / "checkpoints" / "step-00000003" / "state.safetensors")
    final = load_file(output / "model" / "model.safetensors")
    for name, tensor in load_file(source / "model" / "model.safetensors").items():
        same = torch.equal(frozen[f"model/{name}"], tensor)
        assert same != name.startswith("head."), name
    assert not torch.equal(final["stem.0.weight"], frozen["model/stem.0.weight"])


def test_the_average_is_what_is_exported(run: Trainer) -> None:
    plain, averaged = run("a"), run("b", "ema.decay=0.99")
    state = load_file(averaged / "checkpoints" / "step-00000011" / "state.safetensors")
    exported = load_file(averaged / "model" / "model.safetensors")
    assert all(torch.equal(exported[name], state[f"average/{name}"]) for name in exported)
    raw = load_file(plain / "model" / "model.safetensors")
    assert all(torch.equal(raw[name], state[f"model/{name}"]) for name in raw)
    assert read(averaged, "model/model.json")["ema"] is True


def test_the_profile_accounts_for_every_moment(run: Trainer) -> None:
    profile = read(run("a", "checkpoint.every_steps=2"), "profile.json")
    phases = profile["phases"]
    assert isinstance(phases, dict)
    assert sum(phase["seconds"] for phase in phases.values()) == pytest.approx(profile["wall_seconds"])
    assert sum(phase["share"] for phase in phases.values()) == pytest.approx(1)
    assert all(phases[name]["seconds"] > 0 for name in phases)
    assert profile["samples"] == 88


def test_the_result_is_written_last_and_says_what_made_it(run: Trainer, dataset: Paths) -> None:
    output = run("a")
    result = read(output, "result.json")
    assert result["format"] == "overnight.result/1"
    assert result["status"] == "succeeded"
    assert result["snapshot"] == {
        "name": dataset.snapshot.name,
        "sha256": sha256_file(dataset.snapshot / "manifest.json"),
    }
    assert result["started"] == result["ended"] == "2026-03-02T12:00:00Z"
    assert result["hyperparameters"] == read(output, "config.json")
    assert max(output.iterdir(), key=lambda path: path.stat().st_mtime_ns).name == "result.json"
    assert not list(output.rglob("*.tmp"))


def test_a_complete_run_is_not_done_again(run: Trainer, capsys: pytest.CaptureFixture[str]) -> None:
    output = run("a")
    before = (output / "result.json").read_bytes()
    run("a")
    assert "complete already" in capsys.readouterr().out
    assert (output / "result.json").read_bytes() == before
    with pytest.raises(ConfigError, match="seed was 0 and is 1"):
        run("a", "seed=1")


def test_a_checkpoint_of_another_configuration_is_refused_by_field(run: Trainer) -> None:
    output = run("a")
    (output / "result.json").unlink()
    with pytest.raises(CheckpointError, match=r"optimizer\.learning_rate was 0\.003 and is 0\.1"):
        run("a", "optimizer.learning_rate=0.1")
    assert read(output, "config.json")["optimizer"]["learning_rate"] == 0.003  # type: ignore[index]


def test_a_checkpoint_holds_only_the_epochs_up_to_its_step(run: Trainer) -> None:
    output = run("a", "checkpoint.every_steps=1", "checkpoint.keep=99")
    for folder in (output / "checkpoints").glob("step-*"):
        manifest = read(folder, "manifest.json")
        assert [entry["step"] for entry in manifest["progress"]["epochs"]] == [  # type: ignore[index]
            step
            for step in (6, 11)
            if step <= manifest["step"]  # type: ignore[operator]
        ]


def test_a_checkpoint_of_another_snapshot_is_refused(run: Trainer, tmp_path: Path) -> None:
    output = run("a")
    (output / "result.json").unlink()
    manifest = next((output / "checkpoints").glob("step-*")) / "manifest.json"
    value = json.loads(manifest.read_text())
    manifest.write_text(json.dumps({**value, "snapshot_sha256": "f" * 64}))
    with pytest.raises(CheckpointError, match="another snapshot"):
        run("a")


def test_a_damaged_checkpoint_costs_only_its_steps(run: Trainer) -> None:
    every = ("checkpoint.every_steps=4", "checkpoint.keep=9")
    output = run("a", *every)
    digest = weights_sha256(output)
    state = output / "checkpoints" / "step-00000008" / "state.safetensors"
    os.truncate(state, state.stat().st_size // 2)
    forget_after(8, output)
    run("a", *every)
    assert weights_sha256(output) == digest


def test_a_loss_that_is_no_number_stops_the_run_with_step_and_rate(run: Trainer) -> None:
    with pytest.raises(Diverged, match=r"at step \d+ with learning rate") as caught:
        run("a", "optimizer.name=sgd", "optimizer.learning_rate=1e30", "schedule.warmup_epochs=0")
    assert "\n" not in caught.value.sentence


def test_a_damaged_image_is_skipped_and_reported(run: Trainer, dataset: Paths, tmp_path: Path) -> None:
    data = with_a_damaged_image(dataset, tmp_path, "synthetic/00012")
    with pytest.raises(BadSampleError, match="synthetic/00012"):
        run("stopped", data=data)
    profile = read(run("a", 'data.bad_samples={action="skip", budget=3}', data=data), "profile.json")
    assert profile["bad_samples_total"] == 1
    assert [bad["key"] for bad in profile["bad_samples"]] == ["synthetic/00012"]  # type: ignore[attr-defined]


def test_an_image_that_is_no_jpeg_is_trained_on_counted_and_told(
    run: Trainer, dataset: Paths, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    buffer = io.BytesIO()
    rows = pq.read_table(dataset.snapshot / "labels-00000.parquet").to_pylist()
    row = next(row for row in rows if row["key"] == "synthetic/00012")
    Image.new("RGB", (row["width"], row["height"]), (200, 30, 90)).save(buffer, "PNG")
    assert len(buffer.getvalue()) <= row["size"]
    data = with_a_damaged_image(dataset, tmp_path, "synthetic/00012", buffer.getvalue())
    profile = read(run("a", data=data), "profile.json")
    assert (profile["slow_samples"], profile["bad_samples_total"]) == (2, 0)
    assert "2 of 88 samples (2.3%) were decoded by Pillow" in capfd.readouterr().err


def with_a_damaged_image(dataset: Paths, folder: Path, key: str, content: bytes = b"") -> Paths:
    """The dataset with an image's bytes replaced: by `content`, and zeros."""
    shutil.copytree(dataset.shards, folder / "shards")
    rows = pq.read_table(dataset.snapshot / "labels-00000.parquet").to_pylist()
    row = next(row for row in rows if row["key"] == key)
    with (folder / "shards" / "0001" / f"shard-{row['shard']:06d}.tar").open("r+b") as file:
        file.seek(row["offset"])
        file.write(content.ljust(row["size"], b"\0"))
    return Paths(dataset.snapshot, folder / "shards", folder)


def test_a_study_gets_its_metric_once_an_epoch(run: Trainer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLOUD_ML_HP_METRIC_FILE", str(tmp_path / "study" / "output.metrics"))
    monkeypatch.setenv("CLOUD_ML_TRIAL_ID", "7")
    output = run("a", "evaluation.hyperparameter_metric=balanced_accuracy")
    lines = [json.loads(line) for line in (tmp_path / "study" / "output.metrics").read_text().splitlines()]
    final = newest(output / "checkpoints")
    assert final is not None
    assert [(line["trial"], line["global_step"]) for line in lines] == [("7", "6"), ("7", "11")]
    assert lines[-1]["balanced_accuracy"] == str(read(output, "metrics.json")["final"]["balanced_accuracy"])  # type: ignore[index]
