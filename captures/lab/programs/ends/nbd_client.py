"""A client of an NBD server: nbd_client.py HOST PORT SEED COUNT"""

from __future__ import annotations

import sys
import time

import nbd  # type: ignore[import-not-found]
from talk import Talk


def main() -> None:
    """Read and write blocks of several sizes."""
    host, port, seed, count = sys.argv[1:]
    talk, disk = Talk(seed), nbd.NBD()
    disk.set_export_name("disk")
    disk.connect_tcp(host, port)
    for _ in range(int(count)):
        size = talk.random.choice((512, 512, 4096))
        at = talk.random.randrange(1000) * 4096
        if talk.random.random() < 0.5:
            disk.pwrite(bytes(size), at)
        else:
            disk.pread(size, at)
        time.sleep(talk.pause_s())


main()
