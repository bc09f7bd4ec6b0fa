"""Image archives made by hand: what docker save and OCI tools write, with layers of a few files."""

import copy
import gzip
import hashlib
import io
import json
import tarfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

REVISION = "0123456789abcdef0123456789abcdef01234567"
SOURCE = "https://github.com/acme/vision"
DESCRIPTION = {
    "cpu": "baseline",
    "format": "overnight.image/1",
    "name": "trainer-cpu",
    "revision": REVISION,
    "source": SOURCE,
}
CONFIG: dict[str, Any] = {
    "created": "1970-01-01T00:00:00Z",
    "architecture": "amd64",
    "os": "linux",
    "config": {
        "User": "10001:10001",
        "Env": ["PATH=/usr/bin", "PYTHONPATH=/opt/app"],
        "Entrypoint": ["python3", "-m", "trainer.launch"],
        "Labels": {
            "org.opencontainers.image.title": "trainer-cpu",
            "org.opencontainers.image.source": SOURCE,
            "org.opencontainers.image.revision": REVISION,
            "dev.overnight.cpu": "baseline",
        },
    },
}
UNCHECKED = b"\xa7\r\r\n" + (1).to_bytes(4, "little") + bytes(8)
"""The head of a compiled Python file that is never held against its source (PEP 552)."""
BY_TIME = b"\xa7\r\r\n" + bytes(12)


@dataclass(frozen=True)
class File:
    """One member of a layer."""

    path: str
    data: bytes = b""
    kind: bytes = tarfile.REGTYPE
    mode: int = 0o644
    mtime: int = 0
    owner: int = 0
    target: str = ""


def folder(path: str, **more: Any) -> File:
    """A folder."""
    return File(path, kind=tarfile.DIRTYPE, mode=more.pop("mode", 0o755), **more)


def link(path: str, target: str) -> File:
    """A symbolic link."""
    return File(path, kind=tarfile.SYMTYPE, mode=0o777, target=target)


def layer(*files: File) -> bytes:
    """A layer's bytes."""
    output = io.BytesIO()
    with tarfile.open(fileobj=output, mode="w") as tar:
        for file in files:
            info = tarfile.TarInfo(file.path)
            info.type, info.mode, info.mtime = file.kind, file.mode, file.mtime
            info.uid = info.gid = file.owner
            info.size, info.linkname = len(file.data), file.target
            tar.addfile(info, io.BytesIO(file.data))
    return output.getvalue()


BASE = (folder("usr"), folder("usr/bin"), File("usr/bin/python3", b"x" * 3000, mode=0o755, mtime=99))
OURS = (
    folder("opt"),
    folder("opt/app"),
    File("opt/app/image.json", (json.dumps(DESCRIPTION, indent=2, sort_keys=True) + "\n").encode()),
    File("opt/app/trainer/__init__.py", b"x" * 500),
    File("opt/app/trainer/__pycache__/__init__.cpython-311.pyc", UNCHECKED),
)


@dataclass
class Image:
    """An image that passes until something is changed."""

    config: dict[str, Any] = field(default_factory=lambda: copy.deepcopy(CONFIG))
    layers: list[bytes] = field(default_factory=lambda: [layer(*BASE), layer(*OURS)])

    def configuration(self) -> bytes:
        """The configuration with the layers' digests."""
        digests = [_digest(data) for data in self.layers]
        return json.dumps({**self.config, "rootfs": {"type": "layers", "diff_ids": digests}}).encode()

    def docker(self, path: Path, count: int = 1) -> Path:
        """Save as docker save does; `count` times in one archive."""
        names = [f"{_digest(data)[7:]}.tar" for data in self.layers]
        manifest = [{"Config": "config.json", "RepoTags": ["x:1"], "Layers": names}] * count
        files = {**dict(zip(names, self.layers, strict=True)), "config.json": self.configuration()}
        return write(path, {**files, "manifest.json": json.dumps(manifest).encode()})

    def oci(self, path: Path, *, nested: bool = False) -> Path:
        """Save as an OCI archive with compressed layers, beside an attestation; `nested`: through another index."""
        files: dict[str, bytes] = {}

        def blob(data: bytes, media: str, **more: Any) -> dict[str, Any]:
            files[f"blobs/sha256/{_digest(data)[7:]}"] = data
            return {"mediaType": media, "digest": _digest(data), "size": len(data), **more}

        kind = "application/vnd.oci.image"
        layers = [blob(gzip.compress(data, mtime=0), f"{kind}.layer.v1.tar+gzip") for data in self.layers]
        config = blob(self.configuration(), f"{kind}.config.v1+json")
        image = blob(json.dumps({"config": config, "layers": layers}).encode(), f"{kind}.manifest.v1+json")
        notes = {"vnd.docker.reference.type": "attestation-manifest"}
        index = {"manifests": [image, blob(b"{}", f"{kind}.manifest.v1+json", annotations=notes)]}
        if nested:
            index = {"manifests": [blob(json.dumps(index).encode(), f"{kind}.index.v1+json")]}
        return write(path, {**files, "index.json": json.dumps(index).encode(), "oci-layout": b"{}"})


def write(path: Path, files: dict[str, bytes]) -> Path:
    """A tar file."""
    with tarfile.open(path, "w") as tar:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return path


def _digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"
