"""What the build runs in the finished image, and anybody in a container that misbehaves.

    python -m trainer.selfcheck [--allow-root]

It needs no network, no data and no folder but a temporary one. One line a check; the first that fails ends it with one
sentence and exit code 2.
"""

import argparse
import io
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from trainer import image
from trainer.command import fail_in_one_sentence
from trainer.errors import TrainerError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SIZE = 32
EXACT_BOUND = 0.05
"""Grey levels that an exact sample may differ from the plain reference (tests/trainer/data/test_reference.py)."""
STEPS = 8

Check = Callable[[], str]
"""Returns what was found, in a few words; raises TrainerError."""


class SelfCheckFailed(TrainerError):
    """Something that every training needs does not work here."""


def main(arguments: Sequence[str]) -> int:
    """Run every check in turn; 0 when all pass. Raises TrainerError."""
    parser = argparse.ArgumentParser(prog="python -m trainer.selfcheck", description="Check that training works here.")
    parser.add_argument("--allow-root", action="store_true", help="pass although this is root")
    options = parser.parse_args(arguments)
    begun = time.monotonic()
    with _temporary_folder() as name:
        folder = Path(name)
        # PyTorch makes this folder as soon as an optimizer is made.
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(folder / "inductor")
        checks: dict[str, Check] = {
            "image": _image,
            "user": partial(_user, os.geteuid(), options.allow_root),
            "extension": _extension,
            "decoding": partial(_decoding, folder),
            "training": _training,
            "files": partial(_files, folder),
        }
        for title, check in checks.items():
            print(f"{title}: {_passed(title, check)}", flush=True)
    print(f"{len(checks)} checks passed in {time.monotonic() - begun:.1f} s", flush=True)
    return 0


def _passed(title: str, check: Check) -> str:
    """What the check found; a library that is missing or broken is a sentence too. Raises TrainerError."""
    try:
        return check()
    except (ImportError, RuntimeError) as error:
        said = " ".join(str(error).split()) or type(error).__name__
        raise SelfCheckFailed(said, where=title, remedy="build the image again from its lock") from None


def _temporary_folder() -> "tempfile.TemporaryDirectory[str]":
    try:
        return tempfile.TemporaryDirectory(prefix="selfcheck-")
    except OSError as error:
        raise SelfCheckFailed(
            f"no temporary folder can be written ({error.strerror})",
            where="files",
            remedy="mount one: --tmpfs /tmp, or set TMPDIR",
        ) from None


def _image() -> str:
    """Before the extension is loaded: on a CPU that lacks an instruction, that would kill this process."""
    contents = image.read_contents(image.CONTENTS)
    if contents is None:
        return f"none of ours, there is no {image.CONTENTS}"
    image.check_cpu(contents.cpu, image.cpu_flags())
    return f"{contents.name} of commit {contents.revision}, for {contents.cpu}, which this CPU has"


def _user(uid: int, allow_root: bool) -> str:
    if uid == 0 and not allow_root:
        raise SelfCheckFailed(
            "this runs as root", where="user", remedy="run the image as its own user, or allow it by --allow-root"
        )
    return "root, as allowed" if uid == 0 else f"{uid}, not root"


def _extension() -> str:
    try:
        from trainer import _native
    except ImportError as error:
        raise SelfCheckFailed(
            f"the native extension does not load ({error})",
            where="extension",
            remedy="build the image again, and see that its libraries are in the runtime stage",
        ) from None
    return f"loaded, {len(_native.STATUS_NAMES)} statuses"


def _decoding(folder: Path) -> str:
    """One picture through the threads of the extension, held against the reference in numpy and Pillow."""
    import numpy as np

    from trainer.data.reference import reference_sample

    content, box = _picture(), (3.0, 5.0, 83.0, 61.0)
    found = _decoded(folder / "picture.jpg", content, box)
    error = float(np.abs(found * 255 - reference_sample(content, box, SIZE)).max())
    if not error <= EXACT_BOUND:
        raise SelfCheckFailed(
            f"the extension differs from the reference by {error:.3g} grey levels, at most {EXACT_BOUND} are right",
            where="decoding",
            remedy="build the image again with the libjpeg-turbo that the tests ran with",
        )
    return f"as the reference, to {error:.5f} of 255 grey levels"


def _picture() -> bytes:
    """A JPEG of 96 x 64 pixels in which everything is smooth but one edge."""
    import numpy as np
    from PIL import Image

    down, across = np.mgrid[0:64, 0:96]
    channels = (across * 2.5, down * 3.5, np.where(across > down, 200, 40))
    pixels = np.stack(channels, axis=-1).astype(np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "JPEG", quality=90)
    return buffer.getvalue()


def _decoded(path: Path, content: bytes, box: tuple[float, float, float, float]) -> "NDArray[np.float32]":
    """The sample as the extension makes it, float32 [3, SIZE, SIZE] in 0 to 1."""
    import numpy as np

    from trainer.data import native

    path.write_bytes(content)
    places = native.Places(np.zeros(1, np.int32), np.zeros(1, np.int64), np.array([len(content)]))
    cuts = native.Cuts(np.zeros((1, 2), np.int32), np.array([box]), np.zeros(1, np.uint8))
    out, status = np.empty((1, 3, SIZE, SIZE), np.float32), np.full(1, 255, np.uint8)
    pool = native.open_pool(2)
    try:
        native.wait(native.submit(pool, native.open_reader([path]), places, cuts, out, status, exact=True))
    finally:
        pool.close()
    if status[0] != 0:
        raise SelfCheckFailed(
            f"a sound JPEG is refused as {native.STATUSES[status[0]]!r}",
            where="decoding",
            remedy="build the image again with the libjpeg-turbo that the tests ran with",
        )
    sample: NDArray[np.float32] = out[0]
    return sample


def _training() -> str:
    """Forward, backward and optimizer on a small network that must learn two classes by heart."""
    import torch

    from trainer.models import resnet9
    from trainer.optimizer import OptimizerConfig, build_optimizer, summed_loss

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.manual_seed(0)
    images = torch.randn(8, 3, SIZE, SIZE, device=device)
    class_ids = torch.arange(8, device=device) % 2
    model = resnet9(2, width=4).to(device)
    optimizer = build_optimizer(model, OptimizerConfig(name="adamw", learning_rate=0.01, weight_decay=0.0))
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = summed_loss(model(images), class_ids, 0.0, None) / len(images)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        losses.append(loss.item())
    if not losses[-1] < losses[0]:
        raise SelfCheckFailed(
            f"{STEPS} steps took the loss from {losses[0]:.3f} to {losses[-1]:.3f}",
            where="training",
            remedy="look for another PyTorch in the image than the lock names",
        )
    return f"PyTorch {torch.__version__} on {device.type}, loss {losses[0]:.3f} to {losses[-1]:.3f} in {STEPS} steps"


def _files(folder: Path) -> str:
    """What a run writes with: a temporary name, fsync, rename."""
    from trainer.files import canonical_json, read_json, write_atomically

    path = folder / "run" / "result.json"
    write_atomically(path, canonical_json({"format": "overnight.selfcheck/1"}))
    read_json(path, "overnight.selfcheck/1")
    return f"written and renamed in {folder.parent}"


if __name__ == "__main__":
    sys.exit(fail_in_one_sentence(main, sys.argv[1:]))
