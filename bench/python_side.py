"""Times the Python interface in a process of its own; prints JSON.

python_side.py STALLS.pcap RPC.pcap
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from functools import partial

import nagle_scan
import pandas as pd  # noqa: F401 - its import is not what is measured


def seconds(work: Callable[[], object]) -> float:
    """Wall time of one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main() -> None:
    """Prints the time of the tables, of one scan and of one connection's segments."""
    stalls, rpc = sys.argv[1:]
    many = nagle_scan.scan(stalls, exchanges=True)
    tables = {name: seconds(partial(getattr, many, name)) for name in ("stalls", "exchanges")}
    scan = nagle_scan.scan(rpc)
    scan_s = min(seconds(lambda: nagle_scan.scan(rpc)) for _ in range(3))
    segments_s = min(seconds(lambda: scan.segments(0)) for _ in range(3))
    json.dump(
        {
            **{f"{name}_s": table_s for name, table_s in tables.items()},
            **{f"{name}_rows": len(getattr(many, name)) for name in tables},
            "scan_s": scan_s,
            "segments_s": segments_s,
        },
        sys.stdout,
    )


if __name__ == "__main__":
    main()
