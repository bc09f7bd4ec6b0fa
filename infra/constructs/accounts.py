"""One service account a role, who may run things as which, and what each may do in the whole project."""

from dataclasses import dataclass
from typing import Any

from infra import cdk
from infra.constructs.iam import on_account
from infra.constructs.stack import Stack
from overnight.config import GoogleConfig
from overnight.config.names import ROLES, Role

ACTS_AS: dict[Role, tuple[Role, ...]] = {
    "pipeline": ("training",),
    # Whoever makes a trigger, a schedule or a Cloud Scheduler job must be able to run as the account that it names.
    "deploy": ("build", "check", "plan", "deploy", "pipeline", "scheduler"),
}
"""Who may run things as which account."""

TENSORBOARD_WRITER = "tensorboard_writer"
TENSORBOARD_PERMISSIONS = (
    "aiplatform.tensorboards.get",
    *(f"aiplatform.tensorboardExperiments.{verb}" for verb in ("create", "get", "list", "update", "write")),
    *(f"aiplatform.tensorboardRuns.{verb}" for verb in ("batchCreate", "create", "get", "list", "update", "write")),
    *(f"aiplatform.tensorboardTimeSeries.{verb}" for verb in ("batchCreate", "create", "get", "list", "update")),
)
"""Of roles/aiplatform.user, which Vertex AI's docs ask for, only what writing curves takes. The whole role also starts
jobs, and a job that names no account runs as Vertex AI's custom-code agent, which reads every bucket of the project."""


@dataclass(frozen=True)
class Grant:
    """A role in the whole project; each says why nothing narrower does."""

    sentence: str
    account: Role
    role: str
    why: str


LOGS = "Cloud Logging takes entries for a project, not for a log"
PLANS = "the provider reads it for every plan"
MAKES = "it must exist before a grant on it can"

GRANTS = (
    Grant("build_writes_logs", "build", "roles/logging.logWriter", LOGS),
    Grant("check_writes_logs", "check", "roles/logging.logWriter", LOGS),
    Grant("plan_writes_logs", "plan", "roles/logging.logWriter", LOGS),
    Grant("deploy_writes_logs", "deploy", "roles/logging.logWriter", LOGS),
    Grant("pipeline_writes_logs", "pipeline", "roles/logging.logWriter", LOGS),
    Grant("training_writes_logs", "training", "roles/logging.logWriter", LOGS),
    Grant("pipeline_runs_jobs", "pipeline", "roles/aiplatform.user", "Vertex AI's jobs, models and metadata have none"),
    Grant("pipeline_runs_queries", "pipeline", "roles/bigquery.jobUser", "query jobs belong to a project"),
    Grant(
        "pipeline_views_provenance",
        "pipeline",
        "roles/containeranalysis.occurrences.viewer",
        "what Cloud Build says of an image's origin has no narrower place",
    ),
    Grant("plan_uses_apis", "plan", "roles/serviceusage.serviceUsageConsumer", "calls count against this project"),
    Grant("plan_views_policies", "plan", "roles/iam.securityReviewer", PLANS),
    Grant("plan_views_accounts", "plan", "roles/iam.serviceAccountViewer", PLANS),
    Grant("plan_views_roles", "plan", "roles/iam.roleViewer", PLANS),
    Grant("plan_views_buckets", "plan", "roles/storage.bucketViewer", PLANS),
    Grant("plan_views_datasets", "plan", "roles/bigquery.metadataViewer", PLANS),
    Grant("plan_views_vertex_ai", "plan", "roles/aiplatform.viewer", PLANS),
    Grant("plan_views_triggers", "plan", "roles/cloudbuild.builds.viewer", PLANS),
    Grant("plan_views_connections", "plan", "roles/cloudbuild.connectionViewer", PLANS),
    Grant("plan_views_worker_pools", "plan", "roles/cloudbuild.workerPoolViewer", PLANS),
    Grant("plan_views_scheduler_jobs", "plan", "roles/cloudscheduler.viewer", PLANS),
    Grant("plan_views_topics", "plan", "roles/pubsub.viewer", PLANS),
    Grant("plan_views_alerts", "plan", "roles/monitoring.alertPolicyViewer", PLANS),
    Grant("plan_views_channels", "plan", "roles/monitoring.notificationChannelViewer", PLANS),
    Grant("plan_views_dashboards", "plan", "roles/monitoring.dashboardViewer", PLANS),
    Grant("plan_views_log_metrics", "plan", "roles/logging.viewer", PLANS),
    Grant(
        "deploy_enables_apis", "deploy", "roles/serviceusage.serviceUsageAdmin", "services are on or off in a project"
    ),
    Grant(
        "deploy_views_policies", "deploy", "roles/iam.securityReviewer", "a grant on a secret is read at every apply"
    ),
    Grant("deploy_views_roles", "deploy", "roles/iam.roleViewer", "it may read custom roles, never change one"),
    Grant("deploy_administers_buckets", "deploy", "roles/storage.admin", MAKES),
    Grant("deploy_administers_datasets", "deploy", "roles/bigquery.dataOwner", MAKES),
    Grant("deploy_administers_repositories", "deploy", "roles/artifactregistry.admin", MAKES),
    Grant("deploy_administers_vertex_ai", "deploy", "roles/aiplatform.admin", MAKES),
    Grant("deploy_administers_triggers", "deploy", "roles/cloudbuild.builds.editor", MAKES),
    Grant("deploy_administers_connections", "deploy", "roles/cloudbuild.connectionAdmin", MAKES),
    Grant("deploy_administers_worker_pools", "deploy", "roles/cloudbuild.workerPoolOwner", MAKES),
    Grant("deploy_administers_scheduler_jobs", "deploy", "roles/cloudscheduler.admin", MAKES),
    Grant("deploy_administers_topics", "deploy", "roles/pubsub.admin", MAKES),
    Grant("deploy_administers_alerts", "deploy", "roles/monitoring.alertPolicyEditor", MAKES),
    Grant("deploy_administers_channels", "deploy", "roles/monitoring.notificationChannelEditor", MAKES),
    Grant("deploy_administers_dashboards", "deploy", "roles/monitoring.dashboardEditor", MAKES),
    Grant("deploy_administers_log_metrics", "deploy", "roles/logging.configWriter", MAKES),
)
"""Of every environment; `project_grants` adds what follows from its configuration."""


def project_grants(google: GoogleConfig, tensorboard_writer: str) -> tuple[Grant, ...]:
    """Every grant of this environment in the whole project but one: the right to make some of these."""
    grants = [*GRANTS]
    grants.append(
        Grant("training_writes_curves", "training", tensorboard_writer, "a TensorBoard takes no grants of its own")
    )
    builders: tuple[Role, ...] = ("build", "check", "plan", "deploy")
    if google.cloud_build.private_pool:
        grants += [
            Grant(f"{role}_uses_worker_pools", role, "roles/cloudbuild.workerPoolUser", "a pool takes no grants")
            for role in builders
        ]
    if google.schedules.engine == "cloud_scheduler":
        why = "it starts pipeline runs, which have no narrower role"
        grants.append(Grant("scheduler_runs_pipelines", "scheduler", "roles/aiplatform.user", why))
    return tuple(grants)


def grantable(grants: tuple[Grant, ...]) -> list[str]:
    """Roles whose members the deploy account may change: what the others hold. Its own power it cannot hand on."""
    return sorted({grant.role for grant in grants if grant.account != "deploy"})


def add_accounts(stack: Stack, depends_on: list[Any]) -> dict[Role, Any]:
    """The accounts; never with a key."""
    return {
        role: cdk.ServiceAccount(
            stack,
            f"{role}_account",
            project=stack.google.project_id,
            account_id=stack.names.account_id(role),
            display_name=f"Overnight {stack.settings.environment} {role}",
            description=f"{reason[0].upper()}{reason[1:]}",
            depends_on=depends_on,
        )
        for role, reason in ROLES.items()
    }


def let_act(stack: Stack, accounts: dict[Role, Any]) -> None:
    """Let each run things as those that it must, and as nobody else."""
    acts_as = dict(ACTS_AS)
    if stack.google.schedules.engine == "cloud_scheduler":
        acts_as["scheduler"] = ("pipeline",)
    for actor, targets in acts_as.items():
        for target in targets:
            sentence = f"{actor}_acts_as_{target}"
            on_account(stack, sentence, "roles/iam.serviceAccountUser", accounts[actor].member, accounts[target])


def let_administer(stack: Stack, accounts: dict[Role, Any]) -> None:
    """Let deploy change our accounts and who may run as them, account by account.

    The same role in the project would let it run as any other system's account. A new account is made by a person.
    """
    for target, account in accounts.items():
        sentence = f"deploy_administers_{target}_account"
        on_account(stack, sentence, "roles/iam.serviceAccountAdmin", accounts["deploy"].member, account)
