"""A root with the first week's labels and shards."""

from pathlib import Path

import pytest

from label_house import House, first_week


@pytest.fixture
def house(tmp_path: Path) -> House:
    """Ready for its first snapshot."""
    made = House(tmp_path / "house")
    week = first_week()
    made.write_labels(week.rows)
    made.write_shards(week.images)
    return made
