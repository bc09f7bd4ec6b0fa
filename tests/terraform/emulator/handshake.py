# ruff: noqa: N802 (the methods' names are the protocol's)
"""How Terraform and a provider process find each other: sockets, certificate, life and death.

The protocol is that of hashicorp/go-plugin: a cold provider prints one line, a warm one is handed to Terraform in
TF_REATTACH_PROVIDERS.
"""

import base64
import datetime
import os
import shutil
import signal
import tempfile
import threading
from concurrent import futures
from pathlib import Path
from typing import Any

import grpc
from tf.gen import grpc_controller_pb2, grpc_controller_pb2_grpc, grpc_stdio_pb2_grpc
from tf.gen import tfplugin_pb2_grpc as rpc

PROTOCOL = 6
WORKERS = 160
"""Requests at a time: strict mode's creates sleep, and Terraform is told to try very many at once."""


class Process:
    """Serves until Terraform says goodbye (cold), or until the parent process is gone (cold and warm)."""

    def __init__(self) -> None:
        self._parent = os.getppid()
        self._folder = Path(tempfile.mkdtemp(prefix="emulated-"))
        self._done = threading.Event()
        self._asked_to_end = False
        self._servers: list[Any] = []
        signal.signal(signal.SIGTERM, self._end)

    def serve_warm(self, provider: Any, name: str) -> dict[str, Any]:
        """Serve one provider in the clear; returns its entry for TF_REATTACH_PROVIDERS."""
        server, socket = self._server(provider, name, grpc_controller_pb2_grpc.GRPCControllerServicer())
        server.add_insecure_port(f"unix://{socket}")
        server.start()
        address = {"Network": "unix", "String": str(socket)}
        return {"Protocol": "grpc", "ProtocolVersion": PROTOCOL, "Pid": os.getpid(), "Test": True, "Addr": address}

    def serve_cold(self, provider: Any) -> str:
        """Serve one provider to the Terraform that started this process; returns the line it waits for."""
        certificate, credentials = _certificate()
        server, socket = self._server(provider, "cold", _Controller(self._done))
        server.add_secure_port(f"unix://{socket}", credentials)
        server.start()
        return "|".join(["1", str(PROTOCOL), "unix", str(socket), "grpc", certificate])

    def wait(self) -> None:
        """Until it is time to go: a killed Terraform or test must not leave an orphan behind."""
        try:
            while not self._done.wait(0.1) and not self._asked_to_end and os.getppid() == self._parent:
                pass
        except KeyboardInterrupt:
            pass
        for server in self._servers:
            server.stop(0.05).wait(1)
        shutil.rmtree(self._folder, ignore_errors=True)
        # gRPC's threads may still wait in StreamStdio.
        os._exit(0)

    def _end(self, number: int, frame: Any) -> None:
        # Only a flag: setting the event here could wait for the very code that was interrupted.
        self._asked_to_end = True

    def _server(self, provider: Any, name: str, controller: Any) -> tuple[Any, Path]:
        unlimited = [("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1)]
        server = grpc.server(futures.ThreadPoolExecutor(max_workers=WORKERS), options=unlimited)
        rpc.add_ProviderServicer_to_server(provider, server)
        grpc_controller_pb2_grpc.add_GRPCControllerServicer_to_server(controller, server)
        grpc_stdio_pb2_grpc.add_GRPCStdioServicer_to_server(_Stdio(), server)
        self._servers.append(server)
        return server, self._folder / name


class _Controller(grpc_controller_pb2_grpc.GRPCControllerServicer):
    def __init__(self, done: threading.Event) -> None:
        self._done = done

    def Shutdown(self, request: Any, context: Any) -> Any:
        self._done.set()
        return grpc_controller_pb2.Empty()


class _Stdio(grpc_stdio_pb2_grpc.GRPCStdioServicer):
    """The provider's output, of which there is none: the stream stays open as long as its Terraform."""

    def StreamStdio(self, request: Any, context: Any) -> Any:
        gone = threading.Event()
        # Each Terraform of a warm process's life holds one worker here; all of them would be held at last.
        if context.add_callback(gone.set):
            gone.wait()
        return iter(())


def _certificate() -> tuple[str, Any]:
    """A fresh certificate: as the handshake's text, and as the server's credentials."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(minutes=1))
        .not_valid_after(now + datetime.timedelta(days=2))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    form, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    private = key.private_bytes(serialization.Encoding.PEM, form, plain)
    credentials = grpc.ssl_server_credentials([(private, certificate.public_bytes(serialization.Encoding.PEM))])
    der = certificate.public_bytes(serialization.Encoding.DER)
    return base64.b64encode(der).decode().rstrip("="), credentials
