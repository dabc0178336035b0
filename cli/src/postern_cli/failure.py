"""Exit codes, and Failure."""

DONE = 0
FOUND = 1  # doctor: there are findings; get, scan, incr, delete: there is no such row
USAGE = 2
UNREACHABLE = 3  # the server or a door cannot be reached, or refuses the login
REFUSED = 4  # it refused the request, or lacks something that the command needs


class Failure(Exception):
    """An error: its text is printed, and the tool exits with its code."""

    def __init__(self, words: str, code: int = REFUSED) -> None:
        super().__init__(words)
        self.code = code
