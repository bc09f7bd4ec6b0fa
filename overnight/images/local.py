"""Where an environment's images stand: in Artifact Registry, or on this machine in a registry without TLS."""

import ipaddress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from overnight.config import Environment

LOCAL_REGISTRY = "localhost:5005"
"""HOST:PORT of the registry that local builds push to."""
LOCAL_REPOSITORY = f"{LOCAL_REGISTRY}/overnight-images"
"""What `HOST/PROJECT/REPOSITORY` is in the cloud."""


def repository_of(environment: "Environment") -> str:
    """HOST/PATH of the repository that the environment's images are pushed to."""
    from overnight.config.names import Names

    if environment.google is None:
        return LOCAL_REPOSITORY
    return Names(environment=environment.environment, google=environment.google).repository_path("images")


def is_loopback(host: str) -> bool:
    """Whether `HOST[:PORT]` is this machine: `localhost`, 127.0.0.0/8 or `[::1]`."""
    name = host[1 : host.index("]")] if host.startswith("[") and "]" in host else host.partition(":")[0]
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
