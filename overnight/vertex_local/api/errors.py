"""Errors of the API: a gRPC status code and Vertex AI's kind of sentence.

Vertex AI's texts are not documented. The list of fields ("List of found errors: …") is as seen in public logs
(vertex-facts 6.3); the others say the same thing in our words. Clients should look at the code.
"""

from collections.abc import Mapping

import grpc


class ApiError(Exception):
    """What a method answers instead of its response."""

    def __init__(self, code: grpc.StatusCode, message: str) -> None:
        self.code = code
        self.message = message
        super().__init__(f"{code.name}: {message}")


def not_found(name: str) -> ApiError:
    """There is no resource called `name`."""
    return ApiError(grpc.StatusCode.NOT_FOUND, f"The resource {name} does not exist.")


def exists(name: str) -> ApiError:
    """There is a resource called `name` already."""
    return ApiError(grpc.StatusCode.ALREADY_EXISTS, f"The resource {name} already exists.")


def invalid(message: str) -> ApiError:
    """The request cannot be carried out as written."""
    return ApiError(grpc.StatusCode.INVALID_ARGUMENT, message)


def invalid_fields(problems: Mapping[str, str]) -> ApiError:
    """Fields of the request that are wrong: field path -> sentence, all of them in one error as Vertex AI does."""
    listed = "".join(f"\t{number}.Field: {field}; Message: {text}" for number, (field, text) in _counted(problems))
    return invalid(f"List of found errors:{listed}\t")


def failed_precondition(message: str) -> ApiError:
    """The request is sound, but the state of the resource does not allow it."""
    return ApiError(grpc.StatusCode.FAILED_PRECONDITION, message)


def aborted(message: str) -> ApiError:
    """The resource has changed since the client read it; reading again and repeating may help."""
    return ApiError(grpc.StatusCode.ABORTED, message)


def unimplemented(method: str) -> ApiError:
    """This server does not serve `method`."""
    return ApiError(grpc.StatusCode.UNIMPLEMENTED, f"{method} is not served by this local Vertex AI.")


def _counted(problems: Mapping[str, str]) -> list[tuple[int, tuple[str, str]]]:
    return list(enumerate(problems.items(), start=1))
