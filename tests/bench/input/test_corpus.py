import io
from pathlib import Path

import pytest
from PIL import Image

from bench.input.corpus import CORPORA, picture
from jpeg_files import photograph


@pytest.fixture
def photographs(tmp_path: Path) -> list[Path]:
    for number in range(2):
        Image.fromarray(photograph(number, 900, 700)).save(tmp_path / f"{number}.png")
    return sorted(tmp_path.glob("*.png"))


@pytest.mark.parametrize("name", ["s", "h", "i"])
def test_a_picture_is_a_function_of_its_number(name: str, photographs: list[Path]) -> None:
    made = [picture(CORPORA[name], number, photographs) for number in (0, 0, 1)]
    assert made[0] == made[1] != made[2]


def test_pictures_have_about_the_corpus_size(photographs: list[Path]) -> None:
    for number in range(6):
        sides = sorted(Image.open(io.BytesIO(picture(CORPORA["s"], number, photographs))).size)
        assert 330 <= sides[0] <= 394
        assert 450 <= sides[1] <= 525


def test_noise_makes_the_same_picture_denser(photographs: list[Path]) -> None:
    plain, noisy = (picture(CORPORA[name], 3, photographs) for name in ("h", "i"))
    assert Image.open(io.BytesIO(plain)).size == Image.open(io.BytesIO(noisy)).size
    assert len(noisy) > 1.2 * len(plain)
