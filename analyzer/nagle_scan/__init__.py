"""Finds Nagle and delayed-ACK stalls in packet captures, proves them, and says what to change.

>>> import nagle_scan
>>> result = nagle_scan.scan("captures/java-split.pcap")
>>> result.stalls[["sender", "wait_ms", "frame_held"]]
"""

from nagle_scan._core import VERSION as __version__
from nagle_scan.errors import CaptureError, FilterError, NagleScanError, OutputError
from nagle_scan.results import Scan, scan

__all__ = [
    "CaptureError",
    "FilterError",
    "NagleScanError",
    "OutputError",
    "Scan",
    "__version__",
    "scan",
]
