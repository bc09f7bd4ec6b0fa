"""The triggers: which event runs which file of cloudbuild/, as whom."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from infra import cdk
from infra.constructs.stack import Stack
from overnight.config.names import Role

CHECKOUT = Path(__file__).parents[2]

INFRASTRUCTURE = ("infra/**", "config/**", "policies/**", "overnight/config/**", "requirements/**", "cloudbuild/**")
"""What a plan follows from. cloudbuild/ too: which files stand there decides which triggers are disabled."""
IMAGES = (
    *("overnight/**", "trainer/**", "requirements/**", "pyproject.toml"),
    *("images/**", "cloudbuild/images.yaml", ".dockerignore"),
)
"""What images are made of; a push that touches only docs/ or tests/ builds none."""


@dataclass(frozen=True, kw_only=True)
class Trigger:
    """One event of the repository and the build that it starts."""

    name: str
    description: str
    file: str
    event: Literal["pull_request", "push"]
    account: Role
    included: tuple[str, ...] = ()
    """Glob patterns, one of which the change must touch; every change when empty."""
    approved: bool = False
    """A person with roles/cloudbuild.builds.approver starts the build."""
    needs_bases: bool = False
    """Whether it makes images, or waits for them: without base images in the environment file there are none."""


TRIGGERS = (
    Trigger(
        name="pull-request",
        description="Tests a pull request",
        file="cloudbuild/pull-request.yaml",
        event="pull_request",
        account="check",
    ),
    Trigger(
        name="infra-plan",
        description="Plans a pull request's infrastructure and holds it against the policies",
        file="cloudbuild/infra-plan.yaml",
        event="pull_request",
        account="plan",
        included=INFRASTRUCTURE,
    ),
    Trigger(
        name="infra-apply",
        description="Applies merged infrastructure once a person has approved",
        file="cloudbuild/infra-apply.yaml",
        event="push",
        account="deploy",
        included=INFRASTRUCTURE,
        approved=True,
    ),
    Trigger(
        name="images",
        description="Builds and pushes the images of a merge",
        file="cloudbuild/images.yaml",
        event="push",
        account="build",
        included=IMAGES,
        needs_bases=True,
    ),
    Trigger(
        name="pipeline-publish",
        description="Compiles and publishes the pipeline templates of a merge",
        file="cloudbuild/pipeline.yaml",
        event="push",
        account="build",
        # Exactly what makes images: a template names the images of its own commit and waits for them.
        included=IMAGES,
        needs_bases=True,
    ),
)


def add_trigger(stack: Stack, trigger: Trigger, repository: Any, substitutions: Mapping[str, str]) -> Any:
    """The trigger, in the repository's region."""
    return cdk.CloudbuildTrigger(
        stack,
        f"{trigger.name.replace('-', '_')}_trigger",
        name=stack.names.prefixed(trigger.name),
        description=trigger.description,
        location=stack.google.region,
        filename=trigger.file,
        # A trigger cannot run a file that the repository does not hold: it would fail at every event. It is made all
        # the same, so that who runs what is reviewed before the first build; adding the file enables it.
        disabled=is_missing(trigger.file) or (trigger.needs_bases and stack.google.cloud_build.base_images is None),
        # Never left out: the default is Compute Engine's account, an editor in older projects (vertex-facts 4).
        service_account=stack.names.account_resource(trigger.account),
        repository_event_config=_event(trigger, repository, stack.google.cloud_build.repository.main_branch),
        included_files=list(trigger.included) or None,
        substitutions=dict(substitutions),
        approval_config=cdk.CloudbuildTriggerApprovalConfig(approval_required=True) if trigger.approved else None,
        include_build_logs="INCLUDE_BUILD_LOGS_WITH_STATUS" if trigger.event == "pull_request" else None,
        tags=["overnight", stack.settings.environment, trigger.name],
    )


def is_missing(file: str, checkout: Path = CHECKOUT) -> bool:
    """Whether `checkout` holds no such build file."""
    return not (checkout / file).is_file()


def _event(trigger: Trigger, repository: Any, branch: str) -> Any:
    pattern = f"^{re.escape(branch)}$"
    if trigger.event == "push":
        push = cdk.CloudbuildTriggerRepositoryEventConfigPush(branch=pattern)
        return cdk.CloudbuildTriggerRepositoryEventConfig(repository=repository.id, push=push)
    request = cdk.CloudbuildTriggerRepositoryEventConfigPullRequest(
        branch=pattern,
        # A pull request from a fork waits until someone with write access comments /gcbrun on it.
        comment_control="COMMENTS_ENABLED_FOR_EXTERNAL_CONTRIBUTORS_ONLY",
    )
    return cdk.CloudbuildTriggerRepositoryEventConfig(repository=repository.id, pull_request=request)
