"""References to images: `HOST/PATH[:TAG][@sha256:DIGEST]`, read strictly, each mistake with its own sentence.

The grammar is the one of the distribution project (github.com/distribution/reference), with two things less: a host
is never assumed, and sha256 is the only digest, as in every registry that Overnight speaks to.
"""

import re
import unicodedata
from dataclasses import dataclass, replace

from overnight.images.errors import ImageError
from overnight.images.reference_parts import Mistake, check_digest, check_host, check_path, check_tag, is_host

LONGEST_SHOWN = 300
"""Characters of somebody's text that a sentence repeats."""
LONGEST_NAME = 255
"""Characters of HOST/PATH (distribution's NameTotalLengthMax)."""
LONGEST = LONGEST_NAME + len(":") + 128 + len("@sha256:") + 64
FORM = "write HOST/PATH/NAME@sha256:<64 hex digits>"
GOOGLE_HOST = re.compile(r"([a-z]+(?:-[a-z]+[0-9]+)?)-docker\.pkg\.dev")
"""Artifact Registry's hosts for images: a region's or a multi-region's."""


@dataclass(frozen=True)
class GoogleName:
    """An image in Artifact Registry, by the parts that its API's resource names are made of."""

    location: str
    project: str
    repository: str
    package: str
    """The image's name in the repository; nested names hold slashes."""


@dataclass(frozen=True)
class Reference:
    """An image in a registry, by tag, by digest, or by both (then the digest is what counts)."""

    host: str
    """With the port where there is one."""
    path: str
    tag: str | None = None
    digest: str | None = None
    """`sha256:` and 64 lower-case hex digits."""

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition("/")[2]

    @property
    def repository(self) -> str:
        """HOST/PATH."""
        return f"{self.host}/{self.path}"

    @property
    def pinned(self) -> bool:
        """Whether it names bytes, and not what a tag points to at the moment."""
        return self.digest is not None

    @property
    def google(self) -> GoogleName | None:
        """The parts of a name in Artifact Registry; None elsewhere."""
        match = GOOGLE_HOST.fullmatch(self.host)
        return _google_name(match[1], self.path) if match else None

    def with_digest(self, digest: str) -> "Reference":
        """The same image by this digest alone."""
        return replace(self, tag=None, digest=digest)

    def __str__(self) -> str:
        tag = f":{self.tag}" if self.tag is not None else ""
        digest = f"@{self.digest}" if self.digest is not None else ""
        return f"{self.repository}{tag}{digest}"


def parse(text: str, where: str | None = None) -> Reference:
    """The reference that `text` writes; `where` is the file or field that holds it.

    Raises ImageError, in one sentence that repeats `text`.
    """
    try:
        return _parse(text)
    except Mistake as mistake:
        raise _refusal(text, mistake, where) from None


def parse_pinned(text: str, where: str | None = None) -> Reference:
    """As `parse`, and refuse what names no digest. Raises ImageError."""
    reference = parse(text, where)
    if reference.pinned:
        return reference
    if reference.tag == "latest":
        problem = "'latest' is another image tomorrow"
    elif reference.tag is not None:
        problem = f"the tag {reference.tag!r} can move, and there is no digest"
    else:
        problem = "there is neither tag nor digest"
    remedy = "add @sha256:… of the image that is meant (`overnight image resolve` finds it)"
    raise _refusal(text, Mistake(problem, remedy), where)


def shown(text: object) -> str:
    """Somebody's text for a sentence: in quotes, on one line, not too long."""
    written = repr(text)
    return written if len(written) <= LONGEST_SHOWN else f"{written[:LONGEST_SHOWN]}…'"


def _refusal(text: object, mistake: Mistake, where: str | None) -> ImageError:
    return ImageError(f"{shown(text)}: {mistake.problem}", where=where, remedy=mistake.remedy)


def _parse(text: str) -> Reference:
    _check_characters(text)
    name, has_digest, digest = text.partition("@")
    host, _, rest = name.partition("/")
    _check_parts(host, rest, name)
    path, has_tag, tag = rest.partition(":")
    check_path(path)
    if has_tag:
        check_tag(tag)
    if len(f"{host}/{path}") > LONGEST_NAME:
        raise Mistake(
            f"host and path have {len(host) + 1 + len(path)} characters, and {LONGEST_NAME} fit", "shorten it"
        )
    _check_google(host, path)
    if has_digest:
        check_digest(digest)
    return Reference(host, path, tag if has_tag else None, digest if has_digest else None)


def _check_characters(text: object) -> None:
    """What can stand in no part of a reference."""
    if not isinstance(text, str):
        raise Mistake("this is not text", f"{FORM}, in quotes")
    if not text.strip():
        raise Mistake("an image reference is empty", FORM)
    if len(text) > LONGEST:
        raise Mistake(f"{len(text)} characters are more than the {LONGEST} that a reference can have", FORM)
    if placeholder := re.search(r"\$[{(]?\w*[)}]?|<[^>]*>?|[{}>]|…", text):
        raise Mistake(f"{placeholder[0]!r} is a place that nothing was filled into", FORM)
    for character in text:
        _check_character(character)
    if scheme := re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", text):
        raise Mistake(f"a reference has no scheme such as {scheme[0]}", f"leave {scheme[0]} out")
    if text.count("@") > 1:
        raise Mistake("there are two @", "keep one, before the digest")


def _check_character(character: str) -> None:
    code = f"U+{ord(character):04X} {unicodedata.name(character, '')}".rstrip()
    if character in "\r\n":
        raise Mistake("a line break stands in it", "write it on one line")
    if character.isspace():
        called = "a space" if character == " " else f"white space ({code})"
        raise Mistake(f"{called} stands in it", "remove it")
    if not character.isascii():
        raise Mistake(f"{character!r} ({code}) is not an ASCII character, whatever it looks like", "type it anew")
    if not character.isprintable():
        raise Mistake(f"the control character U+{ord(character):04X} stands in it", "remove it")
    if not re.match(r"[A-Za-z0-9._:/@\[\]+=-]", character):
        raise Mistake(f"{character!r} stands in no image reference", FORM)


def _check_parts(host: str, rest: str, name: str) -> None:
    """That there is a host and something behind it."""
    if not name:
        raise Mistake("there is no name before the digest", FORM)
    if name.startswith("/"):
        raise Mistake("the host is missing before the first /", FORM)
    if "/" not in name and re.search(r"\.[a-z]{2,}(:[0-9]+)?$|^localhost(:[0-9]+)?$|:[0-9]+:|:$", name) is None:
        raise Mistake("it names no registry, and docker.io is not assumed", "write the registry's host before it")
    if "/" in name and not is_host(host):
        problem = f"{host!r} is no host (no dot, no port, not localhost), and docker.io is not assumed"
        raise Mistake(problem, "write the registry's host before it")
    if not rest:
        raise Mistake("it names a host and no image", f"write {host}/PATH/NAME")
    check_host(host, rest)


def _check_google(host: str, path: str) -> None:
    """Artifact Registry's own form (cloud.google.com/artifact-registry/docs/docker/names)."""
    if not host.endswith(".pkg.dev") and host != "pkg.dev":
        return
    match = GOOGLE_HOST.fullmatch(host)
    if match is None:
        problem = f"{host!r} is no host of images in Artifact Registry"
        raise Mistake(problem, "write LOCATION-docker.pkg.dev, such as europe-west4-docker.pkg.dev")
    if _google_name(match[1], path) is None:
        raise Mistake(f"the path {path!r} is too short for Artifact Registry", f"write {host}/PROJECT/REPOSITORY/NAME")


def _google_name(location: str, path: str) -> GoogleName | None:
    """`example.com/project/…` is the project `example.com:project` of a domain."""
    parts = path.split("/")
    owner = 2 if "." in parts[0] else 1
    if len(parts) < owner + 2:
        return None
    return GoogleName(location, ":".join(parts[:owner]), parts[owner], "/".join(parts[owner + 1 :]))
