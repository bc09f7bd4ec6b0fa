"""The protocol of template registries: upload, download, tags.

As kfp.registry's RegistryClient 2.17.3 speaks it with Artifact Registry (its context/kfp_pkg_dev.json): contents by
the repository's own host, tags by Artifact Registry's API. A version is the sha256 digest of the uploaded bytes, and an
upload that names a tag moves it (kubeflow/pipelines#7382), so tags are created apart from uploads here.
"""

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from overnight.files import sha256_bytes
from overnight.pipeline.errors import TemplateError
from overnight.pipeline.repository import VERSION, Repository

if TYPE_CHECKING:
    import requests

SCOPE = "https://www.googleapis.com/auth/cloud-platform"
SECONDS = 60
"""How long an answer may take."""
RETRIED = (429, 500, 502, 503, 504)
"""Answers after which the same is asked again."""


class TemplateRegistry:
    """One repository's templates."""

    def __init__(self, repository: Repository, session: "requests.Session") -> None:
        self.repository = repository
        self._session = session

    def upload(self, name: str, content: bytes) -> str:
        """Keep `content`, whose own name is `name`; its version. The same bytes again are the same version.

        Raises TemplateError, also when the registry names another template or digest than what was sent.
        """
        files = {"content": (f"{name}.yaml", content)}
        answer = self._ask("POST", self.repository.address, files=files)
        said, version = str(answer.text).strip(), f"sha256:{sha256_bytes(content)}"
        if said != f"{name}/{version}":
            raise TemplateError(
                f"{name}/{version} was sent, and the registry says that it keeps {said[:200]!r}",
                where=self.repository.address,
                remedy="do not use what it keeps",
            )
        return version

    def download(self, name: str, version: str) -> bytes | None:
        """The bytes of a version, checked; None when there is no such version. Raises TemplateError."""
        place = self.repository.template(name, version)
        answer = self._ask("GET", place, absent=404)
        if answer is None:
            return None
        content: bytes = answer.content
        if f"sha256:{sha256_bytes(content)}" != version:
            raise TemplateError("what the registry sends has another digest", where=place, remedy="publish it again")
        return content

    def tagged(self, name: str, tag: str) -> str | None:
        """The version that a tag stands on; None when there is no such tag. Raises TemplateError."""
        answer = self._ask("GET", f"{self.repository.package(name)}/tags/{quote(tag, safe='')}", absent=404)
        return None if answer is None else self._version_of(answer)

    def create_tag(self, name: str, tag: str, version: str) -> bool:
        """Put a new tag on a version; False when the tag is there already, on whatever version.

        Raises TemplateError.
        """
        package = self.repository.package(name)
        body = {"name": "", "version": f"{package[package.index('projects/') :]}/versions/{version}"}
        place = f"{package}/tags?tagId={quote(tag, safe='')}"
        headers = {"Content-Type": "application/json"}
        return self._ask("POST", place, absent=409, data=json.dumps(body), headers=headers) is not None

    def _version_of(self, answer: "requests.Response") -> str:
        try:
            version = str(answer.json()["version"]).rpartition("/versions/")[2]
        except (ValueError, LookupError, TypeError):
            version = ""
        if not VERSION.fullmatch(version):
            raise TemplateError("the registry's answer names no version", where=answer.url)
        return version

    def _ask(self, method: str, place: str, *, absent: int = 0, **sent: Any) -> Any:
        """The answer; None when its status is `absent`. Raises TemplateError for any other status from 400 on."""
        import requests
        from google.auth.exceptions import GoogleAuthError

        try:
            answer = self._session.request(method, place, timeout=SECONDS, allow_redirects=False, **sent)
        except requests.RequestException as error:
            raise _unreachable(self.repository, error) from None
        except GoogleAuthError as error:
            raise _no_credentials(error) from None
        if absent and answer.status_code == absent:
            return None
        if not answer.ok or answer.is_redirect:
            raise _refused(answer, self.repository)
        return answer


def registry_of(repository: Repository) -> TemplateRegistry:
    """The registry at an address, with the application default credentials; without any on this machine.

    Raises TemplateError when there are none.
    """
    import requests
    from requests.adapters import HTTPAdapter
    from urllib3.util import Retry

    session = requests.Session() if repository.is_local else _authorized()
    # All that is asked may be asked twice, uploads too: the same bytes are the same version.
    retries = Retry(
        3, connect=1, backoff_factor=0.5, status_forcelist=RETRIED, allowed_methods=None, raise_on_status=False
    )
    session.mount(f"{repository.host.partition('://')[0]}://", HTTPAdapter(max_retries=retries))
    return TemplateRegistry(repository, session)


def _authorized() -> "requests.Session":
    import google.auth
    from google.auth.exceptions import GoogleAuthError
    from google.auth.transport.requests import AuthorizedSession

    try:
        credentials, _ = google.auth.default(scopes=[SCOPE])
    except GoogleAuthError as error:
        raise _no_credentials(error) from None
    session: Any = AuthorizedSession
    made: requests.Session = session(credentials)
    return made


def _no_credentials(error: Exception) -> TemplateError:
    said = " ".join(str(error).split()).partition(". ")[0].rstrip(".")
    return TemplateError(
        f"there are no usable Google credentials ({said})", remedy="run `gcloud auth application-default login`"
    )


def _unreachable(repository: Repository, error: "requests.RequestException") -> TemplateError:
    from overnight.images.registry_errors import unreachable

    found = unreachable(repository.host.partition("://")[2], error)
    return TemplateError(found.problem, where=repository.address, remedy=found.remedy)


def _refused(answer: "requests.Response", repository: Repository) -> TemplateError:
    remedies = {
        401: "give credentials that Artifact Registry knows",
        403: f"give the account roles/artifactregistry.writer on the repository {repository.repository}",
        404: "make the repository with format KFP, or correct its address",
    }
    said = " ".join(_message(answer).split())[:200].rstrip(".")
    what = f"the registry answers {answer.status_code}" + (f" ({said})" if said else "")
    return TemplateError(what, where=repository.address, remedy=remedies.get(answer.status_code))


def _message(answer: "requests.Response") -> str:
    """What the service says, in Google's form of errors or as it is."""
    try:
        return str(answer.json()["error"]["message"])
    except (ValueError, LookupError, TypeError):
        return answer.text if answer.headers.get("Content-Type", "").startswith("text/plain") else ""
