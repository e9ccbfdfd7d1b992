"""A client of Redis: redis_client.py HOST PORT SEED publish|subscribe COUNT"""

from __future__ import annotations

import sys
import time

import redis  # type: ignore[import-not-found]
from talk import Talk

CHANNEL = "news"


def main() -> None:
    """Talk to the server."""
    host, port, seed, role, count = sys.argv[1:]
    talk, server = Talk(seed), redis.Redis(host, int(port))
    if role == "subscribe":
        listener = server.pubsub()
        listener.subscribe(CHANNEL)
        for _ in listener.listen():
            pass
    for _ in range(int(count)):
        for _ in range(talk.random.randint(1, 4)):
            server.publish(CHANNEL, talk.text())
        time.sleep(talk.pause_s())


main()
