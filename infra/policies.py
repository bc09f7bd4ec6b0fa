"""Hold Terraform plans and stacks against policies/: `python -m infra.policies FILE…` (docs/policies.md).

Exit codes: 0 clean, 1 a policy's own test fails, 2 something to put right first, 3 denied.
"""

import argparse
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, date, datetime
from pathlib import Path

from rich.console import Console

from overnight.errors import OvernightError
from overnight.policies.engines import ENGINES, Document
from overnight.policies.errors import PolicyError
from overnight.policies.finding import Finding
from overnight.policies.policies import Policies, folders

FOLDERS = folders("terraform")
"""What is meant for Terraform; policies/ has folders for job specs and builds too."""


def read(file: Path) -> Document:
    """A plan's JSON or a stack's cdk.tf.json; PolicyError says what the file is instead."""
    try:
        content = file.read_bytes()
    except OSError as error:
        raise PolicyError((error.strerror or "cannot be read").lower(), where=str(file)) from error
    remedy = "give what `terraform show -json PLAN` prints, or a cdk.tf.json"
    if content[:2] == b"PK":
        raise PolicyError("a saved plan, not its JSON", where=str(file), remedy=remedy)
    try:
        document = json.loads(content)
    except ValueError as error:
        raise PolicyError("not JSON", where=str(file), remedy=remedy) from error
    if not isinstance(document, dict) or not document.keys() & {"planned_values", "resource", "terraform"}:
        raise PolicyError("neither a plan nor a Terraform configuration", where=str(file), remedy=remedy)
    return document


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; see the module for its exit codes."""
    parser = argparse.ArgumentParser(
        prog="python -m infra.policies", description="Hold Terraform plans and stacks against the policies."
    )
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="plan JSON or cdk.tf.json")
    parser.add_argument("--engine", choices=ENGINES, default="regorus", help="what evaluates the rules")
    parser.add_argument(
        "--policies", nargs="+", type=Path, default=FOLDERS, metavar="DIR", help="folders with the .rego files"
    )
    parser.add_argument(
        "--today",
        type=date.fromisoformat,
        default=datetime.now(UTC).date(),
        metavar="YYYY-MM-DD",
        help="the day by which pools expire",
    )
    parser.add_argument("--json", action="store_true", help="print the result for machines")
    parser.add_argument("--test", action="store_true", help="run the policies' own tests first")
    options = parser.parse_args(arguments)
    if not options.files and not options.test:
        parser.error("give a FILE, or --test")
    try:
        return _run(options)
    except OvernightError as error:
        print(f"infra.policies: {error.sentence}", file=sys.stderr)
        return error.exit_code


def _run(options: argparse.Namespace) -> int:
    documents = {file: read(file) for file in options.files}
    policies = Policies.load(options.policies, options.engine)
    tests = policies.run_tests() if options.test else {}
    findings = {str(file): policies.judge(document, options.today) for file, document in documents.items()}
    show = _print_json if options.json else _print
    show(findings, tests)
    if not all(tests.values()):
        return 1
    return 3 if any(finding.level == "deny" for found in findings.values() for finding in found) else 0


def _print_json(findings: Mapping[str, Iterable[Finding]], tests: Mapping[str, bool]) -> None:
    files = {file: [asdict(finding) for finding in found] for file, found in findings.items()}
    print(json.dumps({"files": files, "tests": tests}, indent=2))


def _print(findings: Mapping[str, Sequence[Finding]], tests: Mapping[str, bool]) -> None:
    console = Console(highlight=False, markup=False, soft_wrap=True)
    if tests:
        failed = [name for name, holds in tests.items() if not holds]
        console.print(
            f"{len(tests) - len(failed)} of {len(tests)} policy tests pass", style="red" if failed else "green"
        )
        for name in failed:
            console.print(f"  {name}")
    for file, found in findings.items():
        denied = sum(finding.level == "deny" for finding in found)
        style = "red" if denied else "yellow" if found else "green"
        console.print(f"{file}: {denied} denied, {len(found) - denied} warned", style=style)
        for finding in found:
            console.print(f"  {finding.id} {finding.level}  {finding.address}")
            console.print(f"    {finding.problem}; {finding.remedy}")


if __name__ == "__main__":
    sys.exit(main())
