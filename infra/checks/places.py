"""Regions and networks."""

from collections.abc import Iterator

from overnight.config import GoogleConfig
from overnight.config.mistakes import Mistake
from overnight.machines import region_suggestion


def place_mistakes(google: GoogleConfig) -> Iterator[Mistake]:
    """Regions that do not exist or disagree; a network of another project."""
    named = {"google.region": google.region}
    named |= {f"google.allowed_regions[{place}]": region for place, region in enumerate(google.allowed_regions)}
    for field, region in named.items():
        if suggestion := region_suggestion(region):
            yield Mistake(field, f"there is no region {region!r}", f"did you mean {suggestion!r}?")
    if google.allowed_regions and google.region not in google.allowed_regions:
        yield Mistake("google.allowed_regions", f"the region {google.region} is not among them", "add it")
    yield from _network(google)


def _network(google: GoogleConfig) -> Iterator[Mistake]:
    pool = google.cloud_build.private_pool
    if pool is None or pool.peered_network is None:
        return
    number = pool.peered_network.split("/")[1]
    if number != google.project_number:
        yield Mistake(
            "google.cloud_build.private_pool.peered_network",
            f"the network is of project {number}, this is {google.project_number}",
            f"give projects/{google.project_number}/global/networks/NAME",
        )
