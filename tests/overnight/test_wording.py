import pytest

from overnight import wording


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (wording.percent(0.8731), "87.3 %"),
        (wording.percent(None), "–"),
        (wording.points(-0.0294), "−2.9"),
        (wording.points(-0.0001), "0.0"),
        (wording.points(0.004), "+0.4"),
        (wording.signed(-1200), "−1,200"),
        (wording.signed(0), "0"),
        (wording.counted(1, "class", "classes"), "1 class"),
        (wording.counted(1200, "class", "classes"), "1,200 classes"),
        (wording.duration(9.64), "9.6 s"),
        (wording.duration(125.3), "2 min 05 s"),
        (wording.duration(3599.7), "1 h 00 min"),
        (wording.duration(7260), "2 h 01 min"),
        (wording.memory(8 * 2**30), "8.0 GiB"),
        (wording.memory(0), "0 bytes"),
        (wording.compact(0.0005), "0.0005"),
        (wording.compact(11520), "11,520"),
    ],
)
def test_numbers_are_written_for_people(written, expected):
    assert written == expected
