"""Whether Vertex AI trains on a machine with these accelerators, in this region, from this disk; if not, what does."""

import difflib
from dataclasses import dataclass
from datetime import date
from typing import Literal

from overnight.machines.catalogue import (
    Accelerator,
    Machine,
    accelerator_types,
    machine,
    machine_types,
    regions,
    retired_accelerators,
)
from overnight.machines.places import nearest

Part = Literal["machine_type", "accelerator_type", "accelerator_count", "region", "boot_disk_type"]


@dataclass(frozen=True)
class Problem:
    """What does not fit, in which part, and the remedy; the caller knows what it calls that part."""

    part: Part
    message: str
    remedy: str


def machine_problem(
    *,
    machine_type: str,
    accelerator_type: str | None = None,
    accelerator_count: int | None = None,
    region: str | None = None,
    boot_disk_type: str | None = None,
    today: date,
) -> Problem | None:
    """The first thing that does not fit, or None. What is None is not checked, except a missing accelerator."""
    found = machine(machine_type)
    if found is None or found.status != "listed":
        return _not_listed(machine_type, found)
    problem = _accelerator_problem(found, accelerator_type, accelerator_count, today)
    if problem is None and region is not None:
        problem = _region_problem(found, accelerator_type, accelerator_count or 1, region)
    if problem is None and boot_disk_type is not None and boot_disk_type not in found.boot_disk_types:
        fitting = " or ".join(found.boot_disk_types)
        return Problem("boot_disk_type", f"{machine_type} does not boot from {boot_disk_type}", f"give {fitting}")
    return problem


def _not_listed(machine_type: str, found: Machine | None) -> Problem:
    close = difflib.get_close_matches(machine_type, machine_types(), n=3)
    if found is None:
        hint = f"did you mean {close[0]!r}?" if close else "give one such as n1-standard-8 or a2-highgpu-1g"
        return Problem("machine_type", f"there is no machine type {machine_type!r} that Vertex AI trains on", hint)
    hint = f"give a listed one, such as {close[0] if close else 'n1-standard-8'}"
    return Problem("machine_type", f"{machine_type} exists, but Vertex AI does not train on it", hint)


def _accelerator_problem(found: Machine, name: str | None, count: int | None, today: date) -> Problem | None:
    own = {item.accelerator_type: item for item in found.accelerators}
    if name is None:
        if found.runs_without_accelerator or not own:
            return None
        offer = next(iter(own.values()))
        return Problem(
            "accelerator_type",
            f"{found.machine_type} carries its own accelerators, which must be named",
            f"give {offer.accelerator_type} and the count {_counts(offer)}",
        )
    if name not in own:
        return _wrong_accelerator(found, name)
    carried = own[name]
    if carried.end_of_support is not None and carried.end_of_support <= today:
        return Problem(
            "accelerator_type",
            f"support of {name} ended on {carried.end_of_support}",
            f"give another: {_others(found, name)}",
        )
    if count is None or not carried.carries(count):
        return Problem(
            "accelerator_count",
            f"{found.machine_type} does not carry {count} x {name}",
            f"give {_counts(carried)}" if carried.counts else "choose another machine",
        )
    return None


def _wrong_accelerator(found: Machine, name: str) -> Problem:
    # One whose support ends is no advice, although it may still be used until then.
    own = [item.accelerator_type for item in found.accelerators if item.end_of_support is None]
    if name in retired_accelerators():
        return Problem("accelerator_type", f"{name} is retired", f"give another: {_others(found, name)}")
    if name not in accelerator_types():
        hint = f"{found.machine_type} carries {' or '.join(own)}" if own else _known(name)
        return Problem("accelerator_type", f"there is no accelerator {name!r}", hint)
    if own:
        return Problem(
            "accelerator_type",
            f"{found.machine_type} does not carry {name}",
            f"give {' or '.join(own)}, or a machine that does, such as {_machine_with(name)}",
        )
    return Problem(
        "accelerator_type",
        f"{found.machine_type} carries no accelerators",
        f"leave it out, or give a machine that carries {name}, such as {_machine_with(name)}",
    )


def _region_problem(found: Machine, name: str | None, count: int, region: str) -> Problem | None:
    accelerator = name or (found.family if found.topologies else None)
    if accelerator is None:
        return None
    pod = accelerator in ("TPU_V2", "TPU_V3") and count > 8
    offering = regions(f"{accelerator}_POD" if pod else accelerator)
    if region in offering:
        return None
    return Problem(
        "region",
        f"{region} does not offer {accelerator} for training",
        f"the nearest regions that do are {', '.join(nearest(region, offering))}",
    )


def _known(name: str) -> str:
    close = difflib.get_close_matches(name.upper(), accelerator_types(), n=1)
    return f"did you mean {close[0]!r}?" if close else f"known ones: {', '.join(accelerator_types())}"


def _machine_with(accelerator_type: str) -> str:
    return machine_types(accelerator_type)[0]


def _others(found: Machine, without: str) -> str:
    names = [item.accelerator_type for item in found.accelerators if item.end_of_support is None]
    return ", ".join(name for name in names if name != without) or "NVIDIA_TESLA_T4 on an n1 machine"


def _counts(carried: Accelerator) -> str:
    words = [str(count) for count in carried.counts]
    if carried.pods_of:
        words.append(f"a multiple of {carried.pods_of}")
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
