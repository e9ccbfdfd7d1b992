"""A client of memcached: memcached_client.py HOST PORT SEED COUNT"""

from __future__ import annotations

import sys
import time

from pymemcache.client.base import Client  # type: ignore[import-not-found]
from talk import Talk


def main() -> None:
    """Set, get, and set without waiting for a reply."""
    host, port, seed, count = sys.argv[1:]
    talk, server = Talk(seed), Client((host, int(port)))
    for number in range(int(count)):
        for _ in range(talk.random.randint(0, 3)):
            server.set(f"key{number}", talk.text(), noreply=True)
        server.get_many([f"key{number}", f"key{number - 1}"])
        time.sleep(talk.pause_s())


main()
