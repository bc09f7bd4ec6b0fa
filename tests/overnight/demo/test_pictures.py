"""The demo's picture sets: grouping, labels, and archives read without trusting them."""

import gzip
import io
import json
import pickle
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from overnight.demo.pictures import animals, emoji, emoji_group, write_jpeg


@pytest.mark.parametrize(
    "variants",
    [
        ("\U0001f44b", "\U0001f44b\U0001f3fb", "\U0001f44b\U0001f3ff"),
        ("\U0001f469\u200d\U0001f680", "\U0001f468\U0001f3fd\u200d\U0001f680", "\U0001f9d1\u200d\U0001f680"),
        ("\U0001f6b4", "\U0001f6b4\U0001f3fc\u200d\u2640\ufe0f", "\U0001f6b4\u200d\u2642\ufe0f"),
        ("\u2764\ufe0f", "\u2764"),
    ],
)
def test_skin_tone_and_gender_variants_share_a_group(variants: tuple[str, ...]) -> None:
    assert len({emoji_group(text) for text in variants}) == 1


def test_different_emoji_have_different_groups() -> None:
    assert emoji_group("\U0001f44b") != emoji_group("\U0001f44d")


def packed(path: Path, files: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(f"package/{name}")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return path


def webp() -> bytes:
    data = io.BytesIO()
    Image.new("RGBA", (16, 16), (255, 0, 0, 0)).save(data, "WEBP", lossless=True)
    return data.getvalue()


def test_emoji_get_their_unicode_group_and_stand_on_white(tmp_path: Path) -> None:
    images = packed(
        tmp_path / "images.tgz",
        {"assets/1f44b-1f3fb.webp": webp(), "assets/0023-fe0f-20e3.webp": webp(), "assets/e000.webp": webp()},
    )
    names = packed(
        tmp_path / "names.tgz",
        {
            "data-by-emoji.json": json.dumps(
                {"\U0001f44b": {"group": "People & Body"}, "#\ufe0f\u20e3": {"group": "Symbols"}}
            ).encode()
        },
    )
    found = list(emoji(images, names))
    assert [(picture.name, picture.label) for picture in found] == [
        ("0023-fe0f-20e3", "symbols"),
        ("1f44b-1f3fb", "people-body"),
    ]
    write_jpeg(found[1], tmp_path / "out.jpg")
    with Image.open(tmp_path / "out.jpg") as image:
        assert (image.mode, image.size) == ("RGB", (16, 16))
        assert image.getpixel((8, 8)) == (255, 255, 255)


def wheel(path: Path, data: object, label: object) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for kind, value in (("data", data), ("label", label)):
            archive.writestr(f"animal_mnist/animal_{kind}_version_3.gz", gzip.compress(pickle.dumps(value)))
    return path


def test_animals_are_read_as_arrays(tmp_path: Path) -> None:
    path = wheel(tmp_path / "w.whl", np.zeros((4, 28, 28), np.uint8), np.array([0, 1, 2, 9]))
    assert [picture.label for picture in animals(path)] == ["bear", "zebra"]


def test_a_pickle_that_would_run_code_is_refused(tmp_path: Path) -> None:
    class Harmful:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return Path, ("somewhere",)

    with pytest.raises(pickle.UnpicklingError, match="not allowed"):
        list(animals(wheel(tmp_path / "w.whl", Harmful(), np.array([0]))))
