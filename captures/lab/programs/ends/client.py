"""A client of several servers: client.py HOST PORT SEED publish|subscribe|memcached|nbd COUNT"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from itertools import count

from talk import Talk

CHANNEL = "news"


def publish(host: str, port: int, talk: Talk) -> Iterator[None]:
    """Messages to a channel of Redis."""
    import redis  # type: ignore[import-not-found]

    server = redis.Redis(host, port)
    while True:
        for _ in range(talk.random.randint(1, 4)):
            server.publish(CHANNEL, talk.text())
        yield


def subscribe(host: str, port: int, _: Talk) -> Iterator[None]:
    """Listens to that channel until it is killed."""
    import redis

    listener = redis.Redis(host, port).pubsub()
    listener.subscribe(CHANNEL)
    yield from (None for _ in listener.listen())


def memcached(host: str, port: int, talk: Talk) -> Iterator[None]:
    """Get, and set without waiting for a reply."""
    from pymemcache.client.base import Client  # type: ignore[import-not-found]

    server = Client((host, port))
    for number in count():
        for _ in range(talk.random.randint(0, 3)):
            server.set(f"key{number}", talk.text(), noreply=True)
        server.get_many([f"key{number}", f"key{number - 1}"])
        yield


def nbd(host: str, port: int, talk: Talk) -> Iterator[None]:
    """Read and write blocks of several sizes."""
    import nbd as library  # type: ignore[import-not-found]

    disk = library.NBD()
    disk.set_export_name("disk")
    disk.connect_tcp(host, str(port))
    while True:
        size, at = talk.random.choice((512, 512, 4096)), talk.random.randrange(1000) * 4096
        if talk.random.random() < 0.5:
            disk.pwrite(bytes(size), at)
        else:
            disk.pread(size, at)
        yield


def main() -> None:
    """Act, and pause, again and again."""
    host, port, seed, role, times = sys.argv[1:]
    talk = Talk(seed)
    for _, _ in zip(range(int(times)), globals()[role](host, int(port), talk), strict=False):
        if role != "subscribe":
            time.sleep(talk.pause_s())


main()
