"""Finds Nagle and delayed-ACK stalls in packet captures, proves them, and says what to change.

>>> import nagle_scan
>>> scan = nagle_scan.scan("captures/java-split.pcap")
>>> scan.stalls[["sender", "wait_ms", "frame_held"]]
   sender  wait_ms  frame_held
0  client   42.889          12
1  client   43.592          17
2  client   43.578          22
3  client   43.517          27
4  client   43.585          32
5  client   43.654          37
6  client   43.542          42
7  client   43.629          47
8  client   43.571          52

The rooms, each of which imports only what stands before it (tests/project/test_import_order.py):

    _core       the engine, in Rust
    errors      those of the engine, and one of Python
    words       numbers in words, causes, certainty, colours
    system      files, the terminal, the progress line, signals
    result      what a scan found, as tables and packets
    messages    protocols
    advice      what to change
    moves       servers that moved between two captures
    chances     could a stall have been seen?
    compare     two scans, before and after
    timeline    pictures
    report      one module for each output format, and what they share
    api         `scan()`, `scan_each()`, the class `Scan` and what it answers
    fleet       thousands of captures, in processes or on Dask
    command     `nagle-scan`: options, where results go, the exit status

What is slow to load, or need not be installed, is imported by the functions that use it.
"""

import os
import sys
from typing import TYPE_CHECKING

try:
    from nagle_scan import _core
except ImportError as error:
    if not os.path.basename(sys.argv[0]).startswith("nagle-scan"):
        raise
    # Python's own status for the command, 1, would mean 'stalls'.
    print(f"nagle-scan: the engine cannot be loaded: {error}", file=sys.stderr)
    raise SystemExit(2) from None

from nagle_scan.api.scan import Scan, scan
from nagle_scan.errors import (
    CaptureError,
    FilterError,
    NagleScanError,
    OutputError,
    UnknownConnectionError,
)

if TYPE_CHECKING:
    from nagle_scan.api.answers import Advice, Comparison, Summary
    from nagle_scan.api.connection import Connection
    from nagle_scan.api.each import scan_each
    from nagle_scan.fleet import Fleet, scan_fleet

__version__ = _core.VERSION

__all__ = [
    "Advice",
    "CaptureError",
    "Comparison",
    "Connection",
    "FilterError",
    "Fleet",
    "NagleScanError",
    "OutputError",
    "Scan",
    "Summary",
    "UnknownConnectionError",
    "__version__",
    "scan",
    "scan_each",
    "scan_fleet",
]

_HOMES = {
    "Advice": "api.answers",
    "Comparison": "api.answers",
    "Connection": "api.connection",
    "Fleet": "fleet",
    "Summary": "api.answers",
    "scan_each": "api.each",
    "scan_fleet": "fleet",
}


def __getattr__(name: str) -> object:
    """Loads what a plain run has no use for."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    attribute: object = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = attribute
    return attribute


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)
