"""Read what a statement says: ours, and every form in which Cloud Build writes or wrote its own.

Triggers get SLSA v1 and v0.1, `gcloud builds submit` gets v0.1 alone. The reader passes over what it does not know;
what is compared later (subject, builder, source, commit) it takes from one place only, or not at all.
"""

import json
from collections.abc import Iterator
from typing import Any

from overnight.images.errors import ImageError
from overnight.images.provenance import SLSA_V1, Provenance
from overnight.images.source_address import COMMIT, normal_source

STATEMENTS = ("https://in-toto.io/Statement/v1", "https://in-toto.io/Statement/v0.1")
SLSA_V02 = "https://slsa.dev/provenance/v0.2"
SLSA_V01 = "https://slsa.dev/provenance/v0.1"
SLSA = (SLSA_V1, SLSA_V02, SLSA_V01)
"""The latest first: of two statements about one build, the one that says more."""


def read_bytes(payload: bytes, digest: str | None = None) -> Provenance:
    """As `read`, of a statement's JSON text."""
    try:
        statement = json.loads(payload)
    except (ValueError, RecursionError):  # UnicodeDecodeError and JSONDecodeError are ValueErrors
        raise ImageError("the statement is not JSON") from None
    return read(statement, digest)


def read(statement: Any, digest: str | None = None) -> Provenance:
    """What an in-toto statement says; of several subjects the one with `digest`, if there is one, else the first.

    Raises ImageError for what is no statement, holds another predicate, or names no builder.
    """
    if not isinstance(statement, dict) or statement.get("_type") not in STATEMENTS:
        raise ImageError("this is no in-toto statement")
    kind = statement.get("predicateType")
    if kind not in SLSA:
        raise ImageError(f"the statement holds {kind!r}, and not SLSA provenance")
    # Cloud Build's JSON calls the predicate of v0.1 slsaProvenance.
    predicate = statement.get("predicate", statement.get("slsaProvenance"))
    builder = _text(predicate, "runDetails", "builder", "id") if kind == SLSA_V1 else _text(predicate, "builder", "id")
    if builder is None:
        raise ImageError("the statement names no builder")
    source, commit = _source_v1(predicate) if kind == SLSA_V1 else _source_older(predicate)
    return Provenance(
        subject_digest=_subject(statement.get("subject"), digest),
        source=source,
        commit=commit,
        builder=builder,
        build_id=_build_id(predicate),
        predicate_type=kind,
        build_type=_build_type(predicate),
        config=_config(predicate),
    )


def _subject(subjects: Any, digest: str | None) -> str:
    found = [f"sha256:{value}" for item in _items(subjects) if (value := _text(item, "digest", "sha256")) is not None]
    if not found:
        raise ImageError("the statement has no subject with a sha256 digest")
    return digest if digest in found else found[0]


def _source_v1(predicate: Any) -> tuple[str | None, str | None]:
    """The source that was asked for, and the commit that it resolved to.

    sourceToBuild is there when the build file came from another repository than the code.
    """
    external = ("buildDefinition", "externalParameters")
    named = [
        _text(predicate, *external, "sourceToBuild", "repository"),
        _text(predicate, *external, "buildConfigSource", "repository"),
        _text(predicate, *external, "source"),
    ]
    wanted = next((normal_source(text) for text in named if text is not None), None)
    commits = list(_commits(_at(predicate, "buildDefinition", "resolvedDependencies")))
    if wanted is None and not any(named):
        return commits[0] if commits else (None, None)
    return wanted, next((commit for source, commit in commits if source == wanted), None)


def _source_older(predicate: Any) -> tuple[str | None, str | None]:
    """Of v0.2 the configSource, of v0.1 the first material from Git; an uploaded archive (gs://) is neither."""
    config = _at(predicate, "invocation", "configSource")
    return next(_commits([config, *_items(_at(predicate, "materials"))]), (None, None))


def _commits(dependencies: Any) -> Iterator[tuple[str, str]]:
    """Repositories among dependencies, with their commits."""
    for item in _items(dependencies):
        source = normal_source(_text(item, "uri"))
        commit = _text(item, "digest", "gitCommit") or _text(item, "digest", "sha1")
        if source is not None and commit is not None and COMMIT.fullmatch(commit):
            yield source, commit


def _build_id(predicate: Any) -> str | None:
    """The build's id, at the end of an address in v1 and alone in older forms."""
    found = _text(predicate, "runDetails", "metadata", "invocationId") or _text(
        predicate, "metadata", "buildInvocationId"
    )
    return found.rstrip("/").rpartition("/")[2] or None if found else None


def _build_type(predicate: Any) -> str:
    places = (("buildDefinition", "buildType"), ("buildType",), ("recipe", "type"))
    return next((found for place in places if (found := _text(predicate, *place)) is not None), "")


def _config(predicate: Any) -> str | None:
    external = ("buildDefinition", "externalParameters")
    places = (
        (*external, "buildConfigSource", "path"),
        (*external, "config"),
        ("invocation", "configSource", "entryPoint"),
        ("recipe", "entryPoint"),
    )
    return next((found for place in places if (found := _text(predicate, *place)) is not None), None)


def _at(value: Any, *path: str) -> Any:
    """What stands at `path` inside objects; None where one is missing."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _text(value: Any, *path: str) -> str | None:
    found = _at(value, *path)
    return found if isinstance(found, str) and found else None


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
