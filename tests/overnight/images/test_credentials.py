"""Docker's config.json, its helpers, and Google's application default credentials."""

import base64
import json
import os
from pathlib import Path

import pytest

from overnight.images.credentials import (
    IDENTITY_TOKEN,
    DockerCredentials,
    GoogleCredentials,
    Login,
    NoCredentials,
    credentials_for,
)
from overnight.images.errors import ImageError

HOST = "registry.example.com:8443"
HELPER = """#!/bin/sh
read server
case "$1 $server" in
  "get registry.example.com:8443") echo '{"ServerURL": "x", "Username": "me", "Secret": "from helper"}' ;;
  "get https://index.docker.io/v1/") echo '{"Username": "<token>", "Secret": "refresh"}' ;;
  "get broken.example.com") echo 'no JSON' ;;
  "get locked.example.com") echo "the keychain is locked" >&2; exit 1 ;;
  *) echo "credentials not found in native keychain"; exit 1 ;;
esac
"""


@pytest.fixture
def docker(tmp_path, monkeypatch):
    """Writes config.json and returns what reads it; a helper called `test` is installed."""
    helper = tmp_path / "bin" / "docker-credential-test"
    helper.parent.mkdir()
    helper.write_text(HELPER)
    helper.chmod(0o755)
    monkeypatch.setenv("PATH", f"{helper.parent}{os.pathsep}{os.environ['PATH']}")

    def written(config: object) -> DockerCredentials:
        path = tmp_path / "config.json"
        path.write_bytes(config if isinstance(config, bytes) else json.dumps(config).encode())
        return DockerCredentials(path)

    return written


def auth(text: str) -> dict[str, str]:
    return {"auth": base64.b64encode(text.encode()).decode()}


@pytest.mark.parametrize("key", [HOST, f"https://{HOST}", f"https://{HOST}/v1/", f"http://{HOST}/v2/"])
def test_a_login_is_found_however_docker_wrote_the_host(docker, key):
    login = docker({"auths": {"other.example.com": auth("a:b"), key: auth("me:pass:word")}}).login(HOST)
    assert (login.user, login.secret) == ("me", "pass:word")
    assert login.source.endswith("config.json")


@pytest.mark.parametrize("host", ["docker.io", "index.docker.io", "registry-1.docker.io"])
def test_docker_hubs_login_stands_under_its_old_name(docker, host):
    assert docker({"auths": {"https://index.docker.io/v1/": auth("me:x")}}).login(host).user == "me"


def test_an_identity_token_counts_before_the_password(docker):
    login = docker({"auths": {HOST: {**auth("me:"), "identitytoken": "refresh"}}}).login(HOST)
    assert (login.user, login.secret, login.is_identity_token) == (IDENTITY_TOKEN, "refresh", True)


def test_user_name_and_password_may_stand_in_the_open(docker):
    assert docker({"auths": {HOST: {"username": "me", "password": "p"}}}).login(HOST).secret == "p"


@pytest.mark.parametrize("config", [{}, {"auths": {}}, {"auths": {"registry.example.com": {}}}, {"auths": {HOST: {}}}])
def test_no_login_is_none(docker, config):
    assert docker(config).login(HOST) is None
    assert DockerCredentials(Path("/nowhere/config.json")).login(HOST) is None


def test_the_hosts_own_helper_counts_before_the_file(docker):
    login = docker({"credHelpers": {HOST: "test"}, "auths": {HOST: auth("me:file")}}).login(HOST)
    assert login == Login("me", "from helper", "credential helper docker-credential-test")


def test_the_store_counts_where_the_file_says_nothing(docker):
    credentials = docker({"credsStore": "test", "auths": {HOST: {}}})
    assert credentials.login(HOST).secret == "from helper"
    assert credentials.login("docker.io").is_identity_token
    assert credentials.login("unknown.example.com") is None


@pytest.mark.parametrize(
    ("config", "host", "says"),
    [
        (b"", HOST, "this is not JSON"),
        (b"\xff", HOST, "this is not JSON"),
        ([], HOST, "this is no JSON object"),
        ({"auths": []}, HOST, None),
        ({"auths": "x"}, HOST, "'auths' is no object"),
        ({"auths": {HOST: {"auth": "%%%"}}}, HOST, "not base64 of USER:PASSWORD"),
        ({"auths": {HOST: {"auth": "bWU="}}}, HOST, "not base64 of USER:PASSWORD"),
        ({"credsStore": "missing"}, HOST, "docker-credential-missing: this program is not installed"),
        ({"credsStore": "../evil"}, HOST, "'../evil' is no credential helper's name"),
        ({"credsStore": 7}, HOST, "docker-credential-7: this program is not installed"),
        ({"credsStore": "test"}, "broken.example.com", "no login"),
        ({"credsStore": "test"}, "locked.example.com", "the keychain is locked"),
    ],
)
def test_a_broken_configuration_is_refused_in_one_sentence(docker, config, host, says):
    credentials = docker(config)
    if says is None:
        assert credentials.login(host) is None
        return
    with pytest.raises(ImageError) as caught:
        credentials.login(host)
    assert says in caught.value.sentence
    assert "\n" not in caught.value.sentence
    assert caught.value.remedy


def test_a_secret_is_never_part_of_what_is_printed(docker):
    assert "hidden" not in repr(docker({"auths": {HOST: auth("me:hidden")}}).login(HOST))


class Token:
    """Google credentials, as google.auth gives them."""

    def __init__(self) -> None:
        self.token, self.refreshed = "", 0

    @property
    def valid(self) -> bool:
        return bool(self.token)

    def refresh(self, _request: object) -> None:
        self.refreshed += 1
        self.token = f"token {self.refreshed}"


def test_google_is_given_an_access_token_that_is_valid(monkeypatch):
    import google.auth

    found = Token()
    monkeypatch.setattr(google.auth, "default", lambda scopes: (found, "project"))
    credentials = GoogleCredentials()
    assert credentials.login("us-docker.pkg.dev").secret == "token 1"
    assert credentials.login("us-docker.pkg.dev") == Login(
        "oauth2accesstoken", "token 1", "the application default credentials"
    )
    found.token = ""
    assert credentials.login("us-docker.pkg.dev").secret == "token 2"


def test_without_google_credentials_dockers_count(docker, monkeypatch):
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", "/nowhere.json")
    fallback = docker({"auths": {"us-docker.pkg.dev": auth("_json_key:{}")}})
    assert GoogleCredentials(fallback).login("us-docker.pkg.dev").user == "_json_key"
    assert GoogleCredentials(NoCredentials()).login("us-docker.pkg.dev") is None


def test_google_credentials_that_give_no_token_are_refused(monkeypatch):
    import google.auth
    from google.auth.exceptions import RefreshError

    class Revoked(Token):
        def refresh(self, _request: object) -> None:
            raise RefreshError("invalid_grant: Token has been expired\nor revoked.")

    monkeypatch.setattr(google.auth, "default", lambda scopes: (Revoked(), "project"))
    with pytest.raises(ImageError) as caught:
        GoogleCredentials().login("us-docker.pkg.dev")
    assert caught.value.sentence == (
        "us-docker.pkg.dev: Google's credentials give no token (invalid_grant: Token has been expired or revoked); "
        "run `gcloud auth application-default login`."
    )


def test_the_users_own_file_is_read(monkeypatch, tmp_path):
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    assert credentials_for(HOST) == DockerCredentials(tmp_path / "config.json")
    monkeypatch.delenv("DOCKER_CONFIG")
    monkeypatch.setenv("HOME", "/home/someone")
    assert credentials_for(HOST) == DockerCredentials(Path("/home/someone/.docker/config.json"))
    assert isinstance(credentials_for("us-docker.pkg.dev"), GoogleCredentials)
