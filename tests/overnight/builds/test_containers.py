"""How podman and buildah are set up, and what is said when they cannot be."""

import os
import tomllib
from pathlib import Path

import pytest

from overnight.builds.containers import check_tools, environment, explain, missing_tools
from overnight.builds.errors import BuildError

ALL = {"podman", "buildah", "docker-registry", "git", "runc", "crun"}


def test_settings_stand_in_the_folder_and_nowhere_else(tmp_path: Path) -> None:
    variables = environment(tmp_path / "store", "localhost:5013")
    for name, value in variables.items():
        if name != "BUILDAH_ISOLATION":
            assert Path(value).parent == tmp_path / "store"
            tomllib.loads(Path(value).read_text())


def test_the_registry_alone_is_spoken_to_without_tls(tmp_path: Path) -> None:
    registries = tomllib.loads(Path(environment(tmp_path, "localhost:5013")["CONTAINERS_REGISTRIES_CONF"]).read_text())
    assert registries == {
        "unqualified-search-registries": [],
        "registry": [{"location": "localhost:5013", "insecure": True}],
    }


def test_no_limit_is_asked_for_that_this_process_does_not_have(tmp_path: Path) -> None:
    settings = tomllib.loads(Path(environment(tmp_path, "localhost:5013")["CONTAINERS_CONF"]).read_text())
    files = settings["containers"]["default_ulimits"][0]
    import resource

    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    asked = int(files.rpartition(":")[2])
    assert hard == resource.RLIM_INFINITY or asked <= hard


@pytest.mark.skipif(os.geteuid() != 0, reason="another user's store stays where podman has it")
def test_two_folders_have_two_stores(tmp_path: Path) -> None:
    stores = [
        tomllib.loads(Path(environment(tmp_path / name, "localhost:5013")["CONTAINERS_STORAGE_CONF"]).read_text())
        for name in ("a", "b", "a")
    ]
    assert stores[0] == stores[2]
    for key in ("graphroot", "runroot"):
        assert stores[0]["storage"][key] != stores[1]["storage"][key]
    assert len(stores[0]["storage"]["runroot"]) < 50


def finds(present: set[str]):  # type: ignore[no-untyped-def]
    return lambda name: f"/usr/bin/{name}" if name in present else None


@pytest.mark.parametrize(
    ("present", "missing"),
    [
        (ALL, []),
        (ALL - {"crun"}, []),
        (ALL - {"runc"}, []),
        (ALL - {"runc", "crun"}, ["runc"]),
        (ALL - {"podman"}, ["podman"]),
        (set(), ["podman", "buildah", "docker-registry", "git", "runc"]),
    ],
)
def test_missing_tools_are_found(present: set[str], missing: list[str]) -> None:
    assert missing_tools(finds(present)) == missing


def test_what_is_missing_is_said_with_the_command_that_brings_it() -> None:
    check_tools(finds(ALL))
    with pytest.raises(BuildError) as refused:
        check_tools(finds(ALL - {"podman", "buildah"}))
    assert refused.value.sentence == (
        "a local build needs podman and buildah, not found here; "
        "install with: apt-get install --no-install-recommends podman buildah."
    )


@pytest.mark.parametrize(
    ("errors", "beginning"),
    [
        ("Error: setrlimit `RLIMIT_NOFILE`: Operation not permitted: OCI permission denied", "the limit of open files"),
        ("Error: crun: cgroups in hybrid mode not supported, drop all controllers", "the runtime crun does not work"),
        ("Error: cannot find newuidmap: exec: newuidmap: not found", "this user has no range of user ids"),
        ("'overlay' is not supported over overlayfs, a mount_program is required", "the store's file system"),
        ("write /x: no space left on device", "the disk is full"),
    ],
)
def test_known_failures_are_explained_in_one_sentence(errors: str, beginning: str) -> None:
    sentence = explain(errors)
    assert sentence is not None
    assert sentence.startswith(beginning)
    assert sentence.endswith(".")


def test_an_unknown_failure_is_not_explained() -> None:
    assert explain("Error: exit status 1") is None
