"""APIs, service agents, accounts and keys: what everything else stands on.

A person applies it first, and again whenever who may do what in the project changes (docs/infra-iam.md).
"""

from collections.abc import Sequence
from typing import Any

from infra import cdk
from infra.constructs import accounts, apis, iam, keys
from infra.constructs.stack import Stack
from infra.settings import Settings
from overnight.config.names import Agent, Key, Role

PROJECT_IAM_ADMIN = "roles/resourcemanager.projectIamAdmin"

AGENT_ROLES: dict[Agent, str] = {
    "aiplatform": "roles/aiplatform.serviceAgent",
    "aiplatform-cc": "roles/aiplatform.customCodeServiceAgent",
    "cloudbuild": "roles/cloudbuild.serviceAgent",
}
"""Google grants these by itself only to agents that it makes by itself, at first use (docs: "Create and grant roles to
service agents")."""

AUDITED: dict[str, tuple[str, ...]] = {
    # Who replaced or deleted an image, a shard, a model; who read what: access logs in the logs bucket, much cheaper.
    "storage.googleapis.com": ("DATA_WRITE",),
    # Who changed which label. BigQuery records this in any case; stated, so that nobody relies on a default.
    "bigquery.googleapis.com": ("DATA_WRITE",),
    # Who started, changed or cancelled which job, pipeline, model; ADMIN_READ: who looked where it was configured.
    "aiplatform.googleapis.com": ("DATA_WRITE", "ADMIN_READ"),
    # Who took a token of which account (generateAccessToken is a read of data), and who looked at the policies.
    "iam.googleapis.com": ("DATA_WRITE", "DATA_READ", "ADMIN_READ"),
}
"""Log entries cost by volume: one of about a kilobyte for each object written, so a shard set of 2,000 files is 2 MB,
and a hundred an hour for the rest. Reads of objects, by far the most, are left out."""


class Foundation(Stack):
    """What exists once in an environment and changes least."""

    name = "foundation"
    apis = (
        "aiplatform.googleapis.com",
        "artifactregistry.googleapis.com",
        "bigquery.googleapis.com",
        "cloudbuild.googleapis.com",
        "cloudkms.googleapis.com",
        "cloudresourcemanager.googleapis.com",
        "iam.googleapis.com",
        "pubsub.googleapis.com",
        "serviceusage.googleapis.com",
        "storage.googleapis.com",
    )

    def __init__(self, scope: Any, settings: Settings, enabled: Sequence[str]) -> None:
        super().__init__(scope, settings)
        self._one_grant_a_request()
        self.enabled = apis.enable_apis(self, enabled)
        self.agents = self._agents()
        self.accounts = accounts.add_accounts(self, [self.enabled["iam"]])
        self._account_access()
        self._project_access()
        self._state_access()
        self._audit_logs()
        self.output("accounts", {role: account.email for role, account in self.accounts.items()})
        self.output("keys", self._keys() if self.google.cmek.enabled else {})

    def _one_grant_a_request(self) -> None:
        """The condition on deploy's right to grant knows roles in groups of ten; a batch could span two of them."""
        self.node.find_child("google").add_override("batching", {"enable_batching": False})

    def _agents(self) -> dict[Agent, Any]:
        made = apis.add_agents(self, self.enabled, ("aiplatform", "cloudbuild", *self._encrypting_agents()))
        made["aiplatform-cc"] = made["aiplatform"]
        for agent, role in AGENT_ROLES.items():
            iam.on_project(
                self,
                f"{agent.replace('-', '_')}_agent_serves",
                role,
                self.names.agent(agent),
                depends_on=[made[agent]],
            )
        return made

    def _encrypting_agents(self) -> tuple[Agent, ...]:
        """Agents that must exist only because a key is opened to them."""
        if not self.google.cmek.enabled:
            return ()
        # The topic of build notifications is encrypted with the storage key.
        return ("artifactregistry", "pubsub") if self.google.cloud_build.notifications else ("artifactregistry",)

    def _account_access(self) -> None:
        accounts.let_act(self, self.accounts)
        accounts.let_administer(self, self.accounts)

    def _project_access(self) -> None:
        ready = [self.enabled["cloudresourcemanager"]]
        # Made and changed by a person: deploy has no right to, or it could add any permission to its own role.
        writer = cdk.ProjectIamCustomRole(
            self,
            "tensorboard_writer_role",
            project=self.google.project_id,
            role_id=self.names.custom_role(accounts.TENSORBOARD_WRITER).rpartition("/")[2],
            title=f"Overnight {self.settings.environment} TensorBoard writer",
            permissions=list(accounts.TENSORBOARD_PERMISSIONS),
            depends_on=[self.enabled["iam"], *ready],
        )
        grants = accounts.project_grants(self.google, self.names.custom_role(accounts.TENSORBOARD_WRITER))
        for grant in grants:
            needs = [*ready, writer] if grant.role.startswith("projects/") else ready
            member = self.accounts[grant.account].member
            iam.on_project(self, grant.sentence, grant.role, member, depends_on=needs)
        iam.on_project(
            self,
            "deploy_grants_roles",
            PROJECT_IAM_ADMIN,
            self.accounts["deploy"].member,
            depends_on=ready,
            condition=iam.grants_only(accounts.grantable(grants), "roles_of_the_other_accounts_only"),
        )

    def _state_access(self) -> None:
        """The bucket is made before anything else (`python -m infra.bootstrap`); environments may share it."""
        state = self.google.state
        prefix = f"{state.prefix}/{self.settings.environment}/"
        only = iam.listed_or_under(state.bucket, prefix, f"state_of_{self.settings.environment}")
        ready = [self.enabled["storage"]]
        deploy, plan = self.accounts["deploy"].member, self.accounts["plan"].member
        iam.on_bucket(self, "deploy_writes_state", iam.WRITES, deploy, state.bucket, condition=only, depends_on=ready)
        # It plans with -lock=false: taking the lock would mean writing.
        iam.on_bucket(self, "plan_reads_state", iam.READS, plan, state.bucket, condition=only, depends_on=ready)

    def _audit_logs(self) -> None:
        for service, kinds in AUDITED.items():
            cdk.ProjectIamAuditConfig(
                self,
                f"{service.partition('.')[0]}_audit_logs",
                project=self.google.project_id,
                service=service,
                audit_log_config=[cdk.ProjectIamAuditConfigAuditLogConfig(log_type=kind) for kind in kinds],
                depends_on=[self.enabled["cloudresourcemanager"]],
            )

    def _keys(self) -> dict[str, str]:
        ring = keys.add_key_ring(self, [self.enabled["cloudkms"]])
        made = {purpose: keys.add_key(self, ring, purpose) for purpose in keys.KEYS}
        self._key_users(made)
        access: dict[Role, str] = {"deploy": "roles/cloudkms.admin", "plan": "roles/cloudkms.viewer"}
        for account, role in access.items():
            member = self.accounts[account].member
            cdk.KmsKeyRingIamMember(self, f"{account}_opens_key_ring", key_ring_id=ring.id, role=role, member=member)
        return {purpose: key.id for purpose, key in made.items()}

    def _key_users(self, made: dict[Key, Any]) -> None:
        """Services encrypt, not accounts: each key is opened to the agents of the services whose things it protects."""
        storage = cdk.DataGoogleStorageProjectServiceAccount(
            self, "storage_agent", project=self.google.project_id, depends_on=[self.enabled["storage"]]
        )
        bigquery = cdk.DataGoogleBigqueryDefaultServiceAccount(
            self, "bigquery_agent", project=self.google.project_id, depends_on=[self.enabled["bigquery"]]
        )
        iam.on_key(self, "storage_agent_uses_storage_key", storage.member, made["storage"])
        iam.on_key(self, "bigquery_agent_uses_bigquery_key", bigquery.member, made["bigquery"])
        users: dict[Agent, Key] = {
            "pubsub": "storage",
            "artifactregistry": "registry",
            "aiplatform": "training",
            "aiplatform-cc": "training",
        }
        for agent, key in users.items():
            if agent not in self.agents:
                continue
            sentence = f"{agent.replace('-', '_')}_agent_uses_{key}_key"
            iam.on_key(self, sentence, self.names.agent(agent), made[key], depends_on=[self.agents[agent]])
