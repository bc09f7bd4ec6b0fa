"""Play the demo: every step is a command of this kit, printed before it runs, so that it can be typed again."""

import os
import shlex
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from overnight.demo import pictures, weeks
from overnight.demo.pictures import DemoError
from overnight.files import write_atomically

MARKER = ".overnight-demo"
MODEL = "classifier"
JOB = Path("jobs/local.yaml")
CONFIG = """\
# The demo's environment. Every field: overnight/config/.
environment: demo
root: {root}
gate:
  # About 670 test images of 330 groups leave a difference of two models uncertain by three points.
  max_regression: 0.05
  # The smallest class has 11 test images: too few to judge it alone.
  min_class_support: 20
  min_class_recall: 0.2
"""


@dataclass(frozen=True)
class Stage:
    """Where the demo plays: its folder, and the console that shows it."""

    folder: Path
    console: Console

    @property
    def config(self) -> Path:
        """The demo's environment file."""
        return self.folder / "config.yaml"

    @property
    def root(self) -> Path:
        """Everything Overnight stores in the demo."""
        return self.folder / "data"

    @property
    def images(self) -> Path:
        """The pictures as JPEGs."""
        return self.folder / "images"

    def say(self, text: str) -> None:
        """A line of the story."""
        self.console.print(f"\n[bold]{text}[/bold]")

    def command(self, *arguments: str, now: str, expect: int = 0) -> None:
        """Print and run one `overnight` command; raises DemoError when it ends with another code than `expect`."""
        self.console.print(f"[cyan]$ overnight {shlex.join(arguments)}[/cyan]")
        environment = {**os.environ, "OVERNIGHT_CONFIG": str(self.config), "OVERNIGHT_NOW": now}
        code = subprocess.run([sys.executable, "-m", "overnight", *arguments], env=environment, check=False).returncode
        if code != expect:
            raise DemoError(
                f"this ended with exit code {code} where {expect} was expected",
                where=f"overnight {shlex.join(arguments)}",
                remedy="read its message above",
            )


def play(folder: Path, console: Console) -> None:
    """Three weeks: a first model, a better one from corrected labels, and a bad export that changes nothing.

    Raises DemoError when the folder holds something else, pictures cannot be had, or a step fails.
    """
    if not JOB.exists():
        raise DemoError("this file is missing", where=str(JOB), remedy="run the demo from the checkout's top folder")
    began = time.monotonic()
    stage = Stage(folder, console)
    script = _set_up(stage)
    _first_week(stage)
    _second_week(stage, script)
    _third_week(stage, script)
    _sum_up(stage, time.monotonic() - began)


def _set_up(stage: Stage) -> weeks.Weeks:
    """An empty folder with the pictures and both weeks' tables; downloads of an earlier demo are used again."""
    downloads = stage.folder / "downloads"
    if stage.folder.exists() and any(stage.folder.iterdir()):
        if not (stage.folder / MARKER).exists():
            raise DemoError(
                "this folder holds something that is not a demo",
                where=str(stage.folder),
                remedy="choose another --folder",
            )
        for old in stage.folder.iterdir():
            if old.is_dir() and old != downloads:
                shutil.rmtree(old)
    write_atomically(stage.folder / MARKER, b"")
    write_atomically(stage.config, CONFIG.format(root=stage.root).encode())
    name, read = pictures.fetch(downloads)
    rows = weeks.write_images(read(), stage.images)
    script = weeks.plan(rows)
    weeks.write_table(script.first, stage.images / "week-1.csv")
    weeks.write_table(script.second, stage.images / "week-2.csv")
    stage.say(f"{len(rows):,} pictures of {len({row.label for row in rows})} classes: {name}, in {stage.images}")
    return script


def _first_week(stage: Stage) -> None:
    stage.say("Week 1: the first import becomes a snapshot, a model and a promotion.")
    now = weeks.MONDAYS[0]
    stage.command("import", str(stage.images / "week-1.csv"), now=now)
    stage.command("shards", "build", now=now)
    stage.command("snapshot", "create", now=now)
    _train_and_promote(stage, now)


def _second_week(stage: Stage, script: weeks.Weeks) -> None:
    stage.say(f"Week 2: analysts correct {len(script.corrections)} labels; {len(script.second)} images are new.")
    now = weeks.MONDAYS[1]
    _edit(stage, weeks.correction_sql(script))
    stage.command("import", str(stage.images / "week-2.csv"), now=now)
    stage.command("shards", "append", now=now)
    stage.command("snapshot", "create", now=now)
    _train_and_promote(stage, now)


def _third_week(stage: Stage, script: weeks.Weeks) -> None:
    stage.say("Week 3: a bad export. It must be rejected, and the champion stays.")
    now = weeks.MONDAYS[2]
    correct = {correction.key: correction.right for correction in script.corrections}
    rows = [weeks.Row(row.key, correct.get(row.key, row.label), row.group) for row in (*script.first, *script.second)]
    _edit(stage, weeks.bad_export_sql(rows))
    stage.command("snapshot", "create", now=now, expect=3)
    stage.command("lineage", "at", now[:10], now=now)


def _train_and_promote(stage: Stage, now: str) -> None:
    stage.command("run", str(JOB), now=now)
    run_id = _newest_run(stage)
    stage.command("model", "promote", run_id, now=now)
    stage.command("report", run_id, now=now)


def _newest_run(stage: Stage) -> str:
    return max(path.name for path in (stage.root / "runs").iterdir() if not path.name.startswith("."))


def _edit(stage: Stage, statements: list[str]) -> None:
    """Do what analysts do: edit the label table with SQL."""
    import duckdb

    with duckdb.connect(str(stage.root / "labels.duckdb")) as database:
        for statement in statements:
            database.execute(statement)
    shown = statements[0] if len(statements[0]) < 100 else f"{statements[0][:97]}..."
    stage.console.print(
        f"[cyan]sql> {shown}[/cyan]" + (f"  (+{len(statements) - 1} more)" if len(statements) > 1 else "")
    )


def _seen_from_here(path: Path) -> Path:
    """`path` relative to the current folder where it stands below it."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def _sum_up(stage: Stage, seconds: float) -> None:
    from overnight.models.promotions import champion_entry

    champion = champion_entry(stage.root / "models", MODEL)
    if champion is None:
        raise DemoError("no model was promoted", where=str(stage.root / "models"), remedy="read the messages above")
    program = (
        "overnight" if shutil.which("overnight") else str(_seen_from_here(Path(sys.executable).parent)) + "/overnight"
    )
    option = f"--config {stage.config}"
    picture = next(iter(sorted(stage.images.glob("*.jpg"))))
    stage.say(f"Done in {seconds:.0f} s.")
    stage.console.print(f"Report:   {stage.root / 'runs' / champion.run_id / 'report.html'}")
    stage.console.print(f"Promoted: {MODEL} version {champion.version}: {champion.reason}")
    stage.console.print("Rejected: week 3's export; the champion is untouched.")
    stage.console.print("\nTry next:")
    stage.console.print(f"  {program} lineage at 2026-03-03 {option}")
    stage.console.print(f"  {program} predict {MODEL} {picture} {option}")
    stage.console.print(f"  {program} snapshot validate {option}")
