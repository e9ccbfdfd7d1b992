"""Finds Nagle and delayed-ACK stalls in packet captures, proves them, and says what to change.

>>> import nagle_scan
>>> result = nagle_scan.scan("captures/java-split.pcap")
>>> result.stalls[["sender", "wait_ms", "frame_held"]]
"""

from nagle_scan import _core
from nagle_scan.errors import CaptureError, FilterError, NagleScanError, OutputError
from nagle_scan.results import Scan, scan

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
