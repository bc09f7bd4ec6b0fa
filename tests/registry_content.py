"""What a registry holds: blobs, manifests and tags, put there without HTTP."""

import hashlib
import json
from typing import Any

OCI_INDEX = "application/vnd.oci.image.index.v1+json"
OCI_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
DOCKER_LIST = "application/vnd.docker.distribution.manifest.list.v2+json"
DOCKER_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar"


def digest_of(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def body_of(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


class RegistryContent:
    """Repositories by path."""

    def __init__(self) -> None:
        self.blobs: dict[str, dict[str, bytes]] = {}
        self.manifests: dict[str, dict[str, tuple[bytes, str]]] = {}
        self.tags: dict[str, dict[str, str]] = {}

    def put_blob(self, path: str, data: bytes) -> str:
        digest = digest_of(data)
        self.blobs.setdefault(path, {})[digest] = data
        return digest

    def put_manifest(self, path: str, value: Any, media_type: str, tag: str | None = None) -> str:
        """Store JSON, or bytes as they are; the digest."""
        data = value if isinstance(value, bytes) else body_of(value)
        digest = digest_of(data)
        self.manifests.setdefault(path, {})[digest] = (data, media_type)
        if tag is not None:
            self.tags.setdefault(path, {})[tag] = digest
        return digest

    def push_image(
        self,
        path: str,
        tag: str | None = None,
        *,
        layers: tuple[bytes, ...] = (b"layer",),
        config: Any = None,
        media_type: str = OCI_MANIFEST,
        **fields: Any,
    ) -> str:
        """A whole image with its blobs; `fields` are added to the manifest. The digest."""
        config = config or {"architecture": "amd64", "os": "linux", "config": {}, "rootfs": {"type": "layers"}}
        config_bytes = config if isinstance(config, bytes) else body_of(config)
        value = {
            "schemaVersion": 2,
            "mediaType": media_type,
            "config": {"mediaType": CONFIG, "digest": self.put_blob(path, config_bytes), "size": len(config_bytes)},
            "layers": [{"mediaType": LAYER, "digest": self.put_blob(path, data), "size": len(data)} for data in layers],
            **fields,
        }
        return self.put_manifest(path, value, media_type, tag)

    def push_index(
        self,
        path: str,
        tag: str | None,
        platforms: dict[str, str],
        *,
        media_type: str = OCI_INDEX,
        attestations: bool = False,
    ) -> str:
        """An index of manifests that are there, by platform (`linux/amd64`). The digest."""
        entries = [self._entry(path, digest, platform) for platform, digest in platforms.items()]
        if attestations:
            for subject in platforms.values():
                digest = self.push_image(path, layers=(b"in-toto of " + subject.encode(),))
                entry = self._entry(path, digest, "unknown/unknown")
                annotations = {
                    "vnd.docker.reference.type": "attestation-manifest",
                    "vnd.docker.reference.digest": subject,
                }
                entries.append({**entry, "annotations": annotations})
        return self.put_manifest(
            path, {"schemaVersion": 2, "mediaType": media_type, "manifests": entries}, media_type, tag
        )

    def _entry(self, path: str, digest: str, platform: str) -> dict[str, Any]:
        data, media_type = self.manifests[path][digest]
        named = dict(zip(("os", "architecture", "variant"), platform.split("/"), strict=False))
        return {"mediaType": media_type, "digest": digest, "size": len(data), "platform": named}

    def attach(self, path: str, subject: str, digest: str) -> None:
        """Name the manifest `digest` in the index under the referrers tag of `subject`."""
        tag = subject.replace(":", "-")
        entries = []
        if tag in self.tags.get(path, {}):
            entries = json.loads(self.manifests[path][self.tags[path][tag]][0])["manifests"]
        entries.append(self._referrer(path, digest))
        self.put_manifest(path, {"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": entries}, OCI_INDEX, tag)

    def _referrer(self, path: str, digest: str) -> dict[str, Any]:
        data, media_type = self.manifests[path][digest]
        value = json.loads(data)
        entry: dict[str, Any] = {"mediaType": media_type, "digest": digest, "size": len(data)}
        entry["artifactType"] = value.get("artifactType") or value.get("config", {}).get("mediaType", "")
        if value.get("annotations"):
            entry["annotations"] = value["annotations"]
        return entry
