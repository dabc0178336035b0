"""Lets pytest-rerunfailures work where nothing knows the name localhost: a bare root has no /etc/hosts. And shows why a
test was run again, which it keeps to itself."""
import socket
import types

SHOWN_LINES = 60


class ByAddress(socket.socket):
    """A socket that connects to localhost without asking for its address."""

    def connect(self, address):
        host, *rest = address
        super().connect(("127.0.0.1" if host == "localhost" else host, *rest))


def make_possible():
    """Its processes connect to the first one by that name, before any test. Nothing happens where it is not installed."""
    try:
        import pytest_rerunfailures  # pylint: disable=import-outside-toplevel
    except ImportError:
        return
    pytest_rerunfailures.socket = types.SimpleNamespace(**{**vars(socket), "socket": ByAddress})


def show_failures(terminal):
    """The ends of what the tests said that failed and were run again."""
    for report in terminal.stats.get("rerun", []):
        terminal.section(f"failed, and ran again: {report.nodeid}", "_")
        terminal.line("\n".join(report.longreprtext.splitlines()[-SHOWN_LINES:]))
