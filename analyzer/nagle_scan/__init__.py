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

The parts, each of which imports only what stands before it (tests/test_import_order.py):

    _core                          the engine, in Rust
    errors, wording, colours       errors of the engine; numbers in words; colours of pictures
    terminal, files                lines on a terminal; result files
    keys, names, progress          --anonymize; --name; the progress line
    causes, certainty              one row for each cause of waits; how sure its stalls are
    dissect                        frames as scapy packets
    result                         what a scan found, as tables
    messages, advice, compare      protocols; what to change; two scans, before and after
    timeline                       pictures
    report                         one module for each output format, and what they share
    notebook                       how scans look in a notebook
    answers                        what they answer, as objects
    connection, saved, written, why    one connection; Parquet files; result files; --why
    scan                           `scan()`, `load()` and the class `Scan`
    explain, interrupt, background              --explain; signals; a thread
    gate, verbose, values          the exit status; -v; what options take
    captures                       which of many files are one capture
    arguments, outputs, several    options; where results go; the table of several captures
    fleet                          thousands of captures, on Dask
    cli                            the command
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

from nagle_scan.errors import (
    CaptureError,
    FilterError,
    NagleScanError,
    OutputError,
    UnknownConnectionError,
)

# Not lazily: importing the module of that name later would hide the function.
from nagle_scan.scan import Scan, load, scan

if TYPE_CHECKING:
    from nagle_scan.answers import Advice, Comparison, Summary
    from nagle_scan.connection import Connection
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
    "load",
    "scan",
    "scan_fleet",
]

_HOMES = {
    "Advice": "answers",
    "Comparison": "answers",
    "Connection": "connection",
    "Fleet": "fleet",
    "Summary": "answers",
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
