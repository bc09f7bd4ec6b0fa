"""Many processes, one training step: joining, and the sum of gradients.

Gradients are summed in fixed flat buckets of our own rather than by DistributedDataParallel. DDP lays
its buckets out anew after the first backward pass, so a resumed run would add floats in another order
than the run it continues; fixed buckets keep resume exact on any number of workers. The message also
carries the batch norms' statistics, the loss and the stop flag. A bucket starts on its way as soon as
its last gradient is there, as in DDP, so most of the time is hidden behind the backward pass.
"""

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor, nn

from trainer.errors import TrainerError

T = TypeVar("T")

JOIN_SECONDS = 45 * 60.0
"""Replicas of one Vertex AI job start unsynchronised, minutes apart (Snapchat/GiGL#348); TRAINER_JOIN_SECONDS, which
`trainer.launch --join-timeout` sets, overrules."""
STEP_TIMEOUT = timedelta(minutes=15)
BUCKET_BYTES = 25 << 20


class WorkerLost(TrainerError):
    """Another process of the run ended: this one cannot go on, a restarted run can."""

    exit_code = 75  # EX_TEMPFAIL of sysexits.h


class LeaderFailed(TrainerError):
    """Rank 0 met an error that it reports itself; this rank ends with the same exit code."""

    def __init__(self, sentence: str, exit_code: int) -> None:
        super().__init__(f"worker 0 stopped the run: {sentence}")
        self.exit_code = exit_code


@dataclass(frozen=True)
class Worker:
    """This process among those of the run."""

    rank: int
    world_size: int
    device: torch.device

    @property
    def leads(self) -> bool:
        """Whether this process writes the files."""
        return self.rank == 0


def choose_device(wanted: str, local_rank: int) -> torch.device:
    """`cpu`, `cuda:<local_rank>`, or for `auto` whichever is there. Raises TrainerError."""
    available = torch.cuda.is_available()
    if wanted == "cpu" or (wanted == "auto" and not available):
        return torch.device("cpu")
    if not available or local_rank >= torch.cuda.device_count():
        raise TrainerError(
            f"GPU {local_rank} was asked for and {torch.cuda.device_count()} are there",
            where="device",
            remedy="use device=auto, or a machine with more accelerators",
        )
    return torch.device("cuda", local_rank)


def join(wanted_device: str) -> Worker:
    """Become a worker as `trainer.launch` says in TRAINER_*; the only one where it says nothing."""
    rank = int(os.environ.get("TRAINER_RANK", "0"))
    world_size = int(os.environ.get("TRAINER_WORLD_SIZE", "1"))
    device = choose_device(wanted_device, int(os.environ.get("TRAINER_LOCAL_RANK", "0")))
    if device.type == "cuda":
        torch.cuda.set_device(device)
    if world_size > 1:
        _join_group(os.environ["TRAINER_MASTER"], rank, world_size, device)
    return Worker(rank, world_size, device)


def _join_group(master: str, rank: int, world_size: int, device: torch.device) -> None:
    host, _, port = master.rpartition(":")
    if host in ("127.0.0.1", "localhost"):
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    timeout = timedelta(seconds=float(os.environ.get("TRAINER_JOIN_SECONDS", JOIN_SECONDS)))
    try:
        store = dist.TCPStore(host, int(port), world_size, is_master=rank == 0, timeout=timeout)  # type: ignore[attr-defined]
        dist.init_process_group(
            "cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo",
            store=store,
            rank=rank,
            world_size=world_size,
            timeout=STEP_TIMEOUT,
        )
    except (RuntimeError, ValueError) as error:
        raise WorkerLost(
            f"the {world_size} workers did not come together ({_first_line(error)})",
            where=master,
            remedy="check that every replica runs and that the port is free",
        ) from None


def leave() -> None:
    """End the process group, if there is one."""
    if dist.is_initialized():
        dist.destroy_process_group()


def agree(worker: Worker, value: Any) -> Any:
    """Rank 0's small `value`, on every rank."""
    if worker.world_size == 1:
        return value
    box = [value]
    dist.broadcast_object_list(box, src=0, device=torch.device("cpu"))
    return box[0]


def on_leader(worker: Worker, action: Callable[[], T]) -> T:
    """The small result of `action`, which rank 0 alone does; its TrainerError is raised on every rank."""
    answer: tuple[T | None, str, int] = (None, "", 0)
    if worker.leads:
        try:
            answer = (action(), "", 0)
        except TrainerError as error:
            if worker.world_size > 1:
                agree(worker, (None, error.sentence, error.exit_code))
            raise
    value, sentence, exit_code = agree(worker, answer)
    if exit_code:
        raise LeaderFailed(sentence, exit_code)
    return value  # type: ignore[no-any-return]


def gather(worker: Worker, value: Any) -> list[Any]:
    """Every rank's `value` in rank order, on every rank."""
    if worker.world_size == 1:
        return [value]
    values: list[Any] = [None] * worker.world_size
    dist.all_gather_object(values, value)
    return values


def add_up(worker: Worker, tensor: Tensor) -> None:
    """Sum `tensor` over the ranks, in place."""
    if worker.world_size > 1:
        dist.all_reduce(tensor)


def lost(error: RuntimeError) -> WorkerLost | None:
    """The one-sentence error when `error` is a broken connection between workers, else None."""
    text = str(error)
    signs = ("Connection closed by peer", "Connection reset by peer", "gloo/transport", "NCCL", "Broken pipe")
    if isinstance(error, dist.DistError) or any(sign in text for sign in signs):
        return WorkerLost(
            f"another worker of this run went away ({_first_line(error)})",
            remedy="start the run again: it continues from the newest checkpoint",
        )
    return None


def _first_line(error: BaseException) -> str:
    return str(error).splitlines()[0][:200] if str(error) else type(error).__name__


class GradientSum:
    """The sum over workers of the gradients of `parameters`, which become views of flat buckets."""

    def __init__(self, parameters: Iterable[nn.Parameter], world_size: int, bucket_bytes: int = BUCKET_BYTES) -> None:
        self._world_size = world_size
        self._flats: list[Tensor] = []
        self._missing: list[int] = []
        self._bucket_sizes: list[int] = []
        self._works: list[dist.Work] = []
        self._started = 0
        self._armed = False
        self._parameters: list[nn.Parameter] = []
        self._hooks: list[Any] = []
        # Backward reaches the last layers first: their bucket can leave first.
        for group in _grouped([p for p in reversed(list(parameters)) if p.requires_grad], bucket_bytes):
            self._add_bucket(group)

    def _add_bucket(self, group: list[nn.Parameter]) -> None:
        index = len(self._flats)
        flat = torch.zeros(sum(p.numel() for p in group), dtype=group[0].dtype, device=group[0].device)
        offset = 0
        for parameter in group:
            # Same strides as the parameter (channels_last), or every optimizer step would transpose.
            parameter.grad = torch.as_strided(flat, parameter.size(), parameter.stride(), offset)
            offset += parameter.numel()
            if self._world_size > 1:
                hook = parameter.register_post_accumulate_grad_hook(self._on_gradient(index))  # type: ignore[no-untyped-call]
                self._hooks.append(hook)
        self._flats.append(flat)
        self._bucket_sizes.append(len(group))
        self._missing.append(len(group))
        self._parameters += group

    def _on_gradient(self, bucket: int) -> Any:
        def hook(_: Tensor) -> None:
            if self._armed:
                self._missing[bucket] -= 1
                self._start_ready()

        return hook

    def _start_ready(self) -> None:
        # In order, whatever order gradients come in: every rank must start the same bucket next.
        while self._started < len(self._flats) and self._missing[self._started] == 0:
            self._start_next()

    def _start_next(self) -> None:
        work = dist.all_reduce(self._flats[self._started], async_op=True)
        assert work is not None
        self._works.append(work)
        self._started += 1

    def clear(self) -> None:
        """Zero all gradients, before the first micro-batch of a step."""
        torch._foreach_zero_(self._flats)
        self._missing = list(self._bucket_sizes)
        self._started = 0
        self._armed = False

    def arm(self) -> None:
        """The next backward pass is the step's last: send each bucket as it is ready."""
        self._armed = True

    def finish(self) -> None:
        """Wait until every gradient is the sum over all workers."""
        if self._world_size == 1:
            return
        while self._started < len(self._flats):
            self._start_next()
        for work in self._works:
            work.wait()
        self._works.clear()

    def close(self) -> None:
        """Let go of the parameters."""
        for hook in self._hooks:
            hook.remove()
        for parameter in self._parameters:
            parameter.grad = None


def _grouped(parameters: list[nn.Parameter], bucket_bytes: int) -> list[list[nn.Parameter]]:
    groups: list[list[nn.Parameter]] = []
    size = 0
    for parameter in parameters:
        length = parameter.numel() * parameter.element_size()
        if not groups or size + length > bucket_bytes or groups[-1][0].dtype != parameter.dtype:
            groups.append([])
            size = 0
        groups[-1].append(parameter)
        size += length
    return groups
