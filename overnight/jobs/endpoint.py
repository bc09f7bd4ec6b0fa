"""Where the API is served: Google's region, or an address somebody names."""

from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlsplit

from overnight.errors import OvernightError

LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class Endpoint:
    """An address; without one, Google's own of the job's region."""

    address: str = ""
    """HOST or HOST:PORT."""
    transport: Literal["grpc", "rest"] = "grpc"
    encrypted: bool = True
    """Whether TLS is spoken, and credentials are sent: never without it, and then on this machine only."""


def parse_endpoint(text: str | None) -> Endpoint:
    """`http://127.0.0.1:8080` is REST, `HOST:PORT` gRPC; on loopback without TLS and without credentials.

    Raises OvernightError for an address without TLS that is not on this machine.
    """
    if not text:
        return Endpoint()
    split = urlsplit(text if "://" in text else f"grpc://{text}")
    here = split.hostname in LOOPBACK
    if split.hostname is None or split.scheme not in ("grpc", "http", "https") or split.path.strip("/"):
        raise OvernightError(
            f"{text!r} is no endpoint", where="--endpoint", remedy="write HOST:PORT, or http://127.0.0.1:PORT"
        )
    if split.scheme == "http" and not here:
        raise OvernightError(
            "http:// would send what it sends in the open",
            where="--endpoint",
            remedy="write https://, or an address of this machine",
        )
    if split.scheme == "grpc":
        return Endpoint(split.netloc, "grpc", encrypted=not here)
    return Endpoint(split.netloc, "rest", encrypted=split.scheme == "https")


def job_client(endpoint: Endpoint, region: str) -> Any:
    """An `aiplatform_v1.JobServiceClient`; raises google.auth's errors when there are no credentials."""
    from google.cloud import aiplatform_v1

    if endpoint.encrypted:
        host = endpoint.address or f"{region}-aiplatform.googleapis.com"
        return aiplatform_v1.JobServiceClient(transport=endpoint.transport, client_options={"api_endpoint": host})
    return aiplatform_v1.JobServiceClient(transport=_open_transport(endpoint))


def authorized_session(scope: str) -> Any:
    """A requests.Session with whatever credentials there are; raises OvernightError when there are none."""
    import google.auth
    from google.auth.exceptions import GoogleAuthError
    from google.auth.transport.requests import AuthorizedSession

    try:
        credentials, _ = google.auth.default(scopes=[scope])
    except GoogleAuthError as error:
        raise no_credentials(error) from error
    session: Any = AuthorizedSession
    return session(credentials)


def no_credentials(error: Exception) -> OvernightError:
    """What to say when Google's authentication library found nothing."""
    return OvernightError(
        f"there are no credentials: {str(error).splitlines()[0].rstrip('.')}",
        remedy="run `gcloud auth application-default login`, or give --endpoint of a local Vertex AI",
    )


def _open_transport(endpoint: Endpoint) -> Any:
    """Without TLS and credentials; loopback only."""
    import grpc
    from google.auth import credentials
    from google.cloud import aiplatform_v1

    anonymous: Any = credentials.AnonymousCredentials
    transport: Any = aiplatform_v1.JobServiceClient.get_transport_class(endpoint.transport)
    if endpoint.transport == "rest":
        return transport(host=endpoint.address, credentials=anonymous(), url_scheme="http")
    return transport(channel=grpc.insecure_channel(endpoint.address), credentials=anonymous())
