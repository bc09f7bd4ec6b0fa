import io

from rich.console import Console

from overnight.lineage.render import tree_of
from overnight.lineage.tree import Node


def printed(node: Node) -> str:
    console = Console(file=io.StringIO(), width=200)
    console.print(tree_of(node))
    return console.file.getvalue()


def test_sound_tars_beyond_the_first_are_counted_and_broken_ones_always_shown():
    tars = [Node("tar", f"{number:04d}.tar") for number in range(30)]
    tars[25] = Node("tar", "0025.tar", problems=("0025.tar is missing.",))
    text = printed(Node("shard set", "0001", children=tuple(tars)))
    assert "0007.tar" in text
    assert "0008.tar" not in text
    assert "✗ tar 0025.tar" in text
    assert "0025.tar is missing." in text
    assert "and 21 more tars" in text


def test_digests_are_shortened_and_long_values_cut():
    text = printed(Node("file", "x", (("sha256", "a" * 64), ("reason", "r" * 70))))
    assert f"sha256 {'a' * 12}  reason {'r' * 59}…" in text


def test_names_are_never_read_as_markup():
    assert "[red]x[/red]" in printed(Node("run", "[red]x[/red]", problems=("[bold]gone[/bold]",)))
