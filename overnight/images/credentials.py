"""Who we are to a registry: docker's config.json and its helpers, or Google's application default credentials."""

import base64
import binascii
import json
import os
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from overnight.images.errors import ImageError

HELPER_SECONDS = 30
IDENTITY_TOKEN = "<token>"
"""The user name by which helpers say that the secret is a refresh token (docker/docker-credential-helpers)."""
GOOGLE_USER = "oauth2accesstoken"
"""User name beside which Artifact Registry takes an access token as password."""
GOOGLE_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
DOCKER_HUB = ("docker.io", "index.docker.io", "registry-1.docker.io")


@dataclass(frozen=True)
class Login:
    """A user name with its password, or a refresh token."""

    user: str
    secret: str = field(repr=False)
    source: str
    """Where it was found, for sentences."""

    @property
    def is_identity_token(self) -> bool:
        """Whether the secret is a refresh token and not a password."""
        return self.user == IDENTITY_TOKEN


class Credentials(Protocol):
    """Something that may know a login for a host."""

    def login(self, host: str) -> Login | None:
        """The login for HOST[:PORT], None when there is none; raises ImageError when it cannot be read."""
        ...


@dataclass(frozen=True)
class NoCredentials:
    """For registries that ask for none."""

    def login(self, host: str) -> Login | None:
        """None."""
        return None


@dataclass(frozen=True)
class DockerCredentials:
    """What `docker login` wrote: `auths`, `credHelpers` and `credsStore` of config.json."""

    path: Path

    @classmethod
    def of_user(cls) -> "DockerCredentials":
        """The file that docker itself would read."""
        folder = os.environ.get("DOCKER_CONFIG")
        return cls((Path(folder) if folder else Path.home() / ".docker") / "config.json")

    def login(self, host: str) -> Login | None:
        """The helper named for the host counts first, then what stands in the file, then the store of all hosts."""
        config = self._read()
        if helper := _of_host(self._section(config, "credHelpers"), host):
            return self._ask(str(helper), host)
        entry = _of_host(self._section(config, "auths"), host)
        if login := self._entry(entry, host):
            return login
        store = config.get("credsStore")
        return self._ask(str(store), host) if store else None

    def _read(self) -> dict[str, Any]:
        try:
            config = json.loads(self.path.read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except OSError as error:
            problem = f"it cannot be read ({os.strerror(error.errno or 0)})"
            raise ImageError(problem, where=str(self.path), remedy="give this user permission") from None
        except (ValueError, RecursionError):
            raise ImageError("this is not JSON", where=str(self.path), remedy="run `docker login` again") from None
        if not isinstance(config, dict):
            raise ImageError("this is no JSON object", where=str(self.path), remedy="run `docker login` again")
        return config

    def _section(self, config: dict[str, Any], key: str) -> dict[str, Any]:
        value = config.get(key) or {}
        if not isinstance(value, dict):
            raise ImageError(f"{key!r} is no object", where=str(self.path), remedy="run `docker login` again")
        return value

    def _entry(self, entry: Any, host: str) -> Login | None:
        """`auth` is base64 of USER:PASSWORD; `identitytoken` counts before the password."""
        if not isinstance(entry, dict):
            return None
        if token := entry.get("identitytoken"):
            return Login(IDENTITY_TOKEN, str(token), str(self.path))
        if entry.get("username") and entry.get("password"):
            return Login(str(entry["username"]), str(entry["password"]), str(self.path))
        if not entry.get("auth"):
            return None
        try:
            user, colon, secret = base64.b64decode(str(entry["auth"]), validate=True).decode().partition(":")
        except (binascii.Error, UnicodeError, ValueError):
            colon = ""
        if not colon:
            problem = f"the login for {host} is not base64 of USER:PASSWORD"
            raise ImageError(problem, where=str(self.path), remedy=f"run `docker login {host}` again")
        return Login(user, secret.rstrip("\0"), str(self.path))

    def _ask(self, helper: str, host: str) -> Login | None:
        """`docker-credential-HELPER get`: the host on standard input, JSON on standard output."""
        where = f"credential helper docker-credential-{helper}"
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", helper):
            problem = f"{helper!r:.100} is no credential helper's name"
            raise ImageError(problem, where=str(self.path), remedy="edit the file, or run `docker login` again")
        server = "https://index.docker.io/v1/" if host in DOCKER_HUB else host
        try:
            done = subprocess.run(
                [f"docker-credential-{helper}", "get"],
                input=server.encode(),
                capture_output=True,
                timeout=HELPER_SECONDS,
                check=False,
            )
        except FileNotFoundError:
            raise ImageError(
                "this program is not installed", where=where, remedy=f"install it, or edit {self.path}"
            ) from None
        except (OSError, subprocess.TimeoutExpired) as error:
            reason = "did not answer" if isinstance(error, subprocess.TimeoutExpired) else "could not be started"
            raise ImageError(f"it {reason}", where=where, remedy=f"run it by hand, or edit {self.path}") from None
        return _answer(done, where, host)


@dataclass
class GoogleCredentials:
    """An access token of the application default credentials; docker's login where there are none."""

    fallback: Credentials = field(default_factory=NoCredentials)
    _found: Any = field(default=None, repr=False)

    def login(self, host: str) -> Login | None:
        """A token that is valid now."""
        import google.auth
        import google.auth.transport.requests
        from google.auth.exceptions import DefaultCredentialsError, GoogleAuthError

        transport: Any = google.auth.transport.requests.Request
        default: Any = google.auth.default
        try:
            if self._found is None:
                self._found, _ = default(scopes=[GOOGLE_SCOPE])
            if not self._found.valid:
                self._found.refresh(transport())
        except DefaultCredentialsError:
            return self.fallback.login(host)
        except GoogleAuthError as error:
            reason = " ".join(str(error.args[0] if error.args else error).split())[:200].rstrip(".")
            raise ImageError(
                f"Google's credentials give no token ({reason})",
                where=host,
                remedy="run `gcloud auth application-default login`",
            ) from None
        return Login(GOOGLE_USER, str(self._found.token), "the application default credentials")


def credentials_for(host: str) -> Credentials:
    """What is right for a host that is not this machine."""
    docker = DockerCredentials.of_user()
    return GoogleCredentials(docker) if host.endswith(".pkg.dev") else docker


def _of_host(section: dict[str, Any], host: str) -> Any:
    """The section's entry for a host, however docker's versions wrote the key."""
    names = DOCKER_HUB if host in DOCKER_HUB else (host,)
    for key, value in section.items():
        if re.sub(r"^https?://", "", key).split("/")[0] in names:
            return value
    return None


def _answer(done: "subprocess.CompletedProcess[bytes]", where: str, host: str) -> Login | None:
    if done.returncode != 0:
        said = " ".join((done.stdout + b" " + done.stderr).decode(errors="replace").split())
        if "not found" in said.lower():
            return None
        raise ImageError(
            f"it gives no login for {host} ({said[:200].rstrip('.') or f'exit code {done.returncode}'})",
            where=where,
            remedy=f"run `docker login {host}` again",
        )
    try:
        answer = json.loads(done.stdout)
        return Login(str(answer["Username"]), str(answer["Secret"]), where)
    except (ValueError, KeyError, TypeError):
        raise ImageError(f"its answer for {host} is no login", where=where, remedy="update the helper") from None
