"""Read docker's command lines: which options a verb has, which of them take a value."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from overnight.builds.errors import BuildError


@dataclass(frozen=True)
class Grammar:
    """The options of one verb, without their dashes."""

    values: frozenset[str] = frozenset()
    flags: frozenset[str] = frozenset()
    short: Mapping[str, str] = field(default_factory=dict)
    """`t` for `tag`."""
    interspersed: bool = True
    """Options may follow arguments; not where everything after the image is the container's own command."""


@dataclass(frozen=True)
class CommandLine:
    """What was written: options in their order, then arguments."""

    options: tuple[tuple[str, str | None], ...]
    """Long names; None for a flag without value."""
    arguments: tuple[str, ...]

    def last(self, name: str) -> str | None:
        """The value that counts when an option is given more than once."""
        return next((value for option, value in reversed(self.options) if option == name), None)

    def has(self, name: str) -> bool:
        """Whether a flag is on."""
        given = [value for option, value in self.options if option == name]
        return bool(given) and given[-1] not in ("false", "0", "f")


def names(text: str) -> frozenset[str]:
    """`"quiet pull"` as a set of names."""
    return frozenset(text.split())


def letters(text: str) -> Mapping[str, str]:
    """`"t=tag q=quiet"` as a table of short options."""
    return dict(item.split("=") for item in text.split())


def read(words: list[str], grammar: Grammar, verb: str) -> CommandLine:
    """The command line after `docker VERB`. Raises BuildError for an option that has no stand-in here."""
    options: list[tuple[str, str | None]] = []
    arguments: list[str] = []
    left = list(words)
    while left:
        word = left.pop(0)
        if word == "--":
            arguments += left
            break
        if word == "-" or not word.startswith("-"):
            arguments.append(word)
            if not grammar.interspersed:
                arguments += left
                break
        elif word.startswith("--"):
            options.append(_long(word, left, grammar, verb))
        else:
            options += _short(word, left, grammar, verb)
    return CommandLine(tuple(options), tuple(arguments))


def _long(word: str, left: list[str], grammar: Grammar, verb: str) -> tuple[str, str | None]:
    name, equals, value = word[2:].partition("=")
    if name in grammar.flags:
        return name, value if equals else None
    if name not in grammar.values:
        raise BuildError(f"`docker {verb} --{name}` has no stand-in here", remedy=_known(grammar))
    return name, value if equals else _next(left, word, verb)


def _short(word: str, left: list[str], grammar: Grammar, verb: str) -> list[tuple[str, str | None]]:
    """`-it` is two flags; `-t NAME`, `-tNAME` and `-t=NAME` are one option."""
    found: list[tuple[str, str | None]] = []
    rest = word[1:]
    while rest:
        letter, rest = rest[0], rest[1:]
        name = grammar.short.get(letter)
        if name is None:
            raise BuildError(f"`docker {verb} -{letter}` has no stand-in here", remedy=_known(grammar))
        if name in grammar.values:
            found.append((name, rest.removeprefix("=") if rest else _next(left, f"-{letter}", verb)))
            break
        found.append((name, None))
    return found


def _next(left: list[str], word: str, verb: str) -> str:
    if not left:
        raise BuildError(f"`docker {verb} {word}` has no value", remedy="give one")
    return left.pop(0)


def _known(grammar: Grammar) -> str:
    known = sorted(grammar.values | grammar.flags)
    return f"these have: {', '.join(f'--{name}' for name in known)}" if known else "leave it out"
