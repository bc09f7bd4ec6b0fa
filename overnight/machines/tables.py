"""The CSV files beside this module, as plain rows."""

import csv
from functools import cache
from importlib.resources import files
from typing import Literal


@cache
def rows(table: Literal["machines", "regions", "places"]) -> tuple[dict[str, str], ...]:
    """Every row of `table`.csv, by column name; read once."""
    with (files("overnight.machines") / f"{table}.csv").open(encoding="utf-8") as file:
        return tuple(csv.DictReader(file))
