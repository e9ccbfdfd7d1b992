"""A client of Redis: redis_client.py HOST PORT SEED request|pipeline|publish|subscribe COUNT"""

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
    for number in range(int(count)):
        if role == "publish":
            for _ in range(talk.random.randint(1, 4)):
                server.publish(CHANNEL, talk.text())
        elif role == "pipeline":
            pipe = server.pipeline(transaction=False)
            for _ in range(talk.random.randint(2, 6)):
                pipe.set(f"key{number}", talk.text(2000)).get(f"key{number}")
            pipe.execute()
        else:
            server.set(f"key{number}", talk.text())
            server.get(f"key{number}")
        time.sleep(talk.pause_s())


main()
