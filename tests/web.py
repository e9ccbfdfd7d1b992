"""A web server with the files of a folder, and with the faults that servers have."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple
from urllib.parse import unquote


class Asked(NamedTuple):
    """The range that a request of a file asked for."""

    name: str
    begin: int
    sent: int
    """Bytes that it got."""


class Web(ThreadingHTTPServer):
    """`/HOW/name` is a file of the folder; HOW tells how it is served."""

    daemon_threads = True

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.folder = folder
        self.asked: list[Asked] = []
        """In the order of the answers."""

    @property
    def sent(self) -> int:
        """Bytes, all in all."""
        return sum(one.sent for one in self.asked)

    def url(self, how: str, name: str = "", user: str = "") -> str:
        at = f"{user}@" if user else ""
        return f"http://{at}127.0.0.1:{self.server_port}/{how}/{name}"


class Handler(BaseHTTPRequestHandler):
    server: Web

    def log_message(self, *_: Any) -> None:
        """Nothing."""

    def do_HEAD(self) -> None:
        self.answer(has_body=False)

    def do_GET(self) -> None:
        self.answer(has_body=True)

    def answer(self, has_body: bool) -> None:
        _, how, name = unquote(self.path.partition("?")[0]).split("/", 2)
        if how.isdigit():
            self.send_error(int(how))
            return
        path = self.server.folder / name
        if path.is_dir():
            links = [f'<a href="{one.name}{"/" * one.is_dir()}">x</a>' for one in path.iterdir()]
            body = "\n".join(links).encode() if has_body else b""
            self.say(200, body, {"Content-Type": "text/html"})
        elif path.is_file():
            self.file(how, path, has_body)
        else:
            self.send_error(404)

    def file(self, how: str, path: Path, has_body: bool) -> None:
        size = path.stat().st_size
        begin, end, status = 0, size, 200
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if asked and how != "whole":
            begin, end = int(asked[1]), min(end, int(asked[2] or end) + 1)
            status = 206
        headers = {"Content-Range": f"bytes {begin}-{end - 1}/{size}"} if status == 206 else {}
        body = part(path, begin, end) if has_body else b""
        headers["Content-Length"] = str(end - begin)
        if how == "drops" and len(body) > 1 << 18:
            body = body[: len(body) // 2]
        self.server.asked.append(Asked(path.name, begin, len(body)))
        self.say(status, body, headers)

    def say(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.close_connection = True
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.wfile.write(body)


def part(path: Path, begin: int, end: int) -> bytes:
    with path.open("rb") as file:
        file.seek(begin)
        return file.read(end - begin)


@contextmanager
def served(folder: Path) -> Iterator[Web]:
    """While the block runs."""
    web = Web(folder)
    thread = Thread(target=web.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield web
    finally:
        web.shutdown()
        thread.join()
        web.server_close()
