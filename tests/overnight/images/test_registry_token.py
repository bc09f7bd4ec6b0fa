"""Who we are to a registry: tokens, passwords, nobody."""

import pytest

from overnight.images.credentials import IDENTITY_TOKEN
from overnight.images.errors import ImageError
from overnight.images.registry import Denied, Registry
from overnight.images.registry_token import challenges
from registry_client import PATH, Known, refusal
from registry_server import Fault, body, status


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
