"""`docker` for the steps of a local build: docker's command line, done by podman.

A file named `docker` that runs this module stands first on the steps' PATH. What podman does otherwise than Docker is
evened out here, so that build files hold nothing of it.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from overnight.builds.containers import BUILD_ID, LABEL, explain
from overnight.builds.docker_options import CommandLine, Grammar, letters, names, read
from overnight.builds.errors import BuildError

OWN_FAILURE = 125
"""Docker's exit code, and podman's, when the command itself failed and not what it ran."""
EPOCH = "SOURCE_DATE_EPOCH"

BUILD = Grammar(
    values=names(
        "build-arg tag file label target platform network add-host memory memory-swap cpu-shares cpuset-cpus"
        " shm-size ulimit iidfile secret build-context annotation progress cache-from cache-to provenance sbom"
    ),
    flags=names("no-cache quiet rm force-rm squash pull load"),
    short=letters("t=tag f=file q=quiet m=memory"),
)
WITHOUT_MEANING = names("progress cache-from cache-to load provenance sbom")
"""Options of `docker build` that change nothing here: no layers are kept, and nothing attests by itself."""
RUN = Grammar(
    values=names(
        "network user entrypoint workdir env env-file volume mount tmpfs label name hostname memory memory-swap cpus"
        " cpu-shares cpuset-cpus pids-limit ulimit shm-size security-opt cap-drop cap-add add-host platform pull"
        " stop-signal stop-timeout ipc group-add cidfile"
    ),
    flags=names("rm read-only init interactive tty detach"),
    short=letters("u=user w=workdir e=env v=volume l=label h=hostname m=memory i=interactive t=tty d=detach"),
    interspersed=False,
)
PUSH = Grammar(flags=names("quiet"), short=letters("q=quiet"))
PULL = Grammar(values=names("platform"), flags=names("quiet"), short=letters("q=quiet"))
SAVE = Grammar(values=names("output"), short=letters("o=output"))
LOAD = Grammar(values=names("input"), flags=names("quiet"), short=letters("i=input q=quiet"))
INSPECT = Grammar(values=names("format type"), flags=names("size"), short=letters("f=format s=size"))
IMAGES = Grammar(
    values=names("filter format"),
    flags=names("all digests no-trunc quiet"),
    short=letters("f=filter a=all q=quiet"),
)
REMOVE = Grammar(flags=names("force volumes"), short=letters("f=force v=volumes"))
NONE = Grammar()

GROUPED = {
    "image": {"ls": "images", "rm": "rmi", **{verb: verb for verb in names("build inspect push pull save load tag")}},
    "container": {verb: verb for verb in names("run create cp rm inspect")},
}
"""`docker image ls` is `docker images`."""


@dataclass(frozen=True)
class Call:
    """What is to be run."""

    command: tuple[str, ...]
    overwrites: str | None = None
    """A file that Docker would overwrite and podman refuses to."""
    pushes: str | None = None
    """The reference whose digest is printed afterwards, as Docker does."""


def translate(words: list[str], environment: Mapping[str, str]) -> Call:
    """The podman call for `docker WORDS…`. Raises BuildError for what has no stand-in, in one sentence."""
    verb, rest = _verb(words)
    handler = VERBS.get(verb)
    if handler is None:
        raise BuildError(
            f"`docker {verb}` has no stand-in here", remedy=f"a local build has: {', '.join(sorted(VERBS))}"
        )
    grammar, make = handler
    return make(verb, read(rest, grammar, verb), environment)


def _verb(words: list[str]) -> tuple[str, list[str]]:
    if not words:
        raise BuildError("`docker` was called without a command", remedy="give one, such as docker build")
    if len(words) > 1 and words[0] in GROUPED:
        return GROUPED[words[0]].get(words[1], f"{words[0]} {words[1]}"), words[2:]
    return words[0], words[1:]


def _build(verb: str, line: CommandLine, environment: Mapping[str, str]) -> Call:
    if len(line.arguments) != 1 or line.arguments[0] == "-" or "://" in line.arguments[0]:
        raise BuildError("`docker build` takes one folder as its context here", remedy="give it, such as .")
    for name in ("provenance", "sbom"):
        if line.last(name) not in (None, "false"):
            raise BuildError(
                f"`docker build --{name}` would push an index beside the image", remedy=f"give --{name}=false"
            )
    context = line.arguments[0]
    file = line.last("file") or str(Path(context, "Dockerfile"))  # podman would take a Containerfile first
    given = [(name, value) for name, value in line.options if name not in WITHOUT_MEANING and name != "file"]
    epoch = _epoch(line, environment)
    # An image has one digest with layers kept between builds and another without: without, on full stores as on empty.
    extra = ["--format=oci", "--identity-label=false", "--http-proxy=false", "--layers=false", f"--file={file}"]
    if epoch is not None:
        # BuildKit sets times by this variable alone; podman wants an option.
        extra.append(f"--timestamp={epoch}")
        if not _argument(line, EPOCH):
            extra.append(f"--build-arg={EPOCH}={epoch}")
    if Path(f"{file}.dockerignore").exists():  # BuildKit's rule; podman 4.3 does not know it
        extra.append(f"--ignorefile={file}.dockerignore")
    if line.last("network") == "none":
        # "cannot set --network other than host with --isolation chroot" (buildah 1.28)
        extra.append("--isolation=oci")
    return Call(("podman", "build", *extra, *_written(given), context))


def _epoch(line: CommandLine, environment: Mapping[str, str]) -> str | None:
    """Docker's CLI passes the variable on as a build argument; one that is given explicitly counts more."""
    value = _argument(line, EPOCH) or environment.get(EPOCH)
    if value is not None and not value.isdigit():
        raise BuildError(f"{EPOCH} is {value!r}", remedy="give whole seconds since 1970, such as 0")
    return value


def _argument(line: CommandLine, name: str) -> str | None:
    given = [value for option, value in line.options if option == "build-arg" and value is not None]
    return next((value.partition("=")[2] for value in reversed(given) if value.startswith(f"{name}=")), None)


def _run(verb: str, line: CommandLine, environment: Mapping[str, str]) -> Call:
    if not line.arguments:
        raise BuildError(f"`docker {verb}` names no image", remedy="give one")
    # Steps and their containers share the network `cloudbuild` in the service; here they are processes of the machine.
    given = [(name, "host" if (name, value) == ("network", "cloudbuild") else value) for name, value in line.options]
    extra = ["--http-proxy=false"]
    if line.has("read-only"):
        extra.append("--read-only-tmpfs=false")  # podman would make /tmp, /run and /var/tmp writable
    if build := environment.get(BUILD_ID):
        extra.append(f"--label={LABEL}={build}")
    return Call(("podman", verb, *extra, *_written(given), *line.arguments))


def _push(verb: str, line: CommandLine, environment: Mapping[str, str]) -> Call:
    (image,) = _exactly(verb, line, 1)
    return Call(("podman", "push", "--format=oci", *_written(line.options), image), pushes=image)


def _save(verb: str, line: CommandLine, environment: Mapping[str, str]) -> Call:
    several = ("--multi-image-archive",) if len(line.arguments) > 1 else ()
    command = ("podman", "save", "--format=docker-archive", *several, *_written(line.options), *line.arguments)
    return Call(command, overwrites=line.last("output"))


def _inspect(verb: str, line: CommandLine, environment: Mapping[str, str]) -> Call:
    if "RepoDigests" in (line.last("format") or ""):
        raise BuildError(
            "podman's RepoDigests are not always what the registry holds",
            remedy="ask the registry: overnight image resolve NAME:TAG",
        )
    return _same(verb, line, environment)


def _same(verb: str, line: CommandLine, environment: Mapping[str, str]) -> Call:
    return Call(("podman", verb, *_written(line.options), *line.arguments))


def _exactly(verb: str, line: CommandLine, count: int) -> tuple[str, ...]:
    if len(line.arguments) != count:
        raise BuildError(f"`docker {verb}` takes {count} argument here, not {len(line.arguments)}")
    return line.arguments


def _written(options: list[tuple[str, str | None]] | tuple[tuple[str, str | None], ...]) -> list[str]:
    return [f"--{name}" if value is None else f"--{name}={value}" for name, value in options]


VERBS = {
    "build": (BUILD, _build),
    "run": (RUN, _run),
    "create": (RUN, _run),
    "push": (PUSH, _push),
    "pull": (PULL, _same),
    "tag": (NONE, _same),
    "save": (SAVE, _save),
    "load": (LOAD, _same),
    "inspect": (INSPECT, _inspect),
    "images": (IMAGES, _same),
    "rmi": (REMOVE, _same),
    "rm": (REMOVE, _same),
    "cp": (NONE, _same),
    "version": (Grammar(values=names("format"), short=letters("f=format")), _same),
}


def main() -> NoReturn:
    """Be `docker`: exit with podman's code, or with 125 and one sentence."""
    try:
        call = translate(sys.argv[1:], os.environ)
    except BuildError as error:
        print(f"docker: {error.sentence}", file=sys.stderr)
        sys.exit(OWN_FAILURE)
    if call.overwrites is not None:
        Path(call.overwrites).unlink(missing_ok=True)
    if call.pushes is not None:
        sys.exit(_push_and_tell(call.command, call.pushes))
    if call.command[1] == "run":
        sys.exit(_run_and_explain(call.command))
    sys.stdout.flush()
    os.execvp(call.command[0], call.command)


def _push_and_tell(command: tuple[str, ...], image: str) -> int:
    """Docker ends a push with `TAG: digest: sha256:… size: N`; podman says the digest in a file."""
    with tempfile.NamedTemporaryFile() as digest:
        done = subprocess.run([*command[:2], f"--digestfile={digest.name}", *command[2:]], check=False)
        if done.returncode == 0:
            tag = image.rpartition("/")[2].partition(":")[2] or "latest"
            print(f"{tag}: digest: {Path(digest.name).read_text().strip()}", flush=True)
    return done.returncode


def _run_and_explain(command: tuple[str, ...]) -> int:
    """Pass everything through; where podman itself fails for a reason that is known, say it in one sentence."""
    process = subprocess.Popen(command, stderr=subprocess.PIPE)
    assert process.stderr is not None
    said = bytearray()
    while piece := os.read(process.stderr.fileno(), 65536):
        sys.stderr.buffer.write(piece)
        sys.stderr.buffer.flush()
        said = (said + piece)[-65536:]
    code = process.wait()
    if code in (OWN_FAILURE, 126, 127) and (sentence := explain(said.decode(errors="replace"))):
        print(f"docker: {sentence}", file=sys.stderr)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    main()
