"""The commands that a build's steps run, read from their args and scripts as far as a shell's words show them."""

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from overnight.builds.file import BuildFile
from overnight.builds.substitutions import expand, mapped
from overnight.forms.fields import FieldPath

SHELLS = ("bash", "sh", "dash", "zsh", "/bin/bash", "/bin/sh")
ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))")
_EXPANSION = re.compile(r"\$\{([A-Za-z0-9_]+)(:?[^A-Za-z0-9_{}][^{}]*)\}")
_DUPLICATED = re.compile(r"[0-9]*[<>]&[0-9-]")
_COMMENT = re.compile(r"^\s*#.*$|\s#\s.*$", re.MULTILINE)
_KEYWORDS = ("if", "then", "else", "elif", "do", "while", "until", "!", "{", "exec", "env", "sudo", "time")
_NAMED_AFTER = ("docker", "podman", "buildah", "terraform", "skopeo")
"""Images whose entrypoint is the program that they are called after."""
_DEEPEST = 3
"""Scripts that call scripts."""


@dataclass(frozen=True)
class Command:
    """One simple command."""

    step: int
    path: FieldPath
    """The field that holds it, or that calls the script which does."""
    words: tuple[str, ...]
    """Without assignments before them; what a shell would fill in and is not known here stays as $name."""
    environment: Mapping[str, str]
    """What is set for it in the file: options.env, the step's env, and assignments so far."""
    piped: bool = False
    """It reads what the command before it writes."""
    script: str | None = None
    """The script of the repository that holds it."""

    @property
    def name(self) -> str:
        """The program, without its folder."""
        return self.words[0].rpartition("/")[2]

    def values(self, *options: str) -> list[str]:
        """The values of an option in all its spellings: `--tag X`, `--tag=X`, `-t X`."""
        found = []
        for place, word in enumerate(self.words):
            name, equals, value = word.partition("=")
            if word in options and place + 1 < len(self.words):
                found.append(self.words[place + 1])
            elif equals and name in options:
                found.append(value)
        return found


def commands_of(build: BuildFile, values: Mapping[str, str], root: Path | None) -> list[Command]:
    """All commands in the order of steps; those of the repository's scripts that a step calls stand after the call."""
    found: list[Command] = []
    for index, step in enumerate(build.steps):
        environment = _environment(build, step, values)
        for path, text, words in _sources(step, index, values):
            simple = _simple(text, environment) if words is None else [(words, environment, False)]
            for command_words, set_, piped in simple:
                command = Command(index, path, tuple(command_words), set_, piped)
                found += [command, *_inside(command, root, _DEEPEST)]
    return found


def called(words: tuple[str, ...] | list[str]) -> str | None:
    """The repository's script that a command runs, by its path; None when it is a program, or not known."""
    runs = words[0].rpartition("/")[2]
    candidates = words[:1]
    if runs in SHELLS or re.fullmatch(r"python[0-9.]*", runs):
        candidates = words[1:2]
    for word in candidates:
        path = word.removeprefix("./")
        if re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*(/[A-Za-z0-9_.-]+)+", path) and ".." not in path.split("/"):
            return path
    return None


def unknown(word: str) -> bool:
    """Whether a word holds something that only the shell fills in."""
    return "$" in word or "`" in word


def _environment(build: BuildFile, step: Mapping[str, Any], values: Mapping[str, str]) -> dict[str, str]:
    entries = [*(build.option("env") or ()), *step.get("env", ())]
    written = (expand(entry, values, loose=True).partition("=") for entry in entries)
    own = {name: value for name, equals, value in written if equals}
    return {**values, **own} if mapped(build, step) else own


def _sources(
    step: Mapping[str, Any], index: int, values: Mapping[str, str]
) -> Iterator[tuple[FieldPath, str, list[str] | None]]:
    """Each text that a shell runs, or the words of what is run without one."""
    if "script" in step:
        yield ("steps", index, "script"), step["script"], None
        return
    args = [expand(word, values, loose=True) for word in step.get("args", ())]
    entrypoint = step.get("entrypoint")
    image = expand(step.get("name", ""), values, loose=True).partition("@")[0].rpartition("/")[2].partition(":")[0]
    if not entrypoint and image in _NAMED_AFTER:
        entrypoint = image
    if entrypoint in SHELLS and len(args) > 1 and re.fullmatch(r"-[a-z]*c", args[0]):
        yield ("steps", index, "args", 1), args[1], None
    elif entrypoint or args:
        yield ("steps", index, "args" if args else "entrypoint"), "", [*([entrypoint] if entrypoint else []), *args]


def _inside(command: Command, root: Path | None, depth: int) -> Iterator[Command]:
    """The commands of the script that `command` calls."""
    name = called(command.words)
    if root is None or name is None or depth == 0 or not (root / name).is_file():
        return
    text = (root / name).read_text(encoding="utf-8", errors="replace")
    if not re.match(r"#!.*\b(ba|da)?sh\b", text):
        return
    for words, set_, piped in _simple(text, command.environment):
        inner = Command(command.step, command.path, tuple(words), set_, piped, name)
        yield inner
        yield from _inside(inner, root, depth - 1)


def _simple(text: str, environment: Mapping[str, str]) -> Iterator[tuple[list[str], Mapping[str, str], bool]]:
    """The simple commands of a shell's text, with what is set for each and whether it reads the former's output."""
    known = dict(environment)
    piped = False
    plain = _DUPLICATED.sub(" ", _COMMENT.sub("", text.replace("\\\n", " ")))
    # A default or a complaint counts as the value itself; any other expansion is not known here.
    plain = _EXPANSION.sub(lambda found: f"${found[1]}" if found[2][0] == ":" else "$_", plain)
    for words, end in _split(plain):
        filled = [_VARIABLE.sub(lambda found: known.get(found[1] or found[2], found[0]), word) for word in words]
        while filled and filled[0] in _KEYWORDS:
            filled = filled[1:]
        exported = filled[:1] in (["export"], ["local"], ["readonly"], ["declare"])
        own: dict[str, str] = {}
        rest = filled[1:] if exported else filled
        while rest and (set_ := ASSIGNMENT.fullmatch(rest[0])):
            own[set_[1]] = set_[2]
            rest = rest[1:]
        if rest and not exported:
            yield rest, {**known, **own}, piped
        elif own:
            # A value that another branch may set otherwise is not known.
            known.update({name: value if name not in known else f"${name}" for name, value in own.items()})
        piped = end in ("|", "|&")


def _split(text: str) -> Iterator[tuple[list[str], str]]:
    """Words up to each operator, and the operator; what cannot be read as shell ends it."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=";&|()\n")
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t\r", True, ""
    words: list[str] = []
    for token in _tokens(lexer):
        if set(token) <= set(";&|()\n") and token:
            if words:
                yield words, token
            words = []
        else:
            words.append(token)
    if words:
        yield words, ""


def _tokens(lexer: Iterable[str]) -> Iterator[str]:
    try:
        yield from lexer
    except ValueError:  # quotes without an end: a rule of its own says so
        return
