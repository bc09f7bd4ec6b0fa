"""The way to a registry: refusals, retries, cut connections, redirects, TLS."""

import datetime
import ipaddress
import itertools
import socket
import ssl
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from overnight.images import registry_http, registry_token
from overnight.images.registry import Registry
from registry_client import BIG, PATH, refusal
from registry_server import Fault, cut, running_registry, slow, status


@pytest.mark.parametrize(
    ("code", "says", "slept"),
    [
        (400, "the registry answered 400 (UNKNOWN: told to fail)", []),
        (418, "the registry answered 418", []),
        (401, "denies a request without login to pull", []),
        (403, "denies a request without login to pull (UNKNOWN: told to fail)", []),
        (429, "takes no more requests for now", [0.5, 1.0, 2.0]),
        (500, "failed with 500", [0.5, 1.0, 2.0]),
        (503, "failed with 503", [0.5, 1.0, 2.0]),
    ],
)
def test_each_refusal_has_its_sentence_and_only_what_passes_is_tried_again(server, registry, sleeps, code, says, slept):
    digest = server.push_image(PATH, "v1")
    server.faults.append(Fault("manifests|blobs", status(code)))
    for call, arguments in [
        (registry.manifest, (PATH, "v1")),
        (registry.blob, (PATH, digest)),
        (registry.exists, (PATH, "v1")),
    ]:
        sleeps.clear()
        sentence = refusal(call, *arguments)
        assert says.partition(" (")[0] in sentence
        assert says in sentence or call == registry.exists  # HEAD has no body that could say more
        assert sleeps == slept


def test_a_registry_that_recovers_is_heard(server, registry, sleeps):
    digest = server.push_image(PATH, "v1")
    server.faults.append(Fault("manifests", status(503), times=3))
    assert registry.manifest(PATH, "v1").digest == digest
    assert sleeps == [0.5, 1.0, 2.0]


@pytest.mark.parametrize(
    ("wish", "slept"), [("4", 4.0), ("3600", 10.0), ("0", 0.5), ("Wed, 21 Oct 2026", 0.5), ("-1", 0.5)]
)
def test_a_registrys_wish_to_wait_is_granted_within_bounds(server, registry, sleeps, wish, slept):
    server.push_image(PATH, "v1")
    server.faults.append(Fault("manifests", status(429, Retry_After=wish), times=1))
    registry.manifest(PATH, "v1")
    assert sleeps == [slept]


@pytest.mark.parametrize("after", [-1, 0, 10])
def test_a_cut_connection_is_tried_again_and_then_told(server, registry, sleeps, after):
    digest = server.push_image(PATH, "v1")
    server.faults.append(Fault("manifests", cut(after), times=2))
    assert registry.manifest(PATH, "v1").digest == digest
    server.faults[0].times = 100
    assert "cuts the connection" in refusal(registry.manifest, PATH, "v1")
    assert sleeps == [0.5, 1.0, 0.5, 1.0, 2.0]


@pytest.mark.parametrize("ranges", [True, False])
def test_a_blob_that_is_cut_off_is_read_on_from_there(server, registry, ranges):
    digest = server.put_blob(PATH, BIG)
    server.ranges = ranges
    server.faults.append(Fault("blobs", cut(1_500_000), times=2))
    assert registry.blob(PATH, digest) == BIG
    if ranges:
        starts = [request.headers.get("range") for request in server.asked("blobs")]
        assert starts[0] is None
        assert all(start.startswith("bytes=") for start in starts[1:])


def test_a_blob_that_is_always_cut_off_is_refused(server, registry):
    digest = server.put_blob(PATH, BIG)
    server.faults.append(Fault("blobs", cut(10)))
    assert "cuts the connection" in refusal(registry.blob, PATH, digest)


def test_a_registry_that_does_not_answer_in_time_is_told(server, registry, monkeypatch, sleeps):
    server.push_image(PATH, "v1")
    monkeypatch.setattr(registry_http, "TIMEOUT", (1.0, 0.05))
    server.faults.append(Fault("manifests", slow(0.2)))
    assert "does not answer in time" in refusal(registry.manifest, PATH, "v1")


def test_nobody_listening_and_no_such_host_are_told_at_once(sleeps):
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        host = f"localhost:{held.getsockname()[1]}"
        said = refusal(Registry(host, sleep=sleeps).manifest, PATH, "v1")
    assert said.startswith(f"{host}: no registry listens there (Connection refused); start the local one")
    assert "no such host" in refusal(Registry("registry.invalid", sleep=sleeps).manifest, PATH, "v1")
    assert sleeps == []


def test_a_circle_of_redirects_ends(server, registry):
    server.faults.append(Fault("manifests", status(307, Location=f"/v2/{PATH}/manifests/v1")))
    assert "redirects in a circle" in refusal(registry.manifest, PATH, "v1")


def test_a_blob_is_followed_to_where_the_registry_keeps_it_without_our_token(server):
    """Cloud storage behind a registry gets no Authorization header of ours."""
    with running_registry() as storage:
        digest = storage.put_blob(PATH, b"data")
        server.put_blob(PATH, b"data")
        server.challenge = "bearer"
        where = f"http://localhost:{storage.port}/v2/{PATH}/blobs/{digest}"
        real = server.reply

        def redirecting(request):
            reply = real(request)
            if "/blobs/" in request.path and reply.status == 200:
                reply.status, reply.body, reply.headers = 307, b"", {"Location": where}
            return reply

        server.reply = redirecting
        assert Registry(server.host).blob(PATH, digest) == b"data"
        assert "authorization" in server.requests[-1].headers
        assert "authorization" not in storage.requests[-1].headers


def certificate(folder: Path, name: str) -> Path:
    """A self-signed certificate with its key, for `name` and 127.0.0.1."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    names = [x509.DNSName(name), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    signed = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = folder / "registry.pem"
    path.write_bytes(
        signed.public_bytes(serialization.Encoding.PEM)
        + key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return path


@pytest.fixture
def registry_over_tls(tmp_path, monkeypatch):
    """A registry named registry.example.com, which leads to this machine; its host and its certificate."""
    pem = certificate(tmp_path, "registry.example.com")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    real = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", lambda host, *rest, **more: real("127.0.0.1", *rest, **more))
    monkeypatch.setenv("NO_PROXY", "registry.example.com")
    monkeypatch.setenv("no_proxy", "registry.example.com")
    with running_registry(context) as running:
        yield running, f"registry.example.com:{running.port}", pem


def test_a_certificate_that_nobody_vouches_for_is_refused(registry_over_tls, monkeypatch, sleeps):
    _, host, _ = registry_over_tls
    monkeypatch.delenv("REQUESTS_CA_BUNDLE", raising=False)
    said = refusal(Registry(host, sleep=sleeps).manifest, PATH, "v1")
    assert said.startswith(f"{host}: TLS failed (")
    assert "REQUESTS_CA_BUNDLE" in said
    assert sleeps == []


def test_other_hosts_are_spoken_to_over_tls(registry_over_tls, monkeypatch):
    server, host, pem = registry_over_tls
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(pem))
    digest = server.push_image(PATH, "v1")
    assert Registry(host).manifest(PATH, "v1").digest == digest


def test_tls_where_there_is_none_is_refused(server, monkeypatch, sleeps):
    real = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", lambda host, *rest, **more: real("127.0.0.1", *rest, **more))
    monkeypatch.setenv("no_proxy", "registry.example.com")
    registry = Registry(f"registry.example.com:{server.port}", sleep=sleeps)
    assert "TLS failed" in refusal(registry.manifest, PATH, "v1")


def test_the_waiting_is_bounded():
    assert sum(itertools.chain(registry_http.DELAYS)) < 10
    assert max(registry_token.TIMEOUT) <= 60
