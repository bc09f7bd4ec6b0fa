"""Kill a two-worker training again and again; its final weights must be those of a run that nobody touched.

    python bench/crash_drill.py [--kills 40] [--seed 0] [--snapshot DIR --shards DIR] [--json FILE]

Each kill is SIGKILL for one trainer process or both, at a random step, or at the moment when a checkpoint
is half written. Then the number of workers goes 1 -> 2 -> 1 with the global batch kept. Without --snapshot
a small synthetic one is made.
"""

import argparse
import contextlib
import json
import os
import random
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

# How far final validation metrics may lie apart when the number of workers changed: sums of floats have another order.
# With two micro-batches a step they have the same one, and the difference is 0.
ACCURACY_TOLERANCE = 0.02
LOSS_TOLERANCE = 0.05
SETTINGS = (
    "data.log_samples=true",
    "checkpoint.every_steps=3",
    "checkpoint.keep=2",
    "model.arguments={width=8, dropout=0.1}",
    "ema.decay=0.9",
)
PATIENCE_SECONDS = 300.0


@dataclass(frozen=True)
class Training:
    """What is trained, again and again: everything but the output folder."""

    snapshot: Path
    shards: Path
    settings: tuple[str, ...] = SETTINGS

    def start(self, output: Path, workers: int) -> "Processes":
        """Start it on `workers` replicas as a Vertex AI job would, one launcher each."""
        output.parent.mkdir(parents=True, exist_ok=True)
        hosts = [f"127.0.0.1:{port}" for port in _free_ports(workers)]
        cluster = {"workerpool0": hosts[:1], **({"workerpool1": hosts[1:]} if workers > 1 else {})}
        command = [sys.executable, "-m", "trainer.launch", "--preset", "smoke", "--output", str(output)]
        command += ["--snapshot", str(self.snapshot), "--shards", str(self.shards)]
        command += [part for setting in self.settings for part in ("--set", setting)]
        launchers = []
        for index in range(workers):
            task = {"type": "workerpool0", "index": 0} if index == 0 else {"type": "workerpool1", "index": index - 1}
            spec = json.dumps({"cluster": cluster, "task": task, "environment": "cloud"})
            with (output.parent / f"{output.name}-{index}.log").open("ab") as log:
                environment = {**os.environ, "CLUSTER_SPEC": spec, "CUDA_VISIBLE_DEVICES": ""}
                launchers.append(subprocess.Popen(command, env=environment, stdout=log, stderr=log))
        return Processes(output, launchers, time.monotonic())


@dataclass(frozen=True)
class Processes:
    """The launchers of one attempt."""

    output: Path
    launchers: list["subprocess.Popen[bytes]"]
    started: float

    def running(self) -> bool:
        """Whether any has not ended."""
        return any(launcher.poll() is None for launcher in self.launchers)

    def wait(self) -> list[int]:
        """Exit codes, when all have ended."""
        return [launcher.wait(PATIENCE_SECONDS) for launcher in self.launchers]

    def terminate(self) -> list[int]:
        """SIGTERM to all; their exit codes."""
        for launcher in self.launchers:
            launcher.send_signal(signal.SIGTERM)
        return self.wait()

    def kill(self, indices: Sequence[int]) -> None:
        """SIGKILL to the trainer processes of the launchers `indices`; returns when all processes have ended."""
        for index in indices:
            for child in _children(self.launchers[index].pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)
        self.wait()


@dataclass(frozen=True)
class Kill:
    """One kill and what it cost."""

    moment: str
    """`step`, or `checkpoint` when one was half written."""
    victims: int
    last_step: int
    resumed_step: int
    restart_seconds: float
    """From starting the processes again to their first step."""

    @property
    def lost_steps(self) -> int:
        """Steps that had to be done again."""
        return self.last_step + 1 - self.resumed_step


@dataclass(frozen=True)
class KillDrill:
    """Weights of the run nobody touched and of the killed one, and each kill."""

    undisturbed_sha256: str
    killed_sha256: str
    kills: list[Kill] = field(default_factory=list)


@dataclass(frozen=True)
class WorkerDrill:
    """The run on 1, 2 and 1 workers against the undisturbed one on 2."""

    same_sequence: bool
    once_an_epoch: bool
    accuracy_difference: float
    loss_difference: float
    same_weights: bool


def kill_drill(training: Training, folder: Path, kills: int, seed: int) -> KillDrill:
    """Run undisturbed in `folder`/undisturbed, then in `folder`/killed with `kills` kills; both on two workers."""
    _finish(training.start(folder / "undisturbed", 2))
    total = result(folder / "undisturbed")["steps"]
    chance, output, done = random.Random(seed), folder / "killed", []
    attempt = training.start(output, 2)
    # One kill in each equal part of the run; the end stays free, so that the last kill finds it running.
    part = total * 0.8 / kills
    for number in range(kills):
        until = int((number + chance.random()) * part)
        moment = _wait_for_moment(attempt, until, chance)
        victims = chance.choice(([0], [1], [0, 1]))
        attempt.kill(victims)
        last = _last_step(output)
        attempt = training.start(output, 2)
        resumed, seconds = _wait_for_first_step(attempt)
        done.append(Kill(moment, len(victims), last, resumed, seconds))
    _finish(attempt)
    return KillDrill(result(folder / "undisturbed")["weights_sha256"], result(output)["weights_sha256"], done)


def worker_drill(training: Training, undisturbed: Path, output: Path) -> WorkerDrill:
    """Train in `output` on 1, 2 and 1 workers, changed by SIGTERM at each third; compare with `undisturbed`."""
    total = result(undisturbed)["steps"]
    for workers, until in ((1, total // 3), (2, 2 * total // 3)):
        attempt = training.start(output, workers)
        _wait_for_step(attempt, until)
        codes = attempt.terminate()
        if codes != [143] * workers:
            raise RuntimeError(f"SIGTERM ended the {workers} workers with {codes}; see the logs beside {output}")
    _finish(training.start(output, 1))
    ours, theirs = final_steps(output), final_steps(undisturbed)
    difference = {name: abs(_final(output)[name] - _final(undisturbed)[name]) for name in ("accuracy", "loss")}
    return WorkerDrill(
        same_sequence=[line["digest"] for line in ours] == [line["digest"] for line in theirs],
        once_an_epoch=each_sample_once_an_epoch(ours),
        accuracy_difference=difference["accuracy"],
        loss_difference=difference["loss"],
        same_weights=result(output)["weights_sha256"] == result(undisturbed)["weights_sha256"],
    )


def result(output: Path) -> dict[str, Any]:
    """result.json of a run that has ended."""
    return dict(json.loads((output / "result.json").read_text()))


def final_steps(output: Path) -> list[dict[str, Any]]:
    """samples.log with only the last attempt at each step, in order of steps."""
    return [line for _, line in sorted({line["step"]: line for line in _lines(output)}.items())]


def each_sample_once_an_epoch(steps: list[dict[str, Any]]) -> bool:
    """Whether every complete epoch in the log has each sample exactly once."""
    seen: dict[int, Counter[int]] = {}
    for line in steps:
        for epoch, sample in zip(line["epochs"], line["samples"], strict=True):
            seen.setdefault(epoch, Counter())[sample] += 1
    everything = set(seen[0])
    complete = [counts for epoch, counts in sorted(seen.items()) if epoch < max(seen) or set(counts) == everything]
    return all(set(counts) == everything and set(counts.values()) == {1} for counts in complete)


def _final(output: Path) -> dict[str, Any]:
    return dict(json.loads((output / "metrics.json").read_text())["final"])


def _finish(attempt: Processes) -> None:
    codes = attempt.wait()
    if any(codes):
        raise RuntimeError(f"the training ended with {codes}; see the logs beside {attempt.output}")


def _wait_for_moment(attempt: Processes, step: int, chance: random.Random) -> str:
    """Wait for `step`, and then either for a fraction of a step or until a checkpoint is half written."""
    _wait_for_step(attempt, step)
    if chance.random() < 0.5:
        time.sleep(chance.random() * 0.1)
        return "step"
    deadline = time.monotonic() + 0.5
    while time.monotonic() < deadline and attempt.running():
        if any((attempt.output / "checkpoints").glob(".step-*.tmp")):
            return "checkpoint"
    return "step"


def _wait_for_step(attempt: Processes, step: int) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while _last_step(attempt.output) < step:
        if not attempt.running() or time.monotonic() > deadline:
            raise RuntimeError(f"the training did not reach step {step}; see the logs beside {attempt.output}")
        time.sleep(0.01)


def _wait_for_first_step(attempt: Processes) -> tuple[int, float]:
    """The first step of this attempt, and the seconds until it was there."""
    before = _attempts(attempt.output)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while attempt.running() and time.monotonic() < deadline:
        fresh = [line["step"] for line in _lines(attempt.output) if line["attempt"] > before]
        if fresh:
            return fresh[0], time.monotonic() - attempt.started
        time.sleep(0.02)
    raise RuntimeError(f"the training did not start again; see the logs beside {attempt.output}")


def _attempts(output: Path) -> int:
    return max((line["attempt"] for line in _lines(output)), default=0)


def _last_step(output: Path) -> int:
    lines = _lines(output)
    return int(lines[-1]["step"]) if lines else -1


def _lines(output: Path) -> list[dict[str, Any]]:
    path = output / "samples.log"
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines(keepends=True) if line.endswith("}\n")]


def _children(process: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    except FileNotFoundError:
        return []


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        probes = [stack.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [int(probe.getsockname()[1]) for probe in probes]


def _print_table(kills: KillDrill, workers: WorkerDrill) -> None:
    print(f"{'kill':>4} {'moment':<11}{'killed':>6}{'at step':>9}{'resumed':>9}{'lost':>6}{'restart s':>11}")
    for number, kill in enumerate(kills.kills, 1):
        print(
            f"{number:>4} {kill.moment:<11}{kill.victims:>6}{kill.last_step:>9}{kill.resumed_step:>9}"
            f"{kill.lost_steps:>6}{kill.restart_seconds:>11.1f}"
        )
    lost = [kill.lost_steps for kill in kills.kills]
    seconds = [kill.restart_seconds for kill in kills.kills]
    print(f"lost steps: median {statistics.median(lost)}, most {max(lost)}")
    print(f"restart: median {statistics.median(seconds):.1f} s, longest {max(seconds):.1f} s")
    same = kills.undisturbed_sha256 == kills.killed_sha256
    print(f"weights after {len(lost)} kills: {'identical' if same else 'DIFFERENT'} ({kills.killed_sha256[:16]})")
    print(
        f"1 -> 2 -> 1 workers: same sequence {workers.same_sequence}, "
        f"each sample once an epoch {workers.once_an_epoch}, "
        f"accuracy differs by {workers.accuracy_difference:.4f}, loss by {workers.loss_difference:.2e}, "
        f"same weights {workers.same_weights}"
    )


def main() -> int:
    """The command: 0 when every claim held."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--snapshot", type=Path)
    parser.add_argument("--shards", type=Path)
    parser.add_argument("--json", type=Path, help="also write what was measured there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="crash-drill-") as name:
        folder = Path(name)
        training = _training(options, folder)
        kills = kill_drill(training, folder, options.kills, options.seed)
        workers = worker_drill(training, folder / "undisturbed", folder / "changed")
    _print_table(kills, workers)
    if options.json:
        report = {"kills": asdict(kills), "workers": asdict(workers)}
        options.json.write_text(json.dumps(report, indent=2, sort_keys=True) + "\n")
    same = kills.undisturbed_sha256 == kills.killed_sha256
    close = workers.accuracy_difference <= ACCURACY_TOLERANCE and workers.loss_difference <= LOSS_TOLERANCE
    return 0 if same and workers.same_sequence and workers.once_an_epoch and close else 1


def _training(options: argparse.Namespace, folder: Path) -> Training:
    if options.snapshot:
        return Training(options.snapshot, options.shards)
    sys.path.insert(0, str(Path(__file__).parent))
    from synthetic import write_synthetic

    made = write_synthetic(folder / "data", images=480)
    # 336 training images: 42 steps an epoch of 8.
    epochs = max(2, -(-options.kills * 6 // 42))
    return Training(made.snapshot, made.shards, (*SETTINGS, "batch_size=8", "micro_batch_size=4", f"epochs={epochs}"))


if __name__ == "__main__":
    sys.exit(main())
