"""`overnight model …`: promote a run through the gate, look into the registry, roll back."""

from typing import TYPE_CHECKING, Annotated

import typer

from overnight.cli.context import (
    DEFAULT_CONFIG,
    ConfigOption,
    JsonOption,
    NowOption,
    console,
    environment,
    moment,
    print_json,
    progress_console,
)

if TYPE_CHECKING:
    from overnight.models.promote import Outcome
    from overnight.models.promotions import Decision
    from overnight.models.registry import ModelVersion

REFUSED = 3

app = typer.Typer(no_args_is_help=True, help="Promote runs to model versions, list them, roll back.")


def register(parent: typer.Typer) -> None:
    """Add the verb group to the command."""
    parent.add_typer(app, name="model")


@app.command()
def promote(
    run_id: Annotated[str, typer.Argument(help="The run whose model shall become champion.")],
    model: Annotated[
        str | None, typer.Option("--model", help="Name in the registry. Default: the run's own.", show_default=False)
    ] = None,
    now: NowOption = None,
    config: ConfigOption = DEFAULT_CONFIG,
    json_: JsonOption = False,
) -> None:
    """Register a run as a model version and make it champion if the evaluation gate lets it (exit 3: refused)."""
    from overnight.models.promote import promote as promote_run

    with progress_console.status("starting") as status:
        outcome = promote_run(environment(config), run_id, model, moment(now), status.update)
    if json_:
        print_json({**vars(outcome.decision), "decided_now": outcome.verdict is not None})
    else:
        _print_outcome(outcome)
    if not outcome.promoted:
        raise typer.Exit(REFUSED)


@app.command("list")
def list_(
    name: Annotated[str | None, typer.Argument(help="A model. Default: all.", show_default=False)] = None,
    config: ConfigOption = DEFAULT_CONFIG,
    json_: JsonOption = False,
) -> None:
    """List model versions, and which one is champion."""
    from overnight.models import promotions, registry, resolve

    models = environment(config).models_path
    names = registry.names(models) if name is None else [resolve.known_name(models, name)]
    champions = {entry: promotions.champion_now(models, entry) for entry in names}
    versions = [version for entry in names for version in registry.versions(models, entry)]
    if json_:
        print_json([{**entry.record(), "champion": champions[entry.name] == entry.version} for entry in versions])
    elif versions:
        _print_versions(versions, champions)
    else:
        console.print("No model is registered yet. Promote a run: overnight model promote RUN_ID")


@app.command()
def show(
    reference: Annotated[str, typer.Argument(metavar="NAME[:VERSION|:champion]", help="A model version.")],
    config: ConfigOption = DEFAULT_CONFIG,
    json_: JsonOption = False,
) -> None:
    """Show a model version, whether its files are still the registered ones, and every decision about it."""
    from overnight.models import promotions, registry, resolve

    models = environment(config).models_path
    version = resolve.registered(models, reference)
    registry.verify(version)
    log = promotions.entries(models, version.name)
    decisions = [entry for entry in log if entry.version == version.version]
    champion = promotions.champion_now(models, version.name) == version.version
    if json_:
        print_json({**version.record(), "champion": champion, "decisions": [vars(entry) for entry in decisions]})
        return
    console.print(f"{version.reference}{', champion' if champion else ''}")
    console.print(f"  run       {version.run_id}")
    console.print(f"  created   {version.created}")
    console.print(f"  weights   {version.weights_sha256} (verified)")
    console.print(f"  folder    {version.folder}")
    for entry in decisions:
        console.print(f"  {entry.time[:10]}  {entry.decision}: {entry.reason}", markup=False)


@app.command()
def rollback(
    name: Annotated[str, typer.Argument(help="The model.")],
    version: Annotated[int, typer.Argument(help="The version that shall be champion again.")],
    reason: Annotated[str, typer.Option("--reason", help="Why; it goes into the promotion log.")],
    now: NowOption = None,
    config: ConfigOption = DEFAULT_CONFIG,
    json_: JsonOption = False,
) -> None:
    """Make an earlier version champion again, without the gate; the log keeps who was champion before and why."""
    from overnight.models.promote import rollback as roll_back

    decision = roll_back(environment(config), name, version, reason, moment(now))
    if json_:
        print_json(vars(decision))
    else:
        before = f"{name}:{decision.champion_before}" if decision.champion_before else "none"
        console.print(f"{name}:{version} is champion now; before: {before}.", markup=False)


def _print_outcome(outcome: "Outcome") -> None:
    if outcome.verdict is None:
        console.print(f"{outcome.version.reference} is the champion already; nothing changed.", markup=False)
        return
    colour = "green" if outcome.promoted else "red"
    console.print(f"[bold {colour}]{outcome.version.reference} {outcome.decision.decision}[/]: ", end="")
    console.print(f"{_sentence(outcome.decision)}", markup=False)
    for criterion in outcome.verdict.criteria:
        console.print(f"  [{'green]pass' if criterion.passed else 'red]FAIL'}[/]  ", end="")
        console.print(criterion.sentence, markup=False)
    for note in outcome.verdict.notes:
        console.print(f"  note  {note}", markup=False)


def _sentence(decision: "Decision") -> str:
    return f"{decision.reason[0].upper()}{decision.reason[1:]}."


def _print_versions(versions: "list[ModelVersion]", champions: dict[str, int | None]) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("model", "champion", "run", "created", "weights"):
        table.add_column(heading)
    for entry in versions:
        mark = "champion" if champions[entry.name] == entry.version else ""
        table.add_row(entry.reference, mark, entry.run_id, entry.created, entry.weights_sha256[:12])
    console.print(table)
