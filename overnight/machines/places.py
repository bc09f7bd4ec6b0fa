"""Where regions stand, so that a remedy can name those nearby."""

import difflib
import math
from collections.abc import Iterable
from functools import cache

from overnight.machines.tables import rows


@cache
def _places() -> dict[str, tuple[float, float]]:
    return {row["region"]: (float(row["latitude"]), float(row["longitude"])) for row in rows("places")}


def nearest(region: str, among: Iterable[str], count: int = 3) -> list[str]:
    """At most `count` of the regions `among`, the nearest to `region` first; alphabetical when it is unknown."""
    places = _places()
    candidates = sorted(set(among))
    if region in places:
        candidates.sort(key=lambda other: _angle(places[region], places[other]) if other in places else math.inf)
    return candidates[:count]


def region_suggestion(region: str) -> str | None:
    """The region that `region` is a misspelling of, or None: a number or place we have not heard of may be new."""
    stem, known = region.rstrip("0123456789"), {name.rstrip("0123456789") for name in _places()}
    if stem in known:
        return None
    return next(iter(difflib.get_close_matches(region, _places(), n=1, cutoff=0.8)), None)


def _angle(one: tuple[float, float], other: tuple[float, float]) -> float:
    """The great circle between two (latitude, longitude) in degrees, as radians."""
    (a, b), (c, d) = (tuple(map(math.radians, place)) for place in (one, other))
    cosine = math.sin(a) * math.sin(c) + math.cos(a) * math.cos(c) * math.cos(b - d)
    return math.acos(max(-1.0, min(1.0, cosine)))
