"""Persistent resources: machines that exist, a day until which they are wanted, and a price that somebody agreed to."""

from collections.abc import Iterator
from datetime import date, timedelta

from overnight.config import GoogleConfig
from overnight.config.mistakes import Mistake
from overnight.config.training import PersistentResource, ResourcePool
from overnight.machines import machine, machine_problem, region_suggestion

PRICES_HOLD = timedelta(days=365)
"""Older prices are no basis for a decision."""


def pool_mistakes(google: GoogleConfig, today: date) -> Iterator[Mistake]:
    """Whatever is wrong with the pools; what costs money is asked only of those that are enabled."""
    # A misspelt region is told by itself (places.py).
    region = None if region_suggestion(google.region) else google.region
    seen: dict[str, int] = {}
    for place, resource in enumerate(google.persistent_resources):
        field = f"google.persistent_resources[{place}]"
        if resource.name in seen:
            yield Mistake(
                f"{field}.name",
                f"{resource.name!r} is also the name of persistent_resources[{seen[resource.name]}]",
                "give each its own, with another version at its end",
            )
        seen.setdefault(resource.name, place)
        for number, pool in enumerate(resource.resource_pools):
            yield from _machine(f"{field}.resource_pools[{number}]", pool, region, today)
        if resource.enabled:
            yield from _decision(field, resource, today)


def idle_sum(resource: PersistentResource) -> str:
    """How the price of an idle day comes about: `24 h x (1 x 4.22) = 101.28 USD a day`."""
    hour = " + ".join(f"{pool.billed_replicas} x {pool.usd_per_replica_hour:g}" for pool in resource.resource_pools)
    return f"24 h x ({hour}) = {resource.idle_usd_per_day:.2f} USD a day"


def _machine(field: str, pool: ResourcePool, region: str | None, today: date) -> Iterator[Mistake]:
    spec = pool.machine_spec
    problem = machine_problem(
        machine_type=spec.machine_type,
        accelerator_type=spec.accelerator_type,
        accelerator_count=spec.accelerator_count,
        region=region,
        boot_disk_type=pool.disk_spec.boot_disk_type,
        today=today,
    )
    if problem:
        where = {"region": "google.region", "boot_disk_type": f"{field}.disk_spec.boot_disk_type"}
        yield Mistake(where.get(problem.part, f"{field}.machine_spec.{problem.part}"), problem.message, problem.remedy)
        return
    found = machine(spec.machine_type)
    if found and found.is_tpu:
        yield Mistake(
            f"{field}.machine_spec.machine_type",
            f"{spec.machine_type} carries TPUs, of which these stacks make no pools",
            "give a machine with GPUs or without accelerators, and name TPUs in the job itself",
        )
    elif found and found.reservation == "required":
        yield Mistake(
            f"{field}.machine_spec.machine_type",
            f"{spec.machine_type} is had by reservation only, which a persistent resource cannot name",
            "give a machine such as a3-ultragpu-8g",
        )


def _decision(field: str, resource: PersistentResource, today: date) -> Iterator[Mistake]:
    if resource.expires < today:
        yield Mistake(
            f"{field}.expires",
            f"{resource.name} was wanted until {resource.expires}, and today is {today}",
            f"ask {resource.owner}, then give a later day, or set enabled to false",
        )
    if resource.prices_as_of > today:
        yield Mistake(
            f"{field}.prices_as_of", f"{resource.prices_as_of} is yet to come", "give the day the prices were read"
        )
    elif today - resource.prices_as_of > PRICES_HOLD:
        yield Mistake(
            f"{field}.prices_as_of",
            f"the prices of {resource.prices_as_of} are more than {PRICES_HOLD.days} days old",
            "read usd_per_replica_hour from today's price list, and give that day",
        )
    if resource.idle_usd_per_day > resource.max_idle_usd_per_day:
        yield Mistake(
            f"{field}.max_idle_usd_per_day",
            f"with no job on it, {resource.name} costs {idle_sum(resource)}, above {resource.max_idle_usd_per_day:.2f}",
            "keep fewer replicas, or raise the limit",
        )
