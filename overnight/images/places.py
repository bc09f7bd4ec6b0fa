"""Where releases are kept: a folder, or a prefix of a bucket. What stands there is never overwritten."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from overnight.files import write_atomically
from overnight.images.errors import ImageError

SECONDS = 30.0
"""How long an unreachable or overloaded service is asked again."""


class Place(Protocol):
    """Files by name; every method raises ImageError when the place cannot be used."""

    def read(self, name: str) -> bytes | None:
        """The file's bytes; None when it is not there."""
        ...

    def add(self, name: str, data: bytes) -> bool:
        """Write a file that is not there yet, complete or not at all; False when it is there."""
        ...

    def names(self, beginning: str) -> list[str]:
        """Names directly in the place that begin so."""
        ...


def place_of(address: str) -> Place:
    """A folder, or `gs://BUCKET/PREFIX`; raises ImageError for another scheme."""
    if "://" not in address:
        return Folder(Path(address))
    match = re.fullmatch(r"gs://([a-z0-9][a-z0-9._-]{1,220}[a-z0-9])((?:/[^/]+)*)/?", address)
    if match is None:
        raise ImageError(f"{address!r} is no place for releases", remedy="write gs://BUCKET/releases, or a folder")
    return Bucket(match[1], match[2].strip("/"))


@dataclass(frozen=True)
class Folder:
    """A folder on this machine."""

    path: Path

    def read(self, name: str) -> bytes | None:
        """See Place."""
        with self._failures(name):
            try:
                return (self.path / name).read_bytes()
            except FileNotFoundError:
                return None

    def add(self, name: str, data: bytes) -> bool:
        """See Place."""
        with self._failures(name):
            if (self.path / name).exists():
                return False
            write_atomically(self.path / name, data)
            return True

    def names(self, beginning: str) -> list[str]:
        """See Place."""
        with self._failures(""):
            try:
                return sorted(name for name in os.listdir(self.path) if name.startswith(beginning))  # noqa: PTH208
            except FileNotFoundError:
                return []

    @contextmanager
    def _failures(self, name: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            reason = os.strerror(error.errno).lower() if error.errno else str(error)
            raise ImageError(reason, where=str(self.path / name)) from error


@dataclass(frozen=True)
class Bucket:
    """Objects of a bucket in Cloud Storage, whose names begin with `prefix/`."""

    bucket: str
    prefix: str

    def read(self, name: str) -> bytes | None:
        """See Place."""
        from google.api_core.exceptions import NotFound

        with self._failures(name):
            try:
                data = self._blob(name).download_as_bytes(retry=_patience())
            except NotFound:
                return None
        return bytes(data)

    def add(self, name: str, data: bytes) -> bool:
        """See Place. Generation 0 is what is not there: the service itself compares (docs: request preconditions)."""
        from google.api_core.exceptions import PreconditionFailed

        kind = "application/json"
        with self._failures(name):
            try:
                self._blob(name).upload_from_string(data, content_type=kind, if_generation_match=0, retry=_patience())
            except PreconditionFailed:
                return False
        return True

    def names(self, beginning: str) -> list[str]:
        """See Place."""
        with self._failures(""):
            start = self._object(beginning)
            found = _client().list_blobs(self.bucket, prefix=start, delimiter="/", retry=_patience())
            return sorted(blob.name.rpartition("/")[2] for blob in found)

    def _object(self, name: str) -> str:
        return f"{self.prefix}/{name}" if self.prefix else name

    def _blob(self, name: str) -> Any:
        return _client().bucket(self.bucket).blob(self._object(name))

    @contextmanager
    def _failures(self, name: str) -> Iterator[None]:
        from google.api_core.exceptions import Forbidden, GoogleAPIError, NotFound, Unauthorized
        from google.auth.exceptions import GoogleAuthError
        from requests.exceptions import RequestException

        where = f"gs://{self.bucket}/{self._object(name)}"
        try:
            yield
        except GoogleAuthError as error:
            said = f"there are no usable Google credentials ({_first_sentence(error)})"
            raise ImageError(said, where=where, remedy="log in with: gcloud auth application-default login") from error
        except (Forbidden, Unauthorized) as error:
            remedy = f"ask for roles/storage.objectUser on gs://{self.bucket}"
            raise ImageError("this account may not read or write here", where=where, remedy=remedy) from error
        except NotFound as error:
            raise ImageError("there is no such bucket", where=where, remedy="correct the bucket's name") from error
        except (GoogleAPIError, RequestException) as error:
            raise ImageError(
                f"Cloud Storage did not answer as it should ({_first_sentence(error)})", where=where
            ) from error


def _client() -> Any:
    try:
        import google.cloud.storage
    except ImportError:
        raise ImageError("google-cloud-storage is not installed", remedy="pip install 'overnight[gcp]'") from None
    # Otherwise the client also asks for the bucket in a background thread, to label traces that nobody collects.
    os.environ.setdefault("DISABLE_GCS_PYTHON_CLIENT_OTEL_BUCKET_METADATA", "true")
    # Objects are named with their bucket: the project that a client wants is never used.
    return google.cloud.storage.Client(project="unused")


def _patience() -> Any:
    from google.cloud.storage.retry import DEFAULT_RETRY

    return DEFAULT_RETRY.with_timeout(SECONDS)


def _first_sentence(error: Exception) -> str:
    return " ".join(str(error).split()).split(". ")[0].rstrip(".")
