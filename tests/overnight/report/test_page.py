import json
import re
from html.parser import HTMLParser

import pytest

from overnight.errors import OvernightError
from overnight.files import canonical_json
from overnight.report.page import TEMPLATES

VOID = {"meta"}


class Page(HTMLParser):
    """Collects elements, attributes and text; fails on tags that do not match."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not self.open or self.open[-1] not in ("style", "title"):
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def test_the_head_says_accuracy_verdict_reason_and_baselines(page, two_weeks):
    text = Page(page(two_weeks[1])).text
    assert re.search(r"90\.\d % accuracy, \d\d\.\d to \d\d\.\d % with 95 % confidence, on 300 test images", text)
    assert "Promoted: demo, version 2 Accuracy 90." in text
    for row in ("this run (version 2)", "champion (version 1)", "linear model on pixels", "majority class"):
        assert row in text


def test_a_first_champion_is_called_so(page, two_weeks):
    text = Page(page(two_weeks[0])).text
    assert "Promoted: demo, version 1, the first champion" in text
    assert "there was no champion" in text
    assert "champion (version" not in text


def test_every_part_is_there(page, two_weeks):
    text = Page(page(two_weeks[1])).text
    expected = [
        "What the gate asked",
        "flags",
        "Expected error: 4.1 %",
        "Learning rate",
        "compared with 20260302-",
        "+49",
        "1 from objects to animals",
        "2 labels changed since the last snapshot",
        "exchanging gradients",
        "truncated <JPEG>",
        "c" * 40,
        "e" * 64,
        "Example CPU 2.0 GHz, 2 cores, 8.0 GiB, no accelerator",
        "0.00 USD (local)",
        "learning_rate",
        "model/model.json",
    ]
    assert [part for part in expected if part not in text] == []


def test_nothing_is_loaded_and_nothing_runs(page, two_weeks):
    html = page(two_weeks[1])
    found = Page(html)
    assert not {"script", "link", "img", "iframe", "object", "embed", "base", "form"} & {
        tag for tag, _ in found.elements
    }
    for tag, attributes in found.elements:
        assert "src" not in attributes
        assert not any(name.startswith("on") for name in attributes)
        if "href" in attributes:
            assert attributes["href"].startswith("#"), tag
    assert re.findall(r"https?://[^\s\"'<]*|//[a-z]+\.|url\(|@import", html) == []
    policy = next(a["content"] for t, a in found.elements if t == "meta" and a.get("http-equiv"))
    assert policy == "default-src 'none'; style-src 'unsafe-inline'"


def test_links_lead_to_parts_of_the_page(page, two_weeks):
    found = Page(page(two_weeks[1]))
    ids = {attributes["id"] for _, attributes in found.elements if "id" in attributes}
    assert {attributes["href"][1:] for tag, attributes in found.elements if tag == "a"} <= ids


def test_charts_say_in_words_what_they_show(page, two_weeks):
    found = Page(page(two_weeks[1]))
    images = [attributes for tag, attributes in found.elements if tag == "svg" and attributes.get("role") == "img"]
    assert len(images) >= 8
    assert all(attributes.get("aria-label") for attributes in images)
    labels = [attributes["aria-label"] for attributes in images]
    assert "Loss over epochs 1 to 6: training from 1.11 to 0.295; validation from 1.18 to 0.431" in labels
    tables = sum(tag == "table" for tag, _ in found.elements)
    assert sum(tag == "th" and "scope" in attributes for tag, attributes in found.elements) >= tables


def test_the_same_files_give_the_same_bytes(page, two_weeks):
    assert page(two_weeks[1]) == page(two_weeks[1])


def test_names_from_the_data_are_escaped(root, page):
    snapshot = root.snapshot()
    run = root.run("20260302-020000-aaaaaaaa", snapshot)
    record = json.loads((run / "run.json").read_text())
    record["model"] = "<script>alert(1)</script>"
    (run / "run.json").write_bytes(canonical_json(record))
    assert "<script" not in page("20260302-020000-aaaaaaaa")


def test_without_a_gate_it_says_so_and_shows_what_training_measured(root, page):
    root.run("20260302-020000-aaaaaaaa", root.snapshot())
    text = Page(page("20260302-020000-aaaaaaaa")).text
    assert "Not judged yet No gate has judged this run yet: overnight model promote 20260302-020000-aaaaaaaa" in text
    assert "accuracy on 300 validation images, measured by the training itself" in text
    assert "This is the first snapshot." in text


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("metrics.json", "This run wrote no metrics.json: nothing was measured by class."),
        ("profile.json", "This run wrote no profile.json."),
        ("evaluation/gate.json", "No gate has compared this run with a champion and the baselines."),
    ],
)
def test_a_missing_part_is_named(root, page, two_weeks, name, sentence):
    (root.path / "runs" / two_weeks[1] / name).unlink()
    assert sentence in Page(page(two_weeks[1])).text


def test_a_snapshot_that_is_gone_is_named(root, page, two_weeks):
    for manifest in (root.path / "snapshots").glob("20260309-*/*.json"):
        manifest.unlink()
    assert "The snapshot of this run is gone." in Page(page(two_weeks[1])).text


def test_a_failed_run_has_a_report_too(root, page):
    run = root.run("20260302-020000-aaaaaaaa", root.snapshot(), status="failed")
    for name in ("metrics.json", "profile.json", "result.json"):
        (run / name).unlink()
    record = json.loads((run / "run.json").read_text())
    record |= {
        "verdict": "Worker 1 ended with exit code 1.",
        "hyperparameters": None,
        "machine": None,
        "versions": None,
    }
    record |= {"weights_sha256": None, "seed": None}
    (run / "run.json").write_bytes(canonical_json(record))
    text = Page(page("20260302-020000-aaaaaaaa")).text
    assert "The run failed Worker 1 ended with exit code 1." in text
    assert "There is no model to judge." in text


def test_a_run_that_does_not_exist_is_one_sentence(root, page):
    root.run("20260302-020000-aaaaaaaa", root.snapshot())
    with pytest.raises(OvernightError, match=r"there is no run 'x'; the newest runs are 20260302-020000-aaaaaaaa"):
        page("x")


def luminance(colour: str) -> float:
    """WCAG 2.2, relative luminance."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def scheme_colours(dark: bool) -> dict[str, str]:
    light, night = (TEMPLATES / "style.css").read_text().split("@media (prefers-color-scheme: dark)")
    return dict(re.findall(r"--([a-z0-9-]+): (#[0-9a-f]{6});", night if dark else light))


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_text_is_readable_in_both_schemes(dark):
    colours = scheme_colours(dark)
    pairs = [
        (text, ground)
        for text in ("ink", "quiet", "blue", "orange", "good", "bad", "warn")
        for ground in ("card", "page")
    ]
    pairs += [("good", "good-wash"), ("bad", "bad-wash"), ("warn", "warn-wash"), ("ink", "wash"), ("quiet", "wash")]
    too_faint = {pair: contrast(colours[pair[0]], colours[pair[1]]) for pair in pairs}
    assert {pair: value for pair, value in too_faint.items() if value < 4.5} == {}
