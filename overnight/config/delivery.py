"""The Cloud Build side of an environment: the repository, who builds, where."""

from pydantic import Field

from overnight.config.section import Section


class RepositoryConfig(Section):
    """The Git repository, linked through a 2nd-generation connection to GitHub."""

    remote_uri: str = Field(
        pattern=r"^https://[a-z0-9.-]+/[A-Za-z0-9._-]+/[A-Za-z0-9._-]+\.git$",
        description="the HTTPS clone address, such as https://github.com/acme/vision.git",
    )
    app_installation_id: str = Field(
        pattern=r"^[0-9]{4,12}$", description="the number of the Cloud Build GitHub app's installation, in quotes"
    )
    oauth_token_secret_version: str = Field(
        pattern=r"^projects/[a-z0-9-]+/secrets/[A-Za-z0-9_-]+/versions/([0-9]+|latest)$",
        description="a Secret Manager version, such as projects/acme-vision/secrets/github-token/versions/1",
    )
    main_branch: str = Field(
        default="main", pattern=r"^[A-Za-z0-9._/-]+$", description="a branch name, not a regular expression"
    )


class PrivatePoolConfig(Section):
    """A private worker pool: builds without public addresses, or on larger machines."""

    machine_type: str = Field(
        default="e2-standard-8",
        pattern=r"^(e2|n2|n2d|c3)-(standard|highmem|highcpu)-[0-9]+$",
        description="a Compute Engine machine type, such as e2-standard-8",
    )
    disk_size_gb: int = Field(default=200, ge=100, le=4000, description="GB, 100 to 4000")
    peered_network: str | None = Field(
        default=None,
        pattern=r"^projects/[0-9]+/global/networks/[a-z]([a-z0-9-]{0,61}[a-z0-9])?$",
        description="projects/PROJECT_NUMBER/global/networks/NAME",
    )


class CloudBuildConfig(Section):
    """Triggers and where their builds run; the steps themselves stand in cloudbuild/*.yaml."""

    repository: RepositoryConfig
    private_pool: PrivatePoolConfig | None = None
