"""What the tables say of a machine type and of an accelerator."""

import re
from dataclasses import dataclass
from datetime import date
from functools import cache
from typing import Literal

from overnight.machines.tables import rows

Status = Literal["listed", "not_listed"]
Reservation = Literal["none", "recommended", "required"]

HYPERDISK_FAMILIES = ("a3-ultragpu", "a4-highgpu", "a4x-highgpu")
"""Boot from hyperdisk-balanced only (DiskSpec of aiplatform v1; the SDK's default, pd-ssd, does not start there)."""
END_OF_SUPPORT = "accelerator_end_of_support_"


@dataclass(frozen=True, kw_only=True)
class Accelerator:
    """One kind of accelerator on one machine type."""

    accelerator_type: str
    """A value of Vertex AI's AcceleratorType."""
    counts: tuple[int, ...]
    pods_of: int | None = None
    """Larger counts are multiples of this (TPU Pods)."""
    end_of_support: date | None = None
    source: str

    def carries(self, count: int) -> bool:
        """Whether the machine takes `count` of them."""
        return count in self.counts or (self.pods_of is not None and count % self.pods_of == 0)


@dataclass(frozen=True, kw_only=True)
class Machine:
    """One machine type of Compute Engine, as far as training is concerned."""

    machine_type: str
    family: str
    vcpus: float | None
    memory_gb: float | None
    status: Status
    """`not_listed`: it exists, but Vertex AI does not train on it."""
    reservation: Reservation
    runs_without_accelerator: bool
    """False for machines that carry their own."""
    accelerators: tuple[Accelerator, ...]
    topologies: tuple[str, ...]
    """TPU slices that it makes up, such as 2x4; empty for other machines."""
    source: str

    @property
    def is_tpu(self) -> bool:
        """Whether it is a host of TPUs."""
        return bool(self.topologies) or any(item.accelerator_type.startswith("TPU_") for item in self.accelerators)

    @property
    def boot_disk_types(self) -> tuple[str, ...]:
        """Boot disks that it starts from, the usual one first."""
        return ("hyperdisk-balanced",) if self.family in HYPERDISK_FAMILIES else ("pd-ssd", "pd-standard")


def machine(machine_type: str) -> Machine | None:
    """The machine of this exact name, if a table knows it."""
    return _machines().get(machine_type)


def machine_types(accelerator_type: str | None = None) -> list[str]:
    """Machine types that Vertex AI trains on, in the table's order; with one kind of accelerator when given."""
    listed = (item for item in _machines().values() if item.status == "listed")
    if accelerator_type is None:
        return [item.machine_type for item in listed]
    return [
        item.machine_type
        for item in listed
        if any(carried.accelerator_type == accelerator_type for carried in item.accelerators)
    ]


@cache
def accelerator_types() -> tuple[str, ...]:
    """Accelerators of listed machines, in the table's order; without retired ones."""
    found = (row["accelerator_type"] for row in rows("machines") if _status(row["status"]) == "listed")
    return tuple(dict.fromkeys(name for name in found if name))


@cache
def retired_accelerators() -> tuple[str, ...]:
    """Accelerators that no machine takes any more."""
    return tuple(row["accelerator_type"] for row in rows("machines") if row["status"] == "retired")


@cache
def regions(accelerator_type: str) -> tuple[str, ...]:
    """Regions that offer the accelerator for training, in alphabetical order; empty when none is known.

    TPU v5e, v6e and 7x have no accelerator type: they go by their machine's family (`ct5lp`, `ct6e`, `tpu7x`). Slices
    of more than 8 chips of v2 and v3 go by `TPU_V2_POD` and `TPU_V3_POD`.
    """
    return tuple(sorted(row["region"] for row in rows("regions") if row["accelerator_type"] == accelerator_type))


@cache
def _machines() -> dict[str, Machine]:
    grouped: dict[str, list[dict[str, str]]] = {}
    for row in rows("machines"):
        # `n1-*` carries a retired accelerator: no machine's name.
        if "*" not in row["machine_type"]:
            grouped.setdefault(row["machine_type"], []).append(row)
    return {name: _machine(name, found) for name, found in grouped.items()}


def _machine(name: str, found: list[dict[str, str]]) -> Machine:
    first = found[0]
    plain = [row for row in found if not row["accelerator_type"]]
    topologies = first["allowed_counts"].removeprefix("topology=") if "topology=" in first["allowed_counts"] else ""
    return Machine(
        machine_type=name,
        family=first["family"],
        vcpus=_number(first["vcpus"]),
        memory_gb=_number(first["memory_gb"]),
        status=_status(first["status"]),
        reservation=_reservation(first["status"]),
        runs_without_accelerator=bool(plain),
        accelerators=tuple(_accelerator(row) for row in found if row["accelerator_type"]),
        topologies=tuple(topologies.split("|")) if topologies else (),
        source=first["source"],
    )


def _accelerator(row: dict[str, str]) -> Accelerator:
    counts = [count for count in row["allowed_counts"].split(";") if count]
    pods = [int(match[1]) for count in counts if (match := re.fullmatch(r"([0-9]+)k", count))]
    return Accelerator(
        accelerator_type=row["accelerator_type"],
        counts=tuple(int(count) for count in counts if count.isdigit()),
        pods_of=pods[0] if pods else None,
        end_of_support=(
            date.fromisoformat(row["status"].removeprefix(END_OF_SUPPORT))
            if row["status"].startswith(END_OF_SUPPORT)
            else None
        ),
        source=row["source"],
    )


def _status(text: str) -> Status:
    return "listed" if text.startswith(("listed", END_OF_SUPPORT)) else "not_listed"


def _reservation(text: str) -> Reservation:
    if text.endswith("reservation_required"):
        return "required"
    return "recommended" if "reservation" in text else "none"


def _number(text: str) -> float | None:
    return float(text) if text else None
