import json

import pytest
from typer.testing import CliRunner

from overnight.cli.main import app
from overnight.errors import OvernightError

FIRST = "20260302-020000-aaaaaaaa"
SECOND = "20260309-020000-bbbbbbbb"


@pytest.fixture
def overnight(root):
    """Run `overnight …` on the root; errors a user can cause come out as they are raised."""

    def call(*arguments, code=0, now="2026-03-02T03:00:00Z"):
        environment = {"OVERNIGHT_CONFIG": str(root.config), "OVERNIGHT_NOW": now}
        result = CliRunner().invoke(app, ["model", *arguments], env=environment, terminal_width=200)
        if isinstance(result.exception, OvernightError):
            raise result.exception
        assert result.exit_code == code, result.output
        return result

    return call


@pytest.fixture
def refused(root, overnight):
    """Version 1 is champion, version 2 was refused."""
    snapshot = root.snapshot()
    first = root.evaluated_run(FIRST, snapshot, accuracy=0.95)
    second = root.evaluated_run(SECOND, snapshot, accuracy=0.8)
    root.evaluate(first, snapshot, accuracy=0.95, cache=second)
    overnight("promote", FIRST)
    return overnight("promote", SECOND, code=3, now="2026-03-09T03:00:00Z")


def test_promote_prints_the_reason_and_every_criterion(root, overnight):
    root.evaluated_run(FIRST, root.snapshot(), accuracy=0.9)
    result = overnight("promote", FIRST)
    lines = result.stdout.splitlines()
    assert lines[0].startswith("demo:1 promoted: Accuracy ")
    assert [line.split()[0] for line in lines[1:]] == ["pass"] * 4
    assert result.stderr == ""


def test_a_refusal_exits_with_3_and_says_why(refused):
    first, *rest = refused.stdout.splitlines()
    assert first.startswith("demo:2 refused: It cannot be excluded that it is more than 1.0 points worse")
    assert {line.split()[0] for line in rest} == {"pass", "FAIL"}


def test_promote_speaks_json(root, overnight):
    root.evaluated_run(FIRST, root.snapshot(), accuracy=0.9)
    record = json.loads(overnight("promote", FIRST, "--json").stdout)
    assert (record["decision"], record["version"], record["decided_now"]) == ("promoted", 1, True)
    assert overnight("promote", FIRST).stdout == "demo:1 is the champion already; nothing changed.\n"


def test_a_model_may_get_another_name(root, overnight):
    root.evaluated_run(FIRST, root.snapshot(), accuracy=0.9)
    overnight("promote", FIRST, "--model", "other")
    assert [entry["name"] for entry in json.loads(overnight("list", "--json").stdout)] == ["other"]


@pytest.mark.usefixtures("refused")
def test_list_shows_all_versions_and_marks_the_champion(overnight):
    _, first, second = overnight("list", "demo").stdout.splitlines()
    assert first.split()[:3] == ["demo:1", "champion", FIRST]
    assert second.split()[:2] == ["demo:2", SECOND]


@pytest.mark.usefixtures("root")
def test_an_empty_registry_says_what_to_do(overnight):
    assert "overnight model promote RUN_ID" in overnight("list").stdout
    assert json.loads(overnight("list", "--json").stdout) == []


@pytest.mark.usefixtures("refused")
def test_show_tells_the_decisions_about_a_version(overnight):
    assert "demo:1, champion" in overnight("show", "demo").stdout
    assert overnight("show", "demo:champion").stdout == overnight("show", "demo").stdout
    shown = json.loads(overnight("show", "demo:2", "--json").stdout)
    assert [(entry["time"], entry["decision"]) for entry in shown["decisions"]] == [("2026-03-09T03:00:00Z", "refused")]


@pytest.mark.usefixtures("refused")
def test_rollback_makes_a_version_champion_with_its_reason(overnight):
    answer = overnight("rollback", "demo", "2", "--reason", "a [red] herring", now="2026-03-10T03:00:00Z").stdout
    assert answer == "demo:2 is champion now; before: demo:1.\n"
    assert "promoted: rollback: a [red] herring" in overnight("show", "demo").stdout


@pytest.mark.usefixtures("refused")
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("list", "other"), r"there is no model 'other'; models here: demo\."),
        (("show", "other:1"), r"there is no model 'other'; models here: demo\."),
        (("show", "demo:9"), r"has no version 9; it has 1, 2\."),
        (("show", "demo:latest"), r"'latest' is neither a version nor 'champion'; write it like demo:1\."),
        (("rollback", "demo", "9", "--reason", "x"), r"has no version 9"),
        (("rollback", "demo", "2", "--reason", " "), r"a rollback needs a reason"),
        (("promote", "20260316-020000-cccccccc"), rf"there is no run .*the newest runs are {SECOND}, {FIRST}\."),
        (("promote", FIRST, "--model", "No Name"), r"'No Name' cannot be the name of a model"),
        (("promote", SECOND, "--now", "yesterday"), r"'yesterday' is not a time"),
    ],
)
def test_a_mistake_is_one_sentence(overnight, arguments, sentence):
    with pytest.raises(OvernightError, match=sentence):
        overnight(*arguments)
