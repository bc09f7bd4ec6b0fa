"""docs/configuration.md shows sentences that were really said."""

import re
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from config_edits import TODAY, put, write
from infra.__main__ import main

PAGE = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"^`([^:`]+): (.+)`\n\n```\n(.+)\n```$", PAGE, flags=re.MULTILINE)


def test_the_page_shows_some() -> None:
    assert len(SHOWN) == PAGE.count("\ninfra: ") >= 8


@pytest.mark.parametrize(("field", "value", "sentence"), SHOWN, ids=[field for field, *_ in SHOWN])
def test_a_shown_mistake_is_answered_as_shown(
    field: str,
    value: str,
    sentence: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    config = write(Path("config/prod.yaml"), put(field, YAML(typ="safe", pure=True).load(value)))
    assert main(["--config", str(config), "--check", "--now", TODAY]) == 2
    assert capsys.readouterr().err == f"{sentence}\n"
