"""A web server with the files of a folder, and with the faults that servers have."""

from __future__ import annotations

import base64
import gzip
import re
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import unquote

USER = "anna:pass-word"


class Web(ThreadingHTTPServer):
    """`/HOW/name` is a file of the folder; HOW tells how it is served."""

    daemon_threads = True

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.folder = folder
        self.sent = 0
        """Bytes of files, all in all."""

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
        wanted = "Basic " + base64.b64encode(USER.encode()).decode()
        if how == "user" and self.headers.get("Authorization") != wanted:
            self.send_error(401)
            return
        if how == "signed" and not self.path.endswith("?sig=s3cret&part=1"):
            self.send_error(403)
            return
        path = self.server.folder / name
        if path.is_dir():
            links = [f'<a href="{one.name}{"/" * one.is_dir()}">x</a>' for one in path.iterdir()]
            self.say(200, "\n".join(links).encode(), has_body, {"Content-Type": "text/html"})
        elif path.is_file():
            self.file(how, path.read_bytes(), has_body)
        else:
            self.send_error(404)

    def file(self, how: str, content: bytes, has_body: bool) -> None:
        begin, end, status = 0, len(content), 200
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if asked and how not in ("whole", "endless"):
            begin, end = int(asked[1]), min(end, int(asked[2] or end) + 1)
            status = 206
        told = {"Content-Range": f"bytes {begin}-{end - 1}/{len(content)}"} if status == 206 else {}
        if how == "packed":
            told["Content-Encoding"] = "gzip"
        if how == "packs" and "gzip" in self.headers.get("Accept-Encoding", ""):
            told["Content-Encoding"] = "gzip"
            self.say(200, gzip.compress(content), has_body, told)
            return
        self.say(status, content[begin:end], has_body, told, how)

    def say(
        self, status: int, body: bytes, has_body: bool, told: dict[str, str], how: str = ""
    ) -> None:
        self.send_response(status)
        for name, value in told.items():
            self.send_header(name, value)
        if how != "endless":
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if has_body:
            part = body[: len(body) // 2] if how == "drops" and len(body) > 1 << 18 else body
            self.server.sent += len(part)
            try:
                self.wfile.write(part)
            except (BrokenPipeError, ConnectionResetError):
                return
        self.close_connection = True


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
