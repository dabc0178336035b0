"""A PHP program, served by PHP's own server on loopback, and requested as by a browser."""
import http.client
import os
import socket
import subprocess
import urllib.parse

from support.waiting import until


class Site:
    """Its files are at `root`; its output is in `said`. Cookies are kept. stop() ends it."""

    def __init__(self, root, said, address, environment):
        self.address = address  # the address in the requests for pages
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.cookies = {}
        with open(said, "wb") as log:
            self.php = subprocess.Popen(
                ["php", "-d", "error_reporting=0", "-S", f"127.0.0.1:{self.port}", "-t", root],
                env=os.environ | environment,
                stdout=log,
                stderr=log,
            )
        until(self.listens, 20)

    def listens(self):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def stop(self):
        self.php.kill()
        self.php.wait()

    def ask(self, path, form=None, **more):
        """The status and the page; by POST, if there is a form. `more` are headers."""
        headers = more | {
            "Host": self.address,
            "Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items()),
        }
        body = None
        if form is not None:
            body = urllib.parse.urlencode(form)
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        connection.request("POST" if body is not None else "GET", path, body, headers)
        answer = connection.getresponse()
        page = answer.read()
        for cookie in answer.headers.get_all("Set-Cookie") or ():
            name, _, value = cookie.partition(";")[0].partition("=")
            self.cookies[name] = value
        connection.close()
        return answer.status, page
