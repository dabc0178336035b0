"""The measurements as tables and JSON. pictures.py draws them."""
import json
import statistics

import catalogue
import disturb

CLIENT_BOUND_PERCENT = 97
# Ratios of the first to the second peer, where both were measured.
COMPARED = (
    ("ours", "original"),
    ("ours-memcached", "memcached"),
    ("ours-redis", "redis"),
    ("ours-redis", "redis-everysec"),
)
# For rows of a series: matrix.Point.
PICTURES = ("growth", "settings", "article-2012")


def summary(samples, failure=None):
    """The samples of one peer in one row."""
    if failure or not samples:
        return {"failure": failure or "not measured"}
    speeds = sorted(sample["rows_per_second"] for sample in samples)
    best = max(samples, key=lambda sample: sample["rows_per_second"])
    return {
        "best": speeds[-1],
        "median": statistics.median(speeds),
        "least": speeds[0],
        "spread_percent": 100 * (speeds[-1] - speeds[0]) / statistics.median(speeds),
        "server_cpu_us": min(sample["server_cpu_us"] for sample in samples),
        "server_cpu_percent": best["server_cpu_percent"],
        "client_cpu_percent": best["client_cpu_percent"],
        "client_bound": best["client_cpu_percent"] > CLIENT_BOUND_PERCENT > best["server_cpu_percent"],
        "others_cpu_percent": statistics.median(sample["others_cpu_percent"] for sample in samples),
        "p50_us": best["p50_us"],
        "p99_us": best["p99_us"],
        "p999_us": best["p999_us"],
        "samples": samples,
    }


def base_of(peer):
    """Another peer that leads to the same server, over TCP."""
    return peer_of(peer).removesuffix("-unix").removesuffix("-meta")


def peer_of(peer):
    """The peers that answer, however a row of Redis' is asked for: no row of the matrix asks in two ways."""
    return peer.removesuffix("-hgetall").removesuffix("-hmget")


def short(number):
    if number >= 10_000_000:
        return f"{number / 1e6:.1f}M"
    if number >= 10_000:
        return f"{number / 1000:,.0f}k"
    return f"{number / 1000:.1f}k" if number >= 1000 else f"{number:.0f}"


def table(head, lines):
    """A Markdown table with aligned columns, readable as plain text."""
    widths = [max(len(str(line[i])) for line in [head, *lines]) for i in range(len(head))]

    def print_line(cells):
        return "| " + " | ".join(str(cell).ljust(width) for cell, width in zip(cells, widths)) + " |"

    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([print_line(head), rule, *map(print_line, lines)])


def best_of(row, peer):
    return row["peers"].get(peer, {}).get("best")


def ratio(one, other):
    return f"{one / other:.2f}" if one and other else "-"


def hash_index_of(row):
    """The setting of the adaptive hash index: one for all peers that have it, or for each if they differ."""
    told = row.get("hash_index") or {}
    if len(set(told.values())) == 1:
        return next(iter(told.values()))
    return ", ".join(f"{peer} {what}" for peer, what in told.items()) or "-"


def overview(results):
    """A line for each row, a column for each peer: the best of the rounds."""
    rows = [{**row, "peers": {peer_of(peer): told for peer, told in row["peers"].items()}} for row in results["rows"]]
    names = list(dict.fromkeys(peer for row in rows for peer in row["peers"]))
    pairs = [pair for pair in COMPARED if any(best_of(row, pair[0]) and best_of(row, pair[1]) for row in rows)]
    lines = []
    for row in rows:
        cells = []
        for peer in names:
            measured = row["peers"].get(peer)
            if measured is None:
                cells.append("-")
            elif "failure" in measured:
                cells.append(measured["failure"].partition(":")[0])
            else:
                cells.append(short(measured["best"]) + ("*" if measured["client_bound"] else ""))
        cells += [ratio(best_of(row, one), best_of(row, other)) for one, other in pairs]
        lines.append([row["title"], *cells, hash_index_of(row)])
    head = ["operations a second, best", *names, *(f"{one} / {other}" for one, other in pairs), "hash index"]
    return table(head, lines)


def details(row):
    lines = []
    for peer, measured in row["peers"].items():
        if "failure" in measured:
            lines.append([peer, measured["failure"].replace("\t", " "), *[""] * 12])
            continue
        unix = "-unix" if peer.endswith("-unix") else ""
        lines.append(
            [
                peer + ("*" if measured["client_bound"] else ""),
                short(measured["best"]),
                short(measured["median"]),
                f"{measured['spread_percent']:.0f}%",
                f"{measured['server_cpu_us']:.2f}",
                f"{measured['server_cpu_percent']:.0f}%",
                f"{measured['p50_us']:.0f}",
                f"{measured['p99_us']:.0f}",
                f"{measured['p999_us']:.0f}",
                f"{measured['others_cpu_percent']:.0f}%",
                ratio(measured["best"], best_of(row, "null" + unix)),
                ratio(measured["best"], best_of(row, "original" + unix)),
                ratio(measured["best"], best_of(row, "memcached" + unix)),
                (row.get("hash_index") or {}).get(peer, "-"),
            ]
        )
    return table(
        [
            "peer",
            "best",
            "median",
            "spread",
            "CPU us/op",
            "CPU",
            "p50 us",
            "p99 us",
            "p99.9 us",
            "others",
            "/ null",
            "/ original",
            "/ memcached",
            "hash index",
        ],
        lines,
    )


def tail(row):
    lines = []
    for peer, parts in row["tail"].items():
        for part, measured in parts.items():
            quantiles = (f"{measured[name]:.0f}" for name in ("p50_us", "p99_us", "p999_us", "max_us"))
            lines.append([peer, part, short(measured["rate"]), *quantiles])
    return table(["peer", "of its peak", "requests/s", "p50 us", "p99 us", "p99.9 us", "max us"], lines)


def panels_of(results, picture):
    """A panel's title -> the rows along it, in the matrix's order: those that need the same server are measured
    together."""
    order = {row.name: number for number, row in enumerate(catalogue.every_row())}
    panels = {}
    for row in sorted(results["rows"], key=lambda row: order.get(row["name"], len(order))):
        if (row.get("point") or {}).get("picture") == picture:
            panels.setdefault(row["point"]["along"], []).append(row)
    return panels


def growth(along, rows):
    """A line for each row along a panel."""
    names = list(dict.fromkeys(peer for row in rows for peer in row["peers"]))
    varied = any(row["point"]["variant"] for row in rows)
    deep = any("levels" in row for row in rows)
    memcached = "ours-memcached" in names
    # Compared with the row without silent connections; and the memory of each.
    silent = any(row.get("idle") for row in rows)
    hashed = any(row.get("hash_index") for row in rows)
    lines = []
    for row in rows:
        line = [row["point"]["at"]] + ([row["point"]["variant"]] if varied else [])
        line += [row.get("levels", "-")] if deep else []
        for peer in names:
            measured = row["peers"].get(peer, {})
            if "best" not in measured:
                line.append(measured.get("failure", "-").partition(":")[0])
                continue
            told = short(measured["best"]) + ("*" if measured["client_bound"] else "")
            if row.get("idle"):
                told += f" ({ratio(measured['best'], best_of(rows[0], peer))})"
                memory = (row["idle_server_bytes"] or {}).get(peer)
                told += f" {memory:,.0f} B" if memory is not None else ""
            line.append(told)
        ours = row["peers"].get("ours", {})
        line += [f"{ours['server_cpu_us']:.2f}" if "server_cpu_us" in ours else "-"]
        line += [ratio(best_of(row, "ours"), best_of(row, peer)) for peer in ("original", "sql-prepared")]
        line += [ratio(best_of(row, "ours-memcached"), best_of(row, "memcached"))] if memcached else []
        line += [hash_index_of(row)] if hashed else []
        lines.append(line)
    head = [along] + (["variant"] if varied else []) + (["levels"] if deep else [])
    made = table(
        [
            *head,
            *names,
            "ours: CPU us/op",
            "ours / original",
            "ours / SQL",
            *(["ours-memcached / memcached"] if memcached else []),
            *(["hash index"] if hashed else []),
        ],
        lines,
    )
    return made + (
        "\n\nIn brackets against the row without silent connections; B: bytes of the server's memory that each "
        "of them\ntakes of a server that has had none before."
        if silent
        else ""
    )


def disturbed(made):
    """A table for each load."""
    for title in dict.fromkeys(one["title"] for one in made):
        lines = []
        for one in (one for one in made if one["title"] == title):
            result, stall = one["result"], disturb.stalls(one, made)
            went_on = f"{one['disturbances']}" + (
                f", {one['disturbances_failed']} failed" if one["disturbances_failed"] else ""
            )
            lines.append(
                [
                    one["case_title"],
                    one["peer"],
                    short(one["rate"]),
                    *(f"{result[name]:,.0f}" for name in ("p50_us", "p99_us", "p999_us", "max_us")),
                    result["refused"] + result["unanswered"],
                    went_on,
                    f"{one['longest_disturbance_seconds']:.1f}",
                    f"{stall / 1000:,.0f} ms" if stall else "",
                    (result["error"] or one["first_failure"])[:60],
                ]
            )
        yield f"### {title}, at {disturb.RATE_PART:.0%} of each one's peak, while this goes on\n\n" + table(
            [
                "while",
                "peer",
                "requests/s",
                "p50 us",
                "p99 us",
                "p99.9 us",
                "max us",
                "refused",
                "how often",
                "longest s",
                "beyond SQL",
                "what failed first",
            ],
            lines,
        )


def text(results):
    machine, build = results["machine"], results["build"]
    versions = ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    parts = [
        f"{machine['processor']}, {machine['cores']} cores, kernel {machine['kernel']}, {machine['distribution']}; "
        f"{versions}; commit {build['commit'][:12]}{' with changes' if build['changed'] else ''}, {build['type']} "
        f"{build['flags']}; {results['rounds']} rounds of {results['seconds']} s; load average before: "
        f"{machine['load_average_before']:.1f}; the disk flushes {short(machine['flushes_per_second'])} times a "
        "second, one after the other.",
        overview(results) if results["rows"] else "",
        "Servers have one core, the load another. null: the wire's limit. *: the load generator was the limit, not the "
        "server.\nCPU us/op: processor time of the server's whole process for one operation, least of the rounds. "
        "Latencies here are\nof a closed loop in the best round. others: of a processor, what other processes "
        "and machines used\nmeanwhile; more than a few percent disturb. hash index: how many parts InnoDB's adaptive hash "
        "index had, as the server told\nbehind the row; one entry stands for every peer that is a MariaDB server.",
    ]
    for picture in PICTURES:
        parts += [growth(along, rows) for along, rows in panels_of(results, picture).items()]
    if results.get("disturbed"):
        parts += disturbed(results["disturbed"])
    for row in results["rows"]:
        parts.append(f"### {row['title']}\n\n{details(row)}")
        if row.get("tail"):
            parts.append(f"Latency at a fixed rate, from when a request was due; better of two runs:\n\n{tail(row)}")
    return "\n\n".join(parts) + "\n"


def save(results, folder):
    folder.mkdir(parents=True, exist_ok=True)
    fresh = folder / "results.json.new"
    fresh.write_text(json.dumps(results, indent=1) + "\n")
    fresh.replace(folder / "results.json")


def write(results, folder):
    """Saves the results and the report, and prints the report."""
    save(results, folder)
    report = text(results)
    (folder / "report.txt").write_text(report)
    print(report)
