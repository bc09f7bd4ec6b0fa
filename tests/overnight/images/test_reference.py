"""References to images: what is valid is kept, and every mistake has its own sentence."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from overnight.images.errors import ImageError
from overnight.images.reference import GoogleName, Reference, parse, parse_pinned

TABLE = YAML(typ="safe").load((Path(__file__).parent / "references.yaml").read_text(encoding="utf-8"))
ORIGINALS: dict[str, str] = TABLE["originals"]
MUTATIONS: list[dict[str, str]] = TABLE["mutations"]
DIGEST = "sha256:" + "0123456789abcdef" * 4


def check_sentence(error: ImageError, text: object) -> None:
    """One sentence, on one line, that repeats what was written."""
    assert "\n" not in error.sentence
    assert error.sentence.endswith(".")
    assert repr(text)[:250].rstrip("'") in error.sentence
    assert error.remedy


@pytest.mark.parametrize("text", ORIGINALS.values(), ids=ORIGINALS)
def test_the_originals_are_pinned_references(text):
    assert str(parse_pinned(text)) == text
    assert parse(text).pinned


def test_the_table_of_mistakes_covers_each_original():
    assert {mutation["of"] for mutation in MUTATIONS} == set(ORIGINALS)
    assert len(MUTATIONS) >= 30


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: f"{mutation['of']}-{mutation['is'] or 'without'}")
def test_a_mutated_reference_is_refused_with_one_sentence_about_its_mistake(mutation):
    original = ORIGINALS[mutation["of"]]
    assert mutation["was"] in original
    text = original.replace(mutation["was"], mutation["is"], 1)
    with pytest.raises(ImageError) as caught:
        parse_pinned(text)
    check_sentence(caught.value, text)
    assert mutation["says"] in caught.value.sentence


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "empty"),
        ("  \t", "empty"),
        ("example.com/" + "a" * 300, "312 characters, and 255 fit"),
        ("example.com/a:" + "t" * 129, "129 characters, and 128 fit"),
        ("a" * 2000, "2000 characters are more"),
        (f"example.com/{'x' * 40}\x00", "control character U+0000"),
        ("\ud800", "U+D800"),
        ("a" * 64 + ".com/x:1", "is no part of a host's name"),
        ("[::g]:5000/x:1", "no IPv6 address"),
        (f"[::1]x/x@{DIGEST}", "no port"),
    ],
)
def test_text_that_is_no_reference_at_all_is_refused_in_one_sentence(text, says):
    with pytest.raises(ImageError) as caught:
        parse(text)
    check_sentence(caught.value, text)
    assert says in caught.value.sentence


@pytest.mark.parametrize("value", [None, 7, 3.5, True, b"example.com/a:1", ["example.com/a:1"], {"image": "x"}])
def test_what_is_no_text_is_refused_too(value):
    with pytest.raises(ImageError, match="this is not text"):
        parse(value)


def test_the_sentence_begins_with_the_place_that_holds_the_reference():
    with pytest.raises(ImageError) as caught:
        parse("python:3.11", "jobs/local.yaml:7: imageUri")
    assert caught.value.sentence == (
        "jobs/local.yaml:7: imageUri: 'python:3.11': it names no registry, and docker.io is not assumed; "
        "write the registry's host before it."
    )


def test_a_tag_is_enough_for_parse_and_not_for_parse_pinned():
    assert parse("example.com/a:1") == Reference("example.com", "a", "1")
    assert parse("example.com/a") == Reference("example.com", "a")
    with pytest.raises(ImageError, match=r"add @sha256"):
        parse_pinned("example.com/a:1")


def test_the_parts_of_a_reference():
    reference = parse(ORIGINALS["tagged"])
    assert (reference.host, reference.name, reference.tag) == (
        "us-central1-docker.pkg.dev",
        "steps",
        "2026-11-30_rc.1",
    )
    assert reference.repository == "us-central1-docker.pkg.dev/acme-vision/prod-images/steps"
    assert str(reference.with_digest(DIGEST)) == f"{reference.repository}@{DIGEST}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (ORIGINALS["google"], GoogleName("europe-west4", "acme-vision", "prod-images", "trainer-gpu")),
        ("us-docker.pkg.dev/vertex-ai/training/team/tf:1", GoogleName("us", "vertex-ai", "training", "team/tf")),
        ("asia-docker.pkg.dev/example.com/vision/r/i:1", GoogleName("asia", "example.com:vision", "r", "i")),
        (ORIGINALS["private"], None),
    ],
)
def test_names_in_artifact_registry_have_parts(text, expected):
    assert parse(text).google == expected


LOWER = "abcdefghijklmnopqrstuvwxyz0123456789"
words = st.text(LOWER, min_size=1, max_size=8)
path_parts = st.builds(
    lambda first, rest: first + "".join(a + b for a, b in rest),
    words,
    st.lists(st.tuples(st.sampled_from([".", "_", "__", "-", "---"]), words), max_size=2),
)
labels = st.builds(lambda a, b: f"{a}{b}", words, st.sampled_from(["", "-1", "x-y"]))
ports = st.integers(1, 65535).map(lambda port: f":{port}")
hosts = st.one_of(
    st.builds(
        lambda a, b, port: f"{a}.{b}{port}", labels, st.sampled_from(["com", "example.org"]), ports | st.just("")
    ),
    st.builds(lambda a, port: f"{a}{port}", st.from_regex(r"[a-z][a-z0-9]{0,8}", fullmatch=True), ports),
    st.builds(lambda a, port: f"{a}{port}", st.sampled_from(["localhost", "127.0.0.1", "[::1]"]), ports | st.just("")),
)
tags = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,20}", fullmatch=True)
digests = st.text("0123456789abcdef", min_size=64, max_size=64).map(lambda digits: f"sha256:{digits}")
references = st.builds(
    lambda host, parts, tag, digest: (
        f"{host}/{'/'.join(parts)}{f':{tag}' if tag else ''}{f'@{digest}' if digest else ''}"
    ),
    hosts,
    st.lists(path_parts, min_size=1, max_size=4),
    st.none() | tags,
    st.none() | digests,
)


@given(references)
def test_a_valid_reference_reads_back_as_it_was_written(text):
    assert str(parse(text)) == text


@given(references, st.data())
def test_a_valid_reference_with_one_character_changed_is_read_or_refused_in_one_sentence(text, data):
    position = data.draw(st.integers(0, len(text)))
    character = data.draw(st.characters())
    changed = text[:position] + character + text[position + 1 :]
    try:
        assert str(parse(changed)) == changed
    except ImageError as error:
        check_sentence(error, changed)


@given(st.text() | st.text("a.:/@-_[]0Z \n", max_size=30))
def test_no_text_whatever_raises_anything_but_one_sentence(text):
    for read in (parse, parse_pinned):
        try:
            assert str(read(text)) == text
        except ImageError as error:
            check_sentence(error, text)
