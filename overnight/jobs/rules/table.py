"""Every rule as documentation: the table of docs/job-rules.md."""

from overnight.jobs.rules import RULES


def rules_table() -> str:
    """A Markdown table of all rules, by subject."""
    rows = [f"| `{rule.slug}` | {rule.severity} | {rule.sentence} | {_source(rule.source)} |" for rule in RULES]
    return "\n".join(["| rule | severity | what holds | source |", "|---|---|---|---|", *rows])


def _source(text: str) -> str:
    """Bare numbers are sections of the Vertex AI facts."""
    return f"vertex-facts {text}" if text[0].isdigit() else text
