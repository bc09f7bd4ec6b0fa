"""The digests that a build pushed: Cloud Build's own answer, or the file that a local build left."""

import json
import re
from pathlib import Path
from typing import Any

from overnight.images.errors import ImageError
from overnight.images.reference import parse

SECONDS = 30.0
BUILD_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}")
GOING = ("PENDING", "QUEUED", "WORKING")


def from_cloud_build(project: str, region: str, build_id: str, client: Any = None) -> dict[str, str]:
    """Digests by HOST/PATH of what a build pushed through its `images`. Raises ImageError.

    The name is what a regional build is asked by: with project and id alone the service looks in `global`.
    """
    from google.cloud.devtools import cloudbuild_v1

    where = f"build {_checked(build_id)}"
    name = f"projects/{project}/locations/{region}/builds/{build_id}"
    build = _got(name, where, client)
    return _digests(cloudbuild_v1.Build.pb(build), where)


def from_local_build(root: Path, build_id: str) -> dict[str, str]:
    """The same of a build on this machine, from `root/builds/BUILD_ID.json`. Raises ImageError."""
    from google.cloud.devtools import cloudbuild_v1
    from google.protobuf import json_format

    path = root / "builds" / f"{_checked(build_id)}.json"
    try:
        content = json.loads(path.read_bytes()) or None  # an empty list would be taken for an empty build
        build = json_format.ParseDict(content, cloudbuild_v1.Build.pb(cloudbuild_v1.Build()))
    except FileNotFoundError:
        remedy = "give the id that `overnight image build --local` printed"
        raise ImageError("there is no such build on this machine", where=str(path), remedy=remedy) from None
    except OSError as error:
        raise ImageError((error.strerror or "it cannot be read").lower(), where=str(path)) from None
    except (ValueError, TypeError, AttributeError, RecursionError, json_format.ParseError):
        raise ImageError("this is no build in Cloud Build's form", where=str(path), remedy="build again") from None
    return _digests(build, f"build {build_id}")


def _checked(build_id: str) -> str:
    if not BUILD_ID.fullmatch(build_id):
        raise ImageError(f"{build_id!r} is no build", where="--from-build", remedy="give the id that the build printed")
    return build_id


def _got(name: str, where: str, client: Any) -> Any:
    from google.api_core.exceptions import (
        Forbidden,
        GoogleAPIError,
        InvalidArgument,
        NotFound,
        ServiceUnavailable,
        Unauthorized,
    )
    from google.api_core.retry import Retry, if_exception_type
    from google.auth.exceptions import GoogleAuthError
    from google.cloud.devtools import cloudbuild_v1

    try:
        client = client or cloudbuild_v1.CloudBuildClient()
        again = Retry(predicate=if_exception_type(ServiceUnavailable), timeout=SECONDS)
        return client.get_build(request=cloudbuild_v1.GetBuildRequest(name=name), timeout=SECONDS, retry=again)
    except (NotFound, InvalidArgument):
        project, region = name.split("/")[1:4:2]
        said = f"project {project} has no such build in {region}"
        raise ImageError(said, where=where, remedy="give the id that the build printed, or another --config") from None
    except (GoogleAuthError, Unauthorized) as error:
        said = f"there are no usable Google credentials ({_first_line(error)})"
        raise ImageError(said, where=where, remedy="log in with: gcloud auth application-default login") from None
    except Forbidden:
        remedy = "ask for roles/cloudbuild.builds.viewer on the project"
        raise ImageError("this account may not read builds", where=where, remedy=remedy) from None
    except GoogleAPIError as error:
        raise ImageError(f"Cloud Build did not answer as it should ({_first_line(error)})", where=where) from None


def _digests(build: Any, where: str) -> dict[str, str]:
    """Of a protobuf `Build`."""
    status = type(build).Status.Name(build.status) if build.status in type(build).Status.values() else str(build.status)
    if status in GOING:
        raise ImageError(f"it has not ended ({status})", where=where, remedy="wait until it has")
    if status != "SUCCESS":
        detail = " ".join((build.failure_info.detail or build.status_detail).split()).rstrip(".")
        said = f"it ended as {status}" + (f": {detail}" if detail else "")
        raise ImageError(said, where=where, remedy="name a build that succeeded")
    found: dict[str, str] = {}
    for image in build.results.images:
        reference = parse(image.name, where)
        digest = str(parse(f"{reference.repository}@{image.digest}", where).digest)
        if found.setdefault(reference.repository, digest) != digest:
            said = f"it pushed {reference.repository} with two digests"
            raise ImageError(said, where=where, remedy="give the one that is meant with --to")
    if not found:
        said = "it pushed no image through `images`, so Cloud Build knows no digest"
        raise ImageError(said, where=where, remedy="name a build of cloudbuild/images.yaml")
    return found


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0].rstrip(".")
