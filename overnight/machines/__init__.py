"""The machines that Vertex AI trains on: which accelerators they carry, where, with which disks.

Three tables, each row with its source: `machines.csv` (the training list of 2026-08-22, and what is known to be absent
from it), `regions.csv` (where an accelerator is offered for training, which is less than where it serves) and
`places.csv` (where regions stand).
"""

from overnight.machines.catalogue import Accelerator, Machine, machine, machine_types, regions
from overnight.machines.checks import Problem, machine_problem
from overnight.machines.places import nearest, region_suggestion

__all__ = [
    "Accelerator",
    "Machine",
    "Problem",
    "machine",
    "machine_problem",
    "machine_types",
    "nearest",
    "region_suggestion",
    "regions",
]
