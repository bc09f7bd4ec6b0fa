"""The arrows between folders that docs/architecture.md draws, read from the sources."""

import ast
import re
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def imported(path: Path) -> Iterator[str]:
    """Dotted names that a file imports, also inside functions."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def code(path: Path) -> str:
    """The source without docstrings and comments."""
    return ast.unparse(_without_docstrings(ast.parse(path.read_text())))


def _without_docstrings(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            kept = [line for line in body if not (isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant))]
            node.body = kept or [ast.Pass()]  # type: ignore[attr-defined]
    return tree


def infra_sources() -> list[Path]:
    return [path for path in (ROOT / "infra").rglob("*.py") if "node_modules" not in path.parts]


def part(name: str) -> str:
    """`overnight.labels.checks.rows` belongs to `labels`."""
    return name.split(".")[1] if "." in name else ""


def arrows() -> dict[str, set[str]]:
    """Each part of `overnight`, and the parts that it imports."""
    found: dict[str, set[str]] = {}
    for path in sorted((ROOT / "overnight").rglob("*.py")):
        own = part(".".join(path.relative_to(ROOT).with_suffix("").parts))
        uses = {part(name) for name in imported(path) if name.startswith("overnight.")}
        found.setdefault(own, set()).update(uses - {own, ""})
    return found


@pytest.mark.parametrize(("package", "other"), [("overnight", "trainer"), ("trainer/src", "overnight")])
def test_the_trainer_and_the_control_plane_share_files_not_code(package: str, other: str) -> None:
    for path in (ROOT / package).rglob("*.py"):
        assert not [name for name in imported(path) if name.split(".")[0] == other], path


def test_nothing_but_the_command_imports_the_command() -> None:
    assert [name for name, uses in arrows().items() if "cli" in uses and name not in ("cli", "__main__")] == []


def test_arrows_between_parts_never_form_a_circle() -> None:
    order = list(TopologicalSorter(arrows()).static_order())
    assert order.index("config") < order.index("labels") < order.index("cli")


def test_vertex_local_knows_nothing_of_the_rest() -> None:
    """Anyone's Vertex AI client will use it: it must stand on its own."""
    assert arrows()["vertex_local"] <= {"errors", "files"}


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("forms", {"errors"}),
        ("policies", {"errors"}),
        ("images", {"config", "errors", "files", "wording"}),
        ("builds", {"config", "errors", "files", "forms", "images", "policies", "wording"}),
    ],
)
def test_what_other_teams_may_take_alone_knows_little_else(name: str, known: set[str]) -> None:
    """Build files and images of any repository are judged by these, without jobs, labels or models."""
    assert arrows()[name] <= known


def test_the_stacks_know_the_environment_and_nothing_else_of_the_control_plane() -> None:
    for path in infra_sources():
        uses = {part(name) for name in imported(path) if name.startswith("overnight.")}
        assert uses <= {"config", "errors", "files", "machines", "policies"}, path


def test_the_control_plane_does_not_import_the_stacks() -> None:
    for path in (ROOT / "overnight").rglob("*.py"):
        assert not [name for name in imported(path) if name.split(".")[0] == "infra"], path


def test_one_file_names_the_framework_and_its_bindings() -> None:
    """Moving to the framework's fork, or to its next one, is a change of one file."""
    naming = [path for path in infra_sources() if re.search("import cdkt|cdkt[fn]_|cdkt[fn][.](?!out)", code(path))]
    assert [path.name for path in naming] == ["cdk.py"]
