#!/usr/bin/python3
"""Makes docs/settings.md, docs/status.md and docs/information-schema.md from the tables in src/.

    scripts/document.py            write them
    scripts/document.py --check    exit 1 if one of them is stale
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
STRING = r'"((?:[^"\\]|\\.)*)"'


def rows(path, pattern):
    for line in (ROOT / path).read_text().splitlines():
        if line.startswith("//") or not line.strip():
            continue
        match = re.fullmatch(pattern, line)
        if not match:
            sys.exit(f"{path}: cannot read the row: {line}")
        yield match.groups()


FOLDERS = dict(re.findall(r"^DOOR\((\w+), (\w+),", (ROOT / "src/plugin/doors.def").read_text(), re.M))
PLUGINS = list(FOLDERS)


def settings(plugin):
    """(name, type and range, default, whether SET GLOBAL changes it, help) of every setting of a plugin: its own rows,
    then those that it shares."""
    files = [f"src/{FOLDERS[plugin]}/settings.def", "src/plugin/door_settings.def"]
    if "#define SERVES_CLIENTS" in (ROOT / f"src/plugin/{plugin}_plugin.cc").read_text():
        files.insert(1, "src/plugin/client_settings.def")
    for kind, inner in (row for file in files for row in rows(file, r"(\w+)\((.*)\)")):
        strings = re.findall(STRING, inner)
        name, *plain = [part.strip() for part in re.sub(STRING, "", inner).split(",")]
        name = f"{plugin}_{name}"
        live = "yes" if kind.startswith("LIVE_") else "moves" if kind.startswith("PLACE_") else "no"
        kind = kind.removeprefix("LIVE_").removeprefix("PLACE_")
        if kind == "TEXT":
            bound = f" of at most {plain[1]} bytes" if live != "no" else ""
            yield name, "string" + bound, strings[0] or "empty", live, strings[1]
        elif kind == "SECRET":
            new = f"`..._new_{name.removeprefix(plugin + '_')}` changes it."
            yield name, "string, never shown", "empty", "by another", f"{strings[0]} {new}"
        elif kind == "NUMBER":
            yield name, f"{plain[1]} to {plain[2]}", plain[0], live, strings[0]
        elif kind == "SWITCH":
            yield name, "ON, OFF", "ON" if plain[0] == "1" else "OFF", live, strings[0]
        elif kind == "CHOICE":
            words = inner.rpartition('"')[2].strip(", ")
            yield name, words.replace(",", ", "), strings[0], live, strings[1]
        elif kind == "ACTION":
            yield name, "a number", "0", "only", strings[0]


def settings_table(plugin):
    lines = ["| setting | values | default | at run time | meaning |", "|---|---|---|---|---|"]
    lines += [
        f"| `{name}` | {values} | {default} | {live} | {text} |"
        for name, values, default, live, text in settings(plugin)
    ]
    return "\n".join(lines) + "\n"


def settings_page():
    return (
        "# Settings\n\n"
        "<!-- Made by scripts/document.py from src/plugin/door_settings.def, client_settings.def and each door's settings.def. -->\n\n"
        "The plugin reads its settings when it starts, and at `INSTALL SONAME`: from the `[mariadbd]` group of an option file,\n"
        "or the command line. Write them with the prefix `loose_` (`loose_handlersocket_port = 9998`), so that the server also\n"
        "starts without the plugin ([why](operating.md#loose_)). Settings of the original HandlerSocket keep their names and\n"
        "meaning, so old option files work.\n\n"
        "*At run time*: `yes` means that `SET GLOBAL` changes the setting, for connected clients too unless its row says\n"
        "otherwise. An invalid value is refused; a number out of bounds becomes the nearest valid one, with a warning, as for\n"
        "all variables of the server. The change lasts until the plugin is unloaded, so write it into the option file, too.\n"
        "The server may write such statements, with new secrets, to its general log.\n\n"
        "`moves` means that `SET GLOBAL` opens, moves or closes the door. A port in use, and an address that the machine does\n"
        "not have, are refused. The door changes a moment later and closes its connections; if possible the new door opens\n"
        "first, so that there is no gap. A later failure is reported in the error log and in `REASON` of\n"
        "[POSTERN_DOORS](information-schema.md#postern_doors), and the door stays where it was.\n\n"
        "`no`: the owner of a socket, the kernel's buffers, and TLS are decided when a port is opened. `..._auth` and\n"
        "`..._allow_open_access` do not change either, because clients that are connected without a login would stay.\n"
        "To change these, write them into the option file, then `UNINSTALL PLUGIN` and `INSTALL PLUGIN`. Its ports are closed\n"
        "for a moment; the server goes on.\n"
        + "".join(f"\n## {plugin}\n\n{settings_table(plugin)}" for plugin in PLUGINS)
    )


# A door's facts besides the rows of its .def files, and a word about them.
MORE_STATUS = {
    "handlersocket": [
        "| `Handlersocket_listening_wr` | `..._listening` of the port for writing. |",
        "| `Handlersocket_hs_table_open`, `_close`, `_lock`, `_unlock` | The original's names for `table_opens`, "
        "`table_closes`, `table_locks`, `table_unlocks`. |",
    ],
    "postern": [
        "| `Postern_spared_processor_us` | Processor time saved by workers, in microseconds: for each statement that they "
        "answered, the least time that the server took for its form, less theirs. A low estimate. |",
    ],
}
ABOUT_STATUS = {"memcached": ["`stats` reports these, too.\n"]}


def own_status(plugin):
    """The section of status variables that only this plugin has."""
    lines = [*MORE_STATUS.get(plugin, [])]
    for path, pattern, line in (
        (
            f"src/{FOLDERS[plugin]}/refusal.def",
            rf"REFUSAL\((\w+), .*, {STRING}\)",
            "errors_{}` | Requests answered with: {}.",
        ),
        (f"src/{FOLDERS[plugin]}/statistics.def", rf"STATISTIC\((\w+), {STRING}\)", "{}` | {}"),
    ):
        if (ROOT / path).exists():
            lines += [f"| `{plugin.capitalize()}_{line.format(*row)} |" for row in rows(path, pattern)]
    head = ["| variable | meaning |", "|---|---|"]
    return [f"\n## {plugin}\n", *ABOUT_STATUS.get(plugin, []), *head, *lines] if lines else []


def status_page():
    lines = [
        "# Status variables\n",
        "<!-- Made by scripts/document.py from src/base/counters.def, src/base/failure.def and each door's refusal.def and\n"
        "statistics.def. -->\n",
        "`SHOW GLOBAL STATUS LIKE 'handlersocket%'` has the sums of that plugin's ports since it was loaded; `memcached%`,\n"
        "`redis%` and `postern%` are the other plugins'. All have these, with their prefix in place of `...`:\n",
        "| variable | meaning |",
        "|---|---|",
    ]
    for name, text in rows("src/base/counters.def", rf"COUNTER\((\w+), {STRING}\)"):
        lines.append(f"| `..._{name}` | {text} |")
    lines += [
        "| `..._connections` | Open connections. |",
        "| `..._connections_peak` | Most connections at once, the ports' peaks added. |",
        "| `..._listening` | ON when clients can connect: the server has started, and the tables of the memcached and "
        "Redis doors exist. For handlersocket, the port for reading. |",
        "| `..._statements_in_place` | Those of `..._statements_served` that were served on the thread of the worker that read "
        "them. |",
        "| `..._loops_moved` | Times another thread took over a worker's other clients, because a statement served in place "
        "waited or took long. |",
        "| `..._buffer_bytes` | Bytes of large buffers in use, of all plugins. |",
        "| `..._buffer_bytes_max` | The limit of that: the sum of the `..._max_buffer_bytes` of all plugins with an open "
        "door. |",
    ]
    for kind, what in (
        ("find", "find rows"),
        ("insert", "insert a row"),
        ("edit", "change or delete rows"),
        ("statement", "answer a statement of SQL"),
    ):
        for part, words in (("p50", "half"), ("p99", "99 of 100"), ("p999", "999 of 1,000")):
            lines.append(
                f"| `..._latency_{kind}_{part}_us` | Microseconds in which {words} of the requests to {what} were answered in "
                "the last one to two minutes, within 25%: from the beginning of their turn until its answers were sent. "
                "Requests that scan threads or the server answered do not count. |"
            )
    for plugin in PLUGINS:
        lines += own_status(plugin)
    lines += [
        "\n## Errors by kind\n",
        "| variable | counts requests answered with |",
        "|---|---|",
    ]
    for name, text in rows("src/base/failure.def", rf"FAILURE\((\w+), .*, {STRING}\)"):
        lines.append(f"| `..._errors_{name}` | {text}. |")
    return "\n".join(lines) + "\n"


def information_page():
    lines = [
        "# Tables of INFORMATION_SCHEMA\n",
        "<!-- Made by scripts/document.py from src/plugin/information.def and src/door/connections/doing.def. -->\n",
        "`INSTALL SONAME 'postern'` and `plugin_load_add = postern` load them, too. Each is a plugin of its own, so\n"
        "`INSTALL PLUGIN postern_doors SONAME 'postern'` loads one alone. Reading them delays no request. Their rows are a snapshot of\n"
        "nearly one time. Names keep their meaning; new columns are added at the end.\n",
    ]
    text = (ROOT / "src/plugin/information.def").read_text()
    for name, plugin, sentence in re.findall(rf"^TABLE\((\w+), {STRING}, {STRING}\)$", text, re.M):
        lines += [f"## {plugin}\n", f"{sentence}\n", "| column | type | meaning |", "|---|---|---|"]
        for column, kind, characters, meaning in re.findall(
            rf"^COLUMN\({name}, (\w+), (\w+), (\d+), {STRING}\)$", text, re.M
        ):
            typed = "BIGINT UNSIGNED" if kind == "number" else f"VARCHAR({characters})"
            lines.append(f"| `{column}` | {typed} | {meaning} |")
        if name == "connections":
            states = [words for _, words in rows("src/door/connections/doing.def", rf"DOING\((\w+), {STRING}\)")]
            lines += ["", "`STATE` is one of: " + ", ".join(f"`{state}`" for state in states) + "."]
        lines.append("")
    return "\n".join(lines).rstrip("\n") + "\n"


def main():
    made = {
        "docs/settings.md": settings_page(),
        "docs/status.md": status_page(),
        "docs/information-schema.md": information_page(),
    }
    stale = [path for path, text in made.items() if not (ROOT / path).exists() or (ROOT / path).read_text() != text]
    if "--check" in sys.argv:
        for path in stale:
            print(f"{path} is stale: run scripts/document.py")
        sys.exit(bool(stale))
    for path in stale:
        (ROOT / path).write_text(made[path])
        print(f"wrote {path}")


main()
