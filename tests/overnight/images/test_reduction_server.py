"""Reduction Server's NCCL plugin: fetched by digest, put where NCCL looks, refused where it must not be."""

import functools
import hashlib
import http.server
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
DOCKERFILE = ROOT / "images/trainer-gpu/Dockerfile"
SCRIPT = ROOT / "images/stage/reduction-server"


class Plugin:
    """A package with an NCCL plugin, and the place where it would be unpacked."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.stage = folder / "stage"
        self.debs = folder / "debs"
        self.debs.mkdir()
        self.plugins = folder / "nccl-plugins"
        self.plugins.write_text("")

    def package(
        self, library: str = "usr/lib/x86_64-linux-gnu/libnccl-net.so", name: str = "google-reduction-server"
    ) -> str:
        """Build it; its SHA-256."""
        root = self.folder / "package"
        for path, text in ((library, "a plugin"), ("DEBIAN/control", _control(name))):
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        (root / "DEBIAN").chmod(0o755)
        file = self.debs / f"{name}_1.0_amd64.deb"
        subprocess.run(["dpkg-deb", "--build", "--root-owner-group", root, file], check=True, capture_output=True)
        return hashlib.sha256(file.read_bytes()).hexdigest()

    def install(self, wanted: str, digest: str = "") -> subprocess.CompletedProcess[str]:
        environment = {"REDUCTION_SERVER": wanted, "REDUCTION_SERVER_SHA256": digest, "PATH": os.environ["PATH"]}
        environment |= {"DEBS": str(self.debs), "STAGE": str(self.stage)}
        return subprocess.run(
            [ROOT / "images/stage/reduction-server", self.plugins],
            env=environment,
            text=True,
            capture_output=True,
            check=False,
        )

    def refused(self, wanted: str, digest: str = "") -> str:
        done = self.install(wanted, digest)
        assert done.returncode == 1
        assert not (self.stage / "opt/reduction-server/plugins").exists()
        return done.stderr.removeprefix("image: ").rstrip("\n")


def _control(name: str) -> str:
    return f"Package: {name}\nVersion: 1.0\nArchitecture: amd64\nMaintainer: A <a@b.c>\nDescription: a plugin\n"


@pytest.fixture
def plugin(tmp_path: Path) -> Plugin:
    if shutil.which("dpkg-deb") is None:
        pytest.skip("dpkg-deb is not on this machine")
    return Plugin(tmp_path)


@pytest.mark.parametrize("library", ["usr/lib/x86_64-linux-gnu/libnccl-net.so", "usr/local/lib/libnccl-net.so.0"])
def test_the_plugin_of_reduction_server_stands_where_nccl_is_told_to_look(plugin: Plugin, library: str) -> None:
    assert plugin.install("yes", plugin.package(library)).stderr == ""
    link = plugin.stage / "opt/reduction-server/plugins"
    assert not link.readlink().is_absolute()
    assert (link / Path(library).name).read_text() == "a plugin"
    assert "ENV LD_LIBRARY_PATH=/opt/reduction-server/plugins${LD_LIBRARY_PATH:+" in DOCKERFILE.read_text()


def test_without_reduction_server_nothing_is_unpacked(plugin: Plugin) -> None:
    plugin.package()
    assert plugin.install("no").returncode == 0
    assert not plugin.stage.exists()


@pytest.mark.parametrize("wanted", ["", "maybe", "YES", "true"])
def test_reduction_server_is_yes_or_no(plugin: Plugin, wanted: str) -> None:
    assert plugin.refused(wanted) == f"REDUCTION_SERVER is '{wanted}'; give yes or no"


def test_a_base_that_has_a_network_plugin_is_refused(plugin: Plugin) -> None:
    plugin.plugins.write_text("/usr/lib/libnccl-net.so\n")
    assert plugin.refused("yes", plugin.package()) == (
        "the base holds an NCCL network plugin (/usr/lib/libnccl-net.so); take google-fast-socket out, or build "
        "without Reduction Server"
    )


def test_a_package_is_held_against_its_digest(plugin: Plugin) -> None:
    digest = plugin.package()
    file = "google-reduction-server_1.0_amd64.deb"
    assert plugin.refused("yes", "0" * 64) == f"the SHA-256 of {file} is not REDUCTION_SERVER_SHA256"
    assert plugin.refused("yes") == "REDUCTION_SERVER_SHA256 is missing; give the SHA-256 of the package"
    assert digest != "0" * 64


def test_a_missing_package_is_told(plugin: Plugin) -> None:
    assert plugin.refused("yes", "0" * 64) == (
        "one package google-reduction-server belongs into build/debs; run cloudbuild/reduction-server.sh"
    )


def test_a_package_without_a_plugin_is_refused(plugin: Plugin) -> None:
    digest = plugin.package("usr/lib/libother.so")
    assert plugin.refused("yes", digest) == (
        "google-reduction-server_1.0_amd64.deb holds no NCCL network plugin (libnccl-net.so)"
    )


class Repository:
    """An apt repository on this machine."""

    def __init__(self, folder: Path, address: str) -> None:
        self.folder, self.address = folder, address
        self.workspace = folder / "workspace"
        self.workspace.mkdir()

    def publish(self, entries: list[tuple[str, str, bytes]], listed: bytes | None = None) -> list[str]:
        """Packages of (name, file, bytes), each listed by its SHA-256 or that of `listed`."""
        digests = [hashlib.sha256(data if listed is None else listed).hexdigest() for _, _, data in entries]
        paragraphs = []
        for (name, file, data), digest in zip(entries, digests, strict=True):
            path = self.folder / "pool" / file
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(data)
            paragraphs.append(f"Package: {name}\nVersion: 1\nFilename: pool/{file}\nSize: 3\nSHA256: {digest}\n")
        index = self.folder / "dists/google-fast-socket/main/binary-amd64/Packages"
        index.parent.mkdir(parents=True)
        index.write_text("\n".join(paragraphs))
        return digests

    def fetch(self, wanted: str, digest: str = "") -> subprocess.CompletedProcess[str]:
        environment = {
            "PATH": os.environ["PATH"],
            "REDUCTION_SERVER_REPOSITORY": self.address,
            "no_proxy": "127.0.0.1",
            "_REDUCTION_SERVER": wanted,
            "_REDUCTION_SERVER_SHA256": digest,
        }
        script = ROOT / "cloudbuild/reduction-server.sh"
        return subprocess.run(
            [script], cwd=self.workspace, env=environment, text=True, capture_output=True, check=False
        )

    def fetched(self) -> list[str]:
        return sorted(path.name for path in (self.workspace / "build/debs").iterdir())


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[Repository]:
    handler = functools.partial(_Quiet, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield Repository(tmp_path, f"http://127.0.0.1:{server.server_port}")
        server.shutdown()


def test_the_package_with_the_given_digest_is_fetched_and_no_other(repository: Repository) -> None:
    *_, wanted = repository.publish(
        [
            ("google-fast-socket", "f.deb", b"a"),
            ("google-reduction-server", "1.deb", b"b"),
            ("google-reduction-server", "2.deb", b"c"),
        ]
    )
    assert repository.fetch("yes", wanted).stderr == ""
    assert repository.fetched() == ["2.deb"]


def test_without_reduction_server_nobody_is_asked(repository: Repository) -> None:
    assert repository.fetch("no").returncode == 0
    assert repository.fetched() == []


def test_another_package_with_that_digest_is_not_taken(repository: Repository) -> None:
    (digest,) = repository.publish([("google-fast-socket", "f.deb", b"a")])
    done = repository.fetch("yes", digest)
    assert (done.returncode, done.stderr) == (
        2,
        f"reduction-server: no google-reduction-server has the SHA-256 {digest}; give one of {repository.address}\n",
    )


def test_a_file_that_is_not_the_listed_one_is_refused(repository: Repository) -> None:
    (digest,) = repository.publish([("google-reduction-server", "1.deb", b"a")], listed=b"other")
    done = repository.fetch("yes", digest)
    assert (done.returncode, done.stderr) == (2, "reduction-server: pool/1.deb is not the file that was listed\n")


@pytest.mark.parametrize(
    ("wanted", "digest", "sentence"),
    [
        ("maybe", "", "_REDUCTION_SERVER is 'maybe'; give yes or no"),
        ("yes", "", "_REDUCTION_SERVER_SHA256 is ''; give the package's SHA-256"),
        ("yes", "latest", "_REDUCTION_SERVER_SHA256 is 'latest'; give the package's SHA-256"),
    ],
)
def test_what_is_to_be_fetched_must_be_said(repository: Repository, wanted: str, digest: str, sentence: str) -> None:
    done = repository.fetch(wanted, digest)
    assert (done.returncode, done.stderr) == (2, f"reduction-server: {sentence}\n")


def test_an_unreachable_repository_is_one_more_sentence(repository: Repository) -> None:
    done = repository.fetch("yes", "0" * 64)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == "reduction-server: the list of packages could not be fetched"
