"""`overnight image release` as it is typed."""

import json

import pytest

from image_commands import BUILD, COMMIT, HEAD, NEW, OTHER, REPOSITORY, SOURCE, release_of
from overnight.files import sha256_bytes


def test_a_release_prints_its_references_and_gives_cloud_build_the_digests(image, tmp_path, monkeypatch):
    sbom = tmp_path / "steps.json"
    sbom.write_text('{"spdxVersion": "SPDX-2.3"}')
    (tmp_path / "output").mkdir()
    monkeypatch.setenv("BUILDER_OUTPUT", str(tmp_path / "output"))
    done = image(*HEAD, "--releases", tmp_path / "r", *release_of("steps", "trainer-gpu"), "--sbom", f"steps={sbom}")
    assert done.code == 0
    assert done.stdout == f"steps {REPOSITORY}/steps@{NEW}\ntrainer-gpu {REPOSITORY}/trainer-gpu@{NEW}\n"
    assert done.stderr == f"2 images of commit {COMMIT} released in {tmp_path}/r/{COMMIT}.json.\n"
    assert json.loads((tmp_path / "output" / "output").read_text()) == {"steps": NEW, "trainer-gpu": NEW}
    assert json.loads((tmp_path / "r" / f"{COMMIT}.json").read_text()) == {
        "format": "overnight.release/1",
        "commit": COMMIT,
        "source": SOURCE,
        "build_id": BUILD,
        "images": {
            "steps": {
                "reference": f"{REPOSITORY}/steps@{NEW}",
                "digest": NEW,
                "sbom": {"path": f"{COMMIT}/steps.spdx.json", "sha256": sha256_bytes(sbom.read_bytes())},
            },
            "trainer-gpu": {"reference": f"{REPOSITORY}/trainer-gpu@{NEW}", "digest": NEW},
        },
    }
    assert (tmp_path / "r" / COMMIT / "steps.spdx.json").read_bytes() == sbom.read_bytes()


def test_a_refused_release_gives_cloud_build_nothing(image, tmp_path, monkeypatch):
    image(*HEAD, "--releases", tmp_path / "r", *release_of("steps"))
    monkeypatch.setenv("BUILDER_OUTPUT", str(tmp_path))
    done = image(*HEAD, "--releases", tmp_path / "r", "--image", f"steps={REPOSITORY}/steps@{OTHER}")
    assert done.code == 2
    assert f"the same commit gave steps {NEW} first and {OTHER} now: it is not reproducible" in done.stderr
    assert not (tmp_path / "output").exists()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--image", "steps"], "--image: 'steps' is not NAME=REFERENCE; write NAME=REFERENCE."),
        (["--image", "=x"], "--image: '=x' is not NAME=REFERENCE"),
        ([*release_of("steps", "steps")], "--image: steps is given twice; give it once."),
        ([*release_of("steps"), "--sbom", "steps=none.json"], "none.json: no such file or directory."),
        ([*release_of("steps"), "--sbom", "steps=local.yaml"], "local.yaml: this is no SBOM in SPDX's JSON; write it"),
        ([*release_of("steps"), "--sbom", "steps="], "--sbom: 'steps=' is not NAME=FILE"),
        ([*release_of("steps"), "--sbom", "other=sbom.json"], "--sbom: an SBOM is given for 'other'"),
        (["--image", f"steps={REPOSITORY}/steps:v1"], "--image steps: "),
    ],
)  # fmt: skip
def test_what_makes_no_release_is_one_sentence_and_exit_code_2(image, tmp_path, options, says):
    (tmp_path / "local.yaml").write_text("environment: local")
    (tmp_path / "sbom.json").write_text('{"spdxVersion": "SPDX-2.3"}')
    done = image(*HEAD, "--releases", tmp_path / "r", *options)
    assert (done.code, done.stdout) == (2, "")
    assert done.stderr.startswith(f"overnight: {says}")
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "r").exists()
