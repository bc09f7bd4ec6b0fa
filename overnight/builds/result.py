"""What became of a build, as the API's own message `Build`, in JSON."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from overnight.files import canonical_json, write_atomically

MOST_OUTPUT_BYTES = 50 * 1024
"""Of a step's $BUILDER_OUTPUT/output ("Only the first 50KB of data is stored", proto Results)."""


@dataclass(frozen=True)
class Pushed:
    """An image in the registry."""

    name: str
    """HOST/PATH:TAG, as the build file has it."""
    digest: str
    """`sha256:…`, as the registry says."""


@dataclass(frozen=True)
class Failure:
    """Why a build did not succeed."""

    status: str
    """A name of Build.Status, such as TIMEOUT."""
    detail: str
    kind: str = "USER_BUILD_STEP"
    """A name of Build.FailureInfo.FailureType."""


@dataclass(frozen=True)
class BuildResult:
    """An ended build."""

    build_id: str
    status: str
    detail: str
    images: tuple[Pushed, ...]
    record: Path
    """The message `Build` in JSON."""
    warnings: tuple[str, ...] = ()

    @property
    def succeeded(self) -> bool:
        """Whether every step and every push went well."""
        return self.status == "SUCCESS"


class Record:
    """The message, filled in while the build runs; `write` keeps it."""

    def __init__(
        self,
        plan: Any,
        build_id: str,
        values: Mapping[str, str],
        revision: tuple[str, str],
        clock: Callable[[], datetime],
    ) -> None:
        """`plan` is the protobuf Build that runs, `revision` the source's address and commit."""
        self._clock = clock
        self.build = type(plan)()
        self.build.CopyFrom(plan)
        build = self.build
        build.id = build_id
        build.project_id = values.get("PROJECT_ID", "")
        build.name = f"projects/{build.project_id}/locations/{values.get('LOCATION', '')}/builds/{build_id}"
        build.substitutions.clear()
        build.substitutions.update(values)
        url, commit = revision
        for source in (build.source.git_source, build.source_provenance.resolved_git_source):
            source.url, source.revision = url, commit
        build.status = build.Status.WORKING
        for step in build.steps:
            step.status = build.Status.QUEUED
        self._start(build.create_time)
        self._start(build.start_time)
        self._images: list[Pushed] = []

    def step_began(self, index: int) -> None:
        """Note that a step has started."""
        self.build.steps[index].status = self.build.Status.WORKING
        self._start(self.build.steps[index].timing.start_time)

    def step_ended(self, index: int, status: str, code: int | None) -> None:
        """Note how a step ended."""
        step = self.build.steps[index]
        step.status = self.build.Status.Value(status)
        if code is not None:
            step.exit_code = code
        self._start(step.timing.end_time)

    def outputs(self, read: Callable[[int], bytes]) -> None:
        """Keep what each step wrote to $BUILDER_OUTPUT/output."""
        found = [read(index)[:MOST_OUTPUT_BYTES] for index in range(len(self.build.steps))]
        del self.build.results.build_step_outputs[:]
        self.build.results.build_step_outputs.extend(found)

    def pushed(self, image: Pushed, began: datetime) -> None:
        """Note an image that the registry has."""
        self._images.append(image)
        built = self.build.results.images.add(name=image.name, digest=image.digest)
        built.push_timing.start_time.FromDatetime(began)
        self._start(built.push_timing.end_time)

    def warn(self, text: str) -> None:
        """Something that a reader of the result should know."""
        self.build.warnings.add(text=text, priority="WARNING")

    def write(self, path: Path, failure: Failure | None) -> BuildResult:
        """Keep the message at `path`, complete or not at all."""
        build = self.build
        build.status = build.Status.Value(failure.status if failure else "SUCCESS")
        if failure:
            build.status_detail = failure.detail
            build.failure_info.detail = failure.detail
            build.failure_info.type_ = build.FailureInfo.FailureType.Value(failure.kind)
        self._start(build.finish_time)
        write_atomically(path, canonical_json(_plain(build)))
        return BuildResult(
            build.id,
            build.Status.Name(build.status),
            build.status_detail,
            tuple(self._images),
            path,
            tuple(warning.text for warning in build.warnings),
        )

    def _start(self, field: Any) -> None:
        field.FromDatetime(self._clock())


def _plain(build: Any) -> Any:
    from google.protobuf import json_format

    return json_format.MessageToDict(build)
