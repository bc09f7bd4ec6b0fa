"""Persistent Resources: machines kept warm for jobs."""

from typing import Any

from infra import cdk
from infra.constructs.stack import Stack
from overnight.config.training import PersistentResource, ResourcePool

TIMEOUTS = {"create": "3h", "update": "3h", "delete": "2h"}
"""Scarce accelerators take their time; Terraform must not give up and leave a half-made pool that is billed."""


def create_pool(stack: Stack, pool: PersistentResource) -> Any:
    """One Persistent Resource, made as `google_vertex_ai_persistent_resource.<name>_pool`.

    It carries no labels: the provider has no update for it, so any change destroys it and its warm machines. Owner and
    expiry stand in the output `policy`.
    """
    attributes: dict[str, Any] = {
        "name": pool.name,
        "location": stack.google.region,
        "display_name": stack.names.prefixed(pool.name),
        "resource_pools": [_machines(number, machines) for number, machines in enumerate(pool.resource_pools)],
        # Without it jobs with their own service account, and pipelines, are refused (vertex-facts 1.4).
        "resource_runtime_spec": [{"service_account_spec": [{"enable_custom_service_account": True}]}],
        "deletion_policy": "PREVENT" if stack.google.protect else "DELETE",
        "timeouts": TIMEOUTS,
    }
    if stack.google.cmek.enabled:
        attributes["encryption_spec"] = [{"kms_key_name": stack.names.key("training")}]
    return cdk.raw(
        stack,
        f"{pool.name.replace('-', '_')}_pool",
        "google_vertex_ai_persistent_resource",
        attributes,
        lifecycle=cdk.TerraformResourceLifecycle(
            prevent_destroy=stack.google.protect,
            # Autoscaling changes the live count; a plan that saw it would replace the pool (terraform-offline 3a).
            ignore_changes=[f"resource_pools[{number}].replica_count" for number in range(len(pool.resource_pools))],
        ),
    )


def described(pool: PersistentResource, resource: Any) -> dict[str, Any]:
    """What the job validator needs: a job is placed only where machine and disk are exactly a pool's."""
    return {
        "id": resource.get_string_attribute("id"),
        "resource_pools": [
            {
                "machine_spec": machines.machine_spec.model_dump(exclude_none=True),
                "disk_spec": machines.disk_spec.model_dump(),
                "max_replica_count": machines.most_replicas,
            }
            for machines in pool.resource_pools
        ],
    }


def _machines(number: int, machines: ResourcePool) -> dict[str, Any]:
    block: dict[str, Any] = {
        "id": f"pool-{number}",
        "machine_spec": [machines.machine_spec.model_dump(exclude_none=True)],
        "disk_spec": [machines.disk_spec.model_dump()],
        # The API asks for a count beside the bounds of autoscaling; it begins with the smallest.
        "replica_count": str(machines.billed_replicas),
    }
    if machines.autoscaling_spec is not None:
        block["autoscaling_spec"] = [
            {
                "min_replica_count": str(machines.autoscaling_spec.min_replica_count),
                "max_replica_count": str(machines.autoscaling_spec.max_replica_count),
            }
        ]
    return block
