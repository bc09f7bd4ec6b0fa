"""A private pool of build machines."""

from typing import Any

from infra import cdk
from infra.constructs.stack import Stack
from overnight.config.delivery import PrivatePoolConfig


def add_worker_pool(stack: Stack, config: PrivatePoolConfig) -> Any:
    """The pool, in the triggers' own region: elsewhere Cloud Build does not find it (vertex-facts 5)."""
    network = (
        cdk.CloudbuildWorkerPoolNetworkConfig(peered_network=config.peered_network) if config.peered_network else None
    )
    return cdk.CloudbuildWorkerPool(
        stack,
        "builds_worker_pool",
        name=stack.names.prefixed("builds"),
        location=stack.google.region,
        worker_config=cdk.CloudbuildWorkerPoolWorkerConfig(
            machine_type=config.machine_type,
            disk_size_gb=config.disk_size_gb,
            no_external_ip=config.no_external_ip,
        ),
        network_config=network,
    )
