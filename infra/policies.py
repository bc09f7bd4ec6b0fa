"""Hold Terraform plans and stacks against policies/: `python -m infra.policies FILE…` (docs/policies.md).

Exit codes: 0 clean, 1 a policy's own test fails, 2 something to put right first, 3 denied.
"""

import argparse
import importlib
import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Literal, Protocol

from rich.console import Console

from overnight.errors import OvernightError

POLICIES = Path(__file__).resolve().parent.parent / "policies"
FOLDERS = (POLICIES / "lib", POLICIES / "terraform")
"""What is meant for Terraform; policies/ has folders for job specs and builds too."""
ENGINES = ("regorus", "opa")
MODULES = {"regorus": ("regorus", "make setup"), "opa": ("opa_bindings", "make infra-setup")}
MESSAGE = re.compile(r"(?P<address>\S+): (?P<problem>.+?); (?P<remedy>.+) \[(?P<id>OVN\d{3})\]", re.DOTALL)
PACKAGE = re.compile(r"^package (\S+)", re.MULTILINE)
TEST = re.compile(r"^test_\w+", re.MULTILINE)

Document = Mapping[str, Any]


class PolicyError(OvernightError):
    """A file that is no plan, a policy that does not parse, an engine that is missing."""


@dataclass(frozen=True)
class Finding:
    """One message of a rule."""

    id: str
    address: str
    problem: str
    remedy: str
    level: Literal["deny", "warn"]

    @classmethod
    def of(cls, message: str, level: Literal["deny", "warn"]) -> "Finding":
        """Take `ADDRESS: PROBLEM; REMEDY [ID]` apart; PolicyError when a rule writes anything else."""
        parts = MESSAGE.fullmatch(message)
        if parts is None:
            raise PolicyError(f"a rule says {message!r}", remedy="build its message with lib.message")
        return cls(parts["id"], parts["address"], parts["problem"], parts["remedy"], level)


class Engine(Protocol):
    """What evaluates Rego."""

    def add(self, name: str, text: str) -> None:
        """Take in one module; PolicyError when it does not parse."""

    def value(self, rule: str, document: Document, data: Document) -> Any:
        """The rule's value over `document`, None when undefined; PolicyError when it cannot be evaluated."""

    def hold(self, tests: Sequence[str]) -> dict[str, bool]:
        """Whether each rule, named as PACKAGE.RULE, is true without any document."""


class Regorus:
    """The engine in Rust, stricter than OPA about null."""

    def __init__(self, module: Any) -> None:
        self.engine = module.Engine()

    def add(self, name: str, text: str) -> None:
        """See Engine."""
        try:
            self.engine.add_policy(name, text)
        except RuntimeError as error:
            raise PolicyError(*_regorus_words(error, name)) from error

    def value(self, rule: str, document: Document, data: Document) -> Any:
        """See Engine."""
        engine = self.engine.clone()
        engine.add_data_json(json.dumps(data))
        engine.set_input_json(json.dumps(document))
        try:
            return engine.eval_rule(f"data.{rule}")
        except RuntimeError as error:
            raise PolicyError(*_regorus_words(error, rule)) from error

    def hold(self, tests: Sequence[str]) -> dict[str, bool]:
        """See Engine."""
        return {test: self.value(test, {}, {}) is True for test in tests}


class Opa:
    """Open Policy Agent's own engine: the second opinion."""

    def __init__(self, module: Any) -> None:
        self.module = module.engine
        self.modules: dict[str, str] = {}
        self.engines: dict[str, Any] = {}

    def add(self, name: str, text: str) -> None:
        """See Engine. OPA parses when it evaluates: each module is tried alone, so that its own error is told."""
        with self.module.OpaEngine() as engine:
            try:
                engine.add_policy(name, text)
            except self.module.OpaError as error:
                raise PolicyError(_line(error.message)) from error
        self.modules[name] = text

    def value(self, rule: str, document: Document, data: Document) -> Any:
        """See Engine."""
        try:
            return self._engine_with(data).eval_document(rule, document)
        except self.module.OpaUndefinedError:
            return None
        except self.module.OpaError as error:
            raise PolicyError(_line(error.message)) from error

    def hold(self, tests: Sequence[str]) -> dict[str, bool]:
        """See Engine. OPA prepares each query for 0.1 s: one a package instead of one a test."""
        packages = {package: self.value(package, {}, {}) or {} for package in {_split(test)[0] for test in tests}}
        return {test: packages[_split(test)[0]].get(_split(test)[1]) is True for test in tests}

    def _engine_with(self, data: Document) -> Any:
        """OPA's data only grow, so there is an engine for each data."""
        key = json.dumps(data)
        if key not in self.engines:
            engine = self.engines[key] = self.module.OpaEngine()
            for name, text in self.modules.items():
                engine.add_policy(name, text)
            engine.add_data(dict(data))
        return self.engines[key]


def _regorus_words(error: RuntimeError, name: str) -> tuple[str]:
    """`FILE:LINE:COLUMN: what`, out of a message with an excerpt of the source and, at times, a backtrace."""
    text = str(error).partition("Stack backtrace")[0]
    place = re.search(r"--> (\S+)", text)
    reason = re.search(r"error: (.+)", text)
    return (f"{place[1] if place else name}: {reason[1] if reason else _line(text)}",)


def _split(rule: str) -> tuple[str, str]:
    package, _, name = rule.rpartition(".")
    return package, name


def _line(text: str) -> str:
    return " ".join(text.split())


def start(engine: str) -> Engine:
    """An engine without policies; PolicyError when its package is not installed."""
    name, remedy = MODULES[engine]
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        raise PolicyError(f"{name} is not installed", where=f"--engine {engine}", remedy=remedy) from error
    if engine == "opa":
        importlib.import_module(f"{name}.engine")
        return Opa(module)
    return Regorus(module)


@dataclass(frozen=True)
class Policies:
    """Rules in one engine."""

    engine: Engine
    tests: tuple[str, ...]

    @classmethod
    def load(cls, folders: Sequence[Path] = FOLDERS, engine: str = "regorus") -> "Policies":
        """Every .rego file under `folders`; PolicyError names the file and line that does not parse."""
        files = [file for folder in folders for file in sorted(folder.rglob("*.rego"))]
        if not files:
            where = ", ".join(str(folder) for folder in folders)
            raise PolicyError("no .rego file", where=where, remedy="give the folders of the policies")
        started = start(engine)
        tests: list[str] = []
        for file in files:
            text = file.read_text(encoding="utf-8")
            started.add(str(file), text)
            package = PACKAGE.search(text)
            tests += [f"{package[1]}.{name}" for name in TEST.findall(text) if package]
        return cls(started, tuple(dict.fromkeys(tests)))

    def judge(self, document: Document, today: date | None = None) -> list[Finding]:
        """What the rules say to a plan or a synthesized stack, in the order of ids and addresses.

        Without `today` a plan's own time decides which pools have expired.
        """
        data = {"now": today.isoformat()} if today else {}
        found = [
            Finding.of(message, level)
            for level in ("deny", "warn")
            for message in self.engine.value(f"main.{level}", document, data) or ()
        ]
        return sorted(found, key=lambda finding: (finding.id, finding.address, finding.problem))

    def run_tests(self) -> dict[str, bool]:
        """Every `test_` rule by name, and whether it holds."""
        return self.engine.hold(self.tests)


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
