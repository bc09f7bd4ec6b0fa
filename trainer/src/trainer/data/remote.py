"""Objects of Cloud Storage, read whole and checked: with retries, time-outs, and a word about what went wrong.

The client is google-cloud-storage, imported when the first object is read: the extra `gcs` of this package. Another
store is a class with the two methods of `ObjectStore`.
"""

import base64
import random
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from trainer import buckets
from trainer.errors import ConfigError, TrainerError

SCHEME = "gs://"
Write = Callable[[bytes], Any]


class RemoteError(TrainerError):
    """An object cannot be read, or the cache cannot hold it."""


class TryAgain(Exception):
    """What may pass: an overloaded service, a connection that broke, an object that came damaged."""


class GivenUp(Exception):
    """The wait was broken off: the loader is being closed."""


@dataclass(frozen=True)
class StoredObject:
    """One version of an object. `size` in bytes, `crc32c` of its content."""

    url: str
    generation: int
    size: int
    crc32c: int


class ObjectStore(Protocol):
    """Where objects are read from, by any number of threads. Raises TryAgain, RemoteError for what will not pass."""

    def describe(self, url: str) -> StoredObject:
        """The newest version of an object."""

    def read(self, found: StoredObject, start: int, stop: int, write: Write) -> None:
        """Hand bytes [start, stop) of that version to `write`, piece by piece."""


@dataclass(frozen=True, kw_only=True)
class RetryPolicy:
    """How often and how patiently an object is tried. Waits double from `first_wait` to `longest_wait`, in seconds."""

    tries: int = 8
    first_wait: float = 0.5
    longest_wait: float = 30.0
    connect_seconds: float = 10.0
    silence_seconds: float = 60.0
    """Without a byte for so long, a try has failed."""


@dataclass
class Progress:
    """How far an object's download is, for whoever waits for it. `state` is what to say before it has begun."""

    url: str
    size: int = 0
    done: int = 0
    attempt: int = 1
    state: str = "not begun"
    retries: int = 0
    """Tries after a first one."""
    received: int = 0
    """Bytes of all tries."""

    def __str__(self) -> str:
        far = f"{self.done / 1e6:.0f} MB of {self.size / 1e6:.0f} MB" if self.size else self.state
        return f"{self.url}, {far}, try {self.attempt}"


def remote_url(path: str) -> str | None:
    """The gs:// URL of `path`: itself, or what stands below the mount of buckets; None for other paths."""
    if path.startswith(SCHEME):
        return path
    below = f"{buckets.mount()}/"
    return SCHEME + path.removeprefix(below) if path.startswith(below) else None


def remote_urls(paths: Sequence[str]) -> list[str]:
    """The gs:// URL of each. Raises ConfigError for a path that has none."""
    urls = [remote_url(path) for path in paths]
    for path, url in zip(paths, urls, strict=True):
        if url is None:
            raise ConfigError(
                "only files of Cloud Storage are read ahead",
                where=path,
                remedy="leave data.cache.folder empty for shards that are on this machine",
            )
    return [url for url in urls if url is not None]


class CloudStorage:
    """Cloud Storage through its official client, with the credentials that the environment gives."""

    def __init__(self, policy: RetryPolicy) -> None:
        self._timeout = (policy.connect_seconds, policy.silence_seconds)
        self._local = threading.local()

    def describe(self, url: str) -> StoredObject:
        """As ObjectStore."""
        blob = self._blob(url)
        self._try(url, lambda: blob.reload(timeout=self._timeout, retry=None))
        crc32c = int.from_bytes(base64.b64decode(blob.crc32c), "big")
        return StoredObject(url, int(blob.generation), int(blob.size), crc32c)

    def read(self, found: StoredObject, start: int, stop: int, write: Write) -> None:
        """As ObjectStore."""
        blob = self._blob(found.url, found.generation)
        if stop == start:
            return

        def download() -> None:
            # The client would check a whole object by itself, but not one that is read in two tries.
            blob.download_to_file(
                _Sink(write), start=start, end=stop - 1, raw_download=True, timeout=self._timeout, checksum=None,
                retry=None,
            )  # fmt: skip

        self._try(found.url, download)

    def _blob(self, url: str, generation: int | None = None) -> Any:
        bucket, _, name = url.removeprefix(SCHEME).partition("/")
        return self._client().bucket(bucket).blob(name, generation=generation)

    def _client(self) -> Any:
        """One for each thread: the connections below it are not made for sharing."""
        if not hasattr(self._local, "client"):
            self._local.client = _storage().Client(project=None)
        return self._local.client

    def _try(self, url: str, act: Callable[[], Any]) -> Any:
        import google.api_core.exceptions as api
        import google.auth.exceptions as auth
        import requests
        import urllib3

        passing = (
            requests.RequestException, urllib3.exceptions.HTTPError, ConnectionError, TimeoutError, auth.TransportError,
            api.ServerError, api.TooManyRequests, api.RetryError,
        )  # fmt: skip
        try:
            return act()
        except api.NotFound:
            raise RemoteError("this object is not there", where=url, remedy="check the shard set") from None
        except (api.Forbidden, api.Unauthorized, auth.GoogleAuthError) as error:
            if isinstance(error, auth.TransportError):
                raise TryAgain(_reason(error)) from None
            raise RemoteError(
                f"this object may not be read ({_reason(error)})",
                where=url,
                remedy="give the job's service account roles/storage.objectViewer on the bucket",
            ) from None
        except passing as error:
            raise TryAgain(_reason(error)) from None
        except api.GoogleAPICallError as error:
            if error.code == 408:
                raise TryAgain(_reason(error)) from None
            raise RemoteError(f"Cloud Storage refuses it ({_reason(error)})", where=url) from None


class _Sink:
    """What the client takes for a file."""

    def __init__(self, write: Write) -> None:
        self.write = write


def _storage() -> Any:
    try:
        from google.cloud import storage
    except ImportError:
        raise RemoteError(
            "gs:// is read with google-cloud-storage, which is not installed",
            remedy="install trainer[gcs], or leave data.cache.folder empty and read through the mount",
        ) from None
    return storage


def _reason(error: Exception) -> str:
    """One line: the service's message where there is one, else the error's last cause."""
    code = getattr(error, "code", None)
    if isinstance(code, int):
        return f"HTTP {int(code)}"
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[-200:]}" if text else type(error).__name__


def fetch_object(
    store: ObjectStore,
    found: StoredObject,
    write_at: Callable[[int, bytes], Any],
    progress: Progress,
    policy: RetryPolicy,
    give_up: threading.Event,
) -> None:
    """Hand the whole object to `write_at(offset, bytes)`, in order, and check its crc32c.

    A try that breaks off is taken up where it ended; a damaged object is read again from its beginning. Raises
    RemoteError naming the object, the tries and the last error; GivenUp when `give_up` is set.
    """
    progress.size, progress.done = found.size, 0
    checksum = _new_checksum()

    def write(data: bytes) -> None:
        if give_up.is_set():
            raise GivenUp
        if progress.done + len(data) > found.size:
            raise TryAgain("more bytes came than the object has")
        progress.received += len(data)
        write_at(progress.done, data)
        checksum.update(data)
        progress.done += len(data)

    def attempt() -> None:
        nonlocal checksum
        store.read(found, progress.done, found.size, write)
        if progress.done < found.size:
            raise TryAgain(f"it ended after {progress.done} of {found.size} bytes")
        value = int.from_bytes(checksum.digest(), "big")
        if value != found.crc32c:
            progress.done, checksum = 0, _new_checksum()
            raise TryAgain(f"its bytes have crc32c {value:08x} where Cloud Storage says {found.crc32c:08x}")

    patiently(attempt, found.url, progress, policy, give_up)


def _new_checksum() -> Any:
    import google_crc32c

    return google_crc32c.Checksum()  # type: ignore[no-untyped-call]


def patiently(
    act: Callable[[], Any], url: str, progress: Progress, policy: RetryPolicy, give_up: threading.Event
) -> Any:
    """`act`, tried again while it raises TryAgain. Raises RemoteError after the last try, GivenUp."""
    wait = policy.first_wait
    for attempt in range(1, policy.tries + 1):
        progress.attempt = attempt
        progress.retries += attempt > 1
        try:
            return act()
        except TryAgain as error:
            last = error
        if attempt < policy.tries and give_up.wait(wait * random.uniform(0.5, 1)):  # apart from other machines
            raise GivenUp
        wait = min(2 * wait, policy.longest_wait)
    raise RemoteError(
        f"this object could not be read in {policy.tries} tries; the last one: {last}",
        where=url,
        remedy="look at the bucket and the network, then start the run again: it continues",
    )
