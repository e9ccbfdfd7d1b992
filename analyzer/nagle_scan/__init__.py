"""Finds Nagle and delayed-ACK stalls in packet captures, proves them, and says what to change.

>>> import nagle_scan
>>> result = nagle_scan.scan("captures/java-split.pcap")
>>> result.stalls[["sender", "wait_ms", "frame_held"]]

The parts, each of which imports only what stands before it (tests/test_import_order.py):

    _core                          the engine, in Rust
    errors, wording, colours       errors of the engine; numbers in words; colours of pictures
    terminal, files                lines on a terminal; result files
    keys, names                    --anonymize; --name
    causes, certainty              one row for each cause of waits; how sure its stalls are
    dissect                        frames as scapy packets
    result                         what a scan found, as tables
    messages, advice, compare      protocols; what to change; two scans, before and after
    timeline                       pictures
    report                         one module for each output format, and what they share
    notebook                       how a scan and a connection look in a notebook
    scan                           `scan()` and the class `Scan`
    explain, interrupt, progress, background    --explain; signals; the progress line; a thread
    gate, verbose, values          the exit status; -v; what options take
    captures                       which of many files are one capture
    arguments, outputs, several    options; where results go; the table of several captures
    cli                            the command
"""

import os
import sys

try:
    from nagle_scan import _core
except ImportError as error:
    if not os.path.basename(sys.argv[0]).startswith("nagle-scan"):
        raise
    # Python's own status for the command, 1, would mean 'stalls'.
    print(f"nagle-scan: the engine cannot be loaded: {error}", file=sys.stderr)
    raise SystemExit(2) from None

from nagle_scan.errors import CaptureError, FilterError, NagleScanError, OutputError

# Not lazily: importing the module of that name later would hide the function.
from nagle_scan.scan import Scan, scan

__version__ = _core.VERSION

__all__ = [
    "CaptureError",
    "FilterError",
    "NagleScanError",
    "OutputError",
    "Scan",
    "__version__",
    "scan",
]


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)
