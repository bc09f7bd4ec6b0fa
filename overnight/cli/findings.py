"""How findings in YAML files are shown: one table, or JSON."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from overnight.forms.findings import Finding

PIPE_COLUMNS = 200
"""Where there is no terminal to fit into."""


@dataclass(frozen=True)
class Row:
    """A finding and where its file stands."""

    path: Path
    line: int | None
    finding: "Finding"

    def facts(self) -> dict[str, Any]:
        """For a machine to read."""
        from overnight.forms.fields import dotted

        return {
            "rule": self.finding.rule,
            "severity": self.finding.severity,
            "line": self.line,
            "field": dotted(self.finding.path),
            "message": self.finding.message,
            "remedy": self.finding.remedy,
        }


def results_console() -> Console:
    """Standard output, wide enough for a table."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=PIPE_COLUMNS)


def print_findings(rows: Sequence[Row], summary: str) -> None:
    """The table, if there is anything in it, and one sentence."""
    console = results_console()
    if rows:
        console.print(findings_table(rows))
    console.print(summary, soft_wrap=True, markup=False)


def findings_table(rows: Sequence[Row]) -> Table:
    """One row a finding."""
    from overnight.forms.fields import dotted

    table = Table()
    table.add_column("where", overflow="fold")
    table.add_column("field", overflow="fold")
    table.add_column("rule", no_wrap=True)
    table.add_column("severity", no_wrap=True)
    table.add_column("what is wrong")
    table.add_column("remedy")
    for row in rows:
        finding = row.finding
        style = "red" if finding.severity == "error" else "yellow"
        where = f"{row.path}:{row.line}" if row.line else str(row.path)
        table.add_row(
            _plain(where),
            _plain(dotted(finding.path)),
            finding.rule,
            f"[{style}]{finding.severity}[/]",
            _plain(finding.message),
            _plain(finding.remedy),
        )
    return table


def _plain(text: str) -> str:
    """Without markup, and with control characters of somebody's file written out."""
    return escape("".join(one if one.isprintable() else repr(one)[1:-1] for one in text))
