"""Where images stand on this machine: a registry on loopback, spoken to without TLS."""

import ipaddress

LOCAL_REGISTRY = "localhost:5005"
"""HOST:PORT of the registry that local builds push to."""
LOCAL_REPOSITORY = f"{LOCAL_REGISTRY}/overnight-images"
"""What `HOST/PROJECT/REPOSITORY` is in the cloud."""


def is_loopback(host: str) -> bool:
    """Whether `HOST[:PORT]` is this machine: `localhost`, 127.0.0.0/8 or `[::1]`."""
    name = host[1 : host.index("]")] if host.startswith("[") and "]" in host else host.partition(":")[0]
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
