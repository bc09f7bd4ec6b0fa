"""A registry on loopback, and all that it can do wrong."""

import datetime
import ipaddress
import itertools
import json
import socket
import ssl
from pathlib import Path

import pytest
import requests
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from overnight.images import registry_http, registry_token
from overnight.images.credentials import IDENTITY_TOKEN, Login
from overnight.images.errors import ImageError
from overnight.images.manifest import DOCKER_LIST, DOCKER_MANIFEST, digest_of
from overnight.images.reference import parse
from overnight.images.registry import Denied, NotFound, Registry, registry_for
from overnight.images.registry_token import challenges
from registry_server import OCI_INDEX, OCI_MANIFEST, Fault, body, cut, flip, header, running_registry, slow, status

PATH = "team/trainer"
MISSING = "sha256:" + "0" * 64
BIG = bytes(range(256)) * 16_000


@pytest.fixture
def server():
    with running_registry() as running:
        yield running


class Sleeps(list):
    """Seconds that were to be slept."""

    def __call__(self, seconds: float) -> None:
        self.append(seconds)


@pytest.fixture
def sleeps():
    return Sleeps()


@pytest.fixture
def registry(server, sleeps):
    return Registry(server.host, sleep=sleeps)


class Known:
    """Credentials that know one login, and what they were asked for."""

    def __init__(self, user: str = "me", secret: str = "secret") -> None:
        self.given = Login(user, secret, "a test")
        self.asked: list[str] = []

    def login(self, host: str) -> Login:
        self.asked.append(host)
        return self.given


def refusal(call, *arguments, kind: type[ImageError] = ImageError) -> str:
    with pytest.raises(kind) as caught:
        call(*arguments)
    sentence = caught.value.sentence
    assert "\n" not in sentence
    assert sentence.endswith(".")
    assert caught.value.remedy
    return sentence


# What it reads.


@pytest.mark.parametrize("media_type", [OCI_MANIFEST, DOCKER_MANIFEST])
def test_a_manifest_is_read_by_tag_and_by_digest(server, registry, media_type):
    digest = server.push_image(PATH, "v1", media_type=media_type)
    by_tag, by_digest = registry.manifest(PATH, "v1"), registry.manifest(PATH, digest)
    assert by_tag == by_digest
    assert (by_tag.digest, by_tag.media_type) == (digest, media_type)
    assert digest_of(by_tag.body) == digest


@pytest.mark.parametrize("media_type", [OCI_INDEX, DOCKER_LIST])
def test_an_index_is_read_because_all_four_media_types_are_asked_for(server, registry, media_type):
    image = server.push_image(PATH)
    index = server.push_index(PATH, "multi", {"linux/amd64": image}, media_type=media_type)
    assert registry.manifest(PATH, "multi").digest == index
    assert registry.exists(PATH, "multi")
    for request in server.asked("manifests/multi"):
        named = {kind.strip() for kind in request.headers["accept"].split(",")}
        assert named == {OCI_INDEX, OCI_MANIFEST, DOCKER_LIST, DOCKER_MANIFEST}


OCI_HIDDEN = (404, "MANIFEST_UNKNOWN")
DOCKER_HIDDEN = (400, "MANIFEST_INVALID")


@pytest.mark.parametrize(
    ("media_type", "accept", "expected"),
    [
        (OCI_INDEX, "", OCI_HIDDEN),
        (OCI_INDEX, "*/*", OCI_HIDDEN),
        (OCI_INDEX, OCI_MANIFEST, OCI_HIDDEN),
        (OCI_INDEX, DOCKER_MANIFEST, OCI_HIDDEN),
        (OCI_INDEX, f"{OCI_INDEX};q=0.5, {OCI_MANIFEST}", (200, OCI_INDEX)),
        (DOCKER_LIST, "", DOCKER_HIDDEN),
        (DOCKER_LIST, "*/*", DOCKER_HIDDEN),
        (DOCKER_LIST, OCI_MANIFEST, DOCKER_HIDDEN),
        (DOCKER_LIST, DOCKER_MANIFEST, (200, DOCKER_MANIFEST)),
        (DOCKER_LIST, DOCKER_LIST, (200, DOCKER_LIST)),
    ],
)
def test_the_test_server_answers_as_docker_registry_was_seen_to_answer(server, media_type, accept, expected):
    """Observed with docker-registry 2.8.2: a client that names too little gets nothing, or another digest."""
    image = server.push_image(PATH, media_type=OCI_MANIFEST if media_type == OCI_INDEX else DOCKER_MANIFEST)
    server.push_index(PATH, "multi", {"linux/amd64": image}, media_type=media_type)
    url = f"http://{server.host}/v2/{PATH}/manifests/multi"
    answer = requests.get(url, headers={"Accept": accept}, timeout=5)
    said = answer.headers["Content-Type"] if answer.ok else answer.json()["errors"][0]["code"]
    assert (answer.status_code, said) == expected
    if answer.ok:
        assert answer.headers["Docker-Content-Digest"] == digest_of(answer.content)


def test_a_blob_is_read_whole_or_in_pieces(server, registry):
    digest = server.put_blob(PATH, BIG)
    assert registry.blob(PATH, digest) == BIG
    pieces = list(registry.stream(PATH, digest))
    assert len(pieces) > 1
    assert b"".join(pieces) == BIG
    assert registry.blob_size(PATH, digest) == len(BIG)
    assert registry.blob_size(PATH, MISSING) is None


def test_what_is_there_exists_and_what_is_not_does_not(server, registry):
    digest = server.push_image(PATH, "v1")
    asked = [("v1", True), (digest, True), ("v2", False), (MISSING, False)]
    assert [registry.exists(PATH, reference) for reference, _ in asked] == [there for _, there in asked]
    assert not registry.exists("other/path", "v1")


def test_tags_are_listed_over_all_pages(server, registry):
    server.page = 3
    for number in range(8):
        server.push_image(PATH, f"v{number}")
    assert registry.tags(PATH) == [f"v{number}" for number in range(8)]
    assert len(server.asked("tags/list")) == 3


# What it writes.


def test_a_pushed_image_is_what_was_pushed(server, registry):
    config = registry.put_blob("new/image", b"{}")
    layer = registry.put_blob("new/image", BIG)
    value = {
        "schemaVersion": 2,
        "mediaType": OCI_MANIFEST,
        "config": {**config.as_json(), "mediaType": "application/vnd.oci.image.config.v1+json"},
        "layers": [layer.as_json()],
    }
    data = json.dumps(value).encode()
    digest = registry.put_manifest("new/image", "v1", data, OCI_MANIFEST)
    assert digest == digest_of(data)
    assert registry.manifest("new/image", digest).body == data
    assert registry.manifest("new/image", "v1").layers == (layer,)
    assert registry.put_manifest("new/image", digest, data, OCI_MANIFEST) == digest


def test_a_blob_that_is_there_is_not_uploaded_again(server, registry):
    registry.put_blob(PATH, b"once")
    registry.put_blob(PATH, b"once")
    assert len(server.asked("^POST")) == 1


def test_an_upload_may_be_led_to_a_relative_address(server, registry):
    server.faults.append(Fault("^POST", header("Location", f"/v2/{PATH}/blobs/uploads/abc")))
    server.uploads["abc"] = b""
    assert registry.put_blob(PATH, b"data").digest == digest_of(b"data")


def test_an_upload_is_never_led_away_from_tls(server, registry):
    server.faults.append(Fault("^POST", header("Location", "http://example.com/elsewhere")))
    with pytest.raises(ImageError, match="without TLS"):
        registry.put_blob(PATH, b"data")
    assert not server.asked("^PUT")


def test_a_manifest_of_blobs_that_are_not_there_is_refused_in_the_registrys_words(server, registry):
    data = json.dumps(
        {"schemaVersion": 2, "config": {"digest": MISSING, "mediaType": "x", "size": 1}, "layers": []}
    ).encode()
    said = refusal(registry.put_manifest, PATH, "v1", data, OCI_MANIFEST)
    assert "400 (MANIFEST_BLOB_UNKNOWN: blob unknown to registry) while storing a manifest" in said


@pytest.mark.parametrize("by_api", [True, False])
def test_what_is_attached_is_found_by_the_api_or_by_the_tag(server, registry, by_api):
    server.referrers_api = by_api
    subject = server.push_image(PATH, "v1")
    kind = "application/vnd.dsse.envelope.v1+json"
    attached = server.push_image(
        PATH,
        layers=(b"envelope",),
        artifactType=kind,
        subject={"mediaType": OCI_MANIFEST, "digest": subject, "size": 1},
        annotations={"a": "b"},
    )
    if not by_api:
        server.attach(PATH, subject, attached)
    (found,) = registry.referrers(PATH, subject)
    assert (found.digest, found.artifact_type, found.annotations) == (attached, kind, {"a": "b"})
    assert registry.referrers(PATH, attached) == []


# What it refuses.


def test_a_missing_tag_is_named_with_the_tags_that_are_there(server, registry):
    server.push_image(PATH, "v1")
    server.push_image(PATH, "v2")
    assert refusal(registry.manifest, PATH, "v3", kind=NotFound) == (
        f"{server.host}/{PATH}: there is no tag 'v3', only v1, v2; name one of these."
    )


def test_many_tags_are_counted(server, registry):
    for number in range(11):
        server.push_image(PATH, f"v{number}")
    assert "there is no tag 'x' among the 11 tags" in refusal(registry.manifest, PATH, "x", kind=NotFound)


def test_a_missing_repository_a_missing_digest_and_no_tag_at_all_are_told_apart(server, registry):
    assert "no such repository" in refusal(registry.manifest, PATH, "v1", kind=NotFound)
    assert "no such repository" in refusal(registry.tags, PATH, kind=NotFound)
    server.push_image(PATH)
    assert "no tag 'v1', nor any other" in refusal(registry.manifest, PATH, "v1", kind=NotFound)
    assert f"no image with the digest {MISSING}" in refusal(registry.manifest, PATH, MISSING, kind=NotFound)
    assert "does not have this blob" in refusal(registry.blob, PATH, MISSING, kind=NotFound)


def test_a_missing_tag_is_missing_also_where_tags_may_not_be_listed(server, registry):
    server.push_image(PATH, "v1")
    server.faults.append(Fault("tags/list", status(403, "DENIED")))
    assert "there is no tag 'v2'" in refusal(registry.manifest, PATH, "v2", kind=NotFound)


@pytest.mark.parametrize("by", ["tag", "digest"])
def test_a_manifest_with_a_flipped_bit_is_refused(server, registry, by):
    digest = server.push_image(PATH, "v1")
    server.faults.append(Fault("manifests", flip(20)))
    assert "serves other bytes" in refusal(registry.manifest, PATH, "v1" if by == "tag" else digest)


def test_a_header_that_names_another_digest_is_refused(server, registry):
    server.push_image(PATH, "v1")
    server.faults.append(Fault("manifests", header("Docker-Content-Digest", MISSING)))
    assert f"its header Docker-Content-Digest says '{MISSING}'" in refusal(registry.manifest, PATH, "v1")


def test_another_manifest_than_the_one_asked_for_is_refused_though_its_header_agrees(server, registry):
    asked = server.push_image(PATH, "v1")
    served = server.push_image(PATH, "v2", layers=(b"other",))
    server.manifests[PATH][asked] = server.manifests[PATH][served]
    server.faults.append(Fault("manifests", header("Docker-Content-Digest", served)))
    assert f"{asked} was named and {served} came" in refusal(registry.manifest, PATH, asked)


def test_a_registry_without_the_digest_header_is_believed_by_the_bytes_alone(server, registry):
    digest = server.push_image(PATH, "v1")
    server.faults.append(Fault("manifests", header("Docker-Content-Digest", None)))
    assert registry.manifest(PATH, "v1").digest == digest


def test_a_blob_with_a_flipped_bit_is_refused_after_its_last_piece(server, registry):
    digest = server.put_blob(PATH, BIG)
    server.faults.append(Fault("blobs", flip(2_000_000)))
    assert "serves other bytes" in refusal(registry.blob, PATH, digest)
    assert "serves other bytes" in refusal(lambda: list(registry.stream(PATH, digest)))


@pytest.mark.parametrize(
    ("data", "kind", "says"),
    [
        (b"<html>login</html>", "text/html", "not JSON"),
        (b"", None, "not JSON"),
        (b"{}", OCI_MANIFEST, "schemaVersion"),
        (b"x" * (9 * 2**20), OCI_MANIFEST, "more than 4,194,304 bytes"),
    ],
)
def test_what_is_no_manifest_is_refused(server, registry, data, kind, says):
    server.push_image(PATH, "v1")
    server.faults.append(Fault("manifests", body(data, kind)))
    assert says in refusal(registry.manifest, PATH, "v1")


@pytest.mark.parametrize("answer", [b"[]", b"\x00", b'{"tags": 7}', b'{"tags": [1, "v1"]}'])
def test_a_broken_list_of_tags_is_refused_or_read_as_far_as_it_goes(server, registry, answer):
    server.faults.append(Fault("tags/list", body(answer)))
    if answer.startswith(b"{"):
        assert registry.tags(PATH) in ([], ["v1"])
    else:
        assert "no JSON object" in refusal(registry.tags, PATH)


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
    assert said.startswith(f"{host}: no registry listens there (Connection refused); start the local registry")
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


# Who we are.


def test_a_token_is_fetched_once_for_a_repository_and_a_right(server, sleeps):
    server.challenge, server.login = "bearer", ("me", "secret")
    digest = server.push_image(PATH, "v1")
    known = Known()
    registry = Registry(server.host, credentials=known, sleep=sleeps)
    assert registry.manifest(PATH, "v1").digest == digest
    assert registry.exists(PATH, "v1")
    assert len(server.asked("/token")) == 1
    registry.put_blob(PATH, b"data")
    assert set(server.tokens.values()) == {f"repository:{PATH}:pull", f"repository:{PATH}:pull,push"}
    assert set(known.asked) == {server.host}


def test_a_token_that_is_no_longer_good_is_replaced(server, registry):
    server.challenge = "bearer"
    server.push_image(PATH, "v1")
    registry.manifest(PATH, "v1")
    server.tokens.clear()
    registry.manifest(PATH, "v1")
    assert len(server.asked("/token")) == 2


def test_an_identity_token_is_exchanged(server):
    server.challenge, server.login, server.refresh_token = "bearer", ("me", "secret"), "refresh me"
    digest = server.push_image(PATH, "v1")
    registry = Registry(server.host, credentials=Known(IDENTITY_TOKEN, "refresh me"))
    assert registry.manifest(PATH, "v1").digest == digest
    (request,) = server.asked("/token")
    assert request.method == "POST"
    assert "authorization" not in request.headers


def test_a_password_is_given_where_the_registry_asks_for_one(server):
    server.challenge, server.login = "basic", ("me", "secret")
    digest = server.push_image(PATH, "v1")
    assert Registry(server.host, credentials=Known()).manifest(PATH, "v1").digest == digest


@pytest.mark.parametrize("challenge", ["bearer", "basic"])
def test_a_wrong_password_and_no_password_are_denied(server, challenge):
    server.challenge, server.login = challenge, ("me", "secret")
    server.push_image(PATH, "v1")
    wrong = Registry(server.host, credentials=Known(secret="other"))
    assert "denies the login from a test to pull" in refusal(wrong.manifest, PATH, "v1", kind=Denied)
    nobody = Registry(server.host)
    assert "denies a request without login to push" in refusal(nobody.put_manifest, PATH, "v1", b"{}", "x", kind=Denied)


def test_nobody_is_asked_for_a_login_that_nobody_wants(server):
    server.push_image(PATH, "v1")
    known = Known()
    Registry(server.host, credentials=known).manifest(PATH, "v1")
    assert known.asked == []
    assert "authorization" not in server.requests[-1].headers


def test_no_netrc_speaks_for_us(server, tmp_path, monkeypatch):
    netrc = tmp_path / "netrc"
    netrc.write_text("default login someone password else\n")
    monkeypatch.setenv("NETRC", str(netrc))
    server.push_image(PATH, "v1")
    Registry(server.host).manifest(PATH, "v1")
    assert "authorization" not in server.requests[-1].headers


def test_a_login_is_not_sent_to_a_token_service_without_tls(server):
    server.challenge, server.realm = "bearer", "http://tokens.example.com/token"
    registry = Registry(server.host, credentials=Known())
    with pytest.raises(ImageError, match=r"sends logins to 'http://tokens\.example\.com/token', without TLS"):
        registry.manifest(PATH, "v1")


@pytest.mark.parametrize("answer", [b"[]", b"{}", b"no", b'{"token": 5}', b'{"token": "a\\nb"}', b'{"token": ""}'])
def test_a_token_service_without_a_token_is_refused(server, registry, answer):
    server.challenge = "bearer"
    server.faults.append(Fault("/token", body(answer)))
    assert "gives no token" in refusal(registry.manifest, PATH, "v1")


def test_a_failing_token_service_is_refused(server, registry):
    server.challenge = "bearer"
    server.faults.append(Fault("/token", status(404)))
    assert "answered 404 (UNKNOWN: told to fail) while giving a token" in refusal(registry.manifest, PATH, "v1")


@pytest.mark.parametrize(
    ("header_text", "expected"),
    [
        (
            'Bearer realm="https://a/t",service="s",scope="repository:x:pull,push"',
            {"bearer": {"realm": "https://a/t", "service": "s", "scope": "repository:x:pull,push"}},
        ),
        ('Basic realm="r", Bearer realm="q"', {"basic": {"realm": "r"}, "bearer": {"realm": "q"}}),
        ("bearer realm=https://a/t", {"bearer": {"realm": "https://a/t"}}),
        ("Basic", {"basic": {}}),
        ('realm="x"', {}),
        ("", {}),
        (',,="\x00', {}),
    ],
)
def test_challenges_are_read_as_registries_write_them(header_text, expected):
    assert challenges(header_text) == expected


def test_the_sentence_for_google_names_the_role():
    from overnight.images.registry_errors import Answer, denied

    answer = Answer(403, {}, b'{"errors":[{"code":"DENIED","message":"Permission\\n denied."}]}')
    pull = denied("europe-west4-docker.pkg.dev", "p/r/i", answer, push=False, source="ADC").sentence
    assert pull == (
        "europe-west4-docker.pkg.dev/p/r/i: the registry denies the login from ADC to pull (DENIED: Permission denied)"
        "; grant roles/artifactregistry.reader on the repository."
    )
    push = denied("europe-west4-docker.pkg.dev", "p/r/i", answer, push=True, source=None).sentence
    assert "run `gcloud auth application-default login`, or grant roles/artifactregistry.writer" in push


# TLS.


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


def test_each_host_gets_the_credentials_that_are_right_for_it(monkeypatch, tmp_path):
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    kinds = [
        type(registry_for(parse(text))._connection._credentials).__name__
        for text in ("localhost:5000/a:1", "[::1]:5000/a:1", "example.com/a:1", "us-docker.pkg.dev/p/r/i:1")
    ]
    assert kinds == ["NoCredentials", "NoCredentials", "DockerCredentials", "GoogleCredentials"]


def test_docker_hub_is_asked_where_its_api_is():
    ask = registry_for(parse("docker.io/python:3.11"))._ask("GET", "python", "manifests", "3.11")
    assert ask.url == "https://registry-1.docker.io/v2/library/python/manifests/3.11"
    nested = registry_for(parse("docker.io/a/b:1"))._ask("GET", "a/b", "manifests", "1")
    assert nested.url == "https://registry-1.docker.io/v2/a/b/manifests/1"


def test_the_waiting_is_bounded():
    assert sum(itertools.chain(registry_http.DELAYS)) < 10
    assert max(registry_token.TIMEOUT) <= 60
