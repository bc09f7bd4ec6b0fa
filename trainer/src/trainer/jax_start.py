"""JAX under trainer.launch: `jax.distributed.initialize` with what the launcher found out.

    python -m trainer.launch --framework jax -- python -m trainer.jax_start train.py ARGUMENTS
    from trainer.jax_start import initialize; initialize()      # or so, before the first computation

JAX_COORDINATOR_ADDRESS alone is not enough: JAX reads it, and JAX_LOCAL_DEVICE_IDS, but takes the number of processes
and its own from arguments only, unless it knows the cluster (Slurm, MPI, Kubernetes, TPU).
"""

import os
import runpy
import sys
from collections.abc import Mapping, Sequence
from typing import Any


def initialize_arguments(environment: Mapping[str, str]) -> dict[str, Any] | None:
    """Arguments of `jax.distributed.initialize`; None where this process is the only one."""
    if int(environment.get("JAX_NUM_PROCESSES", "1")) == 1:
        return None
    arguments: dict[str, Any] = {
        "coordinator_address": environment["JAX_COORDINATOR_ADDRESS"],
        "num_processes": int(environment["JAX_NUM_PROCESSES"]),
        "process_id": int(environment["JAX_PROCESS_ID"]),
    }
    if "JAX_LOCAL_DEVICE_IDS" in environment:
        arguments["local_device_ids"] = [int(text) for text in environment["JAX_LOCAL_DEVICE_IDS"].split(",")]
    if "TRAINER_JOIN_SECONDS" in environment:
        arguments["initialization_timeout"] = int(float(environment["TRAINER_JOIN_SECONDS"]))
    return arguments


def initialize() -> None:
    """Join the other processes; nothing where there are none."""
    arguments = initialize_arguments(os.environ)
    if arguments is None:
        return
    import jax  # type: ignore[import-not-found, unused-ignore]  # in the user's image, not among our requirements

    jax.distributed.initialize(**arguments)


def main(arguments: Sequence[str]) -> None:
    """Join, then run a script, or a module after `-m`, as Python would."""
    if not arguments or list(arguments) == ["-m"]:
        sys.exit("trainer.jax_start: give a script, or -m and a module.")
    initialize()
    if arguments[0] == "-m":
        sys.argv = list(arguments[1:])
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = list(arguments)
        runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
