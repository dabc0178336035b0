"""Random values that statements compute from their own values and from the date: a text with ? and the values for it.
Both ports give the same results, unless midnight is in between."""

SUMS = (
    "? + 1",
    "? - 3",
    "? - ?",
    "2 + ? + ?",
    "? * 3",
    "10 * ?",
    "-?",
    "-(? - 4)",
    "(? + 2) * ?",
    "UNIX_TIMESTAMP() * 0 + ?",
)
OPERANDS = (0, 1, 2, 7, 60, 300, -3, 1.0, 2.5, "4", "x", None, 1 << 31, 1 << 53, (1 << 63) - 1, 1 << 63)
DAYS = ("CURDATE()", "UTC_DATE()", "CURRENT_DATE")
UNITS = ("DAY", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR", "HOUR", "MINUTE", "SECOND")


def number(chance, near=None):
    """`near`: mostly close to it."""
    text = chance.choice(SUMS)
    values = [chance.choice(OPERANDS[:7]) if chance.random() < 0.85 else chance.choice(OPERANDS)] * text.count("?")
    if near is not None and chance.random() < 0.8:
        text, values = chance.choice((("? - 1", [near + 1]), ("? + ?", [near, 0]), ("1 + ?", [near]), ("-?", [-near])))
    return text, values


def day(chance):
    """A day, or its beginning plus some hours."""
    text = chance.choice(DAYS)
    if chance.random() < 0.3:
        return text, []
    value = chance.choice((0, 1, 3, 40, -2, 800, "3", 1.0, 1.5, None, 1 << 40)) if chance.random() < 0.3 else 5
    return f"{text} {chance.choice('+-')} INTERVAL ? {chance.choice(UNITS)}", [value]


def moment(chance):
    """For comparisons with times that are days away."""
    if chance.random() < 0.3:
        return day(chance)
    text = chance.choice(("NOW()", "CURRENT_TIMESTAMP", "UTC_TIMESTAMP()", "NOW(6)", "NOW(2)"))
    if chance.random() < 0.2:
        return text, []
    return f"{text} - INTERVAL ? {chance.choice(UNITS[:5])}", [chance.choice((0, 1, 100, 400, 1000, 1040))]
