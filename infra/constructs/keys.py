"""Customer-managed keys: one a kind of thing, each usable by exactly the agents that need it."""

from typing import Any

from infra import cdk
from infra.constructs.stack import Stack
from overnight.config.names import Key

KEYS: tuple[Key, ...] = ("storage", "bigquery", "registry", "training")
SECONDS_PER_DAY = 86_400
DESTROY_AFTER_DAYS = 30
"""How long a destroyed version can still be restored; what it encrypts is lost after that."""


def add_key_ring(stack: Stack, depends_on: list[Any]) -> Any:
    """The ring; Cloud KMS never deletes one, Terraform only forgets it."""
    return cdk.KmsKeyRing(
        stack,
        "key_ring",
        project=stack.google.project_id,
        name=stack.names.key_ring(),
        location=stack.google.region,
        lifecycle=stack.kept,
        depends_on=depends_on,
    )


def add_key(stack: Stack, ring: Any, purpose: Key) -> Any:
    """One key, rotated by itself. Old versions stay: what they encrypted is not encrypted anew."""
    return cdk.KmsCryptoKey(
        stack,
        f"{purpose}_key",
        key_ring=ring.id,
        name=purpose,
        purpose="ENCRYPT_DECRYPT",
        rotation_period=f"{stack.google.cmek.rotation_days * SECONDS_PER_DAY}s",
        destroy_scheduled_duration=f"{DESTROY_AFTER_DAYS * SECONDS_PER_DAY}s",
        labels=stack.labels,
        lifecycle=stack.kept,
    )
