"""The list of an image's contents: the same for the same image, and a sentence where it cannot be made."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from image_archives import Image
from overnight.images import sbom
from overnight.images.errors import ImageError

DOCUMENT: dict[str, Any] = {
    "spdxVersion": "SPDX-2.3",
    "name": "/tmp/a/image.tar",
    "documentNamespace": "https://anchore.com/syft/image/a-1",
    "creationInfo": {"creators": ["Tool: syft-1.18.1"], "created": "2026-11-30T17:51:10Z"},
    "packages": [{"name": "b", "SPDXID": "2"}, {"name": "a", "SPDXID": "1"}],
    "relationships": [],
}


@pytest.fixture
def scanner(tmp_path, monkeypatch):
    """Puts a program called syft on the path, the only one."""
    monkeypatch.setattr(sbom, "_PACKAGE", "no_such_package")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))

    def install(body: str) -> None:
        program = tmp_path / "bin" / "syft"
        program.parent.mkdir()
        program.write_text(f"#!{sys.executable}\nimport json, os, sys\n{body}")
        program.chmod(0o755)

    return install


@pytest.fixture
def archive(tmp_path) -> Path:
    return Image().docker(tmp_path / "image.tar")


def test_two_scans_of_one_image_give_the_same_bytes() -> None:
    later = {
        **DOCUMENT,
        "name": "/tmp/b/image.tar",
        "documentNamespace": "https://anchore.com/syft/image/b-2",
        "creationInfo": {"creators": ["Tool: syft-1.18.1"], "created": "2027-01-01T00:00:00Z"},
        "packages": DOCUMENT["packages"][::-1],
    }
    assert sbom.reproducible(DOCUMENT, "trainer-cpu", 0) == sbom.reproducible(later, "trainer-cpu", 0)


def test_the_namespace_follows_the_content() -> None:
    def namespace(document: dict[str, Any]) -> str:
        found: str = json.loads(sbom.reproducible(document, "steps", 0))["documentNamespace"]
        return found

    first = namespace(DOCUMENT)
    assert first.startswith("https://spdx.org/spdxdocs/steps-")
    assert first != namespace({**DOCUMENT, "packages": DOCUMENT["packages"][:1]})


def test_the_time_is_the_images_own() -> None:
    document = json.loads(sbom.reproducible(DOCUMENT, "steps", 86400))
    assert document["creationInfo"] == {"creators": ["Tool: syft-1.18.1"], "created": "1970-01-02T00:00:00Z"}
    assert document["name"] == "steps"


def test_the_scanner_is_told_name_and_commit_and_asks_nobody_for_updates(scanner, archive, tmp_path) -> None:
    scanner(
        f"open({str(tmp_path / 'call')!r}, 'w').write(json.dumps([sys.argv[1:], dict(os.environ)]))\n"
        "path = next(word for word in sys.argv if word.startswith('spdx-json=')).partition('=')[2]\n"
        f"open(path, 'w').write({json.dumps(DOCUMENT)!r})\n"
    )
    document = json.loads(sbom.make_sbom(archive))
    words, environment = json.loads((tmp_path / "call").read_text())
    assert words[:2] == ["scan", str(archive)]
    assert words[words.index("--source-name") + 1] == "trainer-cpu"
    assert words[words.index("--source-version") + 1] == "0123456789abcdef0123456789abcdef01234567"
    assert environment["SYFT_CHECK_FOR_APP_UPDATE"] == "false"
    assert document["name"] == "trainer-cpu"


def test_without_a_scanner_the_remedy_is_named(scanner, archive) -> None:
    with pytest.raises(ImageError) as error:
        sbom.make_sbom(archive)
    assert error.value.sentence == (
        "SBOM: syft is not installed; install it with: pip install -r requirements/images.txt."
    )


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("sys.exit('first\\nunable to open it')", "unable to open it"),
        ("sys.exit(3)", "it says nothing"),
        ("print('nothing to write')", "nothing to write"),
    ],
)
def test_a_scan_that_fails_is_told_by_the_scanners_last_words(scanner, archive, body, reason) -> None:
    scanner(body)
    with pytest.raises(ImageError) as error:
        sbom.make_sbom(archive)
    assert error.value.sentence == f"{archive}: syft could not list what it holds ({reason})."


@pytest.mark.parametrize("written", ["", "[", "[]", "7"])
def test_a_list_that_is_none_is_refused(scanner, archive, written) -> None:
    scanner(
        "path = next(word for word in sys.argv if word.startswith('spdx-json=')).partition('=')[2]\n"
        f"open(path, 'w').write({written!r})\n"
    )
    with pytest.raises(ImageError, match="syft wrote no SPDX document"):
        sbom.make_sbom(archive)


def test_what_is_no_image_is_not_scanned(scanner, tmp_path) -> None:
    scanner("sys.exit('called')")
    (tmp_path / "x.tar").write_bytes(b"no image")
    with pytest.raises(ImageError, match="this is no image archive"):
        sbom.make_sbom(tmp_path / "x.tar")


def test_a_scanner_that_lost_its_mode_is_run_all_the_same(tmp_path) -> None:
    """Installers keep no mode of files inside a package."""
    program = tmp_path / "syft"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o644)
    (tmp_path / "work").mkdir()
    runnable = Path(sbom._runnable(program, tmp_path / "work"))
    assert runnable.stat().st_mode & 0o111
