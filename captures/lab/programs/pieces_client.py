"""Writes each command in pieces: pieces_client.py HOST PORT KIND COUNT [nodelay]

KIND is redis, memcached, postgres (Parse, then the rest) or mariadb (a packet's head, then its
text, as the old C client wrote it).
"""

import socket
import struct
import sys

QUERY = b"SELECT 1"


def message(kind: bytes, body: bytes) -> bytes:
    """A message of PostgreSQL's protocol."""
    return kind + struct.pack("!i", len(body) + 4) + body


PIECES = {
    "redis": [b"*3\r\n$3\r\nSET\r\n", b"$3\r\nkey\r\n", b"$5\r\nvalue\r\n"],
    "memcached": [b"set key 0 0 5\r\n", b"value\r\n"],
    "postgres": [
        message(b"P", b"\0" + QUERY + b"\0\0\0"),
        message(b"B", b"\0\0\0\0\0\0\0\0") + message(b"E", b"\0\0\0\0\0") + message(b"S", b""),
    ],
    "mariadb": [struct.pack("<I", len(QUERY) + 1), b"\x03" + QUERY],
}
END = {  # of an answer
    "redis": b"+OK\r\n",
    "memcached": b"STORED\r\n",
    "postgres": message(b"Z", b"I"),
    "mariadb": b"\xfe\0\0\x02\0",
}


def log_in(kind: str, connection: socket.socket) -> None:
    """The greetings that the databases expect, each in one write."""
    if kind == "postgres":
        who = b"user\0postgres\0database\0postgres\0\0"
        connection.sendall(struct.pack("!ii", len(who) + 8, 196608) + who)
        read_until(connection, END[kind])
    elif kind == "mariadb":
        connection.recv(1000)
        abilities = 0x00000200 | 0x00008000  # protocol 4.1, its authentication
        answer = struct.pack("<IIB23x", abilities, 1 << 24, 33) + b"root\0\0"
        connection.sendall(struct.pack("<I", len(answer) | 1 << 24) + answer)
        read_until(connection, b"\x02\0\0\0")


def read_until(connection: socket.socket, end: bytes) -> None:
    """Read an answer that ends like this."""
    received = b""
    while not received.endswith(end):
        more = connection.recv(1000)
        if not more:
            raise ConnectionError(f"after {received!r}")
        received += more


def main() -> None:
    """Send the same command again and again."""
    host, port, kind, count = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
    connection = socket.create_connection((host, port))
    if "nodelay" in sys.argv:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    log_in(kind, connection)
    for _ in range(count):
        for piece in PIECES[kind]:
            connection.sendall(piece)
        read_until(connection, END[kind])


main()
