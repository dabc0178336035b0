"""Makes pytest-rerunfailures work where the name localhost does not resolve: a bare root has no /etc/hosts. And shows
why a test was rerun, which the plugin does not report."""
import socket
import types

SHOWN_LINES = 60


class ByAddress(socket.socket):
    """A socket that connects to localhost without resolving its name."""

    def connect(self, address):
        host, *rest = address
        super().connect(("127.0.0.1" if host == "localhost" else host, *rest))


def make_possible():
    """The plugin's processes connect to the first one by that name, before any test. Does nothing if it is not
    installed."""
    try:
        import pytest_rerunfailures  # pylint: disable=import-outside-toplevel
    except ImportError:
        return
    pytest_rerunfailures.socket = types.SimpleNamespace(**{**vars(socket), "socket": ByAddress})


def show_failures(terminal):
    """Shows the last lines of tests that failed and were rerun."""
    for report in terminal.stats.get("rerun", []):
        terminal.section(f"failed, and ran again: {report.nodeid}", "_")
        terminal.line("\n".join(report.longreprtext.splitlines()[-SHOWN_LINES:]))
