"""References in YAML of any layout; with other digests every other character is as it was."""

import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from overnight.images.errors import ImageError
from overnight.images.pinning import find, rewrite
from overnight.images.reference import parse

ROOT = Path(__file__).parents[3]
OLD = f"sha256:{'0' * 64}"
NEW = f"sha256:{'a' * 64}"
HOST = "europe-west4-docker.pkg.dev/acme/prod-images"
SHIPPED = sorted((ROOT / "jobs").glob("*.yaml"))

KFP = f"""\
# PIPELINE DEFINITION
deploymentSpec:
  executors:
    exec-train:
      container:
        args: ["--image", '{{{{$.inputs.parameters[''image'']}}}}']
        command: [sh, -c, "echo {HOST}/steps:v1"]
        image: {HOST}/steps:20261130   # the image of all steps
    exec-gate:
      container: {{image: '{HOST}/steps:20261130', resources: {{cpuLimit: 2.0}}}}
"""
MANIFEST = f"""\
apiVersion: networking.k8s.io/v1
kind: Deployment
metadata:
  labels: {{app.kubernetes.io/name: trainer}}
---
apiVersion: v1
kind: Pod
spec:
  imagePullSecrets: [{{name: registry}}]
  initContainers:
  - name: fetch
    image: "{HOST}/fetch@{OLD}"
  containers:
    - name: serve
      image: registry.local:5000/team/serve:1.2
      imagePullPolicy: Always
...
"""
WORKFLOW = f"""\
on: {{push: {{branches: [main]}}}}
jobs:
  test:
    runs-on: ubuntu-24.04
    container:
      image: ghcr.io/acme/ci:2026.11
    steps:
      - uses: actions/checkout@v6
      - uses: docker://ghcr.io/acme/lint:3
      - run: |
          docker pull ghcr.io/acme/ci:2026.11
      - run: >-
          ghcr.io/acme/ci:2026.11
      - uses: acme/tools/.github/workflows/x.yaml@{"0" * 40}
"""
WEIRD = [
    f"a: {HOST}/x:1",
    f"\ufeffimage: {HOST}/x:1\n",
    f"image: {HOST}/x:1\r\nother: 1\r\n# end",
    f"image: {HOST}/x:1\rother: 1\r",
    f"image:\t{HOST}/x:1\t# a tab\t\n\t# another\n",
    f"image:\n    {HOST}/x:1\n",
    f"image: !!str {HOST}/x:1 #{HOST}/x:1\n",
    f"image: &a !!str '{HOST}/x:1'\n",
    f"[{HOST}/x:1, \"{HOST}/y:2\",'{HOST}/z:3']",
    f"{{image: {HOST}/x:1,other: {HOST}/y@{OLD}}}",
    f"- - - {HOST}/x:1\n  - {{a: [{{b: '{HOST}/y:1'}}]}}\n",
    f"%YAML 1.2\n---\nimage: {HOST}/x:1\n...\n---\n- {HOST}/y:1\n",
    f"? {HOST}/key:1\n: {HOST}/x:1\n",
    f"? [complex, key]\n: {HOST}/x:1\n",
    f"naïve: ünï\nimage: {HOST}/x:1 # 画像 🖼\n",
    f"a: &x {HOST}/x:1\nb: *x\nc: &x {HOST}/y:1\nd: *x\n",
    f"base: &base {{image: {HOST}/x:1}}\nuse: {{<<: *base, other: 1}}\n",
    f"a: {HOST}/x:1\na: {HOST}/x:2\n",
    f"loop: &l [{HOST}/x:1, *l]\n",
    f"image: {HOST}/x:v1@{OLD}\n",
]


def pinned(text: str) -> str:
    """Every reference of the text with the new digest."""
    found = find(text, "file.yaml")
    return rewrite(text, found, {place.reference: NEW for place in found.places})


def only_digests_differ(before: str, after: str) -> bool:
    """Whether the texts are the same but for tags and digests behind references."""
    reference = re.compile(r"(?<=[a-z0-9])(?::[\w.-]+)?@sha256:[0-9a-f]{64}")
    pieces = reference.split(after)
    assert len(pieces) == 1 + after.count(NEW)
    pattern = r"(?::[\w.-]+)?(?:@sha256:[0-9a-f]{64})?".join(re.escape(piece) for piece in pieces)
    return re.fullmatch(pattern, before, re.DOTALL) is not None


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_in_a_shipped_spec_only_the_digits_change(path: Path) -> None:
    text = path.read_bytes().decode()
    after = pinned(text)
    count = len(find(text, str(path)).places)
    assert count == len(re.findall(r"^ +imageUri: ", text, re.MULTILINE))
    assert len(after) == len(text)
    differing = {index for index, (a, b) in enumerate(zip(text, after, strict=True)) if a != b}
    digits = {
        index for match in re.finditer(r"imageUri: \S+@sha256:([0-9a-f]{64})", text) for index in range(*match.span(1))
    }
    assert differing <= digits
    assert after.count(NEW) == count


@pytest.mark.parametrize("text", [KFP, MANIFEST, WORKFLOW, *WEIRD])
def test_whatever_the_layout_only_tags_and_digests_change(text: str) -> None:
    after = pinned(text)
    assert NEW in after
    assert only_digests_differ(text, after)
    assert all(place.reference.digest == NEW for place in find(after, "file.yaml").places)
    assert pinned(after) == after


@pytest.mark.filterwarnings("ignore::ruamel.yaml.error.ReusedAnchorWarning")
@pytest.mark.parametrize("text", [text for text in WEIRD if "\t" not in text and "*l" not in text])
def test_the_rewritten_text_means_the_same_but_for_the_images(text: str) -> None:
    def meaning(yaml: str) -> list[object]:
        reader = YAML(typ="safe", pure=True)
        reader.allow_duplicate_keys = True
        return list(reader.load_all(yaml))

    def renamed(value: object) -> object:
        if isinstance(value, dict):
            return {key: renamed(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [renamed(inner) for inner in value]
        return str(parse(value).with_digest(NEW)) if isinstance(value, str) and HOST in value else value

    assert meaning(pinned(text)) == renamed(meaning(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (KFP, [("deploymentSpec.executors.exec-train.container.image", 8, f"{HOST}/steps:20261130"),
               ("deploymentSpec.executors.exec-gate.container.image", 10, f"{HOST}/steps:20261130")]),
        (MANIFEST, [("spec.initContainers[0].image", 12, f"{HOST}/fetch@{OLD}"),
                    ("spec.containers[0].image", 15, "registry.local:5000/team/serve:1.2")]),
        (WORKFLOW, [("jobs.test.container.image", 6, "ghcr.io/acme/ci:2026.11"),
                    ("jobs.test.steps[1].uses", 9, "ghcr.io/acme/lint:3")]),
        (f"a: &x {HOST}/x:1\nb: *x\n", [("a", 1, f"{HOST}/x:1")]),
        (f"images: [{HOST}/x]\nimage_uri: {HOST}/y\nbaseImage: {HOST}/z\n",
         [("images[0]", 1, f"{HOST}/x"), ("image_uri", 2, f"{HOST}/y"), ("baseImage", 3, f"{HOST}/z")]),
    ],
)  # fmt: skip
def test_each_reference_is_found_with_field_and_line(text: str, expected: list[tuple[str, int, str]]) -> None:
    found = find(text, "file.yaml").places
    assert [(place.field, place.line, str(place.reference)) for place in found] == expected


@pytest.mark.parametrize(
    "text",
    [
        "key: compute.googleapis.com/reservation-name\n",
        "apiVersion: networking.k8s.io/v1\n",
        "url: https://example.com/a:1\nplace: gs://bucket/a:1\n",
        "image: $_REPOSITORY/trainer:$COMMIT_SHA\n",
        "image: '{{inputs.image}}'\n",
        "image: pictures/cat.jpg\n",
        f"# {HOST}/x:1\na: 1\n",
        f"a: |\n  {HOST}/x:1\nb: >\n  {HOST}/x:1\n",
        f"a: see {HOST}/x:1\n",
        f"{HOST}/x:1: a\n",
        "executorImageUri: us-docker.pkg.dev/vertex-ai/training/tf-gpu.2-17.py310:latest\n",
        "mail: team@example.com\ntime: 12:30\nratio: 1/2\n",
    ],
)
def test_what_is_no_image_is_left_alone(text: str) -> None:
    found = find(text, "file.yaml")
    assert (found.places, found.doubts) == ((), ())


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("image: postgres:16\n", "'postgres:16': it names no registry"),
        ("container: {image: library/python:3.11}\n", "docker.io is not assumed"),
        ("imageUri: gcr.io/acme/trainer:1\n", "Container Registry (gcr.io) is gone"),
        (f"any: eu.gcr.io/acme/trainer@{OLD}\n", "Container Registry (gcr.io) is gone"),
        (f"any: {HOST}/x@sha256:0123\n", "the digest is too short"),
        (f'image: "{HOST}\\x2fx:1"\n', "is written with escapes or over several lines"),
        (f'image: "{HOST}/\\\n  x:1"\n', "is written with escapes or over several lines"),
    ],
)
def test_what_is_meant_as_an_image_and_cannot_be_pinned_is_told(text: str, says: str) -> None:
    found = find(text, "file.yaml")
    assert found.places == ()
    (doubt,) = found.doubts
    assert says in doubt.problem
    assert doubt.problem.endswith(".")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "file.yaml: this file is empty; name a YAML file."),
        (" \n\n", "file.yaml: this file is empty; name a YAML file."),
        ("# only a comment\n", "file.yaml: there is nothing in it but comments; name a YAML file."),
        ("hello\n", "file.yaml: this is text, not a YAML mapping or list; name a YAML file."),
        ("a: [1\n", "file.yaml: this is not YAML: "),
        ("a: *nothing\n", "found undefined alias 'nothing' in line 1"),
        ("a: 1\n b: 2\n", "file.yaml: this is not YAML: mapping values are not allowed here in line 2"),
        ("a: \x00\n", "file.yaml: this is not YAML: "),
        ("a: {{ .Values.image }}:1\n", "file.yaml: this is not YAML: "),
        ("%YAML 9.9\n---\na: 1\n", "file.yaml: this is not YAML: "),
        ("[" * 5000, "file.yaml: this YAML is nested too deeply to be read"),
    ],
)
def test_what_is_no_yaml_is_one_sentence(text: str, says: str) -> None:
    with pytest.raises(ImageError) as error:
        find(text, "file.yaml")
    assert says in error.value.sentence
    assert "\n" not in error.value.sentence


SPACE = st.text(" ", max_size=3)
BREAK = st.sampled_from(["\n", "\r\n", "\n\n", "\r\n \r\n"])
WORDS = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S", "Zs"]), max_size=20)
COMMENT = st.one_of(st.just(""), WORDS.map(lambda words: f" # {words}"), WORDS.map(lambda words: f"\t#\t{words}"))
NAME = st.from_regex(r"[a-z]{1,8}", fullmatch=True)
REFERENCE = st.builds(
    lambda name, tail: f"{HOST}/{name}{tail}",
    NAME,
    st.sampled_from([":1", ":v1.2-rc_3", f"@{OLD}", f":v1@{OLD}"]),
)
QUOTED = st.builds(lambda text, quote: f"{quote}{text}{quote}", REFERENCE, st.sampled_from(["", "'", '"']))
VALUE = st.one_of(
    QUOTED,
    st.builds(lambda text, a, b: f"[{a}{text}{b}, x]", QUOTED, SPACE, SPACE),
    st.builds(lambda text, a, b: f"{{image: {a}{text}{b} }}", QUOTED, SPACE, SPACE),
    st.builds(lambda text, anchor: f"&{anchor} {text}", QUOTED, NAME),
    st.sampled_from(["1", "plain text", "'quoted'", "{}", "[a, b]", "null"]),
)
LINE = st.tuples(st.sampled_from([" ", "  ", "\n    ", "\r\n    "]), VALUE, COMMENT, BREAK)


@given(st.lists(LINE, min_size=1, max_size=6), st.sampled_from(["", "\ufeff", "---\n", "# x\r\n"]))
@example([(" ", f"{HOST}/x:1", "", "")], "")
def test_comments_and_layout_are_byte_for_byte_the_same(lines: list[tuple[str, str, str, str]], head: str) -> None:
    text = head + "".join(f"key{n}:{gap}{value}{note}{end}" for n, (gap, value, note, end) in enumerate(lines))
    found = find(text, "file.yaml")
    assert len(found.places) == sum(HOST in value for _, value, _, _ in lines)
    assert found.doubts == ()
    after = rewrite(text, found, {place.reference: NEW for place in found.places})
    assert re.sub(r"(?::[\w.-]+)?@sha256:[0-9a-f]{64}", "", after) == _bare(head, lines)


def _bare(head: str, lines: list[tuple[str, str, str, str]]) -> str:
    """The text with references that have neither tag nor digest."""
    tail = re.compile(rf"(?<={re.escape(HOST)}/)([a-z]+)(?::[\w.-]+)?(?:@sha256:[0-9a-f]{{64}})?")
    bare = [tail.sub(r"\1", value) for _, value, _, _ in lines]
    pairs = enumerate(zip(lines, bare, strict=True))
    return head + "".join(f"key{n}:{gap}{value}{note}{end}" for n, ((gap, _, note, end), value) in pairs)


@given(st.one_of(st.text(max_size=200), st.text("ab1:[]{}\"'&*!|>?#-%@/.\\ \t\r\n", max_size=60)))
def test_any_text_is_either_read_or_refused_in_one_sentence(text: str) -> None:
    try:
        found = find(text, "file.yaml")
    except ImageError as error:
        said = error.sentence
    else:
        assert rewrite(text, found, {}) == text
        return
    assert said.startswith("file.yaml: ")
    assert "\n" not in said
