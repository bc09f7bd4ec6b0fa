"""One training step: micro-batches, the sum over workers, the optimizer. The same on any number of workers."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from trainer import ema
from trainer.config import RunConfig
from trainer.distributed import GradientSum, Worker, add_up
from trainer.optimizer import summed_loss
from trainer.profile import Profile
from trainer.state import RunState

_PRECISIONS = {"none": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


@dataclass(frozen=True)
class StepOutcome:
    """What a step tells the loop: the global batch's mean loss, and whether any worker wants to stop."""

    loss: float
    stop: bool


class TrainStep:
    """Turns a batch into a change of the weights.

    A global batch is cut into micro-batches at fixed positions, whatever the number of workers. Gradients
    are summed over them and over the workers; batch norms' running statistics are averaged likewise.
    """

    def __init__(
        self,
        config: RunConfig,
        state: RunState,
        worker: Worker,
        weights: Tensor | None,
        profile: Profile,
        frozen: bool,
    ) -> None:
        self.frozen = frozen
        self._config = config
        self._state = state
        self._worker = worker
        self._weights = None if weights is None else weights.to(worker.device)
        self._profile = profile
        self._gradients = GradientSum(state.model.parameters(), worker.world_size)
        self._buffers = BufferMean(state.model)

    def run(self, images: Tensor, class_ids: Tensor, rate: float, stop: bool) -> StepOutcome:
        """Train on this worker's share: normalised `images` [b, 3, s, s] and `class_ids` [b], on the device."""
        step = self._state.progress.step
        for group in self._state.optimizer.param_groups:
            group["lr"] = rate
        with self._profile.phase("forward_backward"):
            loss = self._forward_backward(images, class_ids, step)
        with self._profile.phase("all_reduce"):
            self._gradients.finish()
            outcome = self._share(loss, stop)
        with self._profile.phase("optimizer"):
            self._update(step)
        return outcome

    def close(self) -> None:
        """Let go of the gradients, before another TrainStep takes over (frozen layers thaw)."""
        self._gradients.close()

    def _forward_backward(self, images: Tensor, class_ids: Tensor, step: int) -> Tensor:
        config, total = self._config, torch.zeros((), device=images.device)
        size = micro_batch_size(config, self._worker.world_size)
        first = self._worker.rank * len(images)
        starts = range(0, len(images), size)
        self._gradients.clear()
        self._buffers.begin()
        for start in starts:
            if start == starts[-1]:
                self._gradients.arm()
            # Dropout depends on the step and the place in the global batch alone.
            torch.manual_seed(mixed_seed(config.seed, step, first + start))
            loss = self._loss(images[start : start + size], class_ids[start : start + size])
            self._state.scaler.scale(loss).backward()  # type: ignore[no-untyped-call]
            self._buffers.collect()
            total += loss.detach()
        return total

    def _loss(self, images: Tensor, class_ids: Tensor) -> Tensor:
        precision = self._config.compute.precision
        with torch.autocast(images.device.type, dtype=_PRECISIONS[precision], enabled=precision != "none"):
            logits = self._state.model(images)
        smoothing = self._config.loss.label_smoothing
        return summed_loss(logits, class_ids, smoothing, self._weights) / self._config.batch_size

    def _share(self, loss: Tensor, stop: bool) -> StepOutcome:
        stop_flag = torch.tensor(float(stop), device=loss.device)
        message = torch.cat([torch.stack([loss, stop_flag]), *self._buffers.message()])
        add_up(self._worker, message)
        self._buffers.end(message[2:], self._worker.world_size)
        total, stops = message[:2].tolist()
        return StepOutcome(total, stops > 0)

    def _update(self, step: int) -> None:
        config, state = self._config, self._state
        if config.optimizer.clip_norm > 0:
            state.scaler.unscale_(state.optimizer)
            nn.utils.clip_grad_norm_(state.model.parameters(), config.optimizer.clip_norm)
        state.scaler.step(state.optimizer)
        state.scaler.update()
        if state.average is not None:
            ema.update(state.average, state.model, config.ema.decay, step)


class BufferMean:
    """Running statistics of a model: each micro-batch updates them from the step's beginning, the mean stays.

    Their updates are linear in the batch's statistics, so this is one update with the mean of the
    statistics: the same on any number of workers. Integer buffers take the first micro-batch's update.
    """

    def __init__(self, model: nn.Module) -> None:
        self._floats = [buffer for buffer in model.buffers() if buffer.is_floating_point()]
        self._integers = [buffer for buffer in model.buffers() if not buffer.is_floating_point()]
        self._before: list[Tensor] = []
        self._sums: list[Tensor] = []
        self._integers_after: list[Tensor] = []
        self._collected = 0

    def begin(self) -> None:
        """Remember the step's beginning."""
        self._before = [buffer.clone() for buffer in self._floats]
        self._sums = []
        self._collected = 0

    @torch.no_grad()
    def collect(self) -> None:
        """Take a micro-batch's update and go back to the step's beginning."""
        if self._collected == 0:
            self._sums = [buffer.clone() for buffer in self._floats]
            self._integers_after = [buffer.clone() for buffer in self._integers]
        elif self._floats:
            torch._foreach_add_(self._sums, self._floats)
        if self._floats:
            torch._foreach_copy_(self._floats, self._before)
        self._collected += 1

    def message(self) -> list[Tensor]:
        """The mean over this worker's micro-batches, flat."""
        return [(total / self._collected).float().flatten() for total in self._sums]

    @torch.no_grad()
    def end(self, summed: Tensor, world_size: int) -> None:
        """Take `summed`, the message added up over the workers, as the new statistics."""
        offset = 0
        for buffer in self._floats:
            part = summed[offset : offset + buffer.numel()]
            buffer.copy_((part / world_size).view_as(buffer))
            offset += buffer.numel()
        for buffer, after in zip(self._integers, self._integers_after, strict=True):
            buffer.copy_(after)


def micro_batch_size(config: RunConfig, world_size: int) -> int:
    """Samples of one forward pass: as configured, else a worker's whole share."""
    return config.micro_batch_size or config.batch_size // world_size


def mixed_seed(*numbers: int) -> int:
    """A 63-bit seed from several numbers, by splitmix64 steps."""
    value = 0
    for number in numbers:
        value = (value + number + 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF
        value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & 0xFFFFFFFFFFFFFFFF
        value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & 0xFFFFFFFFFFFFFFFF
        value ^= value >> 31
    return value >> 1


def freeze_backbone(model: nn.Module, head: str, frozen: bool) -> None:
    """Let gradients reach only the module `head` (frozen), or all; batch norms of a frozen backbone evaluate."""
    model.train()
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(not frozen or name.startswith(f"{head}."))
    if not frozen:
        return
    for module_name, module in model.named_modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm) and not module_name.startswith(head):
            module.eval()


def normalised(images: Tensor, mean: Any, std: Any, channels_last: bool) -> Tensor:
    """`images` [b, 3, h, w] in 0..255, on the device, to float32, minus `mean`, over `std` (both for 0..1)."""
    shift = torch.tensor(mean, device=images.device).view(1, 3, 1, 1) * 255
    scale = 1 / (torch.tensor(std, device=images.device).view(1, 3, 1, 1) * 255)
    layout = torch.channels_last if channels_last else torch.contiguous_format
    return images.to(torch.float32, memory_format=layout).sub_(shift).mul_(scale)
