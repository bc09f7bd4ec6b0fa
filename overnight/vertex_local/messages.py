"""Vertex AI's messages: made, read from and written to the API's JSON."""

from typing import Any

CustomJob = Any
"""`google.cloud.aiplatform_v1.CustomJob`, the protobuf message itself (protobuf ships no types)."""


def new_custom_job() -> CustomJob:
    """An empty message. Importing the client costs about a second, so it happens here and not above."""
    from google.cloud import aiplatform_v1

    return aiplatform_v1.CustomJob.pb()()


def parse_custom_job(data: dict[str, Any]) -> CustomJob:
    """The message of its JSON form; raises google.protobuf.json_format.ParseError."""
    from google.protobuf import json_format

    return json_format.ParseDict(data, new_custom_job())


def to_json(message: Any) -> dict[str, Any]:
    """The message as plain data with the API's JSON names; fields that were not set are left out."""
    from google.protobuf import json_format

    return dict(json_format.MessageToDict(message))
