"""The container's entry point: starts a command on every machine of a Vertex AI job as one process group.

    python -m trainer.launch ARGUMENTS                                    our trainer, once a GPU
    python -m trainer.launch -- python train.py ARGUMENTS                 any PyTorch script, once a GPU
    python -m trainer.launch --framework tensorflow -- python train.py    once a machine, TF_CONFIG checked
    python -m trainer.launch --framework jax -- python -m trainer.jax_start train.py

Ranks come from CLUSTER_SPEC (trainer.cluster), never from the platform's RANK and WORLD_SIZE, which count machines.
The launchers meet first (trainer.crew), then start (trainer.supervise). No framework is imported here.
"""

import argparse
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass

from trainer import frameworks, image, probe
from trainer.cluster import ALONE, Cluster, Node, cluster_from
from trainer.crew import Crew, Terms, free_port, meet
from trainer.errors import ConfigError, TrainerError
from trainer.frameworks import FRAMEWORKS, Framework, Group
from trainer.supervise import Stopping, supervise

JOIN_MINUTES = 45.0
"""Replicas start minutes apart (Snapchat/GiGL#348)."""


@dataclass(frozen=True)
class Options:
    """What is started, and how."""

    command: tuple[str, ...]
    ours: bool
    """Whether the command is our trainer."""
    framework: Framework
    processes: int | None
    """On each machine; None: one a GPU for torch, else one."""
    join_seconds: float


def main(arguments: Sequence[str]) -> int:
    """Run this node's processes to their end; the exit code of the first that failed in the run, else 0."""
    try:
        return launch(parse(arguments, os.environ), os.environ)
    except TrainerError as error:
        print(f"trainer: {error.sentence}", file=sys.stderr)
        return error.exit_code


def parse(arguments: Sequence[str], environment: Mapping[str, str]) -> Options:
    """Options up to `--`, then the command; without `--`, what is not known here is for our trainer."""
    parser = argparse.ArgumentParser(
        prog="python -m trainer.launch",
        description="Start a command as one process group over all machines of a Vertex AI job.",
        epilog="Without -- COMMAND, all other arguments go to python -m trainer.",
        allow_abbrev=False,
    )
    parser.add_argument("--framework", choices=FRAMEWORKS, default="torch")
    parser.add_argument(
        "--nproc-per-node",
        metavar="N",
        default=environment.get("TRAINER_PROCESSES_PER_NODE", "auto"),
        help="processes on each machine; auto: one a GPU for torch, one for the others",
    )
    parser.add_argument(
        "--join-timeout",
        type=float,
        metavar="MINUTES",
        default=JOIN_MINUTES,
        help="how long replicas wait for each other (default: %(default)g)",
    )
    own, given, command = _split(arguments)
    options, rest = parser.parse_known_args(own)
    if given and rest:
        raise ConfigError(f"{rest[0]!r} is no option of the launcher", where="--", remedy="write it after the command")
    if given and not command:
        raise ConfigError("no command follows", where="--", remedy="write one, or leave -- away to start the trainer")
    if not given and options.framework != "torch":
        raise ConfigError("our trainer is of torch", where="--framework", remedy="write -- and the command")
    return Options(
        command=tuple(command) if given else (sys.executable, "-m", "trainer", *rest),
        ours=not given,
        framework=options.framework,
        processes=_processes(options.nproc_per_node),
        join_seconds=options.join_timeout * 60,
    )


def _split(arguments: Sequence[str]) -> tuple[list[str], bool, list[str]]:
    words = list(arguments)
    if "--" not in words:
        return words, False, []
    place = words.index("--")
    return words[:place], True, words[place + 1 :]


def _processes(text: str) -> int | None:
    if text == "auto":
        return None
    if not text.isdigit() or int(text) < 1:
        raise ConfigError(
            f"{text!r} is not a number of processes", where="--nproc-per-node", remedy="give 1 or more, or auto"
        )
    return int(text)


def launch(options: Options, base: Mapping[str, str]) -> int:
    """Look at the machine, meet the other launchers, start the command, wait for its end. Raises TrainerError."""
    own_image = image.here(base)
    if (sentence := image.describe(own_image)) is not None:
        say(sentence)
    cluster = cluster_from(base)
    serves = cluster is not None and not cluster.trains
    if cluster is not None and serves and options.framework != "tensorflow":
        say(f"{cluster.name} holds no rank, pools 2 and 3 never do: nothing to do here")
        return 0
    machine = probe.look(base)
    processes = options.processes or (max(1, machine.gpus) if options.framework == "torch" else 1)
    frameworks.check_processes(options.framework, processes)
    environment = _probed(options, base, cluster, machine, processes)
    stopping = Stopping()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stopping)
    node = ALONE if cluster is None or serves else cluster.node
    terms = Terms(processes, own_image.digest if own_image else None)
    with closing(_crew(options, base, node, terms, stopping, serves)) as crew:
        for each in _environments(options, environment, node, processes, crew.port):
            stopping.start(options.command, each)
        return supervise(stopping, crew, node.rank, say)


def _probed(
    options: Options, base: Mapping[str, str], cluster: Cluster | None, machine: probe.Machine, processes: int
) -> dict[str, str]:
    """Say what this machine means for the run; the environment with what follows from it. Raises TrainerError."""
    if cluster is not None:
        others = f", {cluster.others} more in pools 2 and 3 hold no rank" if cluster.others else ""
        say(f"{cluster.name} of {len(cluster.training_replicas)} replicas that train{others}")
    say(probe.describe_gpus(machine, cluster, options.framework, processes))
    shared_memory, added = probe.describe_shared_memory(machine, base, ours=options.ours)
    say(shared_memory)
    say(probe.describe_disk(machine))
    say(probe.describe_buckets(options.command, base, ours=options.ours))
    if options.framework == "tensorflow":
        frameworks.check_tf_config(base, cluster)
    return {**base, **added, "TRAINER_JOIN_SECONDS": str(options.join_seconds)}


def _crew(
    options: Options, base: Mapping[str, str], node: Node, terms: Terms, stopping: Stopping, serves: bool
) -> Crew:
    if serves or (options.framework == "tensorflow" and frameworks.has_parameter_servers(base)):
        say("parameter servers and evaluators: each replica goes its own way")
        return Crew(node.rank, {}, free_port())
    if node.count > 1:
        say(f"node {node.rank} of {node.count}: waiting up to {options.join_seconds / 60:g} minutes for the others")
    return meet(node, terms, options.join_seconds, lambda: stopping.requested)


def _environments(
    options: Options, environment: Mapping[str, str], node: Node, processes: int, port: int
) -> list[dict[str, str]]:
    """The environment of each of this node's processes."""
    if options.framework == "tensorflow":
        return [dict(environment)]
    group = Group(node.rank, node.count, processes, node.master.rpartition(":")[0], port)
    if group.world_size > 1:
        numbers = ", ".join(map(str, group.ranks()))
        say(f"ranks {numbers} of {group.world_size} are here; all meet at {group.host}:{port}")
    if options.framework == "jax":
        return frameworks.jax_environments(environment, group)
    environments = frameworks.torch_environments(environment, group)
    if (sentence := frameworks.replaced(environment, environments)) is not None:
        say(sentence)
    return environments


def say(line: str) -> None:
    """One line on standard error."""
    print(f"launch: {line}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
