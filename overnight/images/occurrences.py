"""Cloud Build's provenance, from Container Analysis through the official client.

It is believed because of who could write it, not because of a signature: Cloud Build attaches its statements to notes
in Google's project `verified-builder`, and attaching to a note takes a permission on the note's project. An
occurrence on any other note can be made by whoever may edit occurrences in our project, and is not believed.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from overnight.images.errors import ImageError
from overnight.images.provenance import Evidence
from overnight.images.reference import Reference
from overnight.images.statement import read, read_bytes

HOST = "containeranalysis.googleapis.com"
ROLE = "roles/containeranalysis.occurrences.viewer"
CLOUD_BUILD_NOTES = "projects/verified-builder/notes/"
"""Seen in Cloud Build's occurrences: intoto_slsa_v1_BUILD_ID, intoto_BUILD_ID."""


@dataclass(frozen=True)
class BuildOccurrences:
    """Occurrences of kind BUILD as a source of provenance."""

    client: Any
    """A grafeas_v1.GrafeasClient."""
    seconds: float = 30.0
    """How long an unavailable service is asked again."""
    name: str = "Cloud Build"
    absent: str = (
        "Cloud Build has no provenance of this digest; let a trigger build it, with requestedVerifyOption: VERIFIED "
        "and the image in `images:`"
    )

    def find(self, reference: Reference) -> list[Evidence]:
        """Statements about an image in Artifact Registry, from the project that holds it. Raises ImageError."""
        if reference.google is None:
            raise ImageError(
                "Cloud Build keeps provenance of images in Artifact Registry only",
                where=str(reference),
                remedy="give --key for an attestation that is attached to the image",
            )
        resource = f"https://{reference.repository}@{reference.digest}"
        found = self._list(reference.google.project, resource)
        return [_evidence(item, reference) for item in found if item.resource_uri == resource and _has_statement(item)]

    def _list(self, project: str, resource: str) -> list[Any]:
        from google.api_core import exceptions
        from google.api_core.retry import Retry, if_exception_type

        retry = Retry(predicate=if_exception_type(exceptions.ServiceUnavailable), timeout=self.seconds)
        filter_ = f'resourceUrl="{resource}" AND kind="BUILD"'
        with _one_sentence(project):
            parent = f"projects/{project}"
            return list(self.client.list_occurrences(parent=parent, filter=filter_, retry=retry, timeout=self.seconds))


def grafeas_client(address: str = "", encrypted: bool = True) -> Any:
    """A client of Container Analysis's Grafeas API; without TLS, on loopback only, also without credentials.

    Raises ImageError when there are no credentials.
    """
    from google.auth.exceptions import GoogleAuthError
    from grafeas.grafeas_v1 import GrafeasClient
    from grafeas.grafeas_v1.services.grafeas.transports import GrafeasGrpcTransport

    transport: Any = GrafeasGrpcTransport
    if not encrypted:
        import grpc
        from google.auth import credentials

        anonymous: Any = credentials.AnonymousCredentials
        return GrafeasClient(transport=transport(channel=grpc.insecure_channel(address), credentials=anonymous()))
    try:
        # The Grafeas API of Container Analysis is not at the Grafeas client's default host.
        return GrafeasClient(
            transport=transport(host=address or HOST, scopes=["https://www.googleapis.com/auth/cloud-platform"])
        )
    except GoogleAuthError as error:
        raise _no_credentials(error) from error


@contextmanager
def _one_sentence(project: str) -> Iterator[None]:
    from google.api_core import exceptions
    from google.auth.exceptions import GoogleAuthError

    where = f"Container Analysis, project {project}"
    try:
        yield
    except exceptions.Forbidden as error:
        if error.reason == "SERVICE_DISABLED" or "it is disabled" in error.message:
            raise ImageError("the API is not enabled", where=where, remedy=f"enable {HOST}") from error
        raise ImageError("these credentials may not list occurrences", where=where, remedy=f"grant {ROLE}") from error
    except exceptions.Unauthorized as error:
        raise ImageError("the credentials were refused", where=where, remedy="log in again") from error
    except exceptions.NotFound as error:
        raise ImageError(
            "there is no such project, or it cannot be seen", where=where, remedy=f"grant {ROLE}"
        ) from error
    except (exceptions.ServiceUnavailable, exceptions.GatewayTimeout, exceptions.RetryError) as error:
        raise ImageError("the service does not answer", where=where, remedy="try again later") from error
    except exceptions.GoogleAPICallError as error:
        code = getattr(error.grpc_status_code, "name", error.code)
        problem = f"the service answered {code}: {error.message.rstrip('.')}"
        raise ImageError(problem, where=where) from error
    except GoogleAuthError as error:
        raise _no_credentials(error) from error


def _no_credentials(error: Exception) -> ImageError:
    first = (str(error).splitlines() or [""])[0].rstrip(".")
    return ImageError(f"there are no credentials: {first}", remedy="run `gcloud auth application-default login`")


def _has_statement(occurrence: Any) -> bool:
    """Cloud Build also keeps an occurrence without statement (BuildProvenance: the steps), which names no builder."""
    build = occurrence.build
    return bool(build.in_toto_slsa_provenance_v1 or build.intoto_statement or occurrence.envelope.payload)


def _evidence(occurrence: Any, reference: Reference) -> Evidence:
    if occurrence.note_name.startswith(CLOUD_BUILD_NOTES):
        trusted, trust = True, f"{occurrence.name} is attached to Cloud Build's own note"
    else:
        note = occurrence.note_name or "no note"
        trusted = False
        trust = f"{occurrence.name} is attached to {note}, and Cloud Build's statements are under {CLOUD_BUILD_NOTES}"
    try:
        return Evidence(trusted, trust, _provenance(occurrence, reference.digest))
    except ImageError as error:
        return Evidence(trusted, trust, None, error.problem)


def _provenance(occurrence: Any, digest: str | None) -> Any:
    build = occurrence.build
    if build.in_toto_slsa_provenance_v1:
        return read(_statement(build.in_toto_slsa_provenance_v1, _predicate_v1), digest)
    if build.intoto_statement:
        older = _predicate_v02 if build.intoto_statement.slsa_provenance_zero_two else _predicate_v01
        return read(_statement(build.intoto_statement, older), digest)
    return read_bytes(occurrence.envelope.payload, digest)


def _statement(message: Any, predicate: Any) -> dict[str, Any]:
    """A message as the JSON that it stands for. MessageToDict would not do: the API's `type` is JSON's `_type`."""
    return {
        "_type": message.type_,
        "subject": [{"name": subject.name, "digest": dict(subject.digest)} for subject in message.subject],
        "predicateType": message.predicate_type,
        "predicate": predicate(message),
    }


def _predicate_v1(message: Any) -> dict[str, Any]:
    from google.protobuf.json_format import MessageToDict

    definition, details = message.predicate.build_definition, message.predicate.run_details
    # The raw message: proto-plus turns a Struct into its own kind of mapping.
    external = type(definition).pb(definition).external_parameters
    return {
        "buildDefinition": {
            "buildType": definition.build_type,
            "externalParameters": MessageToDict(external),
            "resolvedDependencies": [_resource(item) for item in definition.resolved_dependencies],
        },
        "runDetails": {
            "builder": {"id": details.builder.id},
            "metadata": {"invocationId": details.metadata.invocation_id},
        },
    }


def _predicate_v02(message: Any) -> dict[str, Any]:
    slsa = message.slsa_provenance_zero_two
    source = slsa.invocation.config_source
    return {
        "builder": {"id": slsa.builder.id},
        "buildType": slsa.build_type,
        "invocation": {"configSource": {**_resource(source), "entryPoint": source.entry_point}},
        "materials": [_resource(item) for item in slsa.materials],
        "metadata": {"buildInvocationId": slsa.metadata.build_invocation_id},
    }


def _predicate_v01(message: Any) -> dict[str, Any]:
    slsa = message.slsa_provenance
    return {
        "builder": {"id": slsa.builder.id},
        "recipe": {"type": slsa.recipe.type_, "entryPoint": slsa.recipe.entry_point},
        "materials": [_resource(item) for item in slsa.materials],
        "metadata": {"buildInvocationId": slsa.metadata.build_invocation_id},
    }


def _resource(message: Any) -> dict[str, Any]:
    return {"uri": message.uri, "digest": dict(message.digest)}
