"""Combinations that Vertex AI refuses, each with what is wrong and what would do."""

from datetime import date
from typing import Any

import pytest

from overnight.machines import Problem, machine, machine_problem, machine_types, regions

TODAY = date(2026, 11, 30)


def problem(machine_type: str, accelerator: str | None = None, count: int | None = None, **more: Any) -> Problem | None:
    return machine_problem(
        machine_type=machine_type,
        accelerator_type=accelerator,
        accelerator_count=count,
        **{"today": TODAY, **more},
    )


def test_everything_the_table_lists_fits_where_it_is_offered() -> None:
    for machine_type in machine_types():
        found = machine(machine_type)
        assert found is not None
        if found.runs_without_accelerator:
            assert problem(machine_type, boot_disk_type=found.boot_disk_types[0]) is None
        for carried in found.accelerators:
            region = regions(carried.accelerator_type)[0]
            for count in carried.counts:
                before = date(2026, 1, 1)
                assert problem(machine_type, carried.accelerator_type, count, region=region, today=before) is None


@pytest.mark.parametrize(
    ("combination", "part", "message", "remedy"),
    [
        (
            ("a2-highgpu-1", None, None),
            "machine_type",
            "no machine type 'a2-highgpu-1'",
            "did you mean 'a2-highgpu-1g'?",
        ),
        (("banana", None, None), "machine_type", "no machine type 'banana'", "give one such as n1-standard-8"),
        (("n2d-standard-4", None, None), "machine_type", "does not train on it", "n2-standard-4"),
        (("a2-highgpu-1g", None, None), "accelerator_type", "must be named", "give NVIDIA_TESLA_A100 and the count 1"),
        (("a2-highgpu-1g", "NVIDIA_L4", 1), "accelerator_type", "does not carry NVIDIA_L4", "such as g2-standard-4"),
        (("e2-standard-8", "NVIDIA_L4", 1), "accelerator_type", "carries no accelerators", "such as g2-standard-4"),
        (("n1-standard-8", "NVIDIA_TESLA_K80", 1), "accelerator_type", "is retired", "NVIDIA_TESLA_T4"),
        (("n1-standard-8", "NVIDIA_TESLA_P100", 1), "accelerator_type", "ended on 2026-09-15", "NVIDIA_TESLA_T4"),
        (
            ("a2-highgpu-1g", "NVIDIA_A100", 1),
            "accelerator_type",
            "no accelerator 'NVIDIA_A100'",
            "carries NVIDIA_TESLA",
        ),
        (("e2-standard-8", "NVIDIA_T4", 1), "accelerator_type", "no accelerator 'NVIDIA_T4'", "did you mean"),
        (("e2-standard-8", "gpu", 1), "accelerator_type", "no accelerator 'gpu'", "known ones: NVIDIA_TESLA_P4"),
        (("a2-highgpu-1g", "NVIDIA_TESLA_A100", 2), "accelerator_count", "does not carry 2 x", "give 1"),
        (("n1-standard-8", "NVIDIA_TESLA_T4", 3), "accelerator_count", "does not carry 3 x", "give 1, 2 or 4"),
        (("cloud-tpu", "TPU_V3", 9), "accelerator_count", "does not carry 9 x", "give 8 or a multiple of 32"),
    ],
)
def test_a_combination_that_vertex_ai_refuses(
    combination: tuple[str, str | None, int | None], part: str, message: str, remedy: str
) -> None:
    found = problem(*combination)
    assert found is not None
    assert found.part == part
    assert message in found.message
    assert remedy in found.remedy


@pytest.mark.parametrize(
    ("combination", "region", "remedy"),
    [
        (("a2-highgpu-1g", "NVIDIA_TESLA_A100", 1), "europe-west3", "europe-west4, me-west1"),
        (("ct6e-standard-1t", None, None), "us-west1", "us-central1"),
        (("cloud-tpu", "TPU_V3", 64), "us-central1", "are europe-west4"),
    ],
)
def test_a_region_must_offer_the_accelerator_for_training(
    combination: tuple[str, str | None, int | None], region: str, remedy: str
) -> None:
    found = problem(*combination, region=region)
    assert found is not None
    assert found.part == "region"
    assert remedy in found.remedy


@pytest.mark.parametrize(
    ("combination", "disk", "remedy"),
    [
        (("a3-ultragpu-8g", "NVIDIA_H200_141GB", 8), "pd-ssd", "give hyperdisk-balanced"),
        (("a2-highgpu-1g", "NVIDIA_TESLA_A100", 1), "hyperdisk-balanced", "give pd-ssd or pd-standard"),
    ],
)
def test_a_boot_disk_must_fit_the_machine(combination: tuple[str, str, int], disk: str, remedy: str) -> None:
    found = problem(*combination, boot_disk_type=disk)
    assert found is not None
    assert (found.part, found.remedy) == ("boot_disk_type", remedy)


def test_support_counts_by_the_day() -> None:
    assert problem("n1-standard-8", "NVIDIA_TESLA_P100", 1, today=date(2026, 9, 14)) is None
    assert problem("n1-standard-8", "NVIDIA_TESLA_P100", 1, today=date(2026, 9, 15)) is not None
