"""The Apache Beam pipeline: one element is one shard, so no image byte is ever shuffled.

The elements are shard numbers; each worker reads its shard's rows from the plan's file, so a set of any size passes
through the runner as a few bytes a shard.
"""

import json
import logging
import shlex
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq

from overnight.shards import places
from overnight.shards.examine import Rules
from overnight.shards.write import Outcome, write_shard

LOCAL_RUNNER = "DirectRunner"


class _Unneeded(logging.Filter):
    """Beam warns at import that a Google client is absent, which nothing here needs."""

    def filter(self, record: logging.LogRecord) -> bool:
        return "apitools" not in record.getMessage()


logging.getLogger().addFilter(_Unneeded())

import apache_beam as beam  # noqa: E402  (the filter must stand first)
from apache_beam.options.pipeline_options import PipelineOptions  # noqa: E402

# Beam annotates itself in part only: under mypy --strict its transforms count as untyped.
sdk: Any = beam


class WriteShard(beam.DoFn):
    """Write the shard of a number; yields its Outcome as a dict."""

    def __init__(self, staging: str, first: int, rules: Rules) -> None:
        self._staging = staging
        self._first = first
        self._rules = rules

    def setup(self) -> None:
        """Open the plan once a worker."""
        self._file = fsspec.open(places.join(self._staging, "plan.parquet"), "rb").open()
        self._plan = pq.ParquetFile(self._file)

    def teardown(self) -> None:
        """Close the plan."""
        self._file.close()

    def process(self, shard: int) -> Iterator[dict[str, Any]]:
        """Write one shard; a retried bundle writes the same bytes again."""
        rows: pa.Table = self._plan.read_row_group(shard - self._first)
        yield asdict(write_shard(rows, shard, self._staging, self._rules))


def run(staging: str, numbers: range, rules: Rules, options: Sequence[str]) -> list[Outcome]:
    """Write the shards `numbers` of `staging`/plan.parquet with the runner that `options` (Beam's own flags) name.

    Returns the outcomes by shard number. The local runner is Beam's FnApiRunner: its DirectRunner would first try
    to download another one.
    """
    outcomes = places.join(staging, "outcomes.json")
    pipeline = sdk.Pipeline(runner=_runner(options), options=PipelineOptions(_remote_only(options)))
    (
        pipeline
        | "shard numbers" >> sdk.Create(list(numbers))
        | "spread" >> sdk.Reshuffle()
        | "write shards" >> sdk.ParDo(WriteShard(staging, numbers.start, rules))
        | "gather" >> sdk.combiners.ToList()
        | "note outcomes" >> sdk.Map(lambda found: places.write_bytes(outcomes, json.dumps(found).encode()))
    )
    pipeline.run().wait_until_finish()
    found = [Outcome(**value) for value in json.loads(places.read_bytes(outcomes))]
    return sorted(found, key=lambda outcome: outcome.shard)


def local_options(workers: int) -> list[str]:
    """Beam's flags for `workers` processes on this machine (one: in this process)."""
    return [f"--runner={LOCAL_RUNNER}", f"--direct_num_workers={workers}"]


def _is_local(options: Sequence[str]) -> bool:
    return f"--runner={LOCAL_RUNNER}" in options


def _remote_only(options: Sequence[str]) -> list[str]:
    return [option for option in options if option != f"--runner={LOCAL_RUNNER}"]


def _runner(options: Sequence[str]) -> Any:
    if not _is_local(options):
        return None  # beam takes --runner itself
    from apache_beam.runners.portability.fn_api_runner.fn_runner import FnApiRunner
    from apache_beam.transforms.environments import SubprocessSDKEnvironment

    if "--direct_num_workers=1" in options:
        return FnApiRunner()
    # Not Beam's own running mode "multi_processing": its worker writes its start-up log to the terminal.
    command = f"{shlex.quote(sys.executable)} -m overnight.shards.worker"
    return FnApiRunner(default_environment=SubprocessSDKEnvironment.from_command_string(command))
