"""The framework: the one module that names it and the bindings package.

Everything else writes `cdk.StorageBucket`, `cdk.TerraformStack`. OVERNIGHT_CDK=cdktn runs the same stacks on CDK
Terrain, cdktf's living fork (extra `cdktn` instead of `infra`).
"""

import importlib
import importlib.util
import os
import re
import shutil
import sys
import types
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from overnight.errors import OvernightError

BINDINGS = {"cdktf": "cdktf_cdktf_provider_google", "cdktn": "cdktn_provider_google"}
EXTRAS = {"cdktf": "infra", "cdktn": "cdktn"}
PROVIDER_VERSION = "8.7.0"
"""Newer than cdktf's last bindings (6.50.0): persistent resources and pipeline schedules exist since 7.43.0."""
GOOGLE = {"source": "hashicorp/google", "version": PROVIDER_VERSION}
TERRAFORM_VERSION = ">= 1.9"


class FrameworkError(OvernightError):
    """The framework, its bindings or Node.js is missing."""


def _chosen() -> str:
    name = os.environ.get("OVERNIGHT_CDK", "cdktf")
    if name not in BINDINGS:
        raise FrameworkError(f"{name!r} is no framework", where="OVERNIGHT_CDK", remedy="set it to cdktf or cdktn")
    for package in (name, BINDINGS[name]):
        if importlib.util.find_spec(package) is None:
            raise FrameworkError(f"{package} is not installed", remedy=f"pip install 'overnight[{EXTRAS[name]}]'")
    beside = Path(sys.executable).parent
    if (beside / "node").exists():  # brought by `make infra-setup` where the system's is missing or too old
        os.environ["PATH"] = f"{beside}{os.pathsep}{os.environ.get('PATH', '')}"
    if shutil.which("node") is None:
        raise FrameworkError(f"{name} runs on Node.js, which is not on the path", remedy="install Node.js 20 or newer")
    return name


def _make_bindings_lazy(package: str) -> None:
    """Let submodules be imported without the package's `__init__`, which imports all 1,472 of them (8 s, 500 MB)."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.submodule_search_locations is None or package in sys.modules:
        return
    module = types.ModuleType(package)
    module.__path__ = list(spec.submodule_search_locations)
    module.__spec__, module.__file__, module.__package__ = spec, spec.origin, package
    sys.modules[package] = module


def _prepare_node() -> None:
    preload = f'--require "{Path(__file__).with_name("lazy_bindings.js").as_posix()}"'
    options = os.environ.get("NODE_OPTIONS", "")
    if preload not in options:
        os.environ["NODE_OPTIONS"] = f"{options} {preload}".strip()
    # jsii prints a box on every run with Node 20, past its own support date; the bindings run on it all the same.
    os.environ.setdefault("JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION", "20")


FRAMEWORK = _chosen()
# The comparison in bench/infra_synth.py switches both off.
if os.environ.get("OVERNIGHT_CDK_EAGER") != "1":
    _prepare_node()
    _make_bindings_lazy(BINDINGS[FRAMEWORK])
_framework = importlib.import_module(FRAMEWORK)


@cache
def _modules() -> dict[str, str]:
    """Each module of the bindings by the prefix of its classes: StorageBucket -> storage_bucket."""
    spec = importlib.util.find_spec(BINDINGS[FRAMEWORK])
    assert spec is not None
    places = spec.submodule_search_locations or []
    names = sorted(entry.name for place in places for entry in Path(place).iterdir() if entry.is_dir())
    return {"".join(part.capitalize() for part in name.split("_")): name for name in names}


def __getattr__(name: str) -> Any:
    """The framework's own name, or a class of the bindings, whose module is the longest that its name begins with."""
    if hasattr(_framework, name):
        return getattr(_framework, name)
    if name == "GoogleProvider":
        return _member("provider", name)
    for length in range(len(name), 0, -1):
        module = _modules().get(name[:length])
        if module and re.fullmatch(r"[A-Z]\w*", name) and (found := _member(module, name)) is not None:
            return found
    raise AttributeError(f"neither {FRAMEWORK} nor its Google bindings have {name}")


def _member(module: str, name: str) -> Any:
    return getattr(importlib.import_module(f"{BINDINGS[FRAMEWORK]}.{module}"), name, None)


def raw(
    scope: Any,
    id_: str,
    resource_type: str,
    attributes: Mapping[str, Any],
    *,
    provider: Any = None,
    depends_on: Sequence[Any] = (),
    lifecycle: Any = None,
) -> Any:
    """A resource that the bindings do not know yet; attributes as in Terraform's JSON syntax, blocks as lists."""
    resource = _framework.TerraformResource(
        scope,
        id_,
        terraform_resource_type=resource_type,
        terraform_generator_metadata=_framework.TerraformProviderGeneratorMetadata(provider_name="google"),
        provider=provider,
        depends_on=list(depends_on),
        lifecycle=lifecycle,
    )
    for name, value in attributes.items():
        resource.add_override(name, value)
    return resource


def raw_provider(scope: Any, id_: str, name: str, source: str, attributes: Mapping[str, Any]) -> Any:
    """A provider without bindings, such as google-beta."""
    provider = _RawProvider(scope, id_, name, source)
    for key, value in attributes.items():
        provider.add_override(key, value)
    return provider


class _RawProvider(_framework.TerraformProvider):  # type: ignore[name-defined]
    def __init__(self, scope: Any, id_: str, name: str, source: str) -> None:
        super().__init__(
            scope,
            id_,
            terraform_resource_type=name,
            terraform_generator_metadata=_framework.TerraformProviderGeneratorMetadata(
                provider_name=name, provider_version=PROVIDER_VERSION, provider_version_constraint=PROVIDER_VERSION
            ),
            terraform_provider_source=source,
        )
