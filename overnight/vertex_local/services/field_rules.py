"""Rules about fields that several kinds of resources share; each yields (field path, sentence) for what is wrong."""

import re
from collections.abc import Iterator
from typing import Any

from overnight.vertex_local.api.errors import invalid_fields

Problem = tuple[str, str]

REQUIRED = "Required field is not set."
_LONGEST_NAME = 128
_LABELS = 64
# "International characters are allowed": any letter that is not upper case.
_LABEL = re.compile(r"(?:[^\W\d_A-Z]|[0-9_-]){0,64}")


def refuse(problems: Iterator[Problem]) -> None:
    """Raise ApiError INVALID_ARGUMENT with all of the problems, if there are any."""
    found = dict(problems)
    if found:
        raise invalid_fields(found)


def display_name(path: str, message: Any, *, required: bool = True) -> Iterator[Problem]:
    """At most 128 characters (API v1 protobuf)."""
    if required and not message.display_name:
        yield f"{path}.display_name", REQUIRED
    if len(message.display_name) > _LONGEST_NAME:
        yield f"{path}.display_name", f"A display name has {_LONGEST_NAME} characters at most."


def labels(path: str, message: Any) -> Iterator[Problem]:
    """At most 64; keys and values of at most 64 lower-case letters, digits, _ and - (API v1 protobuf)."""
    if len(message.labels) > _LABELS:
        yield f"{path}.labels", f"There are {_LABELS} labels at most."
    for key, value in message.labels.items():
        if not (key and _is_label(key) and _is_label(value)):
            says = "Keys and values have 64 characters at most: lower-case letters, digits, _ and -."
            yield f"{path}.labels[{key}]", says


def machine(path: str, machine_spec: Any) -> Iterator[Problem]:
    """A machine type, and an accelerator's type and count together (wording: vertex-facts 6.3)."""
    if not machine_spec.machine_type:
        yield f"{path}.machine_type", REQUIRED
    if bool(machine_spec.accelerator_type) != bool(machine_spec.accelerator_count):
        yield path, "Both `accelerator_type` and `accelerator_count` should be specified or none."


def disk(path: str, disk_spec: Any) -> Iterator[Problem]:
    """A known type, 100 to 64000 GB (API v1 protobuf)."""
    if disk_spec.boot_disk_type not in ("", "pd-ssd", "pd-standard", "hyperdisk-balanced"):
        yield f"{path}.boot_disk_type", "Valid values are pd-ssd, pd-standard and hyperdisk-balanced."
    if disk_spec.boot_disk_size_gb and not 100 <= disk_spec.boot_disk_size_gb <= 64000:
        yield f"{path}.boot_disk_size_gb", "The size is between 100 and 64000 GB."


def network(path: str, message: Any) -> Iterator[Problem]:
    """By project number; reserved ranges only with it (API v1 protobuf)."""
    if message.network and not re.fullmatch(r"projects/\d+/global/networks/[^/]+", message.network):
        yield f"{path}.network", "Expected projects/PROJECT_NUMBER/global/networks/NETWORK."
    if message.reserved_ip_ranges and not message.network:
        yield f"{path}.reserved_ip_ranges", "Ranges can only be given with a network."


def _is_label(text: str) -> bool:
    return bool(_LABEL.fullmatch(text)) and text == text.lower()
