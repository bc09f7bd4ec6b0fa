"""Conditions of tasks: the part of the Common Expression Language that the KFP compiler writes.

`inputs.parameter_values['x'] == true`, `int(inputs.parameter_values['n']) > 5`, `!(… ) && …`, `||`.
"""

import re
from collections.abc import Callable, Mapping
from operator import eq, ge, gt, le, lt, ne

from overnight.vertex_local.pipelines.spec import Json, PipelineError

TOKEN = re.compile(
    r"""\s*(?:(?P<input>inputs\.(?:parameter_values\[(?:'[^']*'|"[^"]*")\]
                             |parameters\[(?:'[^']*'|"[^"]*")\]\.\w+_value))
            |(?P<number>-?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)
            |(?P<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
            |(?P<word>[A-Za-z_]\w*)
            |(?P<sign>==|!=|<=|>=|&&|\|\||[<>!()]))""",
    re.VERBOSE,
)
COMPARISONS = {"==": eq, "!=": ne, "<=": le, ">=": ge, "<": lt, ">": gt}
WORDS = {"true": True, "false": False, "null": None}
CONVERSIONS: Mapping[str, Callable[[Json], Json]] = {
    "int": int,
    "double": float,
    "string": str,
    "bool": lambda value: str(value).lower() == "true",
}


def holds(condition: str, parameters: Mapping[str, Json]) -> bool:
    """Whether the condition holds for a task's input parameters. Raises PipelineError."""
    parser = _Parser(condition, parameters)
    value = parser.either()
    if not parser.at_end or not isinstance(value, bool):
        raise PipelineError(f"The condition {condition!r} cannot be evaluated.")
    return value


class _Parser:
    """Recursive descent; evaluates as it reads, for the language has no effects."""

    def __init__(self, text: str, parameters: Mapping[str, Json]) -> None:
        self._text = text
        self._parameters = parameters
        self._tokens = _tokens(text)
        self._next = 0

    @property
    def at_end(self) -> bool:
        return self._next == len(self._tokens)

    def either(self) -> Json:
        value = self._both()
        while self._accept("||"):
            right = self._both()
            value = bool(value) or bool(right)
        return value

    def _both(self) -> Json:
        value = self._comparison()
        while self._accept("&&"):
            right = self._comparison()
            value = bool(value) and bool(right)
        return value

    def _comparison(self) -> Json:
        left = self._value()
        for sign, compare in COMPARISONS.items():
            if self._accept(sign):
                right = self._value()
                try:
                    return compare(left, right)
                except TypeError as error:
                    raise self._refusal() from error
        return left

    def _value(self) -> Json:
        if self._accept("!"):
            return not self._value()
        if self._accept("("):
            value = self.either()
            self._expect(")")
            return value
        kind, text = self._take()
        if kind == "input":
            return self._parameters.get(text.split("[", 1)[1].split("]", 1)[0][1:-1])
        if kind == "number":
            return float(text) if re.search(r"[.eE]", text) else int(text)
        if kind == "text":
            return re.sub(r"\\(.)", r"\1", text[1:-1])
        if kind == "word":
            return self._word(text)
        raise self._refusal()

    def _word(self, word: str) -> Json:
        if word in WORDS:
            return WORDS[word]
        if word not in CONVERSIONS:
            raise self._refusal()
        self._expect("(")
        value = self.either()
        self._expect(")")
        try:
            return CONVERSIONS[word](value)
        except (TypeError, ValueError) as error:
            raise self._refusal() from error

    def _take(self) -> tuple[str, str]:
        if self.at_end:
            raise self._refusal()
        self._next += 1
        return self._tokens[self._next - 1]

    def _accept(self, sign: str) -> bool:
        found = not self.at_end and self._tokens[self._next] == ("sign", sign)
        self._next += found
        return found

    def _expect(self, sign: str) -> None:
        if not self._accept(sign):
            raise self._refusal()

    def _refusal(self) -> PipelineError:
        return PipelineError(f"The condition {self._text!r} cannot be evaluated.")


def _tokens(text: str) -> list[tuple[str, str]]:
    tokens, position = [], 0
    end = len(text.rstrip())
    while position < end:
        match = TOKEN.match(text, position)
        if match is None or match.lastgroup is None:
            raise PipelineError(f"The condition {text!r} cannot be read at {text[position:].strip()[:20]!r}.")
        tokens.append((match.lastgroup, match[match.lastgroup]))
        position = match.end()
    return tokens
