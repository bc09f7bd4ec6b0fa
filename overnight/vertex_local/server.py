"""A local Vertex AI: one folder, one process, gRPC (plain and TLS) and REST on loopback."""

import importlib
import logging
import os
import threading
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from overnight.errors import OvernightError
from overnight.files import canonical_json, locked, read_json, write_atomically
from overnight.vertex_local.api.certificate import KeyPair, own_key_pair
from overnight.vertex_local.api.dispatch import Api, Handler
from overnight.vertex_local.api.errors import invalid
from overnight.vertex_local.api.grpc_front import GrpcFront, serve_grpc
from overnight.vertex_local.api.projects import Projects
from overnight.vertex_local.api.rest_front import Control, RestFront, serve_rest
from overnight.vertex_local.settings import Settings
from overnight.vertex_local.world import World

HOST = "127.0.0.1"
BEAT_SECONDS = 0.05
"""How often the services look whether there is something to do, when nobody wakes them."""

SERVICES = (
    ("custom_jobs", "CustomJobsService"),
    ("persistent_resources", "PersistentResourcesService"),
    ("tuning", "TuningService"),
    ("schedules", "SchedulesService"),
    ("pipelines", "PipelinesService"),
    ("models", "ModelsService"),
    ("metadata", "MetadataService"),
    ("tensorboard", "TensorboardService"),
    ("endpoints", "EndpointsService"),
    ("cloud_logging", "CloudLoggingService"),
)
"""Module in `services/` and its class: `__init__(world)`, `handlers()`; and, where it has them, `resume()` (once at
the start), `tick()` (again and again, in the one housekeeping thread), `controls()` and `stop()`."""

_ADDRESSES = "server.json"
_ADDRESSES_FORMAT = "overnight-vertex-server/1"

_log = logging.getLogger(__name__)


class Server:
    """The server as an object. A context manager; or `start` and `stop`, once each."""

    def __init__(
        self,
        folder: Path,
        settings: Settings | None = None,
        *,
        grpc_port: int = 0,
        tls_port: int = 0,
        rest_port: int = 0,
        tls: KeyPair | None = None,
    ) -> None:
        """Ports are of loopback, 0 for any free one. Without `tls` the server makes a certificate of its own."""
        self.folder = folder.absolute()
        self._settings = settings or Settings()
        self._ports = (grpc_port, tls_port, rest_port)
        self._tls = tls
        self._leaving = ExitStack()

    def start(self) -> None:
        """Open the folder, go on with what was running, and listen.

        Raises FolderInUse when another server has the folder, OSError when a port is taken.
        """
        with ExitStack() as opened:
            opened.enter_context(locked(self.folder, "local Vertex AI"))
            self.world = World(self.folder, self._settings)
            opened.callback(self.world.close)
            services = _services(self.world)
            opened.callback(_call_all, services, "stop")
            _call_all(services, "resume")
            self._listen(services, opened)
            self._keep_house(services, opened)
            self._announce(opened)
            self._leaving = opened.pop_all()

    def stop(self) -> None:
        """Stop listening, then stop the services; everything is kept for the next start."""
        self._leaving.close()

    def __enter__(self) -> Self:
        """Start."""
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Stop."""
        self.stop()

    @property
    def grpc_address(self) -> str:
        """`127.0.0.1:PORT` for `grpc.insecure_channel`."""
        return f"{HOST}:{self._grpc.port}"

    @property
    def tls_address(self) -> str:
        """`localhost:PORT` for clients that insist on TLS, such as the SDK."""
        return f"localhost:{self._grpc_tls.port}"

    @property
    def rest_url(self) -> str:
        """`http://127.0.0.1:PORT`"""
        return f"http://{HOST}:{self._rest.port}"

    @property
    def certificate(self) -> Path:
        """The file that GRPC_DEFAULT_SSL_ROOTS_FILE_PATH must name."""
        assert self._tls is not None
        return self._tls.certificate_path

    def _listen(self, services: list[Any], opened: ExitStack) -> None:
        handlers: dict[str, Handler] = dict(self.world.operations.handlers())
        controls: dict[str, Control] = {"advance": self._advance}
        for service in services:
            handlers |= service.handlers()
            controls |= service.controls() if hasattr(service, "controls") else {}
        projects = Projects(self._settings.project, self._settings.project_number)
        controls = {name: _by_number(control, projects) for name, control in controls.items()}
        api = Api(handlers, projects, self._settings.locations)
        self._tls = self._tls or own_key_pair(self.folder / "tls")
        grpc_port, tls_port, rest_port = self._ports
        self._grpc: GrpcFront = serve_grpc(api, f"{HOST}:{grpc_port}")
        opened.callback(self._grpc.stop)
        self._grpc_tls: GrpcFront = serve_grpc(api, f"{HOST}:{tls_port}", self._tls)
        opened.callback(self._grpc_tls.stop)
        self._rest: RestFront = serve_rest(api, HOST, rest_port, controls)
        opened.callback(self._rest.stop)

    def _keep_house(self, services: list[Any], opened: ExitStack) -> None:
        leaving = threading.Event()
        ticking = [service for service in services if hasattr(service, "tick")]

        def beat() -> None:
            while not leaving.is_set():
                _call_all(ticking, "tick")
                self.world.wait(BEAT_SECONDS)

        thread = threading.Thread(target=beat, name="housekeeping", daemon=True)
        thread.start()
        opened.callback(thread.join)
        opened.callback(self.world.wake)
        opened.callback(leaving.set)

    def _announce(self, opened: ExitStack) -> None:
        """Write where the server listens, for the other commands, while it does."""
        path = self.folder / _ADDRESSES
        addresses = {
            "format": _ADDRESSES_FORMAT,
            "grpc": self.grpc_address,
            "grpc_tls": self.tls_address,
            "rest": self.rest_url,
            "certificate": str(self.certificate),
            "process": os.getpid(),
        }
        write_atomically(path, canonical_json(addresses))
        opened.callback(path.unlink, missing_ok=True)

    def _advance(self, content: dict[str, Any]) -> dict[str, Any]:
        seconds = content.get("seconds")
        if not isinstance(seconds, int | float) or isinstance(seconds, bool) or seconds < 0:
            raise invalid("seconds must be a number that is not negative.")
        now = self.world.clock.advance(seconds)
        self.world.wake()
        return {"now": now.isoformat()}


def read_addresses(folder: Path) -> dict[str, Any]:
    """Where the server of a folder listens; raises OvernightError when none runs there."""
    path = folder / _ADDRESSES
    if not path.exists():
        raise OvernightError(
            "no local Vertex AI runs in this folder", where=str(folder), remedy="start it: overnight vertex serve"
        )
    return read_json(path, _ADDRESSES_FORMAT)


def _services(world: World) -> list[Any]:
    modules = [
        (importlib.import_module(f"overnight.vertex_local.services.{module}"), name) for module, name in SERVICES
    ]
    return [getattr(module, name)(world) for module, name in modules]


def _by_number(control: Control, projects: Projects) -> Control:
    """The control, given the resource's name as the store has it."""

    def called(content: dict[str, Any]) -> dict[str, Any]:
        if isinstance(content.get("name"), str):
            content = {**content, "name": projects.by_number(content["name"])}
        return control(content)

    return called


def _call_all(services: list[Any], method: str) -> None:
    """Call a method of every service that has it; what fails in one does not stop the others."""
    for service in services:
        try:
            getattr(service, method, lambda: None)()
        except Exception:
            _log.exception("%s of %s failed", method, type(service).__name__)
