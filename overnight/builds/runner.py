"""Run a build file's own steps on this machine, in their order, then push what it names and say who made it."""

import re
import shlex
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import IO, Any, Protocol

from overnight.builds.containers import BUILD_ID
from overnight.builds.file import BuildFile
from overnight.builds.process import Exit, run
from overnight.builds.result import BuildResult, Failure, Pushed, Record
from overnight.builds.step import Place, check_step, command, localized
from overnight.builds.substitutions import expand, values_of
from overnight.errors import OvernightError
from overnight.wording import duration

BUILD_SECONDS = 3600.0
"""The service's own bound where the file sets no timeout (proto Build: "Default time is 60 minutes")."""
NO_KIND = "FAILURE_TYPE_UNSPECIFIED"

Push = Callable[[str, Callable[[str], None]], str]
"""Push one image, telling lines; its digest as the registry has it. Raises OvernightError."""
Attest = Callable[[Pushed], str | None]
"""Say in the registry what made an image; a sentence where that cannot be said. Raises OvernightError."""


class Listener(Protocol):
    """Who follows a build."""

    def line(self, text: str) -> None:
        """One line of the build's log."""

    def began(self, number: int, total: int, what: str) -> None:
        """The next part, `number` of `total`, has started."""

    def tick(self) -> None:
        """Time has passed."""


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """All that a run needs beside its file."""

    build_id: str
    place: Place
    """With the source in its workspace; its other folders are made here."""
    records: Path
    """The result goes to RECORDS/BUILD_ID.json, logs to RECORDS/BUILD_ID/."""
    given: Mapping[str, str]
    """Built-in substitutions and those that a trigger passes."""
    containers: Mapping[str, str]
    """Environment variables of podman and buildah."""
    push: Push
    attest: Attest
    """Asked for when the file's options.requestedVerifyOption is VERIFIED."""
    listener: Listener
    clock: Callable[[], datetime]
    tidy: Callable[[], None] = field(default=lambda: None)
    """Called at the end, however it came: remove containers that steps left."""


def run_build(build: BuildFile, options: RunOptions) -> BuildResult:
    """Run the steps, push, attest; the result is written whatever happens, and says what happened.

    Raises BuildError before anything is run when a step cannot be run here, and passes KeyboardInterrupt on once the
    result, CANCELLED, is written.
    """
    plan = type(build.message).pb(build.message)
    values = _values(build, options)
    for index, step in enumerate(plan.steps):
        check_step(index, step, plan.options, values)
    options.place.make()
    _write_docker(options.place.programs / "docker")
    given = options.given
    revision = (given.get("_SOURCE", ""), given.get("COMMIT_SHA", ""))
    running = _Running(plan, values, options, Record(plan, options.build_id, values, revision, options.clock))
    failure: Failure | None = Failure("INTERNAL_ERROR", "Overnight itself failed", NO_KIND)
    try:
        failure = running.steps() or running.images()
    except OvernightError as error:
        failure = Failure("FAILURE", error.sentence)
    except KeyboardInterrupt:
        failure = Failure("CANCELLED", "it was cancelled", NO_KIND)
        raise
    finally:
        options.tidy()
        running.record.outputs(lambda index: _output(options.place, index))
        result = running.record.write(options.records / f"{options.build_id}.json", failure)
    return result


class _Running:
    """A build that runs."""

    def __init__(self, plan: Any, values: Mapping[str, str], options: RunOptions, record: Record) -> None:
        self.plan, self.values, self.options, self.record = plan, values, options, record
        self.images_named = [expand(text, values, dynamic=True, loose=True) for text in plan.images]
        seconds = plan.timeout.ToTimedelta().total_seconds() if plan.HasField("timeout") else 0.0
        self.seconds = seconds or BUILD_SECONDS
        self.deadline = time.monotonic() + self.seconds
        self.logs = options.records / options.build_id
        self.logs.mkdir(parents=True, exist_ok=True)

    def steps(self) -> Failure | None:
        """Each step in the file's order, which is one that `waitFor` allows."""
        self.say(f'starting build "{self.options.build_id}"')
        self.say("BUILD")
        for index in range(len(self.plan.steps)):
            if (failure := self.step(index)) is not None:
                self.say(f"ERROR: {failure.detail}")
                return failure
        return None

    def step(self, index: int) -> Failure | None:
        """Run one step; None when the build goes on."""
        step = self.plan.steps[index]
        label = f'Step #{index} - "{step.id}"' if step.id else f"Step #{index}"
        self.options.listener.began(index + 1, self.total, step.id or f"step {index}")
        self.say(f"Starting {label}")
        self.record.step_began(index)
        status = "CANCELLED"
        ended: Exit | None = None
        try:
            with (self.logs / f"{_log_name(index, step.id)}.log").open("w") as log:
                ended = self.process(index, step, log, label)
            status = "TIMEOUT" if ended.timed_out else "FAILURE" if ended.code else "SUCCESS"
        except OvernightError:
            status = "FAILURE"
            raise
        finally:
            self.record.step_ended(index, status, ended.code if ended and not ended.timed_out else None)
        self.say(f"Finished {label}")
        return self.judged(index, step, ended)

    def process(self, index: int, step: Any, log: IO[str], label: str) -> Exit:
        """The step's process, to its end."""
        options = self.options
        started = command(index, step, self.plan.options, self.values, options.place)

        def line(text: str) -> None:
            log.write(f"{text}\n")
            log.flush()
            self.say(f"{label}: {text}")

        environment = {**options.containers, BUILD_ID: options.build_id, **started.environment}
        seconds = max(0.0, self.deadline - time.monotonic())
        if own := step.timeout.ToTimedelta().total_seconds():
            seconds = min(seconds, own)
        return run(started.arguments, environment, started.folder, seconds, line, options.listener.tick)

    def judged(self, index: int, step: Any, ended: Exit) -> Failure | None:
        """Whether the build goes on after a step."""
        name = f'build step {index} "{step.id or expand(step.name, self.values, dynamic=True, loose=True)}"'
        if ended.timed_out:
            if time.monotonic() >= self.deadline:
                return Failure("TIMEOUT", f"{name} was running when the build's {duration(self.seconds)} were over")
            own = step.timeout.ToTimedelta().total_seconds()
            return Failure("FAILURE", f"{name} failed: it did not end within its {duration(own)}")
        # Proto BuildStep: allow_exit_codes takes precedence over allow_failure.
        allowed = ended.code in step.allow_exit_codes if step.allow_exit_codes else step.allow_failure
        if ended.code == 0:
            return None
        if allowed:
            self.record.warn(f"{name} ended with code {ended.code}, which the file allows")
            return None
        log = self.logs / f"{_log_name(index, step.id)}.log"
        return Failure("FAILURE", f"{name} failed: step exited with non-zero status: {ended.code} (log: {log})")

    def images(self) -> Failure | None:
        """Push what `images` names; attest it where the file asks for verified builds."""
        if not self.images_named:
            self.say("DONE")
            return None
        self.say("PUSH")
        self.options.listener.began(len(self.plan.steps) + 1, self.total, "push")
        pushed = []
        with (self.logs / "push.log").open("w") as log:

            def line(text: str) -> None:
                log.write(f"{text}\n")
                self.say(text)

            for image in self.images_named:
                line(f"Pushing {image}")
                began = self.options.clock()
                try:
                    pushed.append(Pushed(image, self.options.push(image, line)))
                except OvernightError as error:
                    return Failure("FAILURE", error.sentence, "PUSH_FAILED")
                self.record.pushed(pushed[-1], began)
                line(f"{image}: digest: {pushed[-1].digest}")
        return self.attested(pushed)

    def attested(self, pushed: list[Pushed]) -> Failure | None:
        """VERIFIED fails a build whose provenance cannot be made, as in the service."""
        wanted = self.plan.options.requested_verify_option
        if wanted == type(self.plan.options).VerifyOption.VERIFIED:
            for image in pushed:
                try:
                    if (warning := self.options.attest(image)) is not None:
                        self.record.warn(warning)
                        self.say(f"WARNING: {warning}")
                except OvernightError as error:
                    return Failure(
                        "FAILURE", f"no provenance could be made for {image.name}: {error.sentence}", NO_KIND
                    )
        self.say("DONE")
        return None

    @property
    def total(self) -> int:
        """Parts of the build: its steps, and the push."""
        return len(self.plan.steps) + bool(self.images_named)

    def say(self, text: str) -> None:
        """One line of the build's log."""
        self.options.listener.line(text)


def _values(build: BuildFile, options: RunOptions) -> dict[str, str]:
    """Every substitution; paths of the service in the file's own values are put where they are here."""
    paths = {"/workspace": options.place.workspace}
    own = build.data.get("substitutions", {})
    values = values_of(build, options.given)
    return {name: localized(value, paths) if name in own else value for name, value in values.items()}


def _write_docker(path: Path) -> None:
    """The stand-in for docker. -P: the workspace may hold another `overnight`."""
    path.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -P -m overnight.builds.docker_shim "$@"\n')
    path.chmod(0o755)


def _output(place: Place, index: int) -> bytes:
    try:
        return (place.output(index) / "output").read_bytes()
    except OSError:
        return b""


def _log_name(index: int, step_id: str) -> str:
    return step_id if re.fullmatch(r"[A-Za-z0-9][\w.-]{0,99}", step_id) and step_id != "push" else f"step-{index}"
