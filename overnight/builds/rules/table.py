"""Every rule as documentation: the table of docs/builds.md."""

from overnight.builds.rules import RULES


def rules_table() -> str:
    """A Markdown table of the rules in Python, by subject."""
    rows = [f"| `{rule.slug}` | {rule.sentence} | {rule.source} |" for rule in RULES]
    return "\n".join(["| rule | what holds | source |", "|---|---|---|", *rows])
