"""What 76 set-ups of drivers, libraries and applications send (tests/wire/sql/conversations.jsonl), played at a port.

A set-up's capabilities, character set and first statements are its own; one of which no statements were recorded plays
those of another that speaks as it does.
"""
import json
from dataclasses import dataclass, field

from support.server import ROOT

CONVERSATIONS = ROOT / "tests" / "wire" / "sql" / "conversations.jsonl"
CONNECT_ATTRIBUTES = 1 << 20
IN_TRANSACTION, AUTOCOMMIT = 1, 2
UNSAID = ("COM_", "PS: ")  # prefixes of a set-up's lines that are not texts
LOCKS = "GET_LOCK"  # shared by the whole server, so the first session gets it


@dataclass
class Said:
    """A statement, and the session state in which it came."""

    prepared: bool
    state: int
    kind: str
    text: str
    values: list = field(default_factory=list)


def conversations():
    """The name, capabilities, collation and lines of each set-up."""
    lines = [json.loads(line) for line in CONVERSATIONS.read_text(encoding="utf-8").splitlines()]
    recorded = {line["client"]: line["said"] for line in lines if "said" in line}
    for line in lines:
        opening = [Said(False, 0, "opening", text) for text in line["opening"] if not text.startswith(UNSAID)]
        said = [
            Said(how == "P", AUTOCOMMIT * (state[0] == "A") + IN_TRANSACTION * (state[1] == "T"), kind, text, values)
            for how, state, kind, text, *values in recorded[line.get("as", line["client"])]
            if LOCKS not in text
        ]
        capabilities = line["capabilities"] & ~CONNECT_ATTRIBUTES
        yield line["client"], capabilities, line["collation"], opening + said


def status(answer):
    """The server's status in the last packet of an answer; None for an error."""
    at = 0
    while True:
        size = int.from_bytes(answer[at : at + 3], "little")
        if at + 4 + size == len(answer):
            break
        at += 4 + size
    last = answer[at + 4 :]
    if last[0] == 0xFF:
        return None
    if last[0] == 0xFE and len(last) == 5:
        return int.from_bytes(last[3:5], "little")
    at = 1
    for _ in range(2):  # affected rows, the last id
        at += {0xFC: 3, 0xFD: 4, 0xFE: 9}.get(last[at], 1)
    return int.from_bytes(last[at : at + 2], "little")


class Speaker:
    """Sessions at several ports that send the same; compare(said, answers) is called with the answers of each
    statement."""

    def __init__(self, sessions, named, compare):
        """named[i]: the database's name at sessions[i]."""
        self.sessions, self.named, self.compare = sessions, named, compare
        self.state = AUTOCOMMIT

    def ask(self, said):
        answers = [self._answer(session, name, said) for session, name in zip(self.sessions, self.named)]
        self.compare(said, answers)
        told = status(answers[0])
        if told is not None:
            self.state = told & (IN_TRANSACTION | AUTOCOMMIT)
        return answers

    def be_in(self, state):
        """Puts the sessions into the state in which a recorded statement came."""
        if self.state & IN_TRANSACTION and not state & IN_TRANSACTION:
            self._say("COMMIT")
        if (self.state ^ state) & AUTOCOMMIT:
            self._say(f"SET autocommit = {int(bool(state & AUTOCOMMIT))}")
        if state & IN_TRANSACTION and not self.state & IN_TRANSACTION:
            self._say("START TRANSACTION")

    def _say(self, text):
        self.ask(Said(False, 0, "state", text))

    @staticmethod
    def _answer(session, name, said):
        text = said.text.replace("`shop`", f"`{name}`")
        return session.execute(text, said.values) if said.prepared else session.query(text)
