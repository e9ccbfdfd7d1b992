"""One end of a relayed conversation, that writes its messages in pieces.

relayed.py server PORT KIND [options]            relayed.py client PORT KIND [options]

KIND is line (a message ends with a newline), http (a head and a body of known length), chunked (as
http, replies in chunks), websocket, or irc: each piece is a line, and each line of a client draws a
message to all others.
"""

from __future__ import annotations

import argparse
import contextlib
import socket
import ssl
import threading
import time
from typing import BinaryIO

HEAD = {"client": b"POST / HTTP/1.1\r\nHost: lab\r\n", "server": b"HTTP/1.1 200 OK\r\n"}
UPGRADE = {
    "client": b"GET / HTTP/1.1\r\nHost: lab\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Key: bmFnbGUtc2NhbiBsYWIgISE=\r\nSec-WebSocket-Version: 13\r\n\r\n",
    "server": b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"
    b"Upgrade: websocket\r\nSec-WebSocket-Accept: x\r\n\r\n",
}
SEEN = b"SEEN\n"  # what a listener says, which nobody else is told
SETTLE_S, SILENCE_S = 0.2, 1.0  # until the server knows everybody; until a listener goes


def message(kind: str, role: str, sizes: list[int]) -> list[bytes]:
    """The pieces of a message."""
    bodies = [b"x" * size for size in sizes]
    if kind == "irc":
        return [body[:-1] + b"\n" for body in bodies]
    if kind == "line":
        return [*bodies[:-1], bodies[-1][:-1] + b"\n"]
    if kind == "chunked" and role == "server":
        chunks = [b"%x\r\n%s\r\n" % (len(body), body) for body in bodies]
        return [HEAD[role] + b"Transfer-Encoding: chunked\r\n\r\n", *chunks, b"0\r\n\r\n"]
    if kind == "websocket":
        mask, bit = (b"\0\0\0\0", 0x80) if role == "client" else (b"", 0)
        return [bytes([0x82, bit | 126]) + sum(sizes).to_bytes(2, "big") + mask, *bodies]
    return [HEAD[role] + b"Content-Length: %d\r\n\r\n" % sum(sizes), *bodies]


def read_headers(stream: BinaryIO) -> dict[bytes, bytes] | None:
    """The headers of a message; None at the end of the stream."""
    if not stream.readline():
        return None
    headers = {}
    while line := stream.readline().strip():
        name, _colon, value = line.partition(b":")
        headers[name.lower()] = value.strip()
    return headers


def read_message(kind: str, stream: BinaryIO) -> bool:
    """Read one; False at the end of the stream."""
    if kind == "line":
        return bool(stream.readline())
    if kind == "irc":
        while (line := stream.readline()) == SEEN:
            pass
        return bool(line)
    if kind == "websocket":
        head = stream.read(4)
        if len(head) == 4:
            stream.read(int.from_bytes(head[2:], "big") + (4 if head[1] & 0x80 else 0))
        return len(head) == 4
    return read_body(stream, read_headers(stream))


def read_body(stream: BinaryIO, headers: dict[bytes, bytes] | None) -> bool:
    """Read what belongs to the headers of a message, if there are any."""
    if headers is None:
        return False
    if headers.get(b"transfer-encoding") == b"chunked":
        while size := int(stream.readline(), 16):
            stream.read(size + 2)
        stream.readline()
    else:
        stream.read(int(headers.get(b"content-length", 0)))
    return True


def write_pieces(connection: socket.socket, pieces: list[bytes], gap_us: int) -> None:
    """Each in a write of its own."""
    for number, piece in enumerate(pieces):
        if number and gap_us:
            time.sleep(gap_us / 1e6)
        connection.sendall(piece)


def set_nodelay(connection: socket.socket, options: argparse.Namespace) -> None:
    """TCP_NODELAY as asked for."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, options.nodelay)


def serve(
    connection: socket.socket, options: argparse.Namespace, everybody: list[socket.socket]
) -> None:
    """Answer until the client goes."""
    set_nodelay(connection, options)
    stream = connection.makefile("rb")
    pieces = message(options.kind, "server", options.sizes)
    if options.kind == "websocket":
        read_headers(stream)
        connection.sendall(UPGRADE["server"])
    everybody.append(connection)
    with contextlib.suppress(OSError):
        while read_message(options.kind, stream):
            others = [c for c in everybody if c is not connection]
            for target in others if options.kind == "irc" else [connection]:
                write_pieces(target, pieces, options.gap)
    everybody.remove(connection)
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


def server(options: argparse.Namespace) -> None:
    """Serve each connection in a thread."""
    everybody: list[socket.socket] = []
    listener = socket.create_server(("127.0.0.1", options.port), backlog=200)
    while True:
        connection = listener.accept()[0]
        threading.Thread(target=serve, args=(connection, options, everybody), daemon=True).start()


def call(options: argparse.Namespace, number: int, ready: threading.Barrier) -> None:
    """One connection's requests."""
    connection = socket.create_connection(("127.0.0.1", options.port))
    set_nodelay(connection, options)
    if options.tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        connection = context.wrap_socket(connection)
    stream = connection.makefile("rb")
    if options.kind == "websocket":
        connection.sendall(UPGRADE["client"])
        read_headers(stream)
    ready.wait()
    time.sleep(SETTLE_S)
    if options.kind == "irc" and number:
        listen_only(connection, options.burst)
        return
    for _ in range(options.count):
        write_pieces(connection, message(options.kind, "client", options.sizes), options.gap)
        if options.kind != "irc":
            read_message(options.kind, stream)
        time.sleep(options.think / 1e6)
    connection.close()


def listen_only(connection: socket.socket, burst: int) -> None:
    """Read until nothing comes any more, and say so after so many bytes."""
    connection.settimeout(SILENCE_S)
    heard = 0
    with contextlib.suppress(TimeoutError):
        while data := connection.recv(4096):
            heard += len(data)
            if heard >= burst:
                heard = 0
                connection.sendall(SEEN)
    connection.close()


def client(options: argparse.Namespace) -> None:
    """All connections at once."""
    ready = threading.Barrier(options.connections)
    threads = [
        threading.Thread(target=call, args=(options, number, ready))
        for number in range(options.connections)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def main() -> None:
    """Run one end."""
    parser = argparse.ArgumentParser()
    parser.add_argument("role", choices=("client", "server"))
    parser.add_argument("port", type=int)
    parser.add_argument("kind")
    parser.add_argument("--nodelay", action="store_true")
    parser.add_argument("--pieces", default="90,12", help="lengths")
    parser.add_argument("--gap", type=int, default=0, help="microseconds between them")
    parser.add_argument("--count", type=int, default=14)
    parser.add_argument("--connections", type=int, default=2)
    parser.add_argument("--think", type=int, default=2000, help="microseconds between requests")
    parser.add_argument("--tls", action="store_true")
    parser.add_argument(
        "--burst", type=int, default=0, help="irc: when a listener says it has seen"
    )
    options = parser.parse_args()
    options.sizes = [int(size) for size in options.pieces.split(",")]
    (client if options.role == "client" else server)(options)


if __name__ == "__main__":
    main()
