"""Put the parts together and render the page. Same inputs, same bytes: no clock, no random id."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import jinja2

from overnight.config import Environment
from overnight.files import write_atomically
from overnight.report.audit import Audit, build_audit
from overnight.report.classes import Classes, build_classes
from overnight.report.data import Data, build_data
from overnight.report.sources import Sources, read_sources
from overnight.report.time import Time, build_time
from overnight.report.training import Training, build_training
from overnight.report.verdict import Verdict, build_verdict

TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True)
class Report:
    """All that the page shows; None for a part whose files are missing."""

    run_id: str
    model: str
    when: str
    """The day the run started."""
    verdict: Verdict
    training: Training | None
    classes: Classes | None
    data: Data | None
    time: Time | None
    audit: Audit


def build(sources: Sources) -> Report:
    """The report's content, pure."""
    run = sources.run
    return Report(
        run_id=run["run_id"],
        model=run.get("model") or run["job"]["display_name"],
        when=run["started"][:10],
        verdict=build_verdict(sources),
        training=build_training(sources),
        classes=build_classes(sources),
        data=build_data(sources),
        time=build_time(sources),
        audit=build_audit(sources),
    )


def render(report: Report) -> bytes:
    """The HTML page: no script, nothing loaded, light and dark."""
    style = (TEMPLATES / "style.css").read_text(encoding="utf-8")
    return _templates().get_template("report.html").render(report=report, style=style).encode()


def write_report(environment: Environment, run_id: str) -> Path:
    """Write runs/<run id>/report.html and return its path.

    Raises RegistryError when there is no such run, OvernightError when a file is not what its format says.
    """
    path = environment.runs_path / run_id / "report.html"
    data = render(build(read_sources(environment, run_id)))
    write_atomically(path, data)
    return path


@cache
def _templates() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
