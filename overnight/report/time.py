"""Where the time went, and which samples could not be used."""

from dataclasses import dataclass

from overnight.report.sources import Sources
from overnight.wording import duration, percent

# In the order of a step, with the words a reader knows.
PHASES = {
    "data_wait": "waiting for data",
    "copy": "copying",
    "forward_backward": "forward and backward",
    "all_reduce": "exchanging gradients",
    "optimizer": "optimizer",
    "checkpoint": "checkpoints",
    "evaluation": "evaluation",
    "other": "other",
}


@dataclass(frozen=True)
class Phase:
    """One kind of work."""

    key: str
    name: str
    seconds: str
    share: float
    """0 to 1, of the wall time."""
    share_text: str


@dataclass(frozen=True)
class BadSample:
    """A sample that training met and could not use."""

    key: str
    place: str
    reason: str


@dataclass(frozen=True)
class Time:
    """The profile."""

    wall: str
    throughput: str
    workers: str
    phases: tuple[Phase, ...]
    bad: tuple[BadSample, ...]
    bad_total: int


def build_time(sources: Sources) -> Time | None:
    """From profile.json; None when the run wrote none."""
    profile = sources.profile
    if profile is None:
        return None
    known = [key for key in PHASES if key in profile["phases"]]
    unknown = sorted(key for key in profile["phases"] if key not in PHASES)
    workers, threads = profile["world_size"], profile["threads"]
    return Time(
        wall=duration(profile["wall_seconds"]),
        throughput=f"{profile['samples_per_second']:,.0f} images a second",
        workers=f"{workers} worker{'s' if workers != 1 else ''}, {threads} thread{'s' if threads != 1 else ''} each",
        phases=tuple(
            Phase(
                key=key,
                name=PHASES.get(key, key.replace("_", " ")),
                seconds=duration(profile["phases"][key]["seconds"]),
                share=profile["phases"][key]["share"],
                share_text=percent(profile["phases"][key]["share"]),
            )
            for key in [*known, *unknown]
        ),
        bad=tuple(
            BadSample(entry["key"], f"shard {entry['shard']}, offset {entry['offset']:,}", entry["reason"])
            for entry in profile["bad_samples"]
        ),
        bad_total=profile["bad_samples_total"],
    )
