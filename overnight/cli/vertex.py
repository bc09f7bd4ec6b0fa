"""`overnight vertex …`: a local Vertex AI as a server, and what only a local one can do."""

import json
import urllib.error
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from overnight.cli.context import JsonOption, console, print_json
from overnight.errors import OvernightError

if TYPE_CHECKING:
    from overnight.vertex_local.api.certificate import KeyPair
    from overnight.vertex_local.engine.stockouts import Stockout
    from overnight.vertex_local.server import Server

app = typer.Typer(no_args_is_help=True, help="Serve Vertex AI's API on this machine; preempt jobs, move the clock.")

FolderOption = Annotated[Path, typer.Option("--folder", envvar="OVERNIGHT_VERTEX", help="Where the server keeps all.")]
DEFAULT_FOLDER = Path("vertex")
_ANSWER_SECONDS = 30


def register(parent: typer.Typer) -> None:
    """Add the verb group to the command."""
    parent.add_typer(app, name="vertex")


@app.command()
def serve(
    folder: FolderOption = DEFAULT_FOLDER,
    grpc_port: Annotated[int, typer.Option(help="gRPC without TLS; 0: any free port.", min=0, max=65535)] = 7470,
    tls_port: Annotated[int, typer.Option(help="gRPC with TLS; 0: any free port.", min=0, max=65535)] = 7471,
    rest_port: Annotated[int, typer.Option(help="HTTP; 0: any free port.", min=0, max=65535)] = 7472,
    tls_cert: Annotated[
        Path | None, typer.Option(help="A certificate (PEM) for localhost. Default: one of the server's own.")
    ] = None,
    tls_key: Annotated[Path | None, typer.Option(help="The key (PEM) of --tls-cert.")] = None,
    project: Annotated[str, typer.Option(help="The id of the project that has --project-number.")] = "overnight-local",
    project_number: Annotated[str, typer.Option(help="By which resources are named.")] = "100000000001",
    location: Annotated[list[str] | None, typer.Option(help="A region to serve; repeatable. Default: any.")] = None,
    slots: Annotated[
        int | None, typer.Option(help="Replicas that may run at a time in a region. Default: one a core.", min=1)
    ] = None,
    stockout: Annotated[
        list[str] | None, typer.Option(metavar="MACHINE=TIMES", help="The next TIMES attempts find none; repeatable.")
    ] = None,
    preemption_seed: Annotated[int | None, typer.Option(help="Preempt Spot jobs at random, by this seed.")] = None,
    grace: Annotated[float, typer.Option(help="Seconds between SIGTERM and SIGKILL.", min=0)] = 30.0,
    paths: Annotated[
        Literal["gcs", "local"], typer.Option(help="Jobs see gs:// strings, or local folders in their place.")
    ] = "gcs",
    templates: Annotated[Path | None, typer.Option(help="Folder of pipeline templates.")] = None,
) -> None:
    """Serve until Ctrl-C. Jobs run as processes of this machine; a restart goes on with what is in the folder."""
    from overnight.vertex_local.server import Server
    from overnight.vertex_local.settings import Settings

    given: dict[str, Any] = {"machine_slots": slots} if slots is not None else {}
    settings = Settings(
        project=project,
        project_number=project_number,
        locations=tuple(location or ()),
        stockouts=tuple(map(_stockout, stockout or ())),
        preemption_seed=preemption_seed,
        grace_seconds=grace,
        paths=paths,
        templates=templates,
        **given,
    )
    tls = _key_pair(tls_cert, tls_key)
    _run(Server(folder, settings, grpc_port=grpc_port, tls_port=tls_port, rest_port=rest_port, tls=tls))


@app.command()
def preempt(
    job: Annotated[str, typer.Argument(metavar="JOB", help="A custom job: projects/…/customJobs/…")],
    folder: FolderOption = DEFAULT_FOLDER,
) -> None:
    """Take the machines away from a running job, as happens to Spot jobs."""
    _control(folder, "preempt", {"name": job})
    console.print(f"Preempted {job}", markup=False)


@app.command()
def advance(
    seconds: Annotated[float, typer.Argument(metavar="SECONDS", help="How far.", min=0)],
    folder: FolderOption = DEFAULT_FOLDER,
    json: JsonOption = False,
) -> None:
    """Move the server's clock forward, so that schedules come due. Running jobs do not go faster."""
    answer = _control(folder, "advance", {"seconds": seconds})
    if json:
        print_json(answer)
    else:
        console.print(f"The server's clock shows {answer['now']}", markup=False)


def _run(server: "Server") -> None:
    import signal
    import threading

    leave = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: leave.set())
    with server:
        console.print(f"gRPC       {server.grpc_address}", markup=False)
        console.print(f"gRPC, TLS  {server.tls_address}", markup=False)
        console.print(f"           GRPC_DEFAULT_SSL_ROOTS_FILE_PATH={server.certificate}", markup=False)
        console.print(f"REST       {server.rest_url}", markup=False)
        console.print(f"Folder     {server.folder}", markup=False)
        leave.wait()


def _stockout(text: str) -> "Stockout":
    from overnight.vertex_local.engine.stockouts import Stockout

    machine, _, times = text.partition("=")
    if not machine or not times.isdigit():
        raise OvernightError(
            f"{text!r} is not MACHINE=TIMES", where="--stockout", remedy="write it like a2-highgpu-1g=2"
        )
    return Stockout(int(times), machine_type=machine)


def _key_pair(certificate: Path | None, key: Path | None) -> "KeyPair | None":
    from overnight.vertex_local.api.certificate import read_key_pair

    if certificate is None and key is None:
        return None
    if certificate is None or key is None:
        raise OvernightError("a certificate and its key belong together", where="--tls-cert, --tls-key")
    return read_key_pair(key, certificate)


def _control(folder: Path, name: str, content: dict[str, Any]) -> Any:
    """Ask the server that runs in `folder`; raises OvernightError when none does, or with what it answered."""
    from overnight.vertex_local.server import read_addresses

    url = f"{read_addresses(folder)['rest']}/control/{name}"
    request = urllib.request.Request(url, json.dumps(content).encode(), {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=_ANSWER_SECONDS) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        raise OvernightError(json.load(error)["error"]["message"], where=f"vertex {name}") from None
    except urllib.error.URLError as error:
        raise OvernightError(f"the server does not answer ({error.reason})", where=url) from None
