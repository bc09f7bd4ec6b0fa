"""Show how many shards are written: the workers are other processes, so their files are counted."""

import threading
from pathlib import Path

from rich.progress import Progress

from overnight.shards import places
from overnight.shards.build import WriteShards
from overnight.shards.examine import Rules
from overnight.shards.write import Outcome

INTERVAL_SECONDS = 0.5


def watched(write: WriteShards, bar: Progress) -> WriteShards:
    """`write`, with `bar` counting the finished shards of a staging folder on this machine."""

    def run(staging: str, numbers: range, rules: Rules) -> list[Outcome]:
        if not places.is_local(staging):
            return write(staging, numbers, rules)
        task = bar.add_task("Writing shards", total=len(numbers))
        ended = threading.Event()

        def count() -> None:
            while not ended.wait(INTERVAL_SECONDS):
                bar.update(task, completed=len(list(Path(staging, "parts").glob("quarantine-[0-9]*.parquet"))))

        watcher = threading.Thread(target=count, daemon=True)
        watcher.start()
        try:
            return write(staging, numbers, rules)
        finally:
            ended.set()
            watcher.join()

    return run
