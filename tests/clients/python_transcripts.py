"""Plays the client transcripts with the Python client: turns their requests into the client's calls, and the results
back into the transcripts' form. tests/wire/handlersocket/client/README.md describes the format."""
import asyncio
import contextlib
import json
import socket
import threading

import posterndb
import posterndb.asyncio
from posterndb.core import Request, login_request, open_request
from posterndb.requests import Requests
from posterndb.rows import Columns
from support.server import ROOT

FOLDER = ROOT / "tests" / "wire" / "handlersocket" / "client"
WAIT_SECONDS = 20
STALL_SECONDS = 0.3
METHODS = {"insert_or_ignore": "insert_ignore"}


def sessions(name):
    with open(FOLDER / f"{name}.jsonl", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


class Scripted:
    """A server that reads a session's requests, checks them byte for byte, sends the transcript's answers, and then
    closes or stalls."""

    def __init__(self, session):
        self.session = session
        self.problem = None
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.settimeout(WAIT_SECONDS)
        self.port = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self.run, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, kind, *_):
        self.thread.join(WAIT_SECONDS)
        self.listener.close()
        assert kind or not self.problem, self.problem

    def run(self):
        with self.listener.accept()[0] as connection:
            connection.settimeout(WAIT_SECONDS)
            for exchange in self.session["exchanges"]:
                want, got = exchange["send"].encode("latin-1"), b""
                while len(got) < len(want) and (part := connection.recv(len(want) - len(got))):
                    got += part
                if got != want:
                    self.problem = f"the client sent {got!r}\nin place of        {want!r}"
                    return
                connection.sendall(exchange["receive"].encode("latin-1"))
            if self.session.get("stall"):
                with contextlib.suppress(ConnectionError):
                    connection.recv(1)


def raw(value):
    return value.encode("latin-1") if isinstance(value, str) else value


NOTHING = Columns([], [], [], list)


class Translator:
    """Translates a session's requests into the client's calls. An index is looked up by its id when it is used."""

    def __init__(self):
        self.open = {}

    def request(self, asked, line):
        """A request that makes no sense, and that the client therefore refuses to send, is sent as a raw line."""
        try:
            return self.made(asked)
        except posterndb.InterfaceError:
            return Request(line, lambda reply: reply)

    def requests(self, exchange):
        lines = exchange["send"].encode("latin-1").splitlines(keepends=True)
        asked = exchange["requests"]
        return [self.request(one, line) for one, line in zip(asked, lines or [b"\n"] * len(asked), strict=True)]

    def made(self, asked):
        [(kind, about)] = asked.items()
        if kind == "open":
            return self.opening(about)
        if kind == "authenticate":
            return login_request(None, "", about["secret"])
        if kind == "login":
            return login_request(raw(about["user"]), raw(about["password"]), None)
        requests = self.open.get(about["id"]) or Requests(about["id"], NOTHING, [])
        values = [raw(value) for value in about.get("values", [])]
        if kind in ("insert", "upsert", "insert_or_ignore"):
            return getattr(requests, METHODS.get(kind, kind))(values)
        return self.walk(requests, kind, about, values)

    def opening(self, about):
        names = [raw(name).decode() for name in about["columns"]]
        filters = [raw(name).decode() for name in about.get("filter_columns", [])]
        columns = Columns(names, [bytes] * len(names), [True] * len(names), list)
        opening = open_request(about["id"], about["database"], about["table"], about["index"], names, filters)
        requests = Requests(about["id"], columns, [str(place) for place in range(len(filters))])

        def decode(reply):
            opening.decode(reply)
            self.open[about["id"]] = requests

        # A pipelined request is sent before the earlier reply arrives.
        self.open.setdefault(about["id"], requests)
        return Request(opening.data, decode)

    def walk(self, requests, kind, about, values):
        key = [raw(value) for value in about["key"]]
        placeholder = None
        if "in" in about:
            placeholder = key[about["in"]["part"]]
            key[about["in"]["part"]] = posterndb.In([raw(value) for value in about["in"]["values"]])
        options = {
            "op": about["operator"],
            "limit": about.get("limit", 1) or 1,
            "offset": about.get("offset", 0),
            "filters": [self.filter(one) for one in about.get("filters", [])],
        }
        method = getattr(requests, kind + ("_returning" if about.get("before") else ""))
        made = method(tuple(key), values, **options) if kind in WITH_VALUES else method(tuple(key), **options)
        return Request(self.as_asked(made.data, about, placeholder), made.decode)

    @staticmethod
    def filter(one):
        kind = posterndb.Where if one["type"] == "F" else posterndb.While
        return kind(str(one["column"]), one["operator"], raw(one["value"]))

    @staticmethod
    def as_asked(data, about, placeholder):
        """Normalises a request: the client sends an empty string in the IN field and omits a limit of 0, which means
        the same."""
        if about.get("limit") == 0:
            data = data.rstrip(b"\n") + b"\t0\t0\n"
        if placeholder is None and "in" in about:
            data = data.replace(b"\t\t", b"\t\0\t", 1)
        return data


WITH_VALUES = ("update", "increment", "decrement")


def shown(asked, outcome):
    """An outcome in the transcript's form."""
    [(kind, about)] = asked.items()
    if isinstance(outcome, posterndb.Error):
        return broken(outcome)
    if kind in ("open", "authenticate", "login"):
        return {"done": True}
    if kind == "insert":
        return {"id": outcome}
    if isinstance(outcome, list):
        return {"rows": [[value if value is None else value.decode("latin-1") for value in row] for row in outcome]}
    return {"count": int(outcome)}


def broken(error):
    if isinstance(error, posterndb.ConnectionError):
        return {"broken": "closed"}
    if isinstance(error, posterndb.TimeoutError):
        return {"broken": "timeout"}
    if isinstance(error, posterndb.ProtocolError):
        return {"broken": "too large" if "longer than" in str(error) else "malformed"}
    return {"error": {"code": error.code, "text": error.message}}


def told(results):
    return [{name: value for name, value in result.items() if name != "columns"} for result in results]


def options(session, port):
    short = session.get("stall") and "reply_bytes_max" not in session
    limit = {"max_reply_bytes": session["reply_bytes_max"]} if "reply_bytes_max" in session else {}
    return {"port": port, "timeout": STALL_SECONDS if short else WAIT_SECONDS, **limit}


def run(session, port):
    """The outcome of each exchange of the session with the blocking client."""
    translator, results = Translator(), []
    with posterndb.connect(**options(session, port)) as db:
        for exchange in session["exchanges"]:
            asked = exchange["requests"]
            outcomes = db.execute_many(translator.requests(exchange), raise_on_error=False)
            results.append([shown(one, outcome) for one, outcome in zip(asked, outcomes)])
    return results


def run_asyncio(session, port):
    """The same with the asyncio client."""

    async def run_all():
        translator, results = Translator(), []
        async with posterndb.asyncio.connect(**options(session, port)) as db:
            for exchange in session["exchanges"]:
                asked = exchange["requests"]
                outcomes = await db.execute_many(translator.requests(exchange), raise_on_error=False)
                results.append([shown(one, outcome) for one, outcome in zip(asked, outcomes)])
        return results

    return asyncio.run(run_all())
