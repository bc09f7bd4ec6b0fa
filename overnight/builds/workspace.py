"""The source of a local build: the checkout's files as git sees them, copied to a folder of their own."""

import hashlib
import os
import shutil
import stat
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from overnight.builds.errors import BuildError
from overnight.files import sha256_file
from overnight.images.source_address import normal_source

EXECUTABLE, PLAIN, FOLDER = 0o755, 0o644, 0o755
"""git knows no other modes; a checkout has these under the usual umask."""
NOT_SOURCE = frozenset({"__pycache__", "node_modules", "build", "dist"})
"""Folders that hold what was made; outside git there is no .gitignore to say so."""


@dataclass(frozen=True)
class Checkout:
    """Where a build's source stands, and what it is called."""

    folder: Path
    commit: str | None
    """HEAD's id; None outside git or before the first commit."""
    dirty: bool
    """Whether a file differs from the commit or is unknown to it."""
    branch: str
    source: str
    """`https://…` without `.git`: the remote `origin`, or else this folder as an address of this machine."""


def find_checkout(start: Path) -> Checkout:
    """The checkout that the folder `start` stands in; outside git that folder itself.

    Raises BuildError where there is a repository that git does not read.
    """
    start = start.absolute()
    if not any((folder / ".git").exists() for folder in (start, *start.parents)):
        return Checkout(start, None, True, "", _address(start, None))
    folder = Path(_git(start, "rev-parse", "--show-toplevel"))
    commit = _asked(folder, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    return Checkout(
        folder,
        commit,
        commit is None or bool(_git(folder, "status", "--porcelain")),
        _asked(folder, "symbolic-ref", "--short", "--quiet", "HEAD") or "",
        _address(folder, _asked(folder, "remote", "get-url", "origin")),
    )


def copy_source(checkout: Checkout, target: Path, without: Iterable[Path] = ()) -> str:
    """Copy the files to the new folder `target`; the SHA-256 (64 hex digits) of their paths, modes and contents.

    Files in a folder of `without` are left out. What is neither a file nor a symbolic link stays behind, and so do
    submodules, as in a build of the service.
    """
    hidden = [path.absolute() for path in without]
    target.mkdir(mode=FOLDER)
    total = hashlib.sha256()
    for name in sorted(_names(checkout)):
        source = checkout.folder / name
        if any(source.is_relative_to(path) for path in hidden):
            continue
        if (line := _copy(source, target / name, name)) is not None:
            total.update(line.encode("utf-8", "surrogateescape"))
    return total.hexdigest()


def _copy(source: Path, target: Path, name: str) -> str | None:
    """Copy one; its line in the list that is digested, None for what is not copied or went away meanwhile."""
    try:
        mode = source.lstat().st_mode
        if stat.S_ISLNK(mode):
            link = source.readlink()
            target.parent.mkdir(mode=FOLDER, parents=True, exist_ok=True)
            target.symlink_to(link)
            return f"link {name}\0{link}\n"
        if not stat.S_ISREG(mode):
            return None
        target.parent.mkdir(mode=FOLDER, parents=True, exist_ok=True)
        shutil.copyfile(source, target)
    except FileNotFoundError:
        return None
    executable = bool(mode & stat.S_IXUSR)
    target.chmod(EXECUTABLE if executable else PLAIN)
    return f"{'program' if executable else 'file'} {name}\0{sha256_file(target)}\n"


def _names(checkout: Checkout) -> set[str]:
    """Paths of the files, relative to the checkout."""
    if not _is_repository(checkout.folder):
        return set(_walk(checkout.folder))
    listed = _run_git(checkout.folder, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    return {os.fsdecode(name) for name in listed.split(b"\0") if name}


def _is_repository(folder: Path) -> bool:
    return (folder / ".git").exists()


def _walk(folder: Path) -> Iterator[str]:
    for parent, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".") and name not in NOT_SOURCE]
        links = [name for name in folders if Path(parent, name).is_symlink()]
        for name in (*files, *links):
            yield str(Path(parent, name).relative_to(folder))


def _address(folder: Path, remote: str | None) -> str:
    """The remote in normal form; `https://localhost/PATH` where there is none, or one that is only a folder."""
    return normal_source(remote) or normal_source(f"https://localhost{folder}") or "https://localhost/checkout"


def _asked(folder: Path, *arguments: str) -> str | None:
    """As `_git`, and None where git has no answer."""
    try:
        return _git(folder, *arguments) or None
    except BuildError:
        return None


def _git(folder: Path, *arguments: str) -> str:
    return os.fsdecode(_run_git(folder, *arguments)).strip()


def _run_git(folder: Path, *arguments: str) -> bytes:
    try:
        done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, check=False)
    except FileNotFoundError:
        raise BuildError("git is not installed", remedy="install it with: apt-get install git") from None
    if done.returncode:
        said = " ".join(done.stderr.decode(errors="replace").split()) or f"code {done.returncode}"
        raise BuildError(f"git does not read this repository ({said.rstrip('.')})", where=str(folder))
    return done.stdout
