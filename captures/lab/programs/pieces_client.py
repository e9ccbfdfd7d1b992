"""Writes each command in pieces: pieces_client.py HOST PORT redis|memcached COUNT [nodelay]"""

import socket
import sys

PIECES = {
    "redis": ([b"*3\r\n$3\r\nSET\r\n", b"$3\r\nkey\r\n", b"$5\r\nvalue\r\n"], b"+OK\r\n"),
    "memcached": ([b"set key 0 0 5\r\n", b"value\r\n"], b"STORED\r\n"),
}
host, port, (pieces, answer), count = (
    sys.argv[1],
    int(sys.argv[2]),
    PIECES[sys.argv[3]],
    int(sys.argv[4]),
)
connection = socket.create_connection((host, port))
if "nodelay" in sys.argv:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
for _ in range(count):
    for piece in pieces:
        connection.sendall(piece)
    received = b""
    while len(received) < len(answer):
        received += connection.recv(100)
    assert received == answer, received
