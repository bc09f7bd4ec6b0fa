"""What frameworks make of a cluster, as far as images and arguments show which one it is."""

import re
from collections.abc import Iterator

from overnight.jobs.context import Context
from overnight.jobs.findings import Check, Finding, error, warning
from overnight.jobs.view import JobView, PoolView

TPU_TENSORFLOW = error(
    "tpu-tensorflow",
    "TensorFlow does not train on TPU v6e and 7x: JAX and PyTorch do.",
    "2.2, 7 (g); training/training-with-tpu-vm",
)
TPU_PYTORCH = warning(
    "tpu-pytorch",
    "PyTorch trains on TPU v5e, v6e and 7x; for v2 and v3 no version is named.",
    "2.2, 7 (g); training/training-with-tpu-vm",
)
MIRRORED = error(
    "mirrored-strategy",
    "Several machines train with MultiWorkerMirroredStrategy: MirroredStrategy knows one machine only.",
    "1.3; study guides; training/distributed-training",
)
PARAMETER_SERVERS = error(
    "parameter-server-pool",
    "ParameterServerStrategy has parameter servers in pool 2.",
    "0 rule 1; study guides; training/distributed-training",
)
TORCHRUN = warning(
    "torchrun-single-node",
    "torchrun on several machines is told of them: without --nnodes each machine trains alone.",
    "3, 7 (a); Snapchat/GiGL#217",
)

_NAMES = {
    "tensorflow": {"tf", "tensorflow", "keras"},
    "pytorch": {"torch", "pytorch", "torchrun", "torch.distributed.run", "torch_xla"},
    "jax": {"jax", "flax"},
}
NO_TENSORFLOW = ("ct6e", "tpu7x")
OLD_TPUS = ("TPU_V2", "TPU_V3")
_MIRRORED = re.compile(
    r"(?<!multiworker)(?<!multi_worker_)(?<!multi-worker-)mirror(ed)?[-_]?strategy|strategy=mirror(ed)?$"
)
_SERVED = re.compile(r"parameter[-_]?server[-_]?strategy|strategy=(ps|parameter[-_]?server)$")
_SAID = re.compile(r"--framework=([a-z_]+)")


def frameworks(pool: PoolView) -> set[str]:
    """Frameworks that the image's name, the program or `--framework=NAME` speaks of."""
    name = re.split(r"[@:]", pool.image.rpartition("/")[2])[0]
    words = set(re.split(r"[-.]", name.lower()))
    for word in pool.words:
        words.add(word.rpartition("/")[2].lower())
        words.update(_SAID.findall(word.lower()))
    return {framework for framework, names in _NAMES.items() if words & names}


def on_tpus(job: JobView, context: Context) -> Iterator[Finding]:
    """The framework against the TPU's version."""
    for pool in job.pools:
        if not pool.is_tpu:
            continue
        where = pool.at(pool.task_name or "containerSpec", pool.image_field)
        found = frameworks(pool)
        family = pool.machine.family if pool.machine else ""
        if "tensorflow" in found and family in NO_TENSORFLOW:
            said = "TensorFlow is not supported on TPUs from v6e on"
            yield TPU_TENSORFLOW.at(where, said, "train with JAX or PyTorch, or on v5e")
        if "pytorch" in found and pool.accelerator in OLD_TPUS:
            said = f"no version of PyTorch is named for {pool.accelerator}; from v5e on, TPUs train it"
            yield TPU_PYTORCH.at(where, said, "take ct5lp-hightpu or ct6e-standard machines")


def strategies(job: JobView, context: Context) -> Iterator[Finding]:
    """TensorFlow's strategies against the pools."""
    serving = any(pool.index == 2 and not pool.is_reduction_server for pool in job.pools)
    for pool in job.workers:
        for field in ("command", "args"):
            for position, word in enumerate(pool.task.get(field, [])):
                where = pool.at(pool.task_name or "", field, position)
                if _MIRRORED.search(word.lower()) and job.worker_replicas > 1:
                    said = (
                        f"MirroredStrategy knows one machine: {job.worker_replicas} of them would train as many models"
                    )
                    yield MIRRORED.at(where, said, "use MultiWorkerMirroredStrategy, which reads TF_CONFIG")
                if _SERVED.search(word.lower()) and not serving:
                    said = "ParameterServerStrategy needs parameter servers, and there is no pool 2"
                    yield PARAMETER_SERVERS.at(
                        where, said, "add them as pool 2: machines with much memory, no accelerator"
                    )


def torchrun(job: JobView, context: Context) -> Iterator[Finding]:
    """torchrun's own idea of how many machines there are."""
    if job.worker_replicas < 2:
        return
    for pool in job.workers:
        words = pool.words
        starts = [index for index, word in enumerate(words) if word.rpartition("/")[2] == "torchrun"]
        if not starts and "torch.distributed.run" not in words:
            continue
        nodes = [word for word in words if word.startswith(("--nnodes", "--standalone"))]
        if not nodes or "--standalone" in nodes or "--nnodes=1" in nodes:
            field = "command" if pool.task.get("command") else "args"
            said = f"torchrun takes itself for the only machine, and there are {job.worker_replicas}"
            remedy = "start trainer.launch, or give --nnodes, --node-rank and --master-addr from CLUSTER_SPEC"
            yield TORCHRUN.at(pool.at(pool.task_name or "", field), said, remedy)


CHECKS: tuple[Check, ...] = (strategies,)
CLOUD_CHECKS: tuple[Check, ...] = (on_tpus, torchrun)
