"""The measurement on small pictures; what it says must be there and must fit together."""

import io
import itertools
import json
import tarfile
from pathlib import Path

import pytest

from jpeg_files import jpeg, photograph, picture
from trainer.bench_input import costs
from trainer.bench_input.__main__ import main
from trainer.bench_input.feeding import feed
from trainer.bench_input.pictures import draw
from trainer.data.crops import CropConfig
from trainer.errors import ConfigError, SnapshotError


@pytest.fixture
def shards(tmp_path: Path) -> Path:
    """Twelve ordinary pictures, two progressive ones, one cut off, one that is none."""
    contents = [jpeg(photograph(number, 300, 200)) for number in range(12)]
    contents += [jpeg(photograph(number, 300, 200), progressive=True) for number in (20, 21)]
    contents += [jpeg(picture(30))[:900], b"no picture"]
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        for number, content in enumerate(contents):
            info = tarfile.TarInfo(f"{number}.jpg")
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return tmp_path


def test_the_answer_accounts_for_every_picture(shards: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(shards), "--size", "160", "--seconds", "1", "--rate", "50", "--threads", "1"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["format"] == "overnight.bench-input/1"
    assert found["sample"]["images"] == 16
    assert found["fallback"] == {"progressive": 2}
    assert found["bad"] == {"truncated": 1, "not-a-jpeg": 1}
    assert found["floor_share"] == pytest.approx(found["steps_us"]["entropy"] / sum(found["steps_us"].values()))
    own, left = sum(found["steps_us"].values()), found["fallback_us"]
    assert found["images_per_second_core"] == pytest.approx(14e6 / (12 * own + 2 * left))
    assert [lever["name"] for lever in found["levers"]] == ["restart-markers"]  # too small to be made smaller
    assert found["accelerator"]["cores_needed"] >= 1
    assert 0 <= found["accelerator"]["exposed_wait"] <= 1


def test_large_pictures_are_tried_smaller(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content = jpeg(photograph(1, 900, 700))
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        info = tarfile.TarInfo("1.jpg")
        info.size = len(content)
        tar.addfile(info, io.BytesIO(content))
    main([str(tmp_path), "--seconds", "1", "--threads", "1"])
    found = json.loads(capsys.readouterr().out)
    (smaller,) = [lever for lever in found["levers"] if lever["name"] == "shorter-side"]
    assert smaller["bytes"] < 1 < smaller["gain"]
    assert found["accelerator"] is None


def test_a_slow_accelerator_waits_less_than_a_fast_one(shards: Path) -> None:
    rows = draw(shards, None, 0, 12, 1 << 30).rows.take(range(8))
    slow, fast = (feed(rows, 32, CropConfig(), 1, rate, 0.3).waiting for rate in (200.0, 1e6))
    assert slow < 0.5 < fast


def test_the_consumer_is_busy_as_long_as_its_rate_says(shards: Path) -> None:
    rows = draw(shards, None, 0, 12, 1 << 30).rows.take(range(8))
    slept: list[float] = []
    times = itertools.count()
    feed(rows, 32, CropConfig(), 1, 40.0, 1.0, clock=lambda: next(times) / 30, sleep=slept.append)
    assert set(slept) == {5 / 40.0}  # of one second eight batches
    assert len(slept) >= 4


def test_rounds_that_count_are_never_fewer_than_three() -> None:
    told = iter([99.0, 1.0, 5.0, 2.0])  # the first warms up
    found = costs.rotate({"a": lambda: next(told)}, 0.0)
    assert found == {"a": 2.0}
    assert costs.LEAST_ROUNDS == 3


def test_pictures_that_all_fail_are_one_sentence(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        tar.addfile(tarfile.TarInfo("1.jpg"))
    with pytest.raises(SnapshotError, match=r"none of 1 pictures can be decoded \(empty\)"):
        main([str(tmp_path), "--seconds", "1"])


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--rate", "5", "--batch", "2"], "give one of the two"),
        (["--batch", "2"], "these belong together"),
        (["--rate", "0"], "0 pictures a second cannot be"),
        (["--seconds", "0"], "give 1 to 600"),
        (["--size", "0"], "give 1 to 4096"),
        (["--threads", "-1"], "give 1 or more"),
        (["--preset", "fast"], "there is no preset"),
    ],
)
def test_a_mistake_in_the_arguments_is_one_sentence(arguments: list[str], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        main(["somewhere", *arguments])


def test_a_step_and_a_batch_make_a_rate(shards: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main([str(shards), "--size", "32", "--seconds", "1", "--step-ms", "320", "--batch", "64"])
    assert json.loads(capsys.readouterr().out)["accelerator"]["images_per_second"] == pytest.approx(200)


def test_the_preset_gives_the_size(shards: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main([str(shards), "--preset", "demo", "--seconds", "1"])
    found = json.loads(capsys.readouterr().out)
    assert found["size"] == 64
    assert found["fallback"] == {"progressive": 2}
    assert found["steps_us"]["entropy"] > 0
