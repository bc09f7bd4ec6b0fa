"""Reading one object of Cloud Storage: what is tried again, what is not, and what the error says."""

import sys
import threading
from collections import deque
from collections.abc import Iterator
from pathlib import Path

import pytest

from object_server import Fault, ObjectBucket, serving_objects
from trainer import buckets
from trainer.data.remote import (
    CloudStorage,
    GivenUp,
    Progress,
    RemoteError,
    RetryPolicy,
    fetch_object,
    patiently,
    remote_url,
)

pytest.importorskip("google.cloud.storage")

QUICK = RetryPolicy(tries=4, first_wait=0.01, longest_wait=0.02, silence_seconds=0.4)
CONTENT = bytes(range(251)) * 1000
NAME = "shards/0001/shard-000017.tar"
URL = f"gs://data/{NAME}"


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectBucket]:
    with serving_objects("data") as bucket:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", bucket.url)
        bucket.put(NAME, CONTENT)
        yield bucket


def fetched(progress: Progress | None = None, policy: RetryPolicy = QUICK) -> bytes:
    store, whole, progress = CloudStorage(policy), bytearray(), progress or Progress(URL)

    def write_at(offset: int, data: bytes) -> None:
        whole[offset : offset + len(data)] = data

    give_up = threading.Event()
    found = patiently(lambda: store.describe(URL), URL, progress, policy, give_up)
    fetch_object(store, found, write_at, progress, policy, give_up)
    return bytes(whole)


def test_an_object_comes_whole(bucket: ObjectBucket) -> None:
    assert fetched() == CONTENT
    assert (bucket.descriptions[NAME], bucket.downloads[NAME]) == (1, 1)


@pytest.mark.parametrize(
    "fault",
    [
        *(Fault(status=status) for status in (408, 429, 500, 502, 503, 504)),
        Fault(after=100_000, cut=True),
        Fault(after=0, cut=True),
        Fault(after=1000, silence=1.0),
        Fault(after=70_000, flip=True),
    ],
)
def test_what_may_pass_is_tried_again(bucket: ObjectBucket, fault: Fault) -> None:
    bucket.fail(NAME, fault, fault)
    progress = Progress(URL)
    assert fetched(progress) == CONTENT
    assert (progress.attempt, bucket.downloads[NAME]) == (3, 3)


def test_a_description_is_tried_again(bucket: ObjectBucket) -> None:
    bucket.description_faults[NAME] = deque([503, 429])
    assert fetched() == CONTENT


def test_a_download_that_broke_off_goes_on_where_it_ended(bucket: ObjectBucket) -> None:
    bucket.fail(NAME, Fault(after=163_840, cut=True), Fault(after=40_960, cut=True))
    assert fetched() == CONTENT
    assert bucket.sent[NAME] < len(CONTENT) + 3 * 16384


def test_a_slow_object_that_moves_is_no_fault(bucket: ObjectBucket) -> None:
    bucket.fail(NAME, Fault(pause=0.1))  # 1.6 s in all, 0.4 s of silence are allowed
    assert fetched() == CONTENT
    assert bucket.downloads[NAME] == 1


@pytest.mark.parametrize(
    ("fault", "last"),
    [
        (Fault(status=503), "HTTP 503"),
        (Fault(after=5, cut=True), "IncompleteRead"),
        (Fault(after=70_000, flip=True), "its bytes have crc32c [0-9a-f]{8} where Cloud Storage says [0-9a-f]{8}"),
        (Fault(after=1000, silence=1.0), "Read timed out"),
    ],
)
def test_after_the_last_try_the_error_names_the_object_the_tries_and_the_last_reason(
    bucket: ObjectBucket, fault: Fault, last: str
) -> None:
    bucket.fail(NAME, *[fault] * 4)
    with pytest.raises(RemoteError, match=f"^{URL}: this object could not be read in 4 tries; the last one: .*{last}"):
        fetched()
    assert bucket.downloads[NAME] == 4


def test_an_object_that_is_not_there_is_not_tried_again(bucket: ObjectBucket) -> None:
    bucket.delete(NAME)
    with pytest.raises(RemoteError, match=f"^{URL}: this object is not there"):
        fetched()
    assert bucket.descriptions[NAME] == 1


def test_an_object_that_goes_between_two_tries_is_said(bucket: ObjectBucket) -> None:
    store, progress = CloudStorage(QUICK), Progress(URL)
    found = store.describe(URL)
    bucket.put(NAME, b"another version")
    with pytest.raises(RemoteError, match="not there"):
        fetch_object(store, found, lambda offset, data: None, progress, QUICK, threading.Event())


@pytest.mark.parametrize("status", [401, 403])
def test_missing_permission_is_not_tried_again_and_names_the_role(bucket: ObjectBucket, status: int) -> None:
    bucket.fail(NAME, Fault(status=status))
    with pytest.raises(RemoteError, match=r"may not be read .*roles/storage\.objectViewer"):
        fetched()
    assert bucket.downloads[NAME] == 1


def test_a_server_that_is_not_there_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", "http://127.0.0.1:9")
    with pytest.raises(RemoteError, match=r"in 4 tries.*ConnectionError"):
        fetched()


def test_an_empty_object_has_no_bytes_to_download(bucket: ObjectBucket) -> None:
    bucket.put(NAME, b"")
    assert fetched() == b""


def test_waiting_for_the_next_try_can_be_broken_off(bucket: ObjectBucket) -> None:
    bucket.description_faults[NAME] = deque([503])
    give_up = threading.Event()
    give_up.set()
    with pytest.raises(GivenUp):
        patiently(lambda: CloudStorage(QUICK).describe(URL), URL, Progress(URL), RetryPolicy(), give_up)


def test_without_the_client_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "google.cloud", None)
    with pytest.raises(RemoteError, match=r"install trainer\[gcs\]"):
        CloudStorage(QUICK).describe(URL)


def test_progress_reads_as_a_sentence_part() -> None:
    assert str(Progress("gs://b/x.tar")) == "gs://b/x.tar, not begun, try 1"
    progress = Progress("gs://b/x.tar", size=512_000_000, done=34_200_000, attempt=2)
    assert str(progress) == "gs://b/x.tar, 34 MB of 512 MB, try 2"


def test_paths_below_the_mount_are_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    assert remote_url("gs://b/x.tar") == remote_url("/gcs/b/x.tar") == "gs://b/x.tar"
    monkeypatch.setenv(buckets.ROOT_VARIABLE, "/mnt/buckets")
    assert remote_url("/mnt/buckets/b/x.tar") == "gs://b/x.tar"
    assert remote_url("/gcs/b/x.tar") is None
    assert remote_url(str(Path("/data/x.tar"))) is None
