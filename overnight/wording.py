"""Numbers as people read them."""

import math

UNKNOWN = "–"


def percent(share: float | None, digits: int = 1) -> str:
    """`0.873` as `87.3 %`; a dash for None and NaN."""
    return UNKNOWN if share is None or math.isnan(share) else f"{100 * share:.{digits}f} %"


def points(difference: float | None) -> str:
    """`-0.029` as `−2.9`: percentage points with their sign, none on `0.0`; a dash for None and NaN."""
    if difference is None or math.isnan(difference):
        return UNKNOWN
    rounded = round(100 * difference, 1)
    return f"{rounded:+.1f}".replace("-", "−") if rounded else "0.0"


def signed(count: int) -> str:
    """`-1200` as `−1,200`, `0` as `0`."""
    return f"{count:+,}".replace("-", "−") if count else "0"


def counted(count: int, one: str, many: str) -> str:
    """`1 class`, `1,200 classes`."""
    return f"{count:,} {one if count == 1 else many}"


def duration(seconds: float) -> str:
    """`125.3` as `2 min 05 s`; tenths below ten seconds, hours above one."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def memory(size: float) -> str:
    """Bytes in the largest binary unit that keeps the number above one: `8589934592` as `8.0 GiB`."""
    units = ("bytes", "KiB", "MiB", "GiB", "TiB")
    power = min(len(units) - 1, max(0, int(math.log(size, 1024)))) if size >= 1 else 0
    return f"{size:.0f} bytes" if power == 0 else f"{size / 1024**power:.1f} {units[power]}"


def compact(value: float) -> str:
    """A number in at most three significant digits: `0.0005`, `1.25`, `180`."""
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"
