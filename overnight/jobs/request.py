"""One start of a job: the request that Vertex AI is sent, as plain data and as the API's own message."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from overnight.files import canonical_json, sha256_bytes
from overnight.jobs.view import Kind
from overnight.vertex_local.messages import to_json

RUN_LABEL = "overnight-run"
SPEC_LABEL = "overnight-spec"
TOKEN_LABEL = "overnight-token"
ATTEMPT_LABEL = "overnight-attempt"
LABEL_DIGITS = 32
"""Hex digits of a digest in a label, whose values have at most 63 characters; 128 bits meet by no chance."""


@dataclass(frozen=True)
class Request:
    """CreateCustomJobRequest or CreateHyperparameterTuningJobRequest, complete."""

    parent: str
    """projects/PROJECT/locations/REGION."""
    kind: Kind
    job: dict[str, Any]
    """The message in the API's JSON."""
    fallback: int = 0
    """0: the job as the spec has it; n: with the nth fallback."""
    retry: int = 0
    """How often the same was started before."""

    @property
    def region(self) -> str:
        """The last part of the parent."""
        return self.parent.rpartition("/")[2]

    @property
    def body(self) -> dict[str, Any]:
        """The whole request as plain data."""
        return {"parent": self.parent, self.kind: self.job}

    @property
    def text(self) -> bytes:
        """What `overnight job render` prints: canonical JSON."""
        return canonical_json(self.body)

    @property
    def run_id(self) -> str:
        """The run it belongs to."""
        return str(self.job["labels"][RUN_LABEL])

    @property
    def digest(self) -> str:
        """The digits of the spec's digest that its label holds."""
        return str(self.job["labels"][SPEC_LABEL])

    @property
    def token(self) -> str:
        """What no other start has; a job with it is this start, whoever sent it."""
        return str(self.job["labels"][TOKEN_LABEL])

    @cached_property
    def message(self) -> Any:
        """The protobuf request that is sent."""
        from google.protobuf import json_format

        return json_format.ParseDict(self.body, request_type(self.kind).pb()())

    def again(self, retry: int) -> "Request":
        """The same, started once more: other labels, all else equal."""
        labels = {
            **self.job["labels"],
            ATTEMPT_LABEL: f"{self.fallback}-{retry}",
            TOKEN_LABEL: token(self.digest, self.run_id, self.fallback, retry),
        }
        return replace(self, retry=retry, job={**self.job, "labels": labels})


def request_type(kind: Kind) -> Any:
    """The client's class of the request. Importing the client costs about a second, so it happens here."""
    from google.cloud import aiplatform_v1

    if kind == "customJob":
        return aiplatform_v1.CreateCustomJobRequest
    return aiplatform_v1.CreateHyperparameterTuningJobRequest


def job_message(kind: Kind, job: dict[str, Any]) -> Any:
    """The protobuf job of its JSON."""
    from google.cloud import aiplatform_v1
    from google.protobuf import json_format

    kinds: dict[Kind, Any] = {
        "customJob": aiplatform_v1.CustomJob,
        "hyperparameterTuningJob": aiplatform_v1.HyperparameterTuningJob,
    }
    return json_format.ParseDict(job, kinds[kind].pb()())


def normal(kind: Kind, job: dict[str, Any]) -> dict[str, Any]:
    """The one JSON form of a job: as the API would write it."""
    return to_json(job_message(kind, job))


def token(digest: str, run_id: str, fallback: int, retry: int) -> str:
    """A label's value that names one start of one run of one spec."""
    return sha256_bytes(f"{digest}\n{run_id}\n{fallback}\n{retry}\n".encode())[:LABEL_DIGITS]
