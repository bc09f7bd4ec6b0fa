"""Every rule as documentation: the table of docs/job-rules.md."""

from overnight.jobs.rules import RULES


def rules_table() -> str:
    """A Markdown table of all rules, by subject."""
    rows = [f"| `{rule.slug}` | {rule.severity} | {rule.sentence} | {rule.source} |" for rule in RULES]
    return "\n".join(["| rule | severity | what holds | source |", "|---|---|---|---|", *rows])
