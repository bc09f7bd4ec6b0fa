import json
from pathlib import Path

import pytest

from overnight.bench.input import Accelerator, LoaderRate, Measurement, Sample, advice, read
from overnight.errors import OvernightError


def measurement(**changes: object) -> Measurement:
    """A measurement with nothing to complain about."""
    value = {
        "format": "overnight.bench-input/1",
        "sample": {
            "images": 100,
            "shards": 2,
            "mean_bytes": 1e5,
            "mean_pixels": 2e5,
            "bits_per_pixel": 4.0,
            "shorter_side": 375.0,
        },
        "size": 224,
        "instructions": "avx2",
        "bad": {},
        "fallback": {},
        "images_per_second_core": 2000.0,
        "steps_us": {"entropy": 300.0, "transform": 50.0, "resample": 100.0, "finish": 50.0},
        "floor_share": 0.6,
        "fallback_us": None,
        "levers": [],
        "loader": {"threads": 2, "images_per_second": 3900.0},
        "accelerator": None,
    }
    return read(json.dumps({**value, **changes}))


def accelerator(**changes: object) -> dict[str, object]:
    return {"images_per_second": 5000.0, "exposed_wait": 0.2, "cores_needed": 3, "cores_here": 2, **changes}


def lever(name: str, gain: float, size: float) -> dict[str, object]:
    return {"name": name, "gain": gain, "bytes": size, "images": 50}


def test_where_nothing_is_to_be_gained_one_sentence_says_so() -> None:
    assert advice(measurement()) == ["Nothing to change."]


def test_an_accelerator_that_hardly_waits_is_no_reason_for_advice() -> None:
    assert advice(measurement(accelerator=accelerator(exposed_wait=0.05))) == ["Nothing to change."]


def test_a_waiting_accelerator_needs_cores() -> None:
    (sentence,) = advice(measurement(accelerator=accelerator()))
    assert "give it 3 cores" in sentence


def test_enough_cores_and_waiting_all_the_same_points_elsewhere() -> None:
    (sentence,) = advice(measurement(accelerator=accelerator(cores_needed=2)))
    assert "other programs use the cores, or the storage is too slow" in sentence


def test_levers_come_by_their_gain_and_small_ones_not_at_all() -> None:
    levers = [lever("restart-markers", 1.2, 1.001), lever("shorter-side", 3.9, 0.28)]
    first, second = advice(measurement(levers=levers))
    assert first.startswith("Write the shards smaller")
    assert "28% of the bytes" in first
    assert "1.20 times as fast, 0.1% more bytes, no pixel changes" in second
    assert advice(measurement(levers=[lever("restart-markers", 1.05, 1.001)])) == ["Nothing to change."]


def test_files_that_are_left_to_libjpeg_are_named_with_the_reason() -> None:
    (sentence,) = advice(measurement(fallback={"progressive": 7, "CMYK": 1}))
    assert sentence.startswith("8% of the images are left to libjpeg (progressive, CMYK)")


def test_shares_of_the_steps_add_up() -> None:
    steps = measurement().steps_us
    assert steps is not None
    assert sum(steps.shares().values()) == pytest.approx(1)
    assert steps.shares()["entropy"] == 0.6


@pytest.mark.parametrize("text", ["", "{}", '{"format": "overnight.bench-input/2"}'])
def test_another_format_is_one_sentence(text: str) -> None:
    with pytest.raises(OvernightError, match=r"answers in another format; install the two packages from one checkout"):
        read(text)


def test_every_field_is_explained_in_formats_md() -> None:
    page = (Path(__file__).parents[3] / "docs" / "formats.md").read_text()
    section = page.split("## Measurement of an input pipeline")[1].split("\n## ")[0]
    fields = {*Measurement.model_fields, *Sample.model_fields, *Accelerator.model_fields, *LoaderRate.model_fields}
    assert {name for name in fields if name not in section} == set()
    assert measurement().format in section
