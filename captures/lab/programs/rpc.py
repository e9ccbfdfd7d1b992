"""A server with a thread for each connection, and its load; both set TCP_NODELAY.

    rpc.py serve PORT
    rpc.py load HOST PORT CONNECTIONS ROUNDS SLEEP_MS

Of the load, a thread for each connection sends a request, waits for the reply, sleeps, and does so
again. Python is slow enough that 3,000 connections are too many.
"""

import socket
import socketserver
import sys
import threading
import time

REQUEST, REPLY = b"q" * 100, b"r" * 20


class Handler(socketserver.BaseRequestHandler):
    """Answers each request."""

    def handle(self) -> None:
        """Until the client ends."""
        self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while self.request.recv(1000):
            self.request.send(REPLY)


class Server(socketserver.ThreadingTCPServer):
    """Its threads do not keep it alive."""

    daemon_threads, allow_reuse_address, request_queue_size = True, True, 4096


def call(end: tuple[str, int], rounds: int, sleep_s: float) -> None:
    """One connection."""
    with socket.create_connection(end) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(rounds):
            connection.send(REQUEST)
            connection.recv(1000)
            time.sleep(sleep_s)


threading.stack_size(256 * 1024)
match sys.argv[1:]:
    case ["serve", port]:
        Server(("", int(port)), Handler).serve_forever()
    case ["load", host, port, connections, rounds, sleep_ms]:
        arguments = ((host, int(port)), int(rounds), int(sleep_ms) / 1000)
        for _ in range(int(connections)):
            threading.Thread(target=call, args=arguments).start()
