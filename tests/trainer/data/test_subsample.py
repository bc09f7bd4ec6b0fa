"""Trials share one sample of the training images: by group, of every class, a function of the groups' names alone."""

import hashlib
import json
import math
from fractions import Fraction
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from trainer.__main__ import main
from trainer.command import job_settings
from trainer.config import RunConfig, config_digest, load_config, result_fields
from trainer.data.snapshot import Rows
from trainer.data.subsample import chosen, subsample
from trainer.distributed import Worker
from trainer.errors import CheckpointError, ConfigError, TrainerError
from trainer.presets import smoke
from trainer.run import Paths, Run, prepare
from trainer.saving import is_complete

SHARES = (0.01, 0.125, 0.25, 0.3, 0.5, 0.99, 1.0)
Images = list[tuple[int, int]]
"""(class, group) of each."""

images_of = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 40)), min_size=1, max_size=200)


def columns(images: Images) -> tuple[np.ndarray, pa.LargeStringArray]:
    classes = np.array([class_id for class_id, _ in images], dtype=np.int64)
    return classes, pa.array([f"group-{group}" for _, group in images], pa.large_string())


def mask(images: Images, share: float) -> list[bool]:
    return list(chosen(*columns(images), share))


@pytest.mark.parametrize("share", SHARES)
def test_each_class_keeps_its_share_of_groups(share: float) -> None:
    sizes = {0: 1000, 1: 77, 2: 8, 3: 1}
    images = [
        (class_id, 10_000 * class_id + group)
        for class_id, groups in sizes.items()
        for group in range(groups)
        for _ in range(1 + group % 3)
    ]
    kept = {image for image, is_kept in zip(images, mask(images, share), strict=True) if is_kept}
    for class_id, groups in sizes.items():
        number = len({group for of, group in kept if of == class_id})
        assert number == math.ceil(Fraction(str(share)) * groups)


def test_images_follow_the_share_too_where_groups_are_alike() -> None:
    images = [(number % 3, number // 6) for number in range(60_000)]
    kept = np.array(mask(images, 0.125))
    for class_id in range(3):
        assert kept[class_id::3].mean() == pytest.approx(0.125, rel=0.01)


def test_the_decimals_of_a_share_count_as_written() -> None:
    assert 0.07 * 100 > 7
    assert sum(mask([(0, group) for group in range(100)], 0.07)) == 7


@given(images_of, st.sampled_from(SHARES))
def test_every_class_is_kept_and_no_group_is_cut(images: Images, share: float) -> None:
    kept = mask(images, share)
    assert {image[0] for image, is_kept in zip(images, kept, strict=True) if is_kept} == {image[0] for image in images}
    whole = {group: {k for (_, g), k in zip(images, kept, strict=True) if g == group} for _, group in images}
    assert all(len(fates) == 1 for fates in whole.values())


@given(images_of, st.sampled_from(SHARES), st.sampled_from(SHARES))
def test_a_smaller_sample_is_part_of_a_larger_one(images: Images, one: float, other: float) -> None:
    smaller, larger = (np.array(mask(images, share)) for share in sorted((one, other)))
    assert not (smaller & ~larger).any()


@given(images_of, st.sampled_from(SHARES), st.randoms(use_true_random=False))
def test_the_order_of_images_does_not_matter(images: Images, share: float, random: Random) -> None:
    places = list(range(len(images)))
    random.shuffle(places)
    kept, shuffled = mask(images, share), mask([images[place] for place in places], share)
    assert shuffled == [kept[place] for place in places]


def test_the_lowest_hashes_are_chosen_as_formats_md_says() -> None:
    images = [(0, group) for group in range(40)]
    by_hash = sorted(range(40), key=lambda g: hashlib.sha256(f"overnight.subsample:group-{g}".encode()).digest()[:8])
    assert set(np.flatnonzero(mask(images, 0.125))) == set(by_hash[:5])


def test_a_sample_of_nothing_is_nothing() -> None:
    assert mask([], 0.5) == []


def test_rows_of_a_sample_are_rows_as_they_were(rows: Rows) -> None:
    part = subsample(rows, 0.25)
    keys = rows.keys.to_pylist()
    places = [keys.index(key) for key in part.keys.to_pylist()]
    assert places == sorted(places)
    assert np.bincount(part.class_ids).tolist() == [4, 4, 4]
    assert part.group_ids.to_pylist() == [rows.group_ids[place].as_py() for place in places]
    assert part.offset.tolist() == rows.offset[places].tolist()
    assert part.paths == rows.paths


def test_the_whole_split_is_the_very_same_rows(rows: Rows) -> None:
    assert subsample(rows, 1.0) is rows


def prepared(dataset: Paths, *settings: str, rank: int = 0) -> Run:
    return prepare(load_config(smoke(), None, settings), dataset, Worker(rank, 2, torch.device("cpu")))


def test_seed_and_workers_do_not_change_the_sample(dataset: Paths) -> None:
    share = "data.subsample=0.25"
    keys = prepared(dataset, share).train_rows.keys
    assert len(keys) == 3 * 4
    assert prepared(dataset, share, "seed=7", rank=1).train_rows.keys.equals(keys)


def test_validation_stays_whole(dataset: Paths) -> None:
    whole, part = prepared(dataset), prepared(dataset, "data.subsample=0.1")
    assert len(part.train_rows) < len(whole.train_rows)
    assert part.validation_rows.keys.equals(whole.validation_rows.keys)
    assert part.plan.samples == part.order.rows_count == len(part.train_rows)


@pytest.mark.parametrize("text", ["0", "-0.5", "1.5", "nan", "inf", "an eighth", "12.5%", "0,125"])
def test_a_job_with_no_share_ends_with_2_and_a_sentence(
    text: str, dataset: Paths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OVERNIGHT_SUBSAMPLE", text)
    with pytest.raises(ConfigError) as caught:
        main(arguments(dataset, tmp_path / "run"))
    assert caught.value.sentence.startswith(f"OVERNIGHT_SUBSAMPLE: {text!r} is no share of the training images; ")
    assert caught.value.exit_code == 2
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("value", ["0", "1.01", "nan", "true", "half"])
def test_a_setting_that_is_no_share_is_one_sentence(value: str) -> None:
    with pytest.raises(ConfigError, match=r"^data\.subsample: "):
        load_config(smoke(), None, [f"data.subsample={value}"])


@pytest.mark.parametrize(
    ("text", "share"), [(None, 1.0), ("", 1.0), ("1", 1.0), ("0.125", 0.125), ("1e-05", 1e-05), (".5", 0.5)]
)
def test_a_job_states_its_share_in_the_environment(text: str | None, share: float) -> None:
    environment = {} if text is None else {"OVERNIGHT_SUBSAMPLE": text}
    assert load_config(smoke(), None, job_settings(environment)).data.subsample == share


def test_the_whole_split_is_recorded_as_by_a_trainer_that_knew_no_samples() -> None:
    assert "data.subsample" not in result_fields(RunConfig())
    part = load_config(RunConfig(), None, ["data.subsample=0.5"])
    assert result_fields(part)["data.subsample"] == 0.5
    assert config_digest(part) != config_digest(RunConfig())


def arguments(dataset: Paths, output: Path, *more: str) -> list[str]:
    data = [f"--snapshot={dataset.snapshot}", f"--shards={dataset.shards}", f"--output={output}"]
    small = ["--set=batch_size=4", "--set=model.arguments={width=4}", "--set=checkpoint.every_seconds=0"]
    return ["--preset=smoke", *data, *small, "--set=checkpoint.every_steps=2", "--set=checkpoint.keep=9", *more]


def test_a_trial_trains_on_its_share_and_says_so(
    dataset: Paths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OVERNIGHT_SUBSAMPLE", "0.25")
    output = tmp_path / "run"
    assert main(arguments(dataset, output, "--set=data.log_samples=true")) == 0
    assert "training on 12 of 42 images: data.subsample is 0.25\n" in capsys.readouterr().out
    lines = [json.loads(line) for line in (output / "samples.log").read_text().splitlines()]
    assert len(lines) == 2 * 12 // 4
    assert {sample for line in lines for sample in line["samples"]} == set(range(12))
    result = read(output / "result.json")
    assert (result["steps"], result["hyperparameters"]["data"]["subsample"]) == (6, 0.25)
    assert read(output / "config.json")["data"]["subsample"] == 0.25
    assert read(output / "metrics.json")["final"]["samples"] == 6


def test_a_trial_is_continued_on_its_own_share_only(
    dataset: Paths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OVERNIGHT_SUBSAMPLE", "0.25")
    output = tmp_path / "run"
    assert main(arguments(dataset, output)) == 0
    weights = read(output / "result.json")["weights_sha256"]
    monkeypatch.delenv("OVERNIGHT_SUBSAMPLE")
    with pytest.raises(ConfigError, match=r"data\.subsample was 0\.25 and is 1\.0"):
        main(arguments(dataset, output))
    (output / "result.json").unlink()
    for folder in (output / "checkpoints").glob("step-0000000[46]"):
        (folder / "manifest.json").unlink()
    with pytest.raises(CheckpointError, match=r"data\.subsample was 0\.25 and is 1\.0"):
        main(arguments(dataset, output))
    monkeypatch.setenv("OVERNIGHT_SUBSAMPLE", "0.25")
    assert main(arguments(dataset, output)) == 0
    result = read(output / "result.json")
    assert result["weights_sha256"] == weights
    assert result["restarts"] >= 1


def test_the_jobs_share_lies_over_a_file_and_set_over_both(
    dataset: Paths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "earlier.toml"
    file.write_text("epochs = 1\n[data]\nsubsample = 1.0\n")
    monkeypatch.setenv("OVERNIGHT_SUBSAMPLE", "0.5")
    for name, more, share in (("job", [], 0.5), ("set", ["--set=data.subsample=0.1"], 0.1)):
        assert main(arguments(dataset, tmp_path / name, f"--config={file}", *more)) == 0
        assert read(tmp_path / name / "config.json")["data"]["subsample"] == share


def test_a_run_from_before_there_were_samples_counts_as_whole(dataset: Paths, tmp_path: Path) -> None:
    output = tmp_path / "run"
    assert main(arguments(dataset, output, "--set=epochs=1")) == 0
    result = read(output / "result.json")
    del result["hyperparameters"]["data"]["subsample"]
    (output / "result.json").write_text(json.dumps(result))
    assert main(arguments(dataset, output, "--set=epochs=1")) == 0
    config = load_config(RunConfig(), output / "config.json", ["data.subsample=0.5"])
    with pytest.raises(TrainerError, match=r"data\.subsample was 1\.0 and is 0\.5"):
        is_complete(output, config, result["snapshot"]["sha256"])


def read(path: Path) -> dict:  # type: ignore[type-arg]
    return dict(json.loads(path.read_text()))
