"""Keep-alive GETs over one connection, each in one write: http_client.py HOST PORT PATH COUNT"""

import socket
import sys

host, port, path, count = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
connection = socket.create_connection((host, port))
replies = connection.makefile("rb")
for _ in range(count):
    connection.sendall(f"GET {path} HTTP/1.1\r\nHost: lab\r\n\r\n".encode())
    headers = {}
    while line := replies.readline().strip():
        name, _colon, value = line.partition(b":")
        headers[name.lower()] = value.strip()
    if headers.get(b"transfer-encoding") == b"chunked":
        while size := int(replies.readline(), 16):
            replies.read(size + 2)
        replies.readline()
    else:
        replies.read(int(headers[b"content-length"]))
