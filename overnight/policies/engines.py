"""What evaluates Rego: regorus, which is always there, and OPA itself as the second opinion."""

import importlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from overnight.policies.errors import PolicyError

ENGINES = ("regorus", "opa")
MODULES = {"regorus": ("regorus", "make setup"), "opa": ("opa_bindings", "make infra-setup")}

Document = Mapping[str, Any]


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
            if str(error).startswith("not a valid rule path"):  # no file has such a rule: undefined, as OPA says
                return None
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
