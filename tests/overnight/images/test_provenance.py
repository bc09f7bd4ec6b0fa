"""Statements: ours written and read back, Cloud Build's forms as JSON, and what is no statement."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overnight.images.errors import ImageError
from overnight.images.provenance import LOCAL_BUILD_TYPE, LOCAL_BUILDER, Provenance, write
from overnight.images.reference import parse
from overnight.images.source_address import normal_source, parse_commit, parse_source
from overnight.images.statement import read, read_bytes

HEX = "ab" * 32
COMMIT = "0123456789abcdef0123456789abcdef01234567"
IMAGE = parse(f"localhost:5005/overnight-images/trainer-cpu@sha256:{HEX}")
BASE = f"localhost:5005/bases/builder@sha256:{'cd' * 32}"
OURS = Provenance(
    subject_digest=f"sha256:{HEX}",
    source="https://github.com/acme/vision",
    commit=COMMIT,
    builder=LOCAL_BUILDER,
    build_id="20260302-1",
    config="cloudbuild/images.yaml",
    substitutions={"_REGION": "us-central1"},
    base_images=(BASE,),
)


def test_a_statement_is_in_toto_v1_with_slsa_provenance_v1() -> None:
    assert json.loads(write(OURS, IMAGE)) == {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": "localhost:5005/overnight-images/trainer-cpu", "digest": {"sha256": HEX}}],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": LOCAL_BUILD_TYPE,
                "externalParameters": {
                    "source": "https://github.com/acme/vision",
                    "commit": COMMIT,
                    "config": "cloudbuild/images.yaml",
                    "substitutions": {"_REGION": "us-central1"},
                },
                "resolvedDependencies": [
                    {"uri": f"git+https://github.com/acme/vision@{COMMIT}", "digest": {"gitCommit": COMMIT}},
                    {"uri": BASE, "digest": {"sha256": "cd" * 32}},
                ],
            },
            "runDetails": {"builder": {"id": LOCAL_BUILDER}, "metadata": {"invocationId": "20260302-1"}},
        },
    }


def test_the_same_provenance_is_the_same_bytes_in_whatever_order_it_was_given() -> None:
    other = f"localhost:5005/bases/runtime@sha256:{'ef' * 32}"
    one = Provenance(**{**vars(OURS), "base_images": (BASE, other), "substitutions": {"_A": "1", "_B": "2"}})
    two = Provenance(**{**vars(OURS), "base_images": (other, BASE, BASE), "substitutions": {"_B": "2", "_A": "1"}})
    assert write(one, IMAGE) == write(two, IMAGE)


def test_what_was_written_is_read_back() -> None:
    compared = {**vars(OURS), "substitutions": {}, "base_images": ()}
    assert read_bytes(write(OURS, IMAGE)) == Provenance(**compared)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"source": None}, "provenance without source and commit says nothing"),
        ({"commit": None}, "provenance without source and commit says nothing"),
        ({"commit": "main"}, "'main' is no whole commit id"),
        ({"source": "/work/vision"}, "'/work/vision' is no address of a Git repository"),
        ({"base_images": ("python:3.11",)}, "base image"),
    ],
)
def test_nothing_is_written_that_names_its_inputs_loosely(changes, sentence) -> None:
    with pytest.raises(ImageError, match=sentence):
        write(Provenance(**{**vars(OURS), **changes}), IMAGE)


def v1(external: dict[str, object], *dependencies: tuple[str, str]) -> dict[str, object]:
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"digest": {"sha256": HEX}}],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "externalParameters": external,
                "resolvedDependencies": [{"uri": uri, "digest": {"gitCommit": commit}} for uri, commit in dependencies],
            },
            "runDetails": {"builder": {"id": "b"}},
        },
    }


CODE = ("git+https://github.com/acme/code@refs/heads/main", COMMIT)
RULES = ("git+https://github.com/acme/rules@refs/heads/main", "f" * 40)


@pytest.mark.parametrize(
    ("external", "dependencies", "expected"),
    [
        ({"buildConfigSource": {"repository": CODE[0]}}, (CODE,), ("https://github.com/acme/code", COMMIT)),
        ({}, (CODE,), ("https://github.com/acme/code", COMMIT)),
        (
            {"buildConfigSource": {"repository": RULES[0]}, "sourceToBuild": {"repository": CODE[0]}},
            (RULES, CODE),
            ("https://github.com/acme/code", COMMIT),
        ),
        ({"buildConfigSource": {"repository": CODE[0]}}, (RULES,), ("https://github.com/acme/code", None)),
        ({"source": "/work/code"}, (CODE,), (None, None)),
        ({"source": CODE[0]}, ((CODE[0], "main"),), ("https://github.com/acme/code", None)),
        ({}, (), (None, None)),
    ],
    ids=["config", "dependency alone", "other build file", "other dependency", "no address", "no commit", "nothing"],
)
def test_the_source_is_the_one_asked_for_and_the_commit_the_one_it_resolved_to(
    external, dependencies, expected
) -> None:
    found = read(v1(external, *dependencies))
    assert (found.source, found.commit) == expected


def test_of_several_subjects_the_asked_one_counts() -> None:
    statement = {**v1({}, CODE), "subject": [{"digest": {"sha256": "00" * 32}}, {"digest": {"sha256": HEX}}]}
    assert read(statement, f"sha256:{HEX}").subject_digest == f"sha256:{HEX}"
    assert read(statement, f"sha256:{'11' * 32}").subject_digest == f"sha256:{'00' * 32}"


def test_the_json_of_gcloud_calls_the_older_predicate_otherwise() -> None:
    """`gcloud artifacts docker images describe --show-provenance --format=json`; the index is text there."""
    found = read(
        {
            "_type": "https://in-toto.io/Statement/v0.1",
            "predicateType": "https://slsa.dev/provenance/v0.1",
            "subject": [{"name": "https://host/p/r/i", "digest": {"sha256": HEX}}],
            "slsaProvenance": {
                "builder": {"id": "https://cloudbuild.googleapis.com/GoogleHostedWorker@v0.3"},
                "materials": [{"uri": "git+https://github.com/acme/code", "digest": {"sha1": COMMIT}}],
                "metadata": {"buildInvocationId": "5dadd1d8"},
                "recipe": {"definedInMaterial": "-1", "entryPoint": "cloudbuild.yaml", "type": "t"},
            },
        }
    )
    assert (found.source, found.commit, found.build_id) == ("https://github.com/acme/code", COMMIT, "5dadd1d8")


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        (None, "this is no in-toto statement"),
        ([], "this is no in-toto statement"),
        ({"_type": ["https://in-toto.io/Statement/v1"]}, "this is no in-toto statement"),
        ({**v1({}), "predicateType": {"a": 1}}, "the statement holds {'a': 1}, and not SLSA provenance"),
        ({**v1({}), "predicate": None}, "the statement names no builder"),
        ({**v1({}), "predicate": {"runDetails": {"builder": {"id": 7}}}}, "the statement names no builder"),
        ({**v1({}), "subject": []}, "the statement has no subject with a sha256 digest"),
        ({**v1({}), "subject": {"digest": {"sha256": HEX}}}, "the statement has no subject with a sha256 digest"),
        ({**v1({}), "subject": [{"digest": {"sha1": HEX}}]}, "the statement has no subject with a sha256 digest"),
    ],
)
def test_what_is_no_provenance_is_refused_in_one_sentence(statement, problem) -> None:
    with pytest.raises(ImageError) as raised:
        read(statement)
    assert raised.value.sentence == f"{problem}."


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from(["buildDefinition", "runDetails", "builder", "materials", "invocation", "recipe", "metadata"])


@given(
    st.dictionaries(KEYS, JSON | st.dictionaries(KEYS | st.just("id"), JSON)), st.sampled_from(["v1", "v0.1", "v0.2"])
)
def test_whatever_a_predicate_holds_it_is_read_or_refused(predicate, version) -> None:
    statement = {**v1({}), "predicateType": f"https://slsa.dev/provenance/{version}", "predicate": predicate}
    builder = predicate.get("runDetails", {}) if version == "v1" else predicate
    builder = builder.get("builder") if isinstance(builder, dict) else None
    named = builder.get("id") if isinstance(builder, dict) else None
    if isinstance(named, str) and named:
        assert read(statement).builder == named
    else:
        with pytest.raises(ImageError, match="the statement names no builder"):
            read(statement)


@pytest.mark.parametrize("payload", [b"", b"\xff\xfe", b"{", b"[" * 100_000], ids=["empty", "binary", "half", "deep"])
def test_what_is_not_json_is_refused(payload) -> None:
    with pytest.raises(ImageError, match="the statement is not JSON"):
        read_bytes(payload)


@pytest.mark.parametrize(
    "text",
    [
        "https://github.com/acme/vision",
        "https://github.com/acme/vision.git",
        "https://github.com/acme/vision/",
        "git+https://github.com/acme/vision@refs/heads/main",
        "git+https://github.com/acme/vision.git@" + COMMIT,
        "https://token:x-oauth@github.com/acme/vision.git#main",
        "https://GitHub.com:443/acme/vision",
        "git@github.com:acme/vision.git",
        "ssh://git@github.com:22/acme/vision.git",
        "git+ssh://git@github.com/acme/vision",
        "git://github.com/acme/vision.git",
    ],
)
def test_all_writings_of_a_repository_are_one(text) -> None:
    assert normal_source(text) == "https://github.com/acme/vision"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "vision",
        "/work/vision",
        "file:///work/vision",
        "http://github.com/acme/vision",
        "https://github.com",
        "https://github.com/",
        "https:///acme/vision",
        "https://github.com/acme/../other",
        "https://github.com/acme/%2e%2e/other",
        "https://github.com/acme/vision?ref=main",
        "https://github.com:port/acme/vision",
        "https://gıthub.com/acme/vision",
        "https://github.com/acme/vi sion",
        "https://[::1/acme/vision",
        "gs://acme_cloudbuild/source.tgz#1",
        None,
        7,
    ],
)
def test_what_is_no_repository_has_no_normal_form(text) -> None:
    assert normal_source(text) is None


@given(st.text())
def test_a_normal_form_is_its_own_normal_form(text) -> None:
    found = normal_source(f"https://{text}")
    assert found is None or normal_source(found) == found


def test_flags_are_refused_by_their_name() -> None:
    with pytest.raises(ImageError) as raised:
        parse_source("vision", "--source")
    assert raised.value.sentence == (
        "--source: 'vision' is no address of a Git repository; write it like https://github.com/acme/vision."
    )
    with pytest.raises(ImageError) as raised:
        parse_commit("c0ffee", "--commit")
    assert raised.value.sentence == (
        "--commit: 'c0ffee' is no whole commit id; give all 40 (or 64) hex digits, as git rev-parse does."
    )
    assert parse_commit("C0FFEE" + "0" * 34, "--commit") == "c0ffee" + "0" * 34
