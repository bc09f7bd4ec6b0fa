"""Whether an image may be run: it is where it says, its bytes are what its digests say, and it was made as expected.

Pure orchestration: the registry, the sources of provenance and what is expected are passed in.
"""

from collections.abc import Sequence

from overnight.images.errors import ImageError
from overnight.images.labels import REVISION, SOURCE, TITLE, Labels
from overnight.images.local import is_loopback
from overnight.images.provenance import Evidence, Expected, Provenance, ProvenanceSource
from overnight.images.reference import Reference
from overnight.images.registry import Registry
from overnight.images.source_address import normal_source
from overnight.images.statement import SLSA
from overnight.images.stored import Progress, check_stored
from overnight.images.verdict import Check

THIS_MACHINE = "registries on this machine"
"""Among `places`: every registry on loopback."""


def verify(
    reference: Reference,
    expected: Expected,
    *,
    registry: Registry,
    sources: Sequence[ProvenanceSource],
    places: Sequence[str] = (),
    layers: bool = True,
    progress: Progress = lambda read, total: None,
) -> list[Check]:
    """All checks that can be made, in the order of a table.

    `places` are the HOST/PATHs that images may come from; none allows every one. Without `layers` only their sizes
    are compared. A registry or service that cannot be asked makes checks that are not judged; raises ImageError only
    for a tag that the registry does not have, or cannot be asked about.
    """
    if not reference.pinned:
        return [_unpinned(reference, registry)]
    checks = [Check("pinned", True, f"{reference.digest} names bytes, and no tag is looked at")]
    if places:
        checks.append(_place(reference, places))
    stored = check_stored(reference, registry, layers, progress)
    checks += stored.checks
    if not stored.there:
        return checks
    believed: list[Provenance] = []
    for source in sources:
        rows, provenance = _from(source, reference, expected)
        named = f" ({source.name})" if len(sources) > 1 else ""
        checks += [Check(f"{row.name}{named}", row.passed, row.message, row.judged) for row in rows]
        believed += [provenance] if provenance is not None else []
    if stored.labels is not None:
        checks += _labels(stored.labels, believed)
        checks.append(_title(stored.labels, reference))
    return checks


def _unpinned(reference: Reference, registry: Registry) -> Check:
    remedy = f"take the digest by `overnight image resolve {reference}`"
    if reference.tag is None:
        return Check("pinned", False, "it names neither tag nor digest; add @sha256:… of the image that is meant")
    digest = registry.manifest(reference.path, reference.tag).digest
    return Check("pinned", False, f"the tag {reference.tag!r} can move (it is {digest} now); {remedy}")


def _place(reference: Reference, places: Sequence[str]) -> Check:
    for place in places:
        here = place == THIS_MACHINE and is_loopback(reference.host)
        if here or f"{reference.repository}/".startswith(f"{place.rstrip('/')}/"):
            return Check("registry", True, f"{reference.repository} belongs to {place}")
    problem = f"{reference.repository} is in another registry than {' or '.join(places)}"
    remedy = "build or copy the image there, or allow it in google.artifact_registry.allowed_registries"
    return Check("registry", False, f"{problem}; {remedy}")


def _from(source: ProvenanceSource, reference: Reference, expected: Expected) -> tuple[list[Check], Provenance | None]:
    """What one source shows; of several statements the one that most speaks for. One that fits is enough."""
    try:
        found = source.find(reference)
    except ImageError as error:
        return [Check("attestation", False, error.sentence.rstrip("."), judged=False)], None
    if not found:
        return [Check("attestation", False, source.absent)], None
    ranked = [(_rows(evidence, reference, expected), evidence) for evidence in sorted(found, key=_age)]
    rows, best = max(ranked, key=lambda pair: _weight(pair[0]))
    count = "one statement" if len(found) == 1 else f"{len(found)} statements, judged by the one that fits best"
    first = Check("attestation", True, f"{source.name}: {count}")
    return [first, *rows], best.provenance if best.trusted else None


def _rows(evidence: Evidence, reference: Reference, expected: Expected) -> list[Check]:
    """Nothing is compared that nobody trusted has said."""
    rows = [Check("signature", evidence.trusted, evidence.trust)]
    provenance = evidence.provenance
    if not evidence.trusted:
        return rows
    if provenance is None:
        return [*rows, Check("statement", False, evidence.problem)]
    subject = Check("subject", True, "the statement is about this digest")
    if provenance.subject_digest != reference.digest:
        subject = Check("subject", False, f"the statement is about {provenance.subject_digest}, another image")
    wanted = normal_source(expected.source) or expected.source
    return [
        *rows,
        subject,
        _builder(provenance.builder, expected.builder),
        _compared("source", "no Git repository (was an archive uploaded?)", provenance.source, wanted),
        _compared("commit", "no commit", provenance.commit, expected.commit),
    ]


def _builder(found: str, wanted: str | None) -> Check:
    """Cloud Build's older statements write a version behind its id: GoogleHostedWorker@v0.3."""
    if wanted is not None and "@" not in wanted and found.partition("@v")[0] == wanted:
        return Check("builder", True, f"{found}, as expected")
    return _compared("builder", "no builder", found, wanted)


def _compared(name: str, nothing: str, found: str | None, wanted: str | None) -> Check:
    if found is None:
        return Check(name, False, f"the statement names {nothing}")
    if wanted is None:
        return Check(name, True, f"{found}; no other was asked for")
    if found == wanted:
        return Check(name, True, f"{found}, as expected")
    return Check(name, False, f"the statement names {found}, and {wanted} is expected")


def _weight(rows: Sequence[Check]) -> tuple[bool, int]:
    return all(row.passed for row in rows), sum(row.passed for row in rows)


def _age(evidence: Evidence) -> int:
    """Later versions of the predicate first, as they say more; `max` keeps the first of equals."""
    return SLSA.index(evidence.provenance.predicate_type) if evidence.provenance else len(SLSA)


def _labels(labels: Labels, believed: Sequence[Provenance]) -> list[Check]:
    """Whether the image says of itself what the statements say; without a statement there is nothing to compare."""
    for provenance in believed:
        for label, value, said in (
            (SOURCE, normal_source(labels.source), provenance.source),
            (REVISION, labels.revision, provenance.commit),
        ):
            if value is None:
                return [Check("labels", False, f"the image has no label {label} that can be compared")]
            if value != said:
                return [Check("labels", False, f"the label {label} is {value}, and the statement says {said}")]
    return [Check("labels", True, "source and revision agree with the statement")] if believed else []


def _title(labels: Labels, reference: Reference) -> Check:
    if labels.title is None:
        return Check("title", False, f"the image has no label {TITLE}")
    if labels.title != reference.name:
        return Check("title", False, f"the label {TITLE} is {labels.title!r}, and the image's name {reference.name!r}")
    return Check("title", True, f"the image calls itself {labels.title}")
