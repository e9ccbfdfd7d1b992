"""http.server as it comes, or with its own switch against Nagle: python_server.py PORT [nodelay]"""

import sys
from http.server import BaseHTTPRequestHandler, HTTPServer


class Handler(BaseHTTPRequestHandler):
    """Sends head and body apart."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = "nodelay" in sys.argv

    def do_GET(self) -> None:
        """300 bytes, whatever was asked for."""
        self.send_response(200)
        self.send_header("Content-Length", "300")
        self.end_headers()
        self.wfile.write(b"x" * 300)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


HTTPServer(("", int(sys.argv[1])), Handler).serve_forever()
