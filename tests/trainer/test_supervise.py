"""Real launchers on loopback: how failures and signals travel, and who ends last."""

import signal
import time
from pathlib import Path

from launchers import TWO, Start, ended, script, wait_for


def test_the_first_failing_process_ends_all_and_its_code_is_everyones(tmp_path: Path, start: Start) -> None:
    text = "import os, sys, time\nsys.exit(7) if os.environ['RANK'] == '3' else time.sleep(60)"
    began = time.monotonic()
    processes = start(TWO, ["--nproc-per-node", "2", "--", *script(tmp_path, text)])
    assert ended(processes) == [7, 7]
    assert time.monotonic() - began < 25
    assert processes[0].stderr is not None
    assert "node 1 ended with exit code 7" in processes[0].stderr.read()


def test_a_launcher_that_vanishes_ends_the_others_with_75(tmp_path: Path, start: Start) -> None:
    text = "import os, sys, time\nopen(f\"{sys.argv[1]}/{os.environ['RANK']}\", 'w')\ntime.sleep(60)"
    processes = start(TWO, ["--", *script(tmp_path, text), str(tmp_path)])
    wait_for(tmp_path / "0")
    wait_for(tmp_path / "1")
    (child,) = Path(f"/proc/{processes[1].pid}/task/{processes[1].pid}/children").read_text().split()
    processes[1].kill()
    assert processes[0].wait(60) == 75
    assert not Path(f"/proc/{child}/exe").exists()


def test_a_signal_reaches_the_command_and_the_other_machines(tmp_path: Path, start: Start) -> None:
    text = """
import os, pathlib, signal, sys, time
folder, rank = pathlib.Path(sys.argv[1]), os.environ["RANK"]
def stop(number, frame):
    (folder / f"stopped-{rank}").touch()
    sys.exit(143)
signal.signal(signal.SIGTERM, stop)
(folder / f"runs-{rank}").touch()
time.sleep(60)
"""
    processes = start(TWO, ["--", *script(tmp_path, text), str(tmp_path)])
    for rank in (0, 1):
        wait_for(tmp_path / f"runs-{rank}")
    processes[1].send_signal(signal.SIGTERM)
    assert ended(processes) == [143, 143]
    assert {path.name for path in tmp_path.glob("stopped-*")} == {"stopped-0", "stopped-1"}


def test_the_primary_ends_last(tmp_path: Path, start: Start) -> None:
    text = """
import os, pathlib, sys, time
if os.environ["RANK"] == "1":
    while not pathlib.Path(sys.argv[1], "go").exists():
        time.sleep(0.01)
"""
    processes = start(TWO, ["--", *script(tmp_path, text), str(tmp_path)])
    assert processes[0].stderr is not None
    for line in processes[0].stderr:
        if "waiting for the other nodes" in line:
            break
    assert processes[0].poll() is None
    (tmp_path / "go").touch()
    assert ended(processes) == [0, 0]


def test_a_late_worker_that_fails_still_fails_the_primary(tmp_path: Path, start: Start) -> None:
    text = "import os, sys, time\nif os.environ['RANK'] == '1': time.sleep(0.5); sys.exit(9)"
    assert ended(start(TWO, ["--", *script(tmp_path, text)])) == [9, 9]
