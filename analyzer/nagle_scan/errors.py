"""Errors a user can act on: one line each, naming the file or the expression."""

from nagle_scan._core import CaptureError, FilterError, NagleScanError, OutputError

__all__ = ["CaptureError", "FilterError", "NagleScanError", "OutputError"]
