"""Google Cloud services switched on, and the service agents that act for them."""

from collections.abc import Iterable
from typing import Any

from infra import cdk
from infra.constructs.stack import Stack
from overnight.config.names import Agent

FIRST = ("cloudresourcemanager.googleapis.com", "serviceusage.googleapis.com")
"""Terraform switches the other services on through these two."""


def enable_apis(stack: Stack, services: Iterable[str]) -> dict[str, Any]:
    """Each service's resource by the service's short name, such as `aiplatform`."""
    enabled: dict[str, Any] = {}
    for service in FIRST:
        enabled[_short(service)] = _enable(stack, service)
    first = list(enabled.values())
    for service in sorted(set(services) - set(FIRST)):
        enabled[_short(service)] = _enable(stack, service, depends_on=first)
    return enabled


def add_agents(stack: Stack, apis: dict[str, Any], agents: Iterable[Agent]) -> dict[Agent, Any]:
    """Make service agents before the first use of their service, so that they can be granted roles.

    Only google-beta has the resource. `aiplatform` makes the custom-code agent (`aiplatform-cc`) as well: the request
    creates all agents of a service.
    """
    project = stack.google.project_id
    beta = cdk.raw_provider(
        stack,
        "google_beta",
        "google-beta",
        "hashicorp/google-beta",
        {
            "project": project,
            "region": stack.google.region,
            "billing_project": project,
            "user_project_override": True,
            "add_terraform_attribution_label": False,
        },
    )
    return {
        agent: cdk.raw(
            stack,
            f"{agent}_agent",
            "google_project_service_identity",
            {"project": project, "service": f"{agent}.googleapis.com"},
            provider=beta,
            depends_on=[apis[agent]],
        )
        for agent in agents
    }


def _short(service: str) -> str:
    return service.removesuffix(".googleapis.com")


def _enable(stack: Stack, service: str, depends_on: Iterable[Any] = ()) -> Any:
    return cdk.ProjectService(
        stack,
        f"{_short(service)}_api",
        project=stack.google.project_id,
        service=service,
        # Another system in the project may use it.
        disable_on_destroy=False,
        depends_on=list(depends_on),
    )
