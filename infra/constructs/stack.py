"""What all four stacks have: providers, state, labels, and an output of what policies hold a plan against."""

from typing import Any, ClassVar

from infra import cdk
from infra.settings import Settings


class Stack(cdk.TerraformStack):
    """One life cycle of one environment."""

    name: ClassVar[str]
    apis: ClassVar[tuple[str, ...]]
    """Services that this stack's resources need; foundation enables them all before any other stack is applied."""

    def __init__(self, scope: Any, settings: Settings) -> None:
        super().__init__(scope, self.name)
        self.settings = settings
        self.google = settings.google
        self.names = settings.names
        self._providers()
        self._state()
        cdk.TerraformOutput(self, "policy", value=self._policy())

    @property
    def labels(self) -> dict[str, str]:
        """Labels for everything in this stack that may carry them."""
        return {**self.settings.labels, "stack": self.name}

    @property
    def kept(self) -> Any:
        """The lifecycle of what cannot be made again."""
        return cdk.TerraformResourceLifecycle(prevent_destroy=self.google.protect)

    def output(self, name: str, value: Any) -> None:
        """Something that the control plane or a person reads."""
        cdk.TerraformOutput(self, name, value=value)

    def _providers(self) -> None:
        cdk.GoogleProvider(
            self,
            "google",
            project=self.google.project_id,
            region=self.google.region,
            # Labels are written out on each resource: one that the provider adds by itself would also reach the
            # persistent resources, where a changed label destroys the pool.
            add_terraform_attribution_label=False,
            # Budgets and other client-billed APIs count against this project, not the caller's home project.
            billing_project=self.google.project_id,
            user_project_override=True,
        )
        self.add_override("terraform.required_version", cdk.TERRAFORM_VERSION)
        self.add_override("terraform.required_providers.google", cdk.GOOGLE)

    def _state(self) -> None:
        state = self.google.state
        cdk.GcsBackend(self, bucket=state.bucket, prefix=f"{state.prefix}/{self.settings.environment}/{self.name}")

    def _policy(self) -> dict[str, Any]:
        """What policies/*.rego hold the plan against."""
        return {
            "environment": self.settings.environment,
            "stack": self.name,
            "project_id": self.google.project_id,
            "protect": self.google.protect,
            "cmek": self.google.cmek.enabled,
            "allowed_regions": self.settings.allowed_regions,
            "required_labels": sorted(self.labels),
            "required_apis": sorted(self.apis),
            "persistent_resources": {
                pool.name: {"owner": pool.owner, "expires": pool.expires.isoformat()}
                for pool in self.google.persistent_resources
                if pool.enabled
            },
        }
