"""Beside other processes and libraries: forks, kills, signals, torch's DataLoader, a full /dev/shm."""

import io
import os
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import numpy as np
import pytest

from jpeg_files import jpeg, picture
from loading import all_batches, kept, same, train_loader
from trainer.data import native
from trainer.data.snapshot import Rows, Snapshot
from trainer.errors import TrainerError

PROGRAM = """
import sys, hashlib
from pathlib import Path
from trainer.data.snapshot import open_snapshot
from loading import train_loader
rows = open_snapshot(Path(sys.argv[1]), Path(sys.argv[2])).rows("train")
with train_loader(rows, steps=(0, int(sys.argv[3]))) as loader:
    for batch in loader:
        print(batch.step, hashlib.sha256(batch.images).hexdigest(), flush=True)
"""


def start(snapshot: Snapshot, steps: int) -> subprocess.Popen[str]:
    shards = snapshot.folder.parent.parent / "shards"
    path = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(snapshot.folder), str(shards), str(steps)],
        stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip


class Stopped(Exception):
    """What the signal handler of a test raises."""


def stop(number: int, frame: object) -> None:
    raise Stopped


def in_child(work: object) -> int:
    """Exit code of a forked child that runs `work`; it is killed after ten seconds."""
    child = os.fork()
    if child == 0:
        signal.alarm(10)
        try:
            work()  # type: ignore[operator]
        except TrainerError as error:
            os._exit(7 if "before a fork" in error.sentence else 8)
        except BaseException:
            os._exit(9)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_loader_opened_before_a_fork_says_so_in_the_child(rows: Rows) -> None:
    with train_loader(rows) as loader:
        next(loader)
        assert in_child(lambda: next(loader)) == 7
        assert in_child(loader.close) == 0
        assert in_child(lambda: all_batches(train_loader(rows))) == 0
        assert next(loader).step == 1


def test_a_waiting_loader_lets_python_handle_signals(tmp_path: Path) -> None:
    path, count = tmp_path / "large.jpg", 150
    path.write_bytes(jpeg(picture(1, 900, 700)))
    size = np.full(count, path.stat().st_size)
    places = native.Places(np.zeros(count, np.int32), np.zeros(count, np.int64), size)
    boxes = np.tile([0.0, 0, 900, 700], (count, 1))
    cuts = native.Cuts(np.zeros((count, 2), np.int32), boxes, np.zeros(count, np.uint8))
    out, statuses = np.empty((count, 3, 64, 64), np.uint8), np.empty(count, np.uint8)
    pool = native.open_pool(1)
    ticket = native.submit(pool, native.open_reader([path]), places, cuts, out, statuses, exact=True)
    before = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(Stopped):
            native.wait(ticket)
        assert not ticket.done()
    finally:
        signal.signal(signal.SIGALRM, before)
    native.wait(ticket)
    assert not statuses.any()
    pool.close()


def test_killed_and_started_twice_at_once_gives_the_same_stream(snapshot: Snapshot) -> None:
    killed = start(snapshot, 100_000)
    assert killed.stdout is not None
    first = killed.stdout.readline()
    killed.kill()
    killed.communicate()
    again = [start(snapshot, 5) for _ in range(2)]
    outputs = [process.communicate(timeout=60)[0] for process in again]
    assert outputs[0] == outputs[1]
    assert outputs[0].splitlines(keepends=True)[0] == first
    assert len(outputs[0].splitlines()) == 5
    assert [process.returncode for process in again] == [0, 0]


def test_a_killed_loader_leaves_nothing_in_shared_memory(snapshot: Snapshot) -> None:
    before = set(Path("/dev/shm").iterdir())
    killed = start(snapshot, 100_000)
    assert killed.stdout is not None
    killed.stdout.readline()
    killed.kill()
    killed.communicate()
    assert set(Path("/dev/shm").iterdir()) <= before


def test_an_abandoned_loader_does_not_keep_python_from_ending(snapshot: Snapshot) -> None:
    program = PROGRAM.replace("with train_loader(rows, steps=(0, int(sys.argv[3]))) as loader:",
                              "loader = train_loader(rows, steps=(0, 100_000))\nif True:").replace(
        "flush=True)", "flush=True); sys.exit(3)")  # fmt: skip
    shards = snapshot.folder.parent.parent / "shards"
    path = str(Path(__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-c", program, str(snapshot.folder), str(shards), "1"],
        env={**os.environ, "PYTHONPATH": path}, timeout=60, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (3, "")


def test_it_works_beside_torchs_data_loader_with_worker_processes(rows: Rows) -> None:
    torch = pytest.importorskip("torch")
    expected = all_batches(train_loader(rows))
    other = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(torch.arange(64)), batch_size=8, num_workers=1, multiprocessing_context="fork"
    )
    with train_loader(rows) as loader:
        found = []
        for batch, _ in zip(loader, other, strict=False):
            found.append(kept(batch))
    assert len(found) == 8
    assert all(same(left, right) for left, right in zip(expected, found, strict=False))


def test_the_loader_does_not_import_torch(snapshot: Snapshot) -> None:
    program = "import sys, trainer.data.loader; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_the_threads_work_while_python_holds_the_gil(rows: Rows) -> None:
    with train_loader(rows, steps=(0, 50), threads=1, depth=50) as loader:
        next(loader)
        until = time.monotonic() + 5
        while not all(pending.ticket.done() for pending in loader._pending) and time.monotonic() < until:
            sum(range(1000))
        assert time.monotonic() < until


def test_numbers_of_threads_that_cannot_be_are_refused() -> None:
    for threads in (0, -1, 5000):
        with pytest.raises(TrainerError, match="threads"):
            native.open_pool(threads)


def test_python_ends_while_another_thread_waits_for_a_batch(snapshot: Snapshot) -> None:
    """As TensorFlow's threads do, which take batches ahead. Python unwinds such threads; C++ must bear it."""
    program = PROGRAM.replace("import sys,", "import sys, threading, time,").replace(
        "with train_loader(rows, steps=(0, int(sys.argv[3]))) as loader:",
        "loader = train_loader(rows, steps=(0, 10**9), batch_size=800, size=lambda _: 600, threads=1)\n"
        "threading.Thread(target=lambda: list(loader), daemon=True).start()\ntime.sleep(0.5)\nif False:",
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(snapshot.folder), str(snapshot.folder.parent.parent / "shards"), "1"],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        timeout=60, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


def test_two_threads_and_batches_of_64_large_samples_take_less_than_300_mb(tmp_path: Path) -> None:
    """Proportional set size: also what the libraries take, without torch."""
    with tarfile.open(tmp_path / "x.tar", "w") as tar:
        for number in range(8):
            for name, content in ((f"{number}.jpg", jpeg(picture(number, 500, 375))), (f"{number}.cls", b"1")):
                info = tarfile.TarInfo(name)
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
    program = """
import sys
from pathlib import Path
from trainer.data.buffers import PixelFormat
from trainer.data.stream import InputStream
from trainer.data.tars import open_tars
rows = open_tars(Path(sys.argv[1])).rows
with InputStream(rows, batch_size=64, size=224, threads=2, pixels=PixelFormat(number="float32")) as stream:
    for _ in range(8):
        next(stream)
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
print(next(line.split()[1] for line in lines if line.startswith("Pss:")))
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], timeout=60, capture_output=True, text=True, check=True
    )
    assert int(done.stdout) < 300_000
