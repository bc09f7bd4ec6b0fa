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
from pathlib import Path
from typing import Any

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq

from overnight.shards import leash, places
from overnight.shards.errors import ShardError
from overnight.shards.examine import Rules
from overnight.shards.rewriter import Rewriter
from overnight.shards.write import Outcome, write_shard


class _Unneeded(logging.Filter):
    """Beam warns at import that a Google client is absent, which nothing here needs."""

    def filter(self, record: logging.LogRecord) -> bool:
        return "apitools" not in record.getMessage()


logging.getLogger().addFilter(_Unneeded())

import apache_beam as beam  # noqa: E402  (the filter must stand first)
from apache_beam.options.pipeline_options import PipelineOptions  # noqa: E402
from apache_beam.runners.portability.fn_api_runner.fn_runner import FnApiRunner  # noqa: E402
from apache_beam.transforms.environments import SubprocessSDKEnvironment  # noqa: E402

# Beam annotates itself in part only: under mypy --strict its transforms count as untyped.
sdk: Any = beam


class WriteShard(beam.DoFn):
    """Write the shard of a number; yields its Outcome as a dict."""

    def __init__(self, staging: str, first: int, rules: Rules) -> None:
        self._staging = staging
        self._first = first
        self._rules = rules

    def setup(self) -> None:
        """Open the plan once a worker; the process that rewrites pictures starts with the first of them."""
        self._rewriter = Rewriter()
        self._file = fsspec.open(places.join(self._staging, "plan.parquet"), "rb").open()
        self._plan = pq.ParquetFile(self._file)

    def teardown(self) -> None:
        """Close the plan, and end that process."""
        self._file.close()
        self._rewriter.close()

    def process(self, shard: int) -> Iterator[dict[str, Any]]:
        """Write one shard; a retried bundle writes the same bytes again."""
        rows: pa.Table = self._plan.read_row_group(shard - self._first)
        yield asdict(write_shard(rows, shard, self._staging, self._rules, self._rewriter))


def run_here(staging: str, numbers: range, rules: Rules, workers: int) -> list[Outcome]:
    """Write the shards `numbers` of `staging`/plan.parquet on this machine, in `workers` processes (one: in this one).

    Returns the outcomes by shard number. The runner is Beam's FnApiRunner: its DirectRunner would first try to
    download another one.
    """
    options = PipelineOptions([f"--direct_num_workers={workers}"])
    if workers == 1:
        return _run(sdk.Pipeline(runner=FnApiRunner(), options=options), staging, numbers, rules)
    with leash.held() as path:
        # Not Beam's own running mode "multi_processing": its worker writes its start-up log to the terminal.
        # "exec" because Beam starts it through a shell, which would stay between the worker and its parent.
        command = shlex.join([sys.executable, "-m", "overnight.shards.worker", str(path)])
        runner = FnApiRunner(default_environment=SubprocessSDKEnvironment.from_command_string(f"exec {command}"))
        return _run(sdk.Pipeline(runner=runner, options=options), staging, numbers, rules)


def run_elsewhere(staging: str, numbers: range, rules: Rules, options: Sequence[str]) -> list[Outcome]:
    """As `run_here` with the runner that `options` name, which are Beam's own flags, such as --runner=DataflowRunner.

    Raises ShardError when `staging` is a folder of this machine or Beam does not take the options.
    """
    if places.is_local(staging):
        raise ShardError(
            "a runner elsewhere cannot write to this machine",
            where=str(Path(staging).parent),
            remedy="give --folder gs://BUCKET/shards",
        )
    try:
        pipeline = sdk.Pipeline(options=PipelineOptions(list(options)))
    except (ValueError, ImportError) as error:
        said = " ".join(str(error).split())
        raise ShardError(
            f"Apache Beam says: {said}", where=" ".join(options), remedy="correct --runner and --beam-option"
        ) from None
    return _run(pipeline, staging, numbers, rules)


def _run(pipeline: Any, staging: str, numbers: range, rules: Rules) -> list[Outcome]:
    outcomes = places.join(staging, "outcomes.json")
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
