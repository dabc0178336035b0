#!/usr/bin/python3
"""Makes docs/images/gain.svg from the table of docs/gains.md.

    scripts/gains.py            write it
    scripts/gains.py --check    exit 1 if it is stale, or if a page has a figure that differs or belongs on another page

Each figure has one place: gains are in docs/gains.md, comparisons with rivals in docs/figures.md. README.md has the
picture and no figure of speed, and docs/performance.md quotes the table that the benchmark wrote.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/gains.md"
PICTURE = ROOT / "docs/images/gain.svg"
WIDTH, LEFT, RIGHT, ROW, BAR, TOP = 760, 280, 130, 44, 15, 52
PORT, DOOR, INK = "#9aa5b1", "#2f855a", "#1a202c"


def rows():
    """(workload, statements a second at the port, at the door, their ratio)."""
    found = re.findall(r"^\| ([^|]+) \| (\d+) \| (\d+) \| ([\d.]+) \| ([\d.]+) \|$", PAGE.read_text(), re.M)
    for name, port, door, times, _ in found:
        if abs(int(door) / int(port) - float(times)) > 0.06:
            sys.exit(f"{PAGE.name}: {name}: {door} is not {times} times {port}")
        yield name, int(port), int(door), times


def thousands(number):
    return f"{number / 1000:.1f}k" if number < 10000 else f"{number / 1000:.0f}k"


def text(x, y, words, size=13, anchor="start", weight="normal", colour=INK):
    return (
        f'<text x="{x}" y="{y}" font-size="{size}" text-anchor="{anchor}" font-weight="{weight}" fill="{colour}">'
        f"{words}</text>"
    )


def picture():
    told = list(rows())
    scale = (WIDTH - LEFT - RIGHT) / max(door for _, _, door, _ in told)
    height = TOP + ROW * len(told) + 14
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" role="img"'
        ' aria-label="Statements a second at the server\'s port and at the SQL door">',
        f'<rect width="{WIDTH}" height="{height}" rx="6" fill="#ffffff"/>',
        text(16, 24, "The same statements, the same server, another port", 16, weight="bold"),
        text(16, 42, "statements a second", 12, colour="#4a5568"),
        f'<rect x="{LEFT}" y="31" width="12" height="12" fill="{PORT}"/>' + text(LEFT + 18, 42, "server's port", 12),
        f'<rect x="{LEFT + 120}" y="31" width="12" height="12" fill="{DOOR}"/>'
        + text(LEFT + 138, 42, "SQL door, and how many times that is", 12),
    ]
    for number, (name, port, door, times) in enumerate(told):
        y = TOP + ROW * number + 8
        lines.append(text(LEFT - 10, y + BAR + 4, name, anchor="end"))
        for offset, value, colour in ((0, port, PORT), (BAR + 1, door, DOOR)):
            bar = value * scale
            lines.append(f'<rect x="{LEFT}" y="{y + offset}" width="{bar:.1f}" height="{BAR}" fill="{colour}"/>')
            words = thousands(value)
            lines.append(text(f"{LEFT + bar + 6:.1f}", y + offset + BAR - 3, words, 12))
            if value is door:
                lines.append(text(f"{LEFT + bar + 40:.1f}", y + offset + BAR - 3, f"{times} times", 12, weight="bold"))
    return "\n".join([*lines, "</svg>"]) + "\n"


def check_readme():
    """Every figure of speed in the README is in its picture."""
    found = re.findall(r"\b\d[\d.,]*(?:k?/s|k\b| times\b)", (ROOT / "README.md").read_text())
    if found:
        sys.exit(f"README.md: {found[0]}: figures of speed stand in docs/gains.md and docs/figures.md")


def check_performance():
    """The ratios at the head of docs/performance.md are the smallest and the largest of the table that it links to."""
    table = (ROOT / "docs/figures.md").read_text().partition("## Side by side")[2].partition("Durable writes")[0]
    ratios = re.findall(r"^\| [^|]+(?:\|[^|]+){7}\| ([\d.]+) \|$", table, re.M)
    least, most = min(ratios, key=float), max(ratios, key=float)
    if f"{least} to {most} times as many finds" not in (ROOT / "docs/performance.md").read_text():
        sys.exit(f"docs/performance.md: the finds of docs/figures.md are {least} to {most} times as many")


def main():
    made = picture()
    if "--check" in sys.argv[1:]:
        if not PICTURE.exists() or PICTURE.read_text() != made:
            sys.exit(f"{PICTURE.relative_to(ROOT)} is not made from docs/gains.md: run scripts/gains.py")
        check_readme()
        check_performance()
        return
    PICTURE.write_text(made)


if __name__ == "__main__":
    main()
