"""Every command on a page about jobs prints what the page says it prints; OVERNIGHT_ACCEPT=1 rewrites the pages."""

import os
import re
import shlex
import sys
from pathlib import Path

import pytest

from job_support import ROOT
from overnight.cli import main
from overnight.jobs.explain import known_errors_table

PAGES = sorted((ROOT / "docs" / "jobs").glob("*.md"))
TABLE = ROOT / "docs" / "known-errors.md"
BLOCK = re.compile(r"```console\n\$ (?P<command>.+)\n(?P<output>(?:.*\n)*?)```\n")


def printed(command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> str:
    """Standard output of `overnight …`, typed in the repository."""
    for name in ("OVERNIGHT_CONFIG", "OVERNIGHT_NOW", "OVERNIGHT_TENSORBOARD", "OVERNIGHT_VERTEX_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "argv", shlex.split(command))
    capsys.readouterr()
    with pytest.raises(SystemExit) as end:
        main.run()
    output = capsys.readouterr()
    assert not end.value.code, output.err
    return output.out


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_shows_what_its_commands_print(page, capsys, monkeypatch):
    text = page.read_text()
    assert BLOCK.search(text)

    def again(block: re.Match[str]) -> str:
        return f"```console\n$ {block['command']}\n{printed(block['command'], capsys, monkeypatch)}```\n"

    now = BLOCK.sub(again, text)
    if os.environ.get("OVERNIGHT_ACCEPT") == "1":
        page.write_text(now)
    assert now == page.read_text()


def test_every_shipped_spec_has_a_page_and_every_page_a_spec():
    specs = {path.stem for path in (ROOT / "jobs").glob("*.yaml")}
    assert {page.stem for page in PAGES} == specs
    assert all(f"jobs/{page.stem}.yaml" in page.read_text() for page in PAGES)


def test_the_pages_links_lead_somewhere():
    for page in [*PAGES, TABLE]:
        for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / link).exists(), f"{page.name}: {link}"


def test_the_table_of_known_errors_is_the_one_that_is_searched():
    head = TABLE.read_text().partition("| name |")[0]
    now = f"{head}{known_errors_table()}\n"
    if os.environ.get("OVERNIGHT_ACCEPT") == "1":
        TABLE.write_text(now)
    assert now == TABLE.read_text()


def test_jobs_md_names_every_command_and_option_there_is():
    import typer

    text = (Path(ROOT) / "docs" / "jobs.md").read_text()
    group = typer.main.get_command(main.app).commands["job"]
    for name, command in group.commands.items():
        assert f"overnight job {name}" in text or name == "rules"
        for option in command.params if name not in ("rules", "check") else []:
            long = [word for word in option.opts if word.startswith("--")]
            assert not long or any(word in text for word in long), f"{name} {long}"
