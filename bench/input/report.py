"""The results as Markdown tables, and as one line."""

import json
import os
import platform
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bench.input import ours
from bench.input.bars import Verdict
from bench.input.fidelity import Fidelity
from bench.input.loader import OURS, Loaders
from bench.input.restart import Restart
from bench.input.sample import Samples

_LINE = "|"


def _row(cells: Iterable[object]) -> str:
    return f"{_LINE} {f' {_LINE} '.join(map(str, cells))} {_LINE}"


def table(head: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    return "\n".join([_row(head), _row("---" for _ in head), *map(_row, rows)])


def conditions(load: float) -> str:
    """The machine, and whether others used it."""
    model = next(
        (line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line),
        platform.processor(),
    )
    busy = "idle" if load < 0.5 else f"BUSY with other work (load average {load:.1f} at the start)"
    return f"{os.cpu_count()} cores of an {model}, Python {platform.python_version()}; the machine was {busy}."


def corpora(manifest: Path) -> str:
    """What the corpora are."""
    content = json.loads(manifest.read_text())
    rows = [
        [
            *(f"`{name}`", f"about {c['width']}x{c['height']}", _quality(c), f"{c['pictures']} of {c['photographs']}"),
            *(f"{c['mean_bytes']:,}", str(c["bits_per_pixel"]), f"`{c['sha256'][:12]}`"),
        ]
        for name, c in content["corpora"].items()
    ]
    sources = ", ".join(f"{source['name']} {source['version']}" for source in content["sources"])
    head = ["corpus", "pixels", "quality", "pictures of photographs", "mean bytes", "bit/px", "SHA-256"]
    return f"{table(head, rows)}\n\nPhotographs: {sources}; Pillow {content['recipe']['pillow']}."


def _quality(corpus: dict[str, Any]) -> str:
    low, high = corpus["qualities"]
    quality = str(low) if low == high else f"{low}-{high}"
    return f"{quality}, noise of {corpus['noise']:g}" if corpus["noise"] else quality


def samples(found: Samples) -> str:
    """Microseconds a sample, and how many times ours of the same process; fastest first."""
    names = list(dict.fromkeys(name for rows in found.rows.values() for name in rows if not name.startswith("step")))
    names.sort(key=lambda name: min(rows[name].times for rows in found.rows.values() if name in rows))
    made = []
    for name in names:
        cells = [rows.get(name) for rows in found.rows.values()]
        made.append([name, *(f"{row.cost.microseconds:.0f} ({row.times:.2f})" if row else "" for row in cells)])
    return table(["contender", *(f"`{corpus}`" for corpus in found.rows)], made)


def spread(found: Samples) -> str:
    """How much the rounds differed."""
    all_spreads = sorted(row.cost.spread for rows in found.rows.values() for row in rows.values())
    nine_tenths = all_spreads[int(0.9 * (len(all_spreads) - 1))]
    words = f"at most {nine_tenths:.0%} for nine rows in ten, {all_spreads[-1]:.0%} at worst"
    return f"(slowest - fastest) / median of the rounds: {words}."


def parts(found: Samples) -> str:
    """Where our time goes, of each corpus."""
    steps = (
        ("entropy decoding to the crop's end", ours.FLOOR),
        ("transform inside the crop", ours.PLANES),
        ("resample, colour", ours.PIXELS),
        ("normalise, write float32", ours.WHOLE),
    )
    rows = []
    before = dict.fromkeys(found.rows, 0.0)
    for title, name in steps:
        cells = [title]
        for corpus, contenders in found.rows.items():
            upto = contenders[name].cost.microseconds
            share = (upto - before[corpus]) / contenders[ours.WHOLE].cost.microseconds
            cells.append(f"{upto - before[corpus]:.0f} ({share:.0%})")
            before[corpus] = upto
        rows.append(cells)
    return table(["part, us", *(f"`{corpus}`" for corpus in found.rows)], rows)


def loaders(found: Loaders) -> str:
    """CPU time a picture, pictures a second and memory of every loader; fewest CPU seconds first."""
    base = found.found[OURS, 1].cost.microseconds
    names = sorted({key[0] for key in found.found}, key=lambda name: found.found[name, 1].cost.microseconds)
    rows = []
    for name in names:
        one, two = found.found[name, 1], found.found.get((name, 2))
        cpu = one.cost.microseconds
        rows.append(
            [
                *(one.name, f"{cpu:.0f} ({cpu / base:.2f})", f"{two.cost.microseconds:.0f}" if two else ""),
                *(f"{one.median_rate:,.0f}", f"{two.median_rate:,.0f}" if two else "", f"{(two or one).mb:.0f}"),
            ]
        )
    head = [
        "loader",
        "CPU us, 1 worker (times ours)",
        "2 workers",
        "pictures/s, 1 worker",
        "2 workers",
        "most memory, MB",
    ]
    return table(head, rows)


def fidelity(found: Fidelity) -> str:
    """Mean absolute differences of 255."""
    rows = [
        ["fast", *(f"{value:.3f}" for value in found.fast.values())],
        ["exact", *(f"{value:.4f}" for value in found.exact.values())],
    ]
    scaled = "" if found.scaled is None else f"; of those decoded at a smaller scale alone {found.scaled:.3f}"
    head = ["mean absolute difference, of 255", *(f"`{name}`" for name in found.fast)]
    return f"{table(head, rows)}\n\nThe worst picture of the fast mode: {found.worst:.2f}{scaled}."


def restart(found: Restart) -> str:
    """One sentence."""
    costs = f"{found.before.microseconds:.0f} to {found.after.microseconds:.0f} us a sample"
    return f"A marker a row of units, on `i`: {found.gain:.2f}x ({costs}) for {found.more_bytes:.2f} % more bytes."


def bars(verdicts: list[Verdict]) -> str:
    """Every bar, and what was measured."""
    rows = []
    for verdict in verdicts:
        bar = verdict.bar
        value = "not measured" if verdict.value is None else f"{verdict.value:.3g} {bar.unit}"
        state = "" if verdict.value is None else "MISSED" if verdict.missed else "holds"
        stretch = "" if bar.stretch is None else f"{bar.stretch:g}"
        rows.append([bar.name, f"at {bar.kind} {bar.limit:g} {bar.unit}", stretch, value, state])
    return table(["bar", "wanted", "stretch", "measured", ""], rows)


def summary(verdicts: list[Verdict]) -> str:
    """The one line."""
    measured = [verdict for verdict in verdicts if verdict.value is not None]
    missed = [verdict for verdict in measured if verdict.missed]
    if not measured:
        return "bench-input: nothing was measured"
    if not missed:
        return f"bench-input: all {len(measured)} measured bars hold"
    return f"bench-input: {len(missed)} of {len(measured)} bars missed: {'; '.join(v.sentence for v in missed)}"
