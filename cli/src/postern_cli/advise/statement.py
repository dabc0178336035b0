"""Statements as text: words, kinds, and a normal form that leaves out values."""

from __future__ import annotations

import re
from typing import Iterator, List, NamedTuple

# Longest first if one is a prefix of another. /*! and /*M! are code to the server, not comments.
TOKEN = re.compile(
    r"""
      (?P<space>\s+)
    | (?P<comment>/\*(?![!M]).*?(?:\*/|\Z)|/\*M(?!!).*?(?:\*/|\Z)|--(?=[\s]|\Z)[^\n]*|\#[^\n]*)
    | (?P<code>/\*M?!\d*|\*/)
    | (?P<string>(?:[xXbBnN]|_[a-zA-Z0-9]+\s*)?'(?:[^'\\]|\\.|'')*(?:'|\Z)|"(?:[^"\\]|\\.|"")*(?:"|\Z))
    | (?P<quoted>`(?:[^`]|``)*(?:`|\Z))
    | (?P<number>0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w$]))
    | (?P<word>@@?[\w$.`]*|[^\W\d][\w$]*|\d[\w$]*)
    | (?P<mark>\?)
    | (?P<operator>\.\.\.|<=>|<=|>=|<>|!=|:=|&&|\|\||<<|>>|[^\s\w])
    """,
    re.VERBOSE | re.DOTALL,
)
# The beginning of a statement of megabytes, such as a bulk insert, is enough.
LENGTH_MAX = 64 * 1024

TRANSACTION = {"BEGIN", "START", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE", "XA"}
SESSION = {
    "SET",
    "SHOW",
    "USE",
    "DESCRIBE",
    "DESC",
    "EXPLAIN",
    "KILL",
    "FLUSH",
    "DEALLOCATE",
    "HELP",
    "PING",
    "RESET",
    "PREPARE",
}
DEFINITION = {
    "CREATE",
    "ALTER",
    "DROP",
    "TRUNCATE",
    "RENAME",
    "GRANT",
    "REVOKE",
    "ANALYZE",
    "OPTIMIZE",
    "CHECK",
    "REPAIR",
}
ROWS = {"SELECT", "INSERT", "UPDATE", "DELETE", "REPLACE", "WITH", "("}
# A list of one value stays distinct, as for servers: it names one row.
LIST = re.compile(r"\( \?(?: , \?)+ \)")


class Token(NamedTuple):
    kind: str
    text: str


def tokens(statement: str) -> Iterator[Token]:
    """The tokens of a statement, without blanks and comments."""
    for match in TOKEN.finditer(statement[:LENGTH_MAX]):
        kind = match.lastgroup or "operator"
        if kind not in ("space", "comment", "code"):
            yield Token(kind, match.group())


ANSI = re.compile(r'\b(?:FROM|INTO|UPDATE|JOIN)\s+(?:"\w+"\s*\.\s*)?"\w+"', re.I)


def plain_quotes(statement: str) -> str:
    """The text with backquotes in place of double quotes around names, which sql_mode = ANSI_QUOTES allows (Drupal)."""
    if not ANSI.search(statement[:LENGTH_MAX]):
        return statement
    parts = []
    for match in TOKEN.finditer(statement[:LENGTH_MAX]):
        text = match.group()
        parts.append(f"`{text[1:-1]}`" if text[0] == '"' and len(text) > 1 else text)
    return "".join(parts)


def split(text: str) -> Iterator[str]:
    """The statements of a script, without semicolons; executable comments count as code."""
    begin = 0
    for match in TOKEN.finditer(text):
        if match.group() == ";":
            yield text[begin : match.start()].strip()
            begin = match.end()
    yield text[begin:].strip()


def first_words(statement: str, count: int = 3) -> List[str]:
    """The first words in upper case; an opening bracket is a word."""
    words: List[str] = []
    for token in tokens(statement):
        words.append(token.text.upper())
        if len(words) == count:
            break
    return words


def fingerprint(statement: str) -> str:
    """The form of a statement: equal for statements that differ in values, list lengths, blanks and comments."""
    words: List[str] = []
    before = ""
    for kind, text in tokens(plain_quotes(statement)):
        if kind in ("string", "number", "mark"):
            # A sign belongs to the number unless a value precedes it.
            if words and words[-1] in "+-" and before in ("", "(", ",", "=", "<", ">", "<=", ">=", "<>", "!=", "<=>"):
                words.pop()
            text = "?"
        elif kind == "word":
            text = text.upper() if text.upper() in KEYWORDS else text
        before = words[-1] if words else ""
        words.append(text)
    while words and words[-1] == ";":
        words.pop()
    joined = LIST.sub("(...)", " ".join(words).replace("( ... )", "(...)"))
    joined = re.sub(r"(\(\.\.\.\)|\( \? \))(?: , (?:\(\.\.\.\)|\( \? \)))+", r"\1", joined)
    return re.sub(r"(?<=\S) ?\. ?(?=[\w`*])", ".", joined)


KEYWORDS = set(
    """SELECT FROM WHERE AND OR NOT IN IS NULL LIKE BETWEEN EXISTS AS ON JOIN LEFT RIGHT INNER OUTER CROSS STRAIGHT_JOIN
    USING GROUP ORDER BY HAVING LIMIT OFFSET ASC DESC DISTINCT ALL UNION INSERT INTO VALUES VALUE UPDATE SET DELETE REPLACE
    IGNORE DUPLICATE KEY DEFAULT RETURNING FOR SHARE MODE LOCK COUNT MAX MIN SUM AVG COALESCE CASE WHEN THEN ELSE END
    BEGIN START TRANSACTION COMMIT ROLLBACK SAVEPOINT RELEASE TRUE FALSE INTERVAL FORCE INDEX USE""".split()
)


def complete(statement: str) -> str:
    """The statement in a form that the parser accepts: a digest's "(...)" becomes a list, its cut end is removed."""
    text = re.sub(r"\( *\.\.\. *\)", "(?, ?)", plain_quotes(statement)[:LENGTH_MAX].strip().rstrip(";").strip())
    # A list of values becomes `?, ...`, anywhere.
    text = re.sub(r"\? *, *\.\.\.", "?, ?", text)
    # MariaDB: SET STATEMENT a=1, b=2 FOR SELECT ...
    text = re.sub(
        r"^SET\s+STATEMENT\s+.*?\bFOR\s+(?=SELECT|INSERT|UPDATE|DELETE|REPLACE|WITH)", "", text, flags=re.I | re.S
    )
    return text


def is_cut(statement: str) -> bool:
    """Whether a digest's text was cut at max_digest_length."""
    return statement.rstrip().endswith("...") and not statement.rstrip().endswith("(...)")


def rough_kind(statement: str) -> str:
    """`rows`, `transaction`, `session`, `definition` or `other`, by the first words."""
    words = [*first_words(statement, 6), "", ""]
    first, second = words[0], words[1]
    if first == "SET":
        if second == "STATEMENT":
            return "rows"
        if any(
            word in ("AUTOCOMMIT", "TRANSACTION") or word.endswith(".AUTOCOMMIT") or word == "@@AUTOCOMMIT"
            for word in words
        ):
            return "transaction"
        return "session"
    if first == "(" or first in ROWS:
        return "rows"
    for kind, members in (("transaction", TRANSACTION), ("session", SESSION), ("definition", DEFINITION)):
        if first in members:
            return kind
    return "other" if first else "session"
