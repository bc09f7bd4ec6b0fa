"""Start the emulated provider for Terraform. Free of the packages that only the emulator's own environment has."""

import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from terraform import bindings_schema
from terraform.emulator import cloud as clouds
from terraform.emulator import rules

HERE = Path(__file__).parent
REPOSITORY = HERE.parent.parent
PROVIDER_VERSION = "8.7.0"
PROVIDERS = ("google", "google-beta")
BASE = {
    "CHECKPOINT_DISABLE": "1",
    "TF_IN_AUTOMATION": "1",
    "TF_CLI_CONFIG_FILE": os.devnull,
    # Strict mode finds a missing depends_on only if Terraform tries everything at once.
    "TF_CLI_ARGS_apply": "-parallelism=100",
}


def emulator_python() -> Path | None:
    """The Python of the emulator's own environment, which needs an older protobuf than ours; None without one."""
    given = os.environ.get("OVERNIGHT_EMULATOR_PYTHON")
    found = Path(given) if given else REPOSITORY / ".venv-emulator" / "bin" / "python"
    return found if found.exists() else None


def missing() -> str | None:
    """What a test of infrastructure needs and this machine lacks; None when all is there."""
    if shutil.which("terraform") is None:
        return "terraform is not on the path"
    if emulator_python() is None:
        return "no .venv-emulator (pip install -r requirements/emulator.txt into it)"
    try:
        bindings_schema.package_digest()
    except ModuleNotFoundError as error:
        return str(error)
    return None


def schema_file(cache: Path) -> Path:
    """Both providers' schemas of every type that has rules, as one JSON file in `cache`; made when it is missing."""
    beta = json.loads((HERE / "google_beta.json").read_text())["resource_schemas"]
    types = sorted(name for name in rules.load() if name not in beta)
    made_of = [bindings_schema.package_digest(), Path(bindings_schema.__file__).read_text(), types, beta]
    file = cache / f"schemas-{hashlib.sha256(json.dumps(made_of).encode()).hexdigest()[:16]}.json"
    if not file.exists():
        google = bindings_schema.provider_document(types)
        document = {"google": google, "google-beta": {"provider": google["provider"], "resource_schemas": beta}}
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=cache, delete=False) as partial:
            json.dump({"providers": document}, partial)
        Path(partial.name).replace(file)
    return file


@contextmanager
def edit(cloud: Path) -> Iterator[clouds.Contents]:
    """The emulated project's contents, to read or to change behind Terraform's back; saved at the end."""
    with clouds.opened(cloud) as contents:
        yield contents


def switch(cloud: Path, **changes: Any) -> None:
    """Change switches (`emulator/cloud.py`: Switches) of a running emulator: `switch(cloud, strict=True)`."""
    with edit(cloud) as contents:
        clouds.write_switches(contents, replace(clouds.read_switches(contents), **changes))


@contextmanager
def warm(
    cloud: Path,
    *,
    strict: bool = False,
    fail: str | Sequence[str] = (),
    project_id: str | None = None,
    project_number: str | None = None,
    made_by_hand: dict[str, list[str]] | None = None,
    schemas: Path | None = None,
) -> Iterator[dict[str, str]]:
    """One process that serves both providers on the project in `cloud`; yields what Terraform's environment needs.

    `fail` is one or more failures to inject, `made_by_hand` what exists without Terraform (Switches). The rest of the
    file is kept.
    """
    failures = [fail] if isinstance(fail, str) and fail else list(fail)
    switch(cloud, strict=strict, fail=failures, made_by_hand=made_by_hand or {})
    with edit(cloud) as contents:
        given = {"project_id": project_id, "number": project_number}
        contents[clouds.PROJECT] = contents.get(clouds.PROJECT, {}) | {
            name: each for name, each in given.items() if each
        }
    command = [*_command(), str(schemas or schema_file(_cache())), str(cloud.resolve())]
    process = subprocess.Popen(command, env=_environment(), stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        if not line:
            raise RuntimeError(f"the emulator ended with code {process.wait()}")
        yield {**BASE, "TF_REATTACH_PROVIDERS": line.strip()}
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


def mirror(folder: Path, cloud: Path) -> dict[str, str]:
    """Lay out a filesystem mirror whose providers start the emulator; returns what Terraform's environment needs.

    For cold use by cdktf-cli, which starts Terraform by itself. Terraform then never goes to the network.
    """
    system = f"{platform.system().lower()}_{ {'x86_64': 'amd64', 'aarch64': 'arm64'}[platform.machine()] }"
    for name, address in _addresses(folder).items():
        place = folder / "mirror" / address / PROVIDER_VERSION / system
        place.mkdir(parents=True, exist_ok=True)
        launcher = place / f"terraform-provider-{name}_v{PROVIDER_VERSION}"
        command = [*_command(), str(schema_file(_cache())), str(cloud.resolve()), name]
        quoted = " ".join(f"'{word}'" for word in command)
        launcher.write_text(f"#!/bin/sh\nPYTHONPATH='{HERE.parent}' exec {quoted}\n")
        launcher.chmod(0o755)
    configuration = folder / "terraform.rc"
    installation = (
        f'provider_installation {{\n  filesystem_mirror {{\n    path = "{folder.resolve()}/mirror"\n  }}\n}}\n'
    )
    configuration.write_text(f"disable_checkpoint = true\n{installation}")
    return {**BASE, "TF_CLI_CONFIG_FILE": str(configuration.resolve())}


def _command() -> list[str]:
    python = emulator_python()
    if python is None:
        raise RuntimeError(missing())
    return [str(python), "-m", "terraform.emulator"]


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(HERE.parent), "GRPC_ENABLE_FORK_SUPPORT": "0"}


def _cache() -> Path:
    return Path(tempfile.gettempdir()) / "overnight-schemas"


def _addresses(folder: Path) -> dict[str, str]:
    """The providers' full addresses, registry and all, as Terraform itself completes them."""
    bare = folder / "addresses"
    bare.mkdir(parents=True, exist_ok=True)
    needs = {name: {"source": f"hashicorp/{name}"} for name in PROVIDERS}
    (bare / "main.tf.json").write_text(json.dumps({"terraform": {"required_providers": needs}}))
    environment = {**os.environ, **BASE}
    answer = subprocess.run(
        ["terraform", "providers"], cwd=bare, env=environment, capture_output=True, text=True, check=True
    )
    return {address.rsplit("/", 1)[1]: address for address in re.findall(r"provider\[([^\]]+)\]", answer.stdout)}
