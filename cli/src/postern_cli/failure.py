"""How the tool ends."""

DONE = 0
FOUND = 1  # doctor: something is wrong; get, scan, incr, delete: there is no such row
USAGE = 2
UNREACHABLE = 3  # the server or a door cannot be reached, or refuses the login
REFUSED = 4  # it refused the request, or lacks something that the command needs


class Failure(Exception):
    """Shown to the user; the tool exits with its code."""

    def __init__(self, words: str, code: int = REFUSED) -> None:
        super().__init__(words)
        self.code = code
