"""What lines in the logs mean: the patterns that alerts and metrics look for, and nothing that needs the framework.

RE2, found anywhere in a line, without backslashes: Cloud Logging's filters would need them doubled. The contract with
the code that writes the lines is docs/formats.md, "Log lines that alerts look for".
"""

from typing import Literal

Event = Literal["run_finished", "snapshot_rejected"]
"""What pipeline steps say in structured lines."""

JOB_FAILED = (
    # Vertex AI, "Understand the training service": the text of a job's error (vertex-facts 6.3).
    "The replica .+ exited with a non-zero status of [0-9]+"
    "|Resources are insufficient in region: "
    "|The following quota metrics exceed quota limits: "
)
LOSS_DIVERGED = "trainer: the loss became (nan|-?inf) at step [0-9]+ with learning rate"
"""`trainer.train.Diverged`, as `trainer.command` prints it."""
OUT_OF_MEMORY = (
    # Vertex AI, same page; older texts write it with hyphens.
    "The replica .+ ran out[ -]of[ -]memory and exited"
    # PyTorch's exception, as Python prints what nothing caught; torch.cuda.… before 2.5.
    "|torch[.](cuda[.])?OutOfMemoryError: "
    # PyTorch on the CPU, NumPy, Python itself.
    "|DefaultCPUAllocator: (can't allocate|not enough) memory"
    "|_ArrayMemoryError: Unable to allocate "
    "|(?m:^MemoryError)"
)
SNAPSHOT_REJECTED = "overnight: .+: [0-9]+ of [0-9]+ checks failed [(]"
"""`overnight.labels.errors.SnapshotRejected`, as `overnight.cli.main` prints it."""
MODEL_PROMOTED = "^[a-z0-9][a-z0-9_-]*:[0-9]+ promoted: "
MODEL_REFUSED = "^[a-z0-9][a-z0-9_-]*:[0-9]+ refused: "
"""The first line of `overnight model promote`."""
TRAIN_LOSS = "^epoch [0-9]+/[0-9]+ step .* train loss ([0-9]+[.][0-9]+),"
VALIDATION_ACCURACY = "^epoch [0-9]+/[0-9]+ step .* accuracy ([0-9.]+) balanced "
"""The line after each evaluation (`trainer.finish`); the group is the number."""


def structured(event: Event, **fields: str) -> str:
    """A structured line as it looks where nothing has parsed it: canonical JSON on one line, keys sorted."""
    pairs = sorted({**fields, "event": event}.items())
    return '"overnight": ?[{]' + "".join(f'[^{{}}]*"{key}": ?"{value}"' for key, value in pairs)
