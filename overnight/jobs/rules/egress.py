"""What a machine can send: `egress.csv`, each row with its source."""

import csv
from functools import cache
from importlib.resources import files

from overnight.jobs.view import PoolView


def gbps(pool: PoolView) -> int | None:
    """The most that one replica can send, in Gbps; None when the table does not know the machine."""
    return _table().get((pool.machine_type or "", pool.accelerator or "", pool.accelerator_count))


@cache
def _table() -> dict[tuple[str, str, int], int]:
    with (files("overnight.jobs.rules") / "egress.csv").open(encoding="utf-8") as file:
        return {
            (row["machine_type"], row["accelerator_type"], int(row["accelerator_count"] or 0)): int(row["gbps"])
            for row in csv.DictReader(file)
        }
