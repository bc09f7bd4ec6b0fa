"""What the tests of infrastructure found, as one table at the end: counted from what ran, never written down."""

import io
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from rich.console import Console
from rich.table import Table

AREAS = (
    "synth",
    "validate",
    "plan inventory",
    "policies",
    "mutations",
    "apply",
    "second plan",
    "strict order",
    "drift",
    "failure injection",
    "import",
    "destroy",
    "pool change",
    "cdktn",
    "cdktf-cli",
    "emulator",
    "units",
)
"""In the order of the table; tests in other folders belong to the area that FOLDERS names."""
FOLDERS = {"tests/terraform/": "emulator", "tests/policies/": "policies", "tests/infra/": "units"}


@dataclass(frozen=True)
class Counts:
    """How many resources of each type a stack made."""

    by_type: Counter[str]

    @classmethod
    def of(cls, done: Mapping[str, str]) -> "Counts":
        """From what an apply carried out, by address."""
        return cls(Counter(address.split(".")[0] for address in done))


RESOURCES = pytest.StashKey[dict[str, Counts]]()
"""Stack to what its apply made."""


@dataclass
class Area:
    """The results of one area's tests."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: float = 0.0
    reason: str = ""


def show_summary(reporter: pytest.TerminalReporter, resources: Mapping[str, Counts]) -> None:
    """Write the tables to pytest's terminal; nothing when no test of an area ran."""
    areas = _areas(reporter.stats)
    if not areas:
        return
    console = Console(file=io.StringIO(), width=118, color_system=None)
    if resources:
        console.print(_resources(resources))
    console.print(_checks(areas))
    assert isinstance(console.file, io.StringIO)
    reporter.write_sep("=", "infrastructure")
    reporter.write(console.file.getvalue())


def _areas(stats: Mapping[str, Sequence[Any]]) -> dict[str, Area]:
    found: dict[str, Area] = {}
    reports = [report for kind in ("passed", "failed", "error", "skipped", "") for report in stats.get(kind, ())]
    for report in reports:
        name = _area(report)
        if name is None:
            continue
        area = found.setdefault(name, Area())
        area.seconds += report.duration
        if report.failed:
            area.failed += 1
        elif report.skipped:
            area.skipped += 1
            area.reason = report.longrepr[2].removeprefix("Skipped: ")
        elif report.when == "call":
            area.passed += 1
    return found


def _area(report: Any) -> str | None:
    given = dict(getattr(report, "user_properties", ())).get("area")
    if given:
        return str(given)
    folder = next((area for start, area in FOLDERS.items() if report.nodeid.startswith(start)), None)
    return "mutations" if folder == "policies" and "mutation" in report.nodeid else folder


def _resources(resources: Mapping[str, Counts]) -> Table:
    table = Table(title="Resources that Terraform made", title_justify="left")
    table.add_column("stack")
    table.add_column("count", justify="right")
    table.add_column("by type")
    for stack, counts in resources.items():
        kinds = (f"{kind.removeprefix('google_')} {count}" for kind, count in sorted(counts.by_type.items()))
        table.add_row(stack, str(counts.by_type.total()), ", ".join(kinds))
    table.add_row("all", str(sum(counts.by_type.total() for counts in resources.values())), "")
    return table


def _checks(areas: Mapping[str, Area]) -> Table:
    table = Table(title="Checks", title_justify="left")
    table.add_column("area")
    for column in ("passed", "failed", "skipped", "seconds"):
        table.add_column(column, justify="right")
    table.add_column("why skipped")
    for name in [*AREAS, *(name for name in areas if name not in AREAS)]:
        area = areas.get(name)
        if area:
            numbers = (str(area.passed), str(area.failed), str(area.skipped), f"{area.seconds:.1f}")
            table.add_row(name, *numbers, area.reason)
        else:
            table.add_row(name, "-", "-", "-", "-", "not run")
    everything = areas.values()
    numbers = [str(sum(getattr(area, what) for area in everything)) for what in ("passed", "failed", "skipped")]
    table.add_row("all", *numbers, f"{sum(area.seconds for area in everything):.1f}", "")
    return table
