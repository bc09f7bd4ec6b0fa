"""The tables: whole, consistent with each other, and read as they are meant."""

from datetime import date

import pytest

from overnight.machines import Machine, machine, machine_types, nearest, region_suggestion, regions
from overnight.machines.catalogue import accelerator_types, retired_accelerators
from overnight.machines.tables import rows


def known(machine_type: str) -> Machine:
    found = machine(machine_type)
    assert found is not None
    return found


def test_every_row_has_its_source() -> None:
    for table in ("machines", "regions", "places"):
        assert all(row["source"] for row in rows(table)), table


def test_the_training_list_has_117_machine_types() -> None:
    """Counted on the documentation's page of 2026-08-22."""
    assert len(machine_types()) == 117


def test_every_accelerator_of_a_listed_machine_is_offered_somewhere() -> None:
    for accelerator_type in accelerator_types():
        assert regions(accelerator_type), accelerator_type
    for machine_type in machine_types():
        if known(machine_type).topologies:
            assert regions(known(machine_type).family), machine_type


def test_every_region_that_offers_an_accelerator_has_a_place() -> None:
    assert {row["region"] for row in rows("regions")} <= {row["region"] for row in rows("places")}


def test_every_listed_machine_runs_with_what_it_says_it_carries() -> None:
    for machine_type in machine_types():
        found = known(machine_type)
        assert found.runs_without_accelerator or found.accelerators, machine_type
        assert all(item.counts and all(item.carries(count) for count in item.counts) for item in found.accelerators)


@pytest.mark.parametrize(
    ("machine_type", "accelerator_type", "count", "carries"),
    [
        ("a2-highgpu-4g", "NVIDIA_TESLA_A100", 4, True),
        ("a2-highgpu-4g", "NVIDIA_TESLA_A100", 2, False),
        ("n1-highmem-16", "NVIDIA_TESLA_V100", 1, False),
        ("n1-highmem-8", "NVIDIA_TESLA_T4", 4, True),
        ("cloud-tpu", "TPU_V2", 8, True),
        ("cloud-tpu", "TPU_V2", 64, True),
        ("cloud-tpu", "TPU_V2", 48, False),
    ],
)
def test_a_machine_carries_exactly_the_counts_listed(
    machine_type: str, accelerator_type: str, count: int, carries: bool
) -> None:
    (carried,) = (item for item in known(machine_type).accelerators if item.accelerator_type == accelerator_type)
    assert carried.carries(count) is carries


def test_what_a_row_says_becomes_typed() -> None:
    ultra = known("a3-ultragpu-8g")
    assert (ultra.vcpus, ultra.memory_gb, ultra.boot_disk_types) == (224, 2952, ("hyperdisk-balanced",))
    assert ultra.reservation == "recommended"
    assert known("a4x-highgpu-4g").reservation == "required"
    assert known("ct6e-standard-8t").topologies == ("2x4",)
    assert known("ct6e-standard-8t").is_tpu
    assert known("n2d-standard-4").status == "not_listed"
    p100 = next(item for item in known("n1-standard-8").accelerators if item.accelerator_type == "NVIDIA_TESLA_P100")
    assert p100.end_of_support == date(2026, 9, 15)
    assert retired_accelerators() == ("NVIDIA_TESLA_K80",)
    assert machine("n1-*") is None


def test_the_nearest_regions_come_first() -> None:
    assert nearest("europe-west3", regions("NVIDIA_TESLA_A100"), 2) == ["europe-west4", "me-west1"]
    assert nearest("asia-northeast1", regions("NVIDIA_TESLA_A100"), 1) == ["asia-northeast3"]
    assert nearest("moon-north1", ["us-east1", "asia-east1"]) == ["asia-east1", "us-east1"]


@pytest.mark.parametrize(
    ("region", "suggestion"),
    [("us-centrall1", "us-central1"), ("europ-west4", "europe-west4"), ("us-east9", None), ("moon-north1", None)],
)
def test_only_a_misspelt_region_gets_a_suggestion(region: str, suggestion: str | None) -> None:
    assert region_suggestion(region) == suggestion
