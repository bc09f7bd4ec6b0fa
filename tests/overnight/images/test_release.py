"""Releases in folders and buckets: written once, the manifest last, and never over another."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import terraform_bucket
from overnight.files import canonical_json, sha256_bytes
from overnight.images.errors import ImageError
from overnight.images.release import Release, publish, read_release, released, write_release

COMMIT = "0123456789abcdef0123456789abcdef01234567"
SOURCE = "https://github.com/acme/vision"
REPOSITORY = "us-central1-docker.pkg.dev/acme-vision-prod/prod-images"
A, B = f"sha256:{'a' * 64}", f"sha256:{'b' * 64}"
SBOM = b'{"spdxVersion": "SPDX-2.3"}\n'
MANIFEST = {
    "format": "overnight.release/1",
    "commit": COMMIT,
    "source": SOURCE,
    "build_id": "build-1",
    "images": {
        "steps": {"reference": f"{REPOSITORY}/steps@{A}", "digest": A},
        "trainer-gpu": {
            "reference": f"{REPOSITORY}/trainer-gpu@{B}",
            "digest": B,
            "sbom": {"path": f"{COMMIT}/trainer-gpu.spdx.json", "sha256": sha256_bytes(SBOM)},
        },
    },
}


@dataclass
class Kept:
    """A place of releases, and how to look into it from outside."""

    address: str
    folder: Path | None = None
    bucket: terraform_bucket.Bucket | None = None

    def put(self, name: str, data: bytes) -> None:
        if self.folder is not None:
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).write_bytes(data)
        else:
            assert self.bucket is not None
            self.bucket.put(f"releases/{name}", data)

    def content(self) -> dict[str, bytes]:
        if self.folder is not None:
            paths = [path for path in sorted(self.folder.rglob("*")) if path.is_file()]
            return {str(path.relative_to(self.folder)): path.read_bytes() for path in paths}
        assert self.bucket is not None
        return {name.removeprefix("releases/"): data for name, (_, data) in sorted(self.bucket.objects.items())}


@pytest.fixture(params=["folder", "bucket"])
def kept(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Kept]:
    if request.param == "folder":
        yield Kept(str(tmp_path / "releases"), folder=tmp_path / "releases")
        return
    with terraform_bucket.serving("acme-models") as bucket:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", bucket.url)
        yield Kept("gs://acme-models/releases", bucket=bucket)


def release(build_id: str = "build-1", **digests: str) -> Release:
    images = {"steps": A, "trainer-gpu": B, **digests}
    references = {name: f"{REPOSITORY}/{name}@{digest}" for name, digest in images.items() if digest}
    return released(COMMIT, f"{SOURCE}.git", build_id, references)


def refused(call) -> str:
    with pytest.raises(ImageError) as error:
        call()
    assert "\n" not in error.value.sentence
    return error.value.sentence


def test_a_release_is_the_manifest_and_beside_it_each_sbom(kept):
    made = publish(kept.address, release(), {"trainer-gpu": SBOM})
    assert kept.content() == {
        f"{COMMIT}.json": canonical_json(MANIFEST),
        f"{COMMIT}/trainer-gpu.spdx.json": SBOM,
    }
    assert read_release(kept.address, COMMIT) == made
    assert made.digests == {f"{REPOSITORY}/steps": A, f"{REPOSITORY}/trainer-gpu": B}


def test_the_manifest_comes_last(tmp_path, monkeypatch):
    with terraform_bucket.serving("acme-models") as bucket:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", bucket.url)
        publish("gs://acme-models/releases/", release(), {"trainer-gpu": SBOM, "steps": SBOM})
        written = [name for _, name in bucket.changes]
    assert written == [
        f"releases/{COMMIT}/trainer-gpu.spdx.json",
        f"releases/{COMMIT}/steps.spdx.json",
        f"releases/{COMMIT}.json",
    ]


def test_the_same_again_from_another_build_leaves_the_first(kept):
    publish(kept.address, release(), {"trainer-gpu": SBOM})
    before = kept.content()
    publish(kept.address, release("build-2"), {"trainer-gpu": SBOM})
    write_release(kept.address, publish(kept.address, release("build-3"), {"trainer-gpu": SBOM}))
    assert kept.content() == before


def test_an_sbom_of_a_build_that_ended_before_its_manifest_does_not_stop_the_next(kept):
    kept.put(f"{COMMIT}/trainer-gpu.spdx.json", SBOM)
    publish(kept.address, release(), {"trainer-gpu": SBOM})
    assert kept.content()[f"{COMMIT}.json"] == canonical_json(MANIFEST)


def test_another_sbom_without_a_manifest_is_not_written_over(kept):
    kept.put(f"{COMMIT}/trainer-gpu.spdx.json", b"other")
    said = refused(lambda: publish(kept.address, release(), {"trainer-gpu": SBOM}))
    assert "another SBOM is kept here: the same commit gave other contents" in said
    assert kept.content() == {f"{COMMIT}/trainer-gpu.spdx.json": b"other"}


@pytest.mark.parametrize(
    ("again", "sboms", "says"),
    [
        ({"steps": B}, {"trainer-gpu": SBOM}, f"the same commit gave steps {A} first and {B} now: it is not"),
        ({"steps": ""}, {"trainer-gpu": SBOM}, "the same commit was released with steps"),
        ({"trainer-cpu": A}, {"trainer-gpu": SBOM}, "the same commit was released without trainer-cpu"),
        ({}, {"trainer-gpu": b'{"spdxVersion": "SPDX-3"}'}, "the SBOM of trainer-gpu is another than at the first"),
        ({}, {}, "the SBOM of trainer-gpu is another than at the first release"),
    ],
)  # fmt: skip
def test_other_content_for_the_same_commit_is_refused_and_nothing_written(kept, again, sboms, says):
    publish(kept.address, release(), {"trainer-gpu": SBOM})
    before = kept.content()
    sentence = refused(lambda: publish(kept.address, release("build-2", **again), sboms))
    assert sentence.startswith(f"{kept.address}/{COMMIT}.json: {says}")
    assert kept.content() == before


def test_another_repository_or_source_for_the_same_commit_is_refused(kept):
    publish(kept.address, release(), {})
    moved = {name: f"us-docker.pkg.dev/acme/x/{name}@{digest}" for name, digest in (("steps", A), ("trainer-gpu", B))}
    said = refused(lambda: publish(kept.address, released(COMMIT, SOURCE, "b", moved), {}))
    assert f"the same commit was released with {REPOSITORY}/steps@{A}, not us-docker.pkg.dev/acme/x/steps@{A}" in said
    references = {name: str(image.reference) for name, image in release().images.items()}
    said = refused(lambda: publish(kept.address, released(COMMIT, "https://github.com/acme/fork", "b", references), {}))
    assert f"this commit was released from {SOURCE}" in said


def test_of_two_writers_the_second_compares(kept):
    write_release(kept.address, release())
    write_release(kept.address, release("build-2"))
    assert "it is not reproducible" in refused(lambda: write_release(kept.address, release("build-2", steps=B)))


@pytest.mark.parametrize("short", [COMMIT[:4], COMMIT[:12], COMMIT[:-1], COMMIT.upper(), COMMIT[:7].upper()])
def test_a_short_commit_is_completed(kept, short):
    write_release(kept.address, release())
    kept.put("0123ffffffffffffffffffffffffffffffffffff.txt", b"")
    kept.put("0123-notes.json", b"")
    assert read_release(kept.address, short).commit == COMMIT


def test_a_short_commit_of_two_releases_is_refused(kept):
    write_release(kept.address, release())
    kept.put(f"{COMMIT[:-1]}8.json", canonical_json({**MANIFEST, "commit": f"{COMMIT[:-1]}8"}))
    assert "0123 is the beginning of 2 commits with releases" in refused(lambda: read_release(kept.address, "0123"))
    assert read_release(kept.address, f"{COMMIT[:-1]}8").commit.endswith("8")


@pytest.mark.parametrize(
    ("commit", "says"),
    [
        ("f" * 40, "there is no release of this commit; name a commit that was built and released."),
        ("ffff", "no release of a commit that begins with ffff is there; "),
        ("012", "--from-release: '012' is no commit; give at least 4 of its hex digits."),
        ("main", "'main' is no commit"),
        ("../../etc", "is no commit"),
        ("0123*", "is no commit"),
        ("0" * 65, "is no commit"),
    ],
)
def test_a_commit_without_release_is_refused(kept, commit, says):
    write_release(kept.address, release())
    assert says in refused(lambda: read_release(kept.address, commit))


def without(*path: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(json.dumps(MANIFEST))
    place = content
    for name in path[:-1]:
        place = place[name]
    del place[path[-1]]
    return content


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "this is not JSON"),
        (b"[" * 100_000, "this is not JSON"),
        (b"[]", "this is no release in the format overnight.release/1"),
        ({**MANIFEST, "format": "overnight.release/2"}, "this is no release in the format overnight.release/1"),
        (without("commit"), "a release has commit, source and build_id as text"),
        ({**MANIFEST, "build_id": 7}, "a release has commit, source and build_id as text"),
        ({**MANIFEST, "images": {}}, "and images by name"),
        ({**MANIFEST, "commit": "f" * 40}, f"it is the release of commit {'f' * 40}"),
        ({**MANIFEST, "images": {"steps": 7}}, "images.steps: an image of a release has a reference"),
        (without("images", "steps", "reference"), "an image of a release has a reference"),
        (without("images", "steps", "digest"), "digest and reference disagree"),
        (without("images", "trainer-gpu", "sbom", "path"), "an SBOM has a path and a sha256"),
        ({**MANIFEST, "images": {"other": MANIFEST["images"]["steps"]}}, "it is the image 'steps'"),  # type: ignore[index]
        ({**MANIFEST, "images": {"a": {"reference": "ghcr.io/x/a:1", "digest": A}}}, "images.a: 'ghcr.io/x/a:1'"),
    ],
)  # fmt: skip
def test_what_is_no_release_is_one_sentence(kept, content, says):
    kept.put(f"{COMMIT}.json", content if isinstance(content, bytes) else canonical_json(content))
    sentence = refused(lambda: read_release(kept.address, COMMIT))
    assert sentence.startswith(f"{kept.address}/{COMMIT}.json")
    assert says in sentence


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("main", SOURCE, "b", {"a": f"ghcr.io/x/a@{A}"}), "--commit: 'main' is no whole commit id"),
        ((COMMIT[:12], SOURCE, "b", {"a": f"ghcr.io/x/a@{A}"}), "is no whole commit id"),
        ((COMMIT, "http://github.com/x/y", "b", {"a": f"ghcr.io/x/a@{A}"}), "--source: "),
        ((COMMIT, SOURCE, "", {"a": f"ghcr.io/x/a@{A}"}), "--build-id: '' is no build"),
        ((COMMIT, SOURCE, "b", {}), "--image: a release has images, and none is given"),
        ((COMMIT, SOURCE, "b", {"a": "ghcr.io/x/a:1"}), "--image a: 'ghcr.io/x/a:1': the tag '1' can move"),
        ((COMMIT, SOURCE, "b", {"b": f"ghcr.io/x/a@{A}"}), "--image b: it is the image 'a'; write a=ghcr.io/x/a@"),
    ],
)
def test_what_makes_no_release_is_refused(arguments, says):
    assert says in refused(lambda: released(*arguments))


def test_an_sbom_of_no_image_is_refused(kept):
    said = refused(lambda: publish(kept.address, release(), {"other": SBOM}))
    assert said == "--sbom: an SBOM is given for 'other', which is none of the images; name one of: steps, trainer-gpu."
    assert kept.content() == {}


@pytest.mark.parametrize(
    "address", ["s3://bucket/releases", "gs://", "gs:///x", "gs://UPPER/x", "gs://a//b", "https://x/y"]
)
def test_another_kind_of_place_is_refused(address):
    assert "is no place for releases; write gs://BUCKET/releases, or a folder." in refused(
        lambda: read_release(address, COMMIT)
    )


def test_a_place_that_cannot_be_used_is_one_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    place = str(tmp_path / "file")
    assert "not a directory" in refused(lambda: read_release(place, COMMIT))
    assert "not a directory" in refused(lambda: read_release(place, "0123"))
    assert "file" in refused(lambda: publish(place, release(), {}))


def test_a_bucket_that_refuses_is_one_sentence(monkeypatch):
    answer = terraform_bucket.Handler.answer

    def refuse() -> None:
        raise terraform_bucket.Refused(403)

    monkeypatch.setattr(terraform_bucket.Handler, "answer", lambda self, act: answer(self, refuse))
    with terraform_bucket.serving("acme-models") as bucket:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", bucket.url)
        for call in (
            lambda: read_release("gs://acme-models/releases", COMMIT),
            lambda: read_release("gs://acme-models/releases", "0123"),
            lambda: publish("gs://acme-models/releases", release(), {}),
        ):
            said = refused(call)
            assert (
                "this account may not read or write here; ask for roles/storage.objectUser on gs://acme-models" in said
            )


def test_a_bucket_that_nobody_serves_is_one_sentence(monkeypatch):
    monkeypatch.setattr("overnight.images.places.SECONDS", 0.5)
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", "http://127.0.0.1:9")
    assert "Cloud Storage did not answer as it should (" in refused(
        lambda: read_release("gs://acme-models/releases", COMMIT)
    )


def test_in_a_bucket_without_folder_releases_stand_at_the_top(monkeypatch):
    with terraform_bucket.serving("acme-models") as bucket:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", bucket.url)
        write_release("gs://acme-models", release())
        assert list(bucket.objects) == [f"{COMMIT}.json"]
        assert read_release("gs://acme-models/", COMMIT[:8]) == release()
