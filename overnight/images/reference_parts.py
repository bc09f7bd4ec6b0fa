"""The parts of an image reference: host, path, tag and digest, each checked with sentences of its own."""

import ipaddress
import re

DIGEST_DIGITS = 64
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
PATH_PART = re.compile(r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*")
HOST_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
LONGEST_TAG = 128
GONE = re.compile(r"(?:([a-z0-9-]+)\.)?gcr\.io")
MULTI_REGIONS = {"": "us", "us": "us", "eu": "europe", "asia": "asia"}
"""Where Artifact Registry keeps what each host of Container Registry held
(cloud.google.com/artifact-registry/docs/transition/gcr-repositories)."""


class Mistake(Exception):
    """What is wrong with a part, and what to do; never leaves `overnight.images`."""

    def __init__(self, problem: str, remedy: str) -> None:
        self.problem = problem
        self.remedy = remedy
        super().__init__(problem)


def is_host(text: str) -> bool:
    """Whether the part before the first slash is meant as a host: a dot, a port, or localhost."""
    return "." in text or ":" in text or text.startswith("[") or text.lower() == "localhost"


def check_host(host: str, rest: str) -> None:
    """HOST[:PORT]; raises Mistake. `rest` is what follows it, for the sentence about gcr.io."""
    if host != host.lower():
        raise Mistake(f"the host {host!r} has upper-case letters", f"write {host.lower()}")
    name, port = _split_port(host)
    if port is not None and not (re.fullmatch(r"[1-9][0-9]{0,4}", port) and int(port) <= 65535):
        raise Mistake(f"{host!r} has no port from 1 to 65535 after its name", "write HOST:PORT, or HOST alone")
    if gone := GONE.fullmatch(name):
        raise _container_registry_is_gone(gone[1] or "", rest)
    if name.startswith("["):
        _check_ipv6(name)
    elif re.fullmatch(r"[0-9.]+", name):
        _check_ipv4(name)
    else:
        _check_name(host, name)


def check_path(path: str) -> None:
    """Lower-case parts between slashes; raises Mistake."""
    if path.endswith("/"):
        raise Mistake("it ends with a slash and no name", "remove the slash")
    for part in path.split("/"):
        if not part:
            raise Mistake("there is nothing between two slashes", "remove one of them")
        if part in (".", ".."):
            raise Mistake(f"the part {part!r} of the path leads elsewhere", "write the path as it is")
        if part != part.lower():
            raise Mistake(f"the path has upper-case letters in {part!r}", f"write {part.lower()}")
        if not PATH_PART.fullmatch(part):
            remedy = "use lower-case letters and digits, and between them one '.', one or two '_', or '-'"
            raise Mistake(f"{part!r} is no part of an image's path", remedy)


def check_tag(tag: str) -> None:
    """What stands after the colon; raises Mistake."""
    if not tag:
        raise Mistake("the tag after ':' is empty", "write the tag, or leave ':' out")
    if DIGEST.fullmatch(tag):
        raise Mistake("the digest stands after ':'", "write @ before sha256")
    if ":" in tag:
        raise Mistake(f"there are two tags, {tag!r}", "keep one")
    if "/" in tag:
        raise Mistake(f"a slash stands in the tag {tag!r}", "write the tag at the end of the last part")
    if len(tag) > LONGEST_TAG:
        raise Mistake(f"the tag has {len(tag)} characters, and {LONGEST_TAG} fit", "shorten it")
    if not TAG.fullmatch(tag):
        remedy = "use letters, digits, '_', '.' and '-', and begin with a letter, a digit or '_'"
        raise Mistake(f"{tag!r} is no tag", remedy)


def check_digest(digest: str) -> None:
    """What stands after the @; raises Mistake."""
    algorithm, colon, digits = digest.partition(":")
    if not digest:
        raise Mistake("there is nothing after the @", "write @sha256:<64 hex digits>")
    if not colon or not re.fullmatch(r"[A-Za-z0-9+._-]+", algorithm):
        raise Mistake(f"{digest!r} after the @ is no digest", "write @sha256:<64 hex digits>")
    if algorithm.lower() != "sha256":
        raise Mistake(
            f"the digest is of {algorithm!r}, and registries know images by sha256", "write the sha256 digest"
        )
    if algorithm != "sha256":
        raise Mistake(f"the algorithm is written {algorithm!r}", "write sha256 in lower case")
    if re.fullmatch(r"[0-9a-fA-F]{64}", digits) and digits != digits.lower():
        raise Mistake("the digest has upper-case digits", "write it in lower case")
    if wrong := re.search(r"[^0-9a-fA-F]", digits):
        raise Mistake(f"{wrong[0]!r} in the digest is no hex digit", "copy the digest whole, and nothing after it")
    if len(digits) != DIGEST_DIGITS:
        much = "short" if len(digits) < DIGEST_DIGITS else "long"
        counted = f"{len(digits)} digit{'' if len(digits) == 1 else 's'}"
        raise Mistake(f"the digest is too {much}: {counted} where sha256 has {DIGEST_DIGITS}", "copy it whole")


def _split_port(host: str) -> tuple[str, str | None]:
    if host.startswith("[") and "]" in host:
        name, _, rest = host.partition("]")
        return f"{name}]", (rest.removeprefix(":") if rest.startswith(":") else f"]{rest}") if rest else None
    name, colon, port = host.partition(":")
    return name, port if colon else None


def _container_registry_is_gone(prefix: str, rest: str) -> Mistake:
    problem = "Container Registry (gcr.io) is gone"
    path = re.split("[:@]", rest)[0]
    if prefix not in MULTI_REGIONS:
        return Mistake(problem, "push to Artifact Registry, LOCATION-docker.pkg.dev/PROJECT/REPOSITORY/NAME")
    project, _, name = path.partition("/")
    host = f"{prefix}.gcr.io" if prefix else "gcr.io"
    moved = f"{MULTI_REGIONS[prefix]}-docker.pkg.dev/{project or 'PROJECT'}/{host}/{name or 'NAME'}"
    return Mistake(problem, f"in Artifact Registry the name reads {moved}")


def _check_ipv6(name: str) -> None:
    try:
        ipaddress.IPv6Address(name.strip("[]"))
    except ValueError:
        raise Mistake(f"{name!r} is no IPv6 address", "write it in brackets, such as [::1]") from None


def _check_ipv4(name: str) -> None:
    try:
        ipaddress.IPv4Address(name)
    except ValueError:
        raise Mistake(f"{name!r} is neither a host name nor an IPv4 address", "write such as 127.0.0.1") from None


def _check_name(host: str, name: str) -> None:
    for label in name.split("."):
        if not label:
            raise Mistake(f"two dots, or one at an end, stand in the host {host!r}", "remove them")
        if not HOST_LABEL.fullmatch(label):
            remedy = "use lower-case letters, digits and '-', at most 63 between two dots"
            raise Mistake(f"{label!r} is no part of a host's name", remedy)
