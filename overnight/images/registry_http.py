"""Requests to a registry: retried a few times, with a token or password where the registry asks for one."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from urllib.parse import urljoin

from overnight.images.credentials import Credentials, Login
from overnight.images.errors import ImageError
from overnight.images.local import is_loopback
from overnight.images.registry_errors import Answer, denied, refused, unreachable
from overnight.images.registry_token import TIMEOUT, Header, basic, challenges, is_safe, token_answer, token_in

if TYPE_CHECKING:
    import requests

DELAYS = (0.5, 1.0, 2.0)
"""Seconds before the second, third and fourth try."""
LONGEST_DELAY = 10.0
"""Seconds that a registry's Retry-After may ask for."""
RETRIED = frozenset({429, 500, 502, 503, 504})
CHUNK = 2**20
LARGEST_ANSWER = 8 * 2**20
"""Bytes; manifests and lists of tags are smaller, and blobs are streamed."""


class _Got(Protocol):
    """What tells whether another try is due."""

    @property
    def status_code(self) -> int: ...
    @property
    def headers(self) -> Any: ...


Got = TypeVar("Got", bound=_Got)


@dataclass(frozen=True)
class Ask:
    """A request to the registry about a repository."""

    method: str
    url: str
    path: str
    headers: Mapping[str, str]
    data: bytes | None = None
    push: bool = False

    @property
    def scope(self) -> str:
        """What a token must allow (distribution's token specification)."""
        return f"repository:{self.path}:{'pull,push' if self.push else 'pull'}"


class Connection:
    """One registry host; keeps the tokens that it was given."""

    def __init__(
        self, host: str, session: "requests.Session | None", credentials: Credentials, sleep: Callable[[float], None]
    ) -> None:
        self.host = host
        self.root = f"{'http' if is_loopback(host) else 'https'}://{_api_host(host)}/"
        self._session = session or _session(host)
        self._credentials = credentials
        self._sleep = sleep
        self._authorizations: dict[str, str] = {}
        self._source: str | None = None

    def absolute(self, location: str) -> str:
        """A Location header's address; raises ImageError where it would leave the encrypted way."""
        url = urljoin(self.root, location)
        if not is_safe(url):
            raise ImageError(
                f"the registry leads to {url!r:.100}, without TLS", where=self.host, remedy="ask who runs the registry"
            )
        return url

    def ask(self, ask: Ask, limit: int = LARGEST_ANSWER) -> Answer:
        """The whole answer, whatever its status but 401 and 403; raises ImageError."""

        def attempt() -> Answer:
            return _whole(self._send(ask), limit)

        answer = self._retried(attempt)
        if len(answer.body) > limit:
            problem = f"the answer has more than {limit:,} bytes"
            raise ImageError(problem, where=f"{self.host}/{ask.path}", remedy="check the registry's address")
        if answer.status_code in (401, 403):
            raise denied(self.host, ask.path, answer, push=ask.push, source=self._source)
        return answer

    def stream(self, ask: Ask) -> Iterator[bytes]:
        """The body in pieces; where the connection is cut, the rest is asked for. Raises ImageError, StreamRefused."""
        import requests

        got = 0
        for delay in (*DELAYS, None):
            try:
                for piece in self._from(ask, got):
                    got += len(piece)
                    yield piece
            except requests.RequestException as error:
                if delay is None or not _passes(error):
                    raise unreachable(self.host, error) from None
                self._sleep(delay)
            else:
                return

    def _from(self, ask: Ask, start: int) -> Iterator[bytes]:
        """The body from byte `start` on; a registry that ignores Range sends all of it again."""
        ranged = {**ask.headers, "Range": f"bytes={start}-"} if start else ask.headers
        response = self._opened(Ask(ask.method, ask.url, ask.path, ranged))
        with response:
            skip = start if response.status_code == 200 else 0
            for piece in response.iter_content(CHUNK):
                yield piece[skip:]
                skip = max(0, skip - len(piece))

    def _opened(self, ask: Ask) -> "requests.Response":
        """An answer with a body to stream; raises ImageError for any status but 200 and 206."""

        def attempt() -> "Answer | requests.Response":
            response = self._send(ask)
            return response if response.status_code in (200, 206) else _whole(response, LARGEST_ANSWER)

        answer = self._retried(attempt)
        if not isinstance(answer, Answer):
            return answer
        if answer.status_code in (401, 403):
            raise denied(self.host, ask.path, answer, push=False, source=self._source)
        raise StreamRefused(answer)

    def _retried(self, attempt: Callable[[], Got]) -> Got:
        """What `attempt` returns, tried again after a status or an error that passes; raises ImageError."""
        import requests
        import urllib3

        for delay in DELAYS:
            try:
                got = attempt()
            except (requests.RequestException, urllib3.exceptions.HTTPError, UnicodeError) as error:
                if not _passes(error):
                    raise unreachable(self.host, error) from None
                self._sleep(delay)
                continue
            if got.status_code not in RETRIED:
                return got
            self._sleep(_retry_after(got.headers, delay))
        try:
            return attempt()
        except (requests.RequestException, urllib3.exceptions.HTTPError, UnicodeError) as error:
            raise unreachable(self.host, error) from None

    def _send(self, ask: Ask) -> "requests.Response":
        """One try; answers the registry's challenge once."""
        response = self._request(ask, self._authorizations.get(ask.scope))
        if response.status_code != 401:
            return response
        authorization = self._meet(response.headers.get("WWW-Authenticate", ""), ask)
        if authorization is None:
            return response
        response.close()
        self._authorizations[ask.scope] = authorization
        return self._request(ask, authorization)

    def _request(self, ask: Ask, authorization: str | None) -> "requests.Response":
        headers = {"User-Agent": "overnight", "Accept-Encoding": "identity", **ask.headers}
        return self._session.request(
            ask.method,
            ask.url,
            headers=headers,
            data=ask.data,
            auth=Header(authorization),
            stream=True,
            timeout=TIMEOUT,
        )

    def _meet(self, header: str, ask: Ask) -> str | None:
        """The Authorization header that a challenge asks for; None when we have nothing to say."""
        offered = challenges(header)
        if "bearer" not in offered and "basic" not in offered:
            return None
        login = self._credentials.login(self.host)
        self._source = login.source if login else None
        if "bearer" in offered:
            return f"Bearer {self._token(offered['bearer'], login, ask)}"
        return basic(login) if login else None

    def _token(self, challenge: Mapping[str, str], login: Login | None, ask: Ask) -> str:
        response = token_answer(self._session, self.root, challenge, login, ask.scope)
        answer = Answer(response.status_code, response.headers, response.content, response.url)
        if answer.status_code in (401, 403):
            raise denied(self.host, ask.path, answer, push=ask.push, source=self._source)
        if answer.status_code != 200:
            raise refused(self.host, ask.path, answer, "giving a token")
        return token_in(response, self.host)


class StreamRefused(Exception):
    """A body that does not come; never leaves `overnight.images`."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        super().__init__(answer.status_code)


def _api_host(host: str) -> str:
    """Docker Hub serves its API under another name."""
    return "registry-1.docker.io" if host in ("docker.io", "index.docker.io") else host


def _session(host: str) -> "requests.Session":
    import requests

    session = requests.Session()
    if is_loopback(host):
        session.trust_env = False  # no proxy stands between us and ourselves
    return session


def _whole(response: "requests.Response", limit: int) -> Answer:
    """The answer with its body, or with a little more than `limit` of it."""
    body = b""
    with response:
        for piece in response.iter_content(CHUNK):
            body += piece
            if len(body) > limit:
                break
    return Answer(response.status_code, response.headers, body, response.url)


def _passes(error: BaseException) -> bool:
    """Whether another try may go well: a cut or slow connection, not a missing host or a wrong certificate."""
    import requests
    import urllib3

    inner = getattr(error.args[0], "reason", None) if error.args else None
    if isinstance(error, requests.exceptions.SSLError) or isinstance(inner, urllib3.exceptions.NewConnectionError):
        return False
    lasting = (requests.exceptions.ConnectTimeout,)
    passing = (
        requests.exceptions.ConnectionError,
        requests.exceptions.ChunkedEncodingError,
        requests.exceptions.ReadTimeout,
    )
    return isinstance(error, passing) and not isinstance(error, lasting)


def _retry_after(headers: Mapping[str, str], delay: float) -> float:
    """Seconds to wait: the registry's own wish within bounds."""
    wish = headers.get("Retry-After", "")
    return min(max(delay, float(wish)), LONGEST_DELAY) if re.fullmatch(r"[0-9]{1,6}", wish) else delay
