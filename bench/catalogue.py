"""All rows of measurements, and the rows of each profile."""
import fnmatch

import along
import matrix

PROFILES = {
    "quick": {"quick"},
    "default": {"quick", "default"},
    "all": {"quick", "default", "all"},
    "grow": {"grow"},
    "settings": {"settings"},
    "article-2012": {"article-2012"},
    "redis": {"redis"},
}


def every_row():
    yield from matrix.plain_rows()
    yield from matrix.redis_rows()
    yield from matrix.article_rows()
    yield from along.growth_rows()
    yield from along.settings_rows()


def rows_of(profile, patterns):
    """The rows that match the patterns, or else those of the profile, grouped by the server that they need."""

    def wanted(row):
        if patterns:
            return any(fnmatch.fnmatchcase(row.name, pattern) for pattern in patterns)
        return row.profile in PROFILES[profile]

    chosen = [row for row in every_row() if wanted(row)]
    order = {}
    for row in chosen:
        order.setdefault(row.state.settled(), len(order))
    return sorted(chosen, key=lambda row: (order[row.state.settled()], not row.state.adaptive_hash))
