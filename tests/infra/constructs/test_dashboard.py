import itertools
import json
import re
from typing import Any

from infra.constructs.dashboard import GOOGLE_METRICS, layout
from infra.constructs.log_metrics import all_signals
from training_stack import example, resources, stack, synthesized

MADE = resources("google_monitoring_dashboard")["night_dashboard"]
LAYOUT: dict[str, Any] = json.loads(MADE["dashboard_json"])
TILES: list[dict[str, Any]] = LAYOUT["mosaicLayout"]["tiles"]


def test_every_metric_in_a_chart_or_an_alert_exists_here_or_is_googles() -> None:
    settings = example()
    ours = {signal.metric_type(settings.names) for signal in all_signals(settings.google.schedules, settings.names)}
    alerts = json.dumps(resources("google_monitoring_alert_policy"))
    used = set(re.findall(r'metric\.type=\\*"([^"\\]+)', json.dumps(LAYOUT) + alerts))
    assert used >= {GOOGLE_METRICS[0], "logging.googleapis.com/user/example-job-failed"}
    assert used <= ours | set(GOOGLE_METRICS)
    queried = set(re.findall(r"logging_googleapis_com:user_(\w+)", alerts))
    assert queried
    assert queried <= {name.rpartition("/")[2].replace("-", "_") for name in ours}


def test_tiles_lie_inside_the_columns_and_do_not_overlap() -> None:
    def cells(tile: dict[str, Any]) -> set[tuple[int, int]]:
        columns = range(tile["xPos"], tile["xPos"] + tile["width"])
        return set(itertools.product(columns, range(tile["yPos"], tile["yPos"] + tile["height"])))

    taken: set[tuple[int, int]] = set()
    for tile in TILES:
        assert not taken & cells(tile)
        taken |= cells(tile)
    assert max(column for column, _ in taken) < LAYOUT["mosaicLayout"]["columns"] == 48


def test_the_same_configuration_gives_the_same_dashboard() -> None:
    assert json.dumps(layout(stack()), sort_keys=True) == MADE["dashboard_json"]


def text(title: str, layout: dict[str, Any] = LAYOUT) -> str:
    """A text tile's content."""
    widgets = [tile["widget"] for tile in layout["mosaicLayout"]["tiles"]]
    return str(next(widget["text"]["content"] for widget in widgets if widget["title"] == title))


def test_what_the_pools_cost_idle_stands_beside_who_to_ask() -> None:
    assert "Pool night-a100-v1: 101.28 USD a day with no job on it" in text("What it costs")
    assert "ask vision-team@acme.example, decided until 2027-06-30" in text("What it costs")
    assert "It alerts; it stops nothing." in text("What it costs")


def test_without_pools_it_says_so() -> None:
    def no_pools(google: dict[str, Any]) -> None:
        google["persistent_resources"] = []

    made = synthesized(no_pools)["resource"]["google_monitoring_dashboard"]["night_dashboard"]["dashboard_json"]
    assert "No machines are kept warm." in text("What it costs", json.loads(made))


def test_links_lead_to_this_project_and_to_the_runbook() -> None:
    assert text("What is what").count("project=acme-vision-prod") == 4
    assert "docs/infra-monitoring.md#alerts" in text("What is what")
