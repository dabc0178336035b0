"""Pictures of bench's results: in a terminal, and as SVG."""

from __future__ import annotations

from html import escape
from typing import Any, List, Sequence, Tuple

BLOCKS = " ▁▂▃▄▅▆▇█"
COLOURS = ("#4269d0", "#efb118", "#3ca951", "#ff725c", "#6cc5b0")
WIDTH, HEIGHT, LEFT, TOP, BETWEEN = 860, 330, 70, 46, 90


def spark(values: Sequence[float]) -> str:
    """A line of blocks; the highest value is a full block."""
    most = max(values, default=0) or 1
    return "".join(BLOCKS[max(min(int(value / most * 8 + 0.5), 8), 0)] for value in values)


def text(lines: List[Tuple[str, List[float]]]) -> str:
    """Requests a second over time, all doors on one scale."""
    most = max((value for _, values in lines for value in values), default=0) or 1
    out = []
    for name, values in lines:
        drawn = "".join(BLOCKS[max(min(int(value / most * 8 + 0.5), 8), 0)] for value in values)
        out.append(f"{name:14} {drawn}")
    return "\n".join(["", f"requests a second over time, a full block is {most:,.0f}", *out])


def svg(title: str, runs: Sequence[Any]) -> str:
    """Two charts side by side: speed over time, and how long requests took."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{LEFT}" y="20" font-size="14" font-weight="bold">{escape(title)}</text>',
    ]
    wide, high = (WIDTH - 2 * LEFT - BETWEEN) // 2, HEIGHT - TOP - 70
    parts += speeds(runs, LEFT, wide, high)
    parts += distributions(runs, LEFT + wide + BETWEEN, wide, high)
    for place, one in enumerate(runs):
        x = LEFT + place * 170
        parts.append(f'<rect x="{x}" y="{HEIGHT - 22}" width="12" height="12" fill="{COLOURS[place % len(COLOURS)]}"/>')
        parts.append(f'<text x="{x + 18}" y="{HEIGHT - 12}">{escape(one.door)}</text>')
    return "\n".join([*parts, "</svg>", ""])


def frame(x: int, wide: int, high: int, words: str) -> List[str]:
    bottom = TOP + high
    return [
        f'<path d="M{x},{TOP} V{bottom} H{x + wide}" fill="none" stroke="#888"/>',
        f'<text x="{x + wide / 2:.0f}" y="{bottom + 34}" text-anchor="middle">{escape(words)}</text>',
    ]


def line(points: List[Tuple[float, float]], place: int) -> str:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{path}" fill="none" stroke="{COLOURS[place % len(COLOURS)]}" stroke-width="2"/>'


def speeds(runs: Sequence[Any], x: int, wide: int, high: int) -> List[str]:
    most = max((rate for one in runs for rate in one.rates), default=0) or 1
    parts = frame(x, wide, high, "requests a second, over the time of each door's run")
    for step in range(5):
        y, value = TOP + high - high * step / 4, most * step / 4
        parts.append(f'<text x="{x - 6}" y="{y + 4:.0f}" text-anchor="end">{value:,.0f}</text>')
        parts.append(f'<path d="M{x},{y:.0f} H{x + wide}" stroke="#ddd"/>')
    for place, one in enumerate(runs):
        last = max(len(one.rates) - 1, 1)
        points = [(x + wide * at / last, TOP + high - high * rate / most) for at, rate in enumerate(one.rates)]
        parts.append(line(points, place))
    return parts


def distributions(runs: Sequence[Any], x: int, wide: int, high: int) -> List[str]:
    """The share of requests that took no longer than so long."""
    used = [place for one in runs for place, count in enumerate(one.latencies) if count] or [0, 1]
    low, top = min(used), max(max(used) + 1, min(used) + 2)
    parts = frame(x, wide, high, "share of requests answered within this time")
    for step in range(5):
        y = TOP + high - high * step / 4
        parts.append(f'<text x="{x - 6}" y="{y + 4:.0f}" text-anchor="end">{25 * step} %</text>')
        parts.append(f'<path d="M{x},{y:.0f} H{x + wide}" stroke="#ddd"/>')
    for step in range(0, top - low + 1, max((top - low) // 4, 1)):
        micro = 2 ** ((low + step) / 2)
        words = f"{micro:.0f} us" if micro < 1000 else f"{micro / 1000:.1f} ms"
        parts.append(
            f'<text x="{x + wide * step / (top - low):.0f}" y="{TOP + high + 16}" text-anchor="middle">{words}</text>'
        )
    for place, one in enumerate(runs):
        total, seen, points = sum(one.latencies) or 1, 0, [(float(x), float(TOP + high))]
        for at in range(low, top):
            seen += one.latencies[at]
            points.append((x + wide * (at + 1 - low) / (top - low), TOP + high - high * seen / total))
        parts.append(line(points, place))
    return parts
