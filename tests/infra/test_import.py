"""Objects that exist already, taken over by the ids of docs/infra-import.md: the plan then changes nothing."""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from terraform_house import STACKS, Project, Snapshot

pytestmark = pytest.mark.area("import")

PAGE = Path(__file__).parents[2] / "docs" / "infra-import.md"
ROW = re.compile(r"^\| `(?P<address>\S+)` \| (?P<format>`[^|]+`|none) \| (?P<example>`[^|]+`|-) \|$", re.MULTILINE)


@dataclass(frozen=True)
class Row:
    """A line of the page's table; a format of None is a resource that cannot be imported."""

    address: str
    format: str | None
    example: str


def rows() -> dict[str, Row]:
    """The page's lines by resource type."""
    found = {}
    for line in ROW.finditer(PAGE.read_text(encoding="utf-8")):
        text = None if line["format"] == "none" else line["format"].strip("`")
        kind = line["address"].split(".")[0]
        assert kind not in found, f"{kind} stands twice in {PAGE.name}"
        found[kind] = Row(line["address"], text, line["example"].strip("`"))
    return found


def identifier(row: Row, attributes: Mapping[str, Any]) -> str | None:
    """The id that the page's format gives for one resource."""
    if row.format is None:
        return None
    named = {**attributes, **{name: last(attributes.get(name)) for name in ("repository", "subscription", "secret_id")}}
    condition = attributes.get("condition") if "member" in attributes else None
    return row.format.format_map(named) + (f" {condition[0]['title']}" if condition else "")


def last(text: str | None) -> str:
    """A name out of what may be a full one."""
    return (text or "").rsplit("/", 1)[-1]


@pytest.fixture
def scheduled(project_of: Callable[[str], Project], before_apply: dict[str, Snapshot]) -> Project:
    """The stacks that start pipelines with Cloud Scheduler, the training stack applied."""
    project = project_of("cloud-scheduler")
    before_apply["training"].restore(project)
    project.hurry()
    project["training"].apply().expect(0)
    return project


def test_the_page_has_a_line_for_every_kind_of_resource(scheduled: Project, after_apply: Snapshot) -> None:
    assert set(rows()) == set(after_apply.objects) | set(scheduled.objects)


def test_the_pages_examples_are_those_of_the_example_environment(
    scheduled: Project, project_of: Callable[[str], Project], after_apply: Snapshot
) -> None:
    example = project_of("example")
    objects = dict(scheduled["training"].objects)
    after_apply.restore(example)
    objects |= {address: found for stack in STACKS for address, found in example[stack].objects.items()}
    wanted = {row.address: identifier(row, objects[row.address]) or "-" for row in rows().values()}
    if os.environ.get("OVERNIGHT_ACCEPT") == "1":
        accept(wanted)
    assert {row.address: row.example for row in rows().values()} == wanted


def accept(wanted: Mapping[str, str]) -> None:
    """Write the examples into the page."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines):
        first, *rest = line.split(" | ")
        if (address := first.strip("|` ")) in wanted and len(rest) == 2:
            example = wanted[address]
            lines[number] = f"{first} | {rest[0]} | {example if example == '-' else f'`{example}`'} |"
    PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.mark.parametrize("stack", STACKS)
def test_every_resource_is_imported_without_a_change(applied: Project, stack: str) -> None:
    import_everything(applied, stack)


def test_the_jobs_of_cloud_scheduler_are_imported_without_a_change(scheduled: Project) -> None:
    import_everything(scheduled, "training")


def import_everything(project: Project, stack: str) -> None:
    workspace, table = project[stack], rows()
    ids = {address: identifier(table[address.split(".")[0]], found) for address, found in workspace.objects.items()}
    before = project.objects
    workspace.state_file.unlink()
    workspace.write("imports.tf.json", {"import": [{"to": each, "id": id_} for each, id_ in ids.items() if id_]})
    try:
        assert workspace.plan().expect(2).changes == {each: "import" if id_ else "create" for each, id_ in ids.items()}
        workspace.apply("plan.bin").expect(0)
    finally:
        (workspace.folder / "imports.tf.json").unlink()
    assert project.objects == before
    assert workspace.plan().expect(0).changes == {}


def test_an_object_that_exists_and_is_not_imported_stops_the_apply(applied: Project) -> None:
    applied["artifacts"].state_file.unlink()
    outcome = applied["artifacts"].apply("-target=google_storage_bucket.shards_bucket").expect(1)
    assert "acme-vision-prod-example-logs already exists" in outcome.message


def test_one_object_is_imported_by_the_command(applied: Project) -> None:
    workspace = applied["artifacts"]
    bucket = rows()["google_storage_bucket"]
    workspace.state_file.unlink()
    workspace.import_(bucket.address, bucket.example).expect(0)
    assert set(workspace.objects) == {bucket.address}
