"""Virtual environments for the peers, one for each family that cannot live with another; made once, kept in build/."""

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from bench.input.corpus import ROOT
from bench.input.sources import Package, Unavailable, bring

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Environment:
    """Peers (modules of bench.input.peers and of bench.input.loaders) and where they are installed.

    `over` names the environment whose packages are seen too: another of these, or "main" for .venv. `first` are
    packages that must be there before the others are compiled.
    """

    name: str
    peers: tuple[str, ...]
    loaders: tuple[str, ...] = ()
    over: str | None = None
    first: tuple[str, ...] = ()
    compiler: str | None = None


QUICK = (Environment("quick", ("pillow", "torch_alone", "opencv"), ("torch_alone",), over="main"),)
FULL = (
    Environment(
        "torch",
        ("pillow", "torch_alone", "torchvision", "opencv", "albumentations"),
        ("webdataset", "torchdata", "litdata", "streaming"),
    ),
    Environment("simd", ("pillow",), compiler="cc -mavx2"),
    Environment("tensorflow", ("tensorflow",), ("tensorflow",)),
    Environment("dali", ("dali",), ("dali",)),
    Environment("ffcv", ("ffcv",), ("ffcv",), over="torch", first=("setuptools<81", "wheel")),
)

_TURBOJPEG = Package("libturbojpeg0", "usr/lib", ())


def python_of(environment: Environment) -> Path:
    """The environment's interpreter, installed on first use. Raises Unavailable with the installer's last word."""
    folder = ROOT / f"venv-{environment.name}"
    python, mark = folder / "bin/python", folder / "complete"
    requirements = HERE / f"requirements-{environment.name}.txt"
    wanted = hashlib.sha256(requirements.read_bytes() + repr(environment).encode()).hexdigest()
    if mark.is_file() and mark.read_text() == wanted:
        return python
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    _see(folder, environment.over)
    _install(environment, python, list(environment.first))
    dependencies = ["--no-deps"] if environment.over == "main" else []
    isolation = ["--no-build-isolation"] if environment.first else []
    _install(environment, python, [*dependencies, *isolation, "-r", str(requirements)])
    mark.write_text(wanted)
    return python


def _see(folder: Path, over: str | None) -> None:
    if over is None:
        return
    below = Path("lib", f"python{sys.version_info.major}.{sys.version_info.minor}", "site-packages")
    place = _own_packages() if over == "main" else ROOT / f"venv-{over}" / below
    (folder / below / "over.pth").write_text(f"{place}\n")


def _own_packages() -> Path:
    """Where this interpreter finds torch and simplejpeg."""
    found = importlib.util.find_spec("torch")
    if found is None or found.origin is None:
        raise Unavailable("torch is not installed beside this interpreter; run make setup")
    return Path(found.origin).parents[1]


def _install(environment: Environment, python: Path, arguments: list[str]) -> None:
    if not arguments:
        return
    command = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", *arguments]
    compiler = {"CC": environment.compiler} if environment.compiler else {}
    done = subprocess.run(command, env={**os.environ, **compiler}, capture_output=True, text=True, check=False)
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if "ERROR" in line or "Error" in line] or [done.stderr]
        raise Unavailable(errors[-1].strip()[-300:])


def surroundings() -> dict[str, str]:
    """Environment variables for workers: one thread for each library, and where TurboJPEG's library is."""
    variables = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(HERE.parents[1])}
    try:
        bring(_TURBOJPEG, ROOT / "sources")
        library = next((ROOT / "sources" / _TURBOJPEG.name).rglob("libturbojpeg.so.0"))
        variables["TURBOJPEG"] = str(library)
    except (Unavailable, StopIteration):
        pass
    return variables
