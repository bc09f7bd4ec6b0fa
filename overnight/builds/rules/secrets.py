"""Secrets: declared, used, by version, and never in a command line."""

import re
from collections import Counter
from collections.abc import Iterator

from overnight.builds.rules.context import VALIDATE, Check, Context
from overnight.forms.fields import FieldPath
from overnight.forms.findings import Finding, error

PAGE = "Cloud Build, Use secrets from Secret Manager"
UNDECLARED = error("secret-undeclared", "secretEnv names what availableSecrets or secrets declare.", VALIDATE)
UNUSED = error("secret-unused", "Every declared secret is used by a step.", VALIDATE)
TWICE = error("secret-twice", "A variable holds one secret, and is no plain variable too.", VALIDATE)
VERSION = error(
    "secret-version",
    "A secret is named as projects/P/secrets/S/versions/NUMBER: 'latest' may change between two builds.",
    PAGE,
)
IN_ARGS = error("secret-in-args", "A secret is read by a script, never put into args, which are recorded.", PAGE)

_VERSION = re.compile(r"projects/[^/\s]+/secrets/[^/\s]+/versions/(?P<version>[^/\s]+)")


def _declared(context: Context) -> list[tuple[FieldPath, str]]:
    data = context.build.data
    found: list[tuple[FieldPath, str]] = []
    available = data.get("availableSecrets", {})
    for index, secret in enumerate(available.get("secretManager", [])):
        found.append((("availableSecrets", "secretManager", index, "env"), secret.get("env", "")))
    for index, secret in enumerate(available.get("inline", [])):
        found += [(("availableSecrets", "inline", index, "envMap", name), name) for name in secret.get("envMap", {})]
    for index, secret in enumerate(data.get("secrets", [])):
        found += [(("secrets", index, "secretEnv", name), name) for name in secret.get("secretEnv", {})]
    return found


def _uses(context: Context) -> list[tuple[FieldPath, str, list[str]]]:
    """Each use, with the plain variables beside it."""
    everywhere = context.build.option("env") or []
    found: list[tuple[FieldPath, str, list[str]]] = [
        (("options", "secretEnv", place), name, everywhere)
        for place, name in enumerate(context.build.option("secretEnv") or [])
    ]
    for index, step in enumerate(context.build.steps):
        plain = [*everywhere, *step.get("env", [])]
        found += [
            (("steps", index, "secretEnv", place), name, plain) for place, name in enumerate(step.get("secretEnv", []))
        ]
    return found


def matched(context: Context) -> Iterator[Finding]:
    """What is declared is used, what is used is declared, each variable once."""
    declared, used = _declared(context), _uses(context)
    names, wanted = Counter(name for _, name in declared), {name for _, name, _ in used}
    for path, name in declared:
        if names[name] > 1:
            yield TWICE.at(path, f"{name} is declared twice", "keep one of them")
            names[name] = 0
        elif name not in wanted and name in names:
            yield UNUSED.at(path, f"no step uses the secret {name!r}", "add it to a step's secretEnv, or remove it")
    for path, name, plain in used:
        if name not in names:
            said = f"no secret is declared for {name}"
            yield UNDECLARED.at(path, said, "declare it under availableSecrets.secretManager")
        if name in {entry.partition("=")[0] for entry in plain}:
            yield TWICE.at(path, f"{name} is a plain variable too", "keep one of them")


def versioned(context: Context) -> Iterator[Finding]:
    """Secrets by the number of their version."""
    secrets = context.build.data.get("availableSecrets", {}).get("secretManager", [])
    for index, secret in enumerate(secrets):
        path = ("availableSecrets", "secretManager", index, "versionName")
        name = secret.get("versionName", "")
        parts = _VERSION.fullmatch(name)
        if parts is None:
            remedy = "write projects/P/secrets/S/versions/NUMBER"
            yield VERSION.at(path, f"{name!r} does not name a secret's version", remedy)
        elif parts["version"] == "latest":
            yield VERSION.at(path, f"{name} may mean another secret tomorrow", "name the version by its number")


def hidden(context: Context) -> Iterator[Finding]:
    """No secret in a command line."""
    names = {name for _, name in _declared(context) if name}
    for index, step in enumerate(context.build.steps):
        for place, word in enumerate(step.get("args", [])):
            for name in sorted(names):
                if re.search(rf"\$\$\{{?{re.escape(name)}\b", word):
                    said = f"the secret {name} is written into a command line"
                    yield IN_ARGS.at(("steps", index, "args", place), said, "let a script read it from its environment")


CHECKS: tuple[Check, ...] = (matched, versioned, hidden)
