"""Held-out images that look like a training image: 64-bit perceptual hashes within a small Hamming distance.

Two hashes that differ in at most d bits, cut into n > d bands, agree in at least n - d whole bands (pigeonhole). So
for every choice of d bands, the hashes are joined on the remaining bits, and only pairs that agree there are compared.
With 4 bands for d = 1 that is 48 agreeing bits in 4 joins, with 6 bands for d = 2 it is 42 or more bits in 15 joins:
pictures that share one flat half do not meet, as they would with two bands. Only distinct hashes are joined. Hashes
without any gradient (0 and all ones: blank pictures) say nothing about likeness and are left out.
"""

import itertools

import duckdb

from overnight.labels.facts import Found

BANDS = {0: 1, 1: 4, 2: 6}
"""Number of bands by distance."""

EXAMPLES = 5

_ALL_BITS = 2**64 - 1


def masks(distance: int) -> list[int]:
    """The bits that are compared, for every choice of `distance` bands to leave out."""
    bands = BANDS[distance]
    edges = [64 * number // bands for number in range(bands + 1)]
    band_bits = [sum(1 << bit for bit in range(low, high)) for low, high in itertools.pairwise(edges)]
    return [_ALL_BITS - sum(left_out) for left_out in itertools.combinations(band_bits, distance)]


def near_duplicates(connection: duckdb.DuckDBPyConnection, distance: int) -> Found:
    """Validation and test images of `live` within `distance` bits of a training image, with pairs as examples."""
    connection.execute(
        f"""CREATE OR REPLACE TEMP TABLE train_hashes AS SELECT DISTINCT phash FROM live
            WHERE split = 0 AND phash NOT IN (0, {_ALL_BITS});
        CREATE OR REPLACE TEMP TABLE held_out_hashes AS SELECT phash, count(*) AS images FROM live
            WHERE split <> 0 AND phash NOT IN (0, {_ALL_BITS}) GROUP BY phash;
        CREATE OR REPLACE TEMP TABLE near (held_out UBIGINT, train UBIGINT)"""
    )
    for mask in masks(distance):
        connection.execute(
            f"""INSERT INTO near SELECT held.phash, min(train.phash)
            FROM held_out_hashes AS held JOIN train_hashes AS train ON held.phash & {mask} = train.phash & {mask}
            WHERE bit_count(xor(held.phash, train.phash)) <= {distance} GROUP BY held.phash"""
        )
    row = connection.execute(
        "SELECT coalesce(sum(images), 0) FROM held_out_hashes WHERE phash IN (SELECT held_out FROM near)"
    ).fetchone()
    count = int(row[0]) if row else 0
    return Found(count=count, examples=_pairs(connection) if count else ())


def _pairs(connection: duckdb.DuckDBPyConnection) -> tuple[str, ...]:
    """A few `held-out key ~ training key`."""
    found = connection.execute(
        f"""WITH pairs AS (SELECT held_out, min(train) AS train FROM near GROUP BY held_out
            ORDER BY held_out LIMIT {EXAMPLES})
        SELECT min(held.key), min(train.key) FROM pairs
        JOIN live AS h ON h.phash = held_out AND h.split <> 0 JOIN images AS held ON held.pos = h.pos
        JOIN live AS t ON t.phash = pairs.train AND t.split = 0 JOIN images AS train ON train.pos = t.pos
        GROUP BY held_out ORDER BY 1"""
    )
    return tuple(f"{held} ~ {train}" for held, train in found.fetchall())
