"""Addresses of template repositories and templates: `https://REGION-kfp.pkg.dev/PROJECT/REPOSITORY/NAME/VERSION`."""

import re
from dataclasses import dataclass
from urllib.parse import quote

from overnight.images.local import is_loopback
from overnight.pipeline.errors import TemplateError

GOOGLE = re.compile(r"https://([a-z]+(?:-[a-z]+[0-9]+)?)-kfp\.pkg\.dev")
LOCAL_LOCATION = "local"
NAME = re.compile(r"[a-z0-9][a-z0-9-]{3,127}")
"""Names that the service takes (docs "Create, upload, and use a pipeline template")."""
TAG = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
VERSION = re.compile(r"sha256:[0-9a-f]{64}")
PROJECT = r"[a-z0-9.:-]+"
REPOSITORY = r"[a-z0-9-]+"
_REPOSITORY = re.compile(rf"(?P<host>https?://[^/\s@?#]+)/(?P<project>{PROJECT})/(?P<repository>{REPOSITORY})/?")
_TEMPLATE = re.compile(r"(?P<repository>https?://[^/\s]+/[^/\s]+/[^/\s]+)/(?P<name>[^/:\s]+)[:/](?P<version>[^/\s]+)")


@dataclass(frozen=True)
class Repository:
    """A repository of format KFP in Artifact Registry, or a server on this machine that speaks its protocol."""

    host: str
    """With scheme: `https://REGION-kfp.pkg.dev`, or `http://127.0.0.1:PORT`."""
    location: str
    project: str
    repository: str

    @property
    def address(self) -> str:
        """Where templates are uploaded to, and the beginning of every template's address."""
        return f"{self.host}/{self.project}/{self.repository}"

    @property
    def is_local(self) -> bool:
        """Whether it is on this machine: spoken to without TLS and without credentials."""
        return self.location == LOCAL_LOCATION

    @property
    def resource(self) -> str:
        """Its address in Artifact Registry's API, which knows tags."""
        api = self.host if self.is_local else "https://artifactregistry.googleapis.com"
        return f"{api}/v1/projects/{self.project}/locations/{self.location}/repositories/{self.repository}"

    def template(self, name: str, version: str) -> str:
        """What a schedule's or a job's `template_uri` is."""
        return f"{self.address}/{name}/{version}"

    def package(self, name: str) -> str:
        """The package's address in Artifact Registry's API."""
        return f"{self.resource}/packages/{quote(name, safe='')}"


def parse_repository(text: str, where: str = "--repository") -> Repository:
    """The repository that an address names. Raises TemplateError."""
    match = _REPOSITORY.fullmatch(text)
    if match is None:
        raise TemplateError(
            f"{text!r} is no address of a template repository",
            where=where,
            remedy="write https://REGION-kfp.pkg.dev/PROJECT/REPOSITORY",
        )
    host = match["host"]
    if google := GOOGLE.fullmatch(host):
        return Repository(host, google[1], match["project"], match["repository"])
    if host.startswith("http://") and is_loopback(host.removeprefix("http://")):
        return Repository(host, LOCAL_LOCATION, match["project"], match["repository"])
    raise TemplateError(
        f"{host} keeps no pipeline templates",
        where=where,
        remedy="write https://REGION-kfp.pkg.dev/…, or http://127.0.0.1:PORT/… of a registry on this machine",
    )


def parse_template(text: str) -> tuple[Repository, str, str]:
    """Repository, name and version (`sha256:…` or a tag) of `REPOSITORY/NAME/VERSION` or `REPOSITORY/NAME:TAG`.

    Raises TemplateError.
    """
    match = _TEMPLATE.fullmatch(text)
    if match is None:
        raise TemplateError(
            f"{text!r} is no address of a template",
            remedy="write https://REGION-kfp.pkg.dev/PROJECT/REPOSITORY/NAME:TAG, or …/NAME/sha256:<64 hex digits>",
        )
    repository = parse_repository(match["repository"], where=text)
    name, version = check_name(match["name"], where=text), match["version"]
    if not VERSION.fullmatch(version):
        check_tag(version, where=text)
    return repository, name, version


def check_name(name: str, where: str) -> str:
    """`name`, when a template can have it. Raises TemplateError."""
    if not NAME.fullmatch(name):
        raise TemplateError(
            f"{name!r} is no name of a template",
            where=where,
            remedy="use 4 to 128 lower-case letters, digits and hyphens, and begin with a letter or digit",
        )
    return name


def check_tag(tag: str, where: str) -> str:
    """`tag`, when a release can have it. Raises TemplateError."""
    if tag == "latest":
        raise TemplateError("a release is not tagged latest", where=where, remedy="give the commit that it is made of")
    if not TAG.fullmatch(tag):
        raise TemplateError(
            f"{tag!r} is no tag", where=where, remedy="give the commit, or letters, digits, '.', '_' and '-'"
        )
    return tag
