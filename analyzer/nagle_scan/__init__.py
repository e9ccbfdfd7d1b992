"""Finds Nagle and delayed-ACK stalls in packet captures, proves them, and says what to change.

>>> import nagle_scan
>>> result = nagle_scan.scan("captures/java-split.pcap")
>>> result.stalls[["sender", "wait_ms", "frame_held"]]
"""

from typing import TYPE_CHECKING

from nagle_scan import _core
from nagle_scan.errors import CaptureError, FilterError, NagleScanError, OutputError

if TYPE_CHECKING:
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


def __getattr__(name: str) -> object:
    """Loads the tables when they are first asked for: the command does not need them."""
    if name not in ("Scan", "scan"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from nagle_scan import results

    attribute: object = getattr(results, name)
    return attribute
