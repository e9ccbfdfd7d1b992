"""A proxy in a process of its own: it forwards each request, and of the chosen one, the
answer is an error, or none comes, or the store is busy from then on. `python proxy.py PORT` prints
its own port."""

from __future__ import annotations

import http.client
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

WISH = "/-/"
"""GET /-/METHOD/NUMBER/HOW: how many requests of the method it spoiled or counted before."""
spoiled: dict[str, Any] = {"method": "", "at": 0, "how": "", "seen": 0}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        """Nothing."""

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path.startswith(WISH):
            seen = spoiled["seen"]
            method, at, how = self.path.removeprefix(WISH).split("/")
            spoiled.update(method=method, at=int(at), how=how, seen=0)
            self.send(200, [], str(seen).encode())
            return
        there = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
        there.request(self.command, self.path, body, dict(self.headers))
        got = there.getresponse()
        content, status = got.read(), got.status
        if spoiled["method"] in ("ANY", self.command):
            spoiled["seen"] += 1
            is_busy = spoiled["how"] == "busy" and 0 < spoiled["at"] <= spoiled["seen"]
            if is_busy:
                content, status = b"", 503
            elif spoiled["seen"] == spoiled["at"]:
                if spoiled["how"] == "drops":
                    self.close_connection = True
                    return
                content, status = b"", 500
        self.send(status, got.getheaders(), content)

    def send(self, status: int, headers: list[tuple[str, str]], content: bytes) -> None:
        self.send_response(status)
        length = str(len(content))
        for name, value in headers:
            if name.lower() == "content-length" and self.command == "HEAD":
                length = value
            elif name.lower() not in ("content-length", "transfer-encoding", "connection"):
                self.send_header(name, value)
        self.send_header("Content-Length", length)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = answer  # noqa: N815


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()
