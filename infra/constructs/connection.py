"""The link to the Git repository: a 2nd-generation connection to GitHub, and the one secret that it reads."""

from typing import Any

from infra import cdk
from infra.constructs.stack import Stack


def add_repository(stack: Stack) -> Any:
    """The linked repository, which triggers name.

    The GitHub app's installation and its token are a person's consent: both exist before this is applied.
    """
    config = stack.google.cloud_build.repository
    project, secret = _secret_of(config.oauth_token_secret_version)
    access = cdk.SecretManagerSecretIamMember(
        stack,
        "cloudbuild_agent_reads_github_token",
        project=project,
        secret_id=secret,
        role="roles/secretmanager.secretAccessor",
        member=stack.names.agent("cloudbuild"),
    )
    credential = cdk.Cloudbuildv2ConnectionGithubConfigAuthorizerCredential(
        oauth_token_secret_version=config.oauth_token_secret_version
    )
    connection = cdk.Cloudbuildv2Connection(
        stack,
        "github_connection",
        name=stack.names.prefixed("github"),
        location=stack.google.region,
        github_config=cdk.Cloudbuildv2ConnectionGithubConfig(
            app_installation_id=int(config.app_installation_id), authorizer_credential=credential
        ),
        # The service opens the token while it makes the connection, so no reference would order this.
        depends_on=[access],
    )
    return cdk.Cloudbuildv2Repository(
        stack,
        "source_repository",
        name=stack.names.prefixed("repository"),
        location=stack.google.region,
        parent_connection=connection.name,
        remote_uri=config.remote_uri,
    )


def _secret_of(version: str) -> tuple[str, str]:
    """Project and secret of `projects/P/secrets/S/versions/V`; the secret may live in another project."""
    _, project, _, secret, _, _ = version.split("/")
    return project, secret
