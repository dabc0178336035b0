"""Pictures of the measurements."""
import statistics

import disturb
from report import PICTURES, base_of, panels_of, short

# Colours of peers, the same in every picture; a unix socket is hatched.
COLOURS = {
    "null": "#9e9e9e",
    "memcached": "#4caf50",
    "redis": "#d32f2f",
    "redis-everysec": "#ff8a65",
    "original": "#1976d2",
    "sql-text": "#ffb74d",
    "sql-prepared": "#f57c00",
    "sql-door-text": "#80deea",
    "sql-door-prepared": "#00838f",
    "ours": "#6a1b9a",
    "ours-memcached": "#c2185b",
    "ours-redis": "#f06292",
}


def draw(results, folder):
    try:
        import matplotlib
    except ImportError:
        print("No pictures: python3-matplotlib is missing; tools/deps bench installs it, bench/run --draw draws.")
        return
    matplotlib.use("Agg")
    draw_bars(results, folder)
    draw_curves(results, folder)
    draw_tail(results, folder)
    for picture in PICTURES:
        draw_growth(results, folder, picture)
    draw_disturbed(results.get("disturbed"), folder)
    pictures = sorted({path.stem for path in folder.glob("*.svg")})
    print(f"{folder}: results.json, report.txt, {', '.join(pictures)} as .svg and .png")


def keep(figure, folder, name):
    from matplotlib import pyplot

    figure.tight_layout()
    for suffix in ("svg", "png"):
        figure.savefig(folder / f"{name}.{suffix}", dpi=110)
    pyplot.close(figure)


def look(peer):
    style = {"color": COLOURS.get(base_of(peer), "#795548")}
    if peer != base_of(peer):
        style |= {"hatch": "//", "edgecolor": "white"}
    return style


def grid(panels, height):
    """(figure, axes) with room for this many panels of this height, in inches."""
    from matplotlib import pyplot

    columns = 3 if panels > 4 else 2 if panels > 1 else 1
    lines = -(-panels // columns)
    figure, axes = pyplot.subplots(lines, columns, figsize=(6.2 * columns, height * lines), squeeze=False)
    for axis in axes.flat[panels:]:
        axis.axis("off")
    return figure, axes


def draw_bars(results, folder):
    """A panel for each row: bars to the median, marks from the worst to the best round."""
    rows = [row for row in results["rows"] if not row.get("point")]
    if not rows:
        return
    figure, axes = grid(len(rows), 2.9)
    for row, axis in zip(rows, axes.flat):
        names = list(row["peers"])
        axis.set_title(row["title"], fontsize=8)
        for place, peer in enumerate(names):
            measured = row["peers"][peer]
            if "failure" in measured:
                axis.text(0, place, " " + measured["failure"].partition(":")[0], va="center", fontsize=7)
                continue
            median = measured["median"]
            axis.barh(
                place,
                median,
                xerr=[[median - measured["least"]], [measured["best"] - median]],
                capsize=2,
                error_kw={"elinewidth": 1},
                **look(peer),
            )
            axis.text(measured["best"], place, "  " + short(measured["best"]), va="center", fontsize=7)
        axis.set_yticks(range(len(names)), names, fontsize=7)
        axis.set_ylim(len(names) - 0.4, -0.6)
        axis.tick_params(axis="x", labelsize=7)
        axis.xaxis.set_major_formatter(lambda value, _: short(value) if value else "0")
        axis.set_xlim(right=axis.get_xlim()[1] * 1.15)
        axis.spines[["top", "right"]].set_visible(False)
    keep(figure, folder, "bars")


def curve(results, along, fixed):
    """peer -> [(x, median, least, best)] over the plain find rows where `fixed` is constant."""
    lines = {}
    for row in results["rows"]:
        if row["name"] != f"find-{row['clients']}x{row['depth']}" or not fixed(row):
            continue
        for peer, measured in row["peers"].items():
            if "best" in measured and peer == base_of(peer):
                point = (along(row), measured["median"], measured["least"], measured["best"])
                lines.setdefault(peer, []).append(point)
    return {peer: sorted(points) for peer, points in lines.items() if len(points) > 1}


def draw_curves(results, folder):
    from matplotlib import pyplot

    panels = [
        ("connections, 1 in flight each", curve(results, lambda row: row["clients"], lambda row: row["depth"] == 1)),
        (
            "requests in flight on each connection (50 connections; 20 for 100)",
            curve(results, lambda row: row["depth"], lambda row: row["clients"] == (20 if row["depth"] == 100 else 50)),
        ),
    ]
    if not any(lines for _, lines in panels):
        return
    figure, axes = pyplot.subplots(1, 2, figsize=(13, 5))
    for (title, lines), axis in zip(panels, axes):
        for peer, points in lines.items():
            x, median, least, best = zip(*points)
            axis.errorbar(
                x,
                median,
                yerr=[[m - low for m, low in zip(median, least)], [high - m for m, high in zip(median, best)]],
                marker="o",
                capsize=3,
                label=peer,
                color=COLOURS.get(peer, "#795548"),
            )
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_xlabel(title)
        axis.set_ylabel("finds a second")
        axis.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axis.yaxis.set_major_formatter(lambda value, _: short(value))
        axis.grid(alpha=0.3, which="both")
        if lines:
            axis.legend(fontsize=8)
    keep(figure, folder, "curves")


def draw_tail(results, folder):
    """Latency at fixed rates: bars for p50, p99, p99.9."""
    from matplotlib import pyplot

    rows = [row for row in results["rows"] if row.get("tail")]
    if not rows:
        return
    parts = list(dict.fromkeys(part for row in rows for parts in row["tail"].values() for part in parts))
    figure, axes = pyplot.subplots(
        len(rows), len(parts), figsize=(6.5 * len(parts), 4 * len(rows)), squeeze=False, sharey=True
    )
    for row, line in zip(rows, axes):
        for part, axis in zip(parts, line):
            names = [peer for peer in row["tail"] if part in row["tail"][peer]]
            for number, (quantile, shade) in enumerate((("p50_us", 0.4), ("p99_us", 0.7), ("p999_us", 1.0))):
                for place, peer in enumerate(names):
                    axis.bar(
                        place + 0.27 * (number - 1), row["tail"][peer][part][quantile], 0.25, alpha=shade, **look(peer)
                    )
            axis.set_yscale("log")
            axis.set_ylim(bottom=10)
            axis.set_xticks(range(len(names)), names, fontsize=8, rotation=20)
            axis.set_ylabel("us: p50, p99, p99.9")
            axis.set_title(f"{row['title']}, at {part} of each one's median peak", fontsize=8)
            axis.grid(alpha=0.3, axis="y")
    keep(figure, folder, "tail")


def draw_growth(results, folder, picture):
    """A panel for each varied parameter: lines through the means, marks from the worst to the best round."""
    panels = panels_of(results, picture)
    if not panels:
        return
    figure, axes = grid(len(panels), 4.2)
    for (along, rows), axis in zip(panels.items(), axes.flat):
        # Steps are about as far from each other on a logarithmic scale, or have no scale at all.
        places = list(dict.fromkeys(row["point"]["at"] for row in rows))
        variants = list(dict.fromkeys(row["point"]["variant"] for row in rows))
        curves = {}
        for row in rows:
            for peer, measured in row["peers"].items():
                if "best" in measured:
                    speeds = [sample["rows_per_second"] for sample in measured["samples"]]
                    point = (places.index(row["point"]["at"]), statistics.mean(speeds), min(speeds), max(speeds))
                    curves.setdefault((peer, row["point"]["variant"]), []).append(point)
        for (peer, variant), points in curves.items():
            x, mean, least, best = zip(*sorted(points))
            axis.errorbar(
                x,
                mean,
                yerr=[[m - low for m, low in zip(mean, least)], [high - m for m, high in zip(mean, best)]],
                marker="o",
                markersize=4,
                capsize=3,
                label=f"{peer}, {variant}" if variant else peer,
                color=look(peer)["color"],
                linestyle=("-", "--", ":")[variants.index(variant) % 3],
            )
        axis.set_yscale("log")
        axis.set_xticks(range(len(places)), places, fontsize=7)
        axis.set_xlabel(along, fontsize=8)
        axis.set_ylabel("rows a second" if rows[0]["rows_per_operation"] > 1 else "operations a second", fontsize=8)
        axis.yaxis.set_major_formatter(lambda value, _: short(value))
        axis.tick_params(axis="y", which="both", labelsize=7)
        axis.grid(alpha=0.3, which="both")
        if curves:
            axis.legend(fontsize=6)
    keep(figure, folder, picture)


def draw_disturbed(made, folder):
    """A panel for each load: p99.9 and the slowest answer of each peer, case by case."""
    from matplotlib import pyplot

    if not made:
        return
    titles, cases, names = (list(dict.fromkeys(one[what] for one in made)) for what in ("title", "case", "peer"))
    figure, axes = pyplot.subplots(len(titles), 1, figsize=(13, 4.2 * len(titles)), squeeze=False)
    width = 0.8 / len(names)
    for title, axis in zip(titles, axes.flat):
        for one in (one for one in made if one["title"] == title):
            place = cases.index(one["case"]) + width * (names.index(one["peer"]) - (len(names) - 1) / 2)
            label = one["peer"] if one["case"] == cases[0] else None
            axis.bar(place, one["result"]["max_us"], width, alpha=0.4, **look(one["peer"]))
            axis.bar(place, one["result"]["p999_us"], width, label=label, **look(one["peer"]))
        axis.set_yscale("log")
        axis.set_ylim(bottom=10)
        axis.set_xticks(range(len(cases)), cases, fontsize=8)
        axis.set_ylabel("us: p99.9, pale to the slowest")
        axis.set_title(f"{title}, at {disturb.RATE_PART:.0%} of each one's peak", fontsize=9)
        axis.grid(alpha=0.3, axis="y")
        axis.legend(fontsize=8)
    keep(figure, folder, "disturb")
