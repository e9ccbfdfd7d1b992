"""Errors a user can act on: one line each, naming the file or the expression."""

from nagle_scan._core import CaptureError, FilterError, NagleScanError, OutputError

__all__ = ["CaptureError", "FilterError", "NagleScanError", "OutputError", "UnknownConnectionError"]


class UnknownConnectionError(KeyError):
    """A scan holds no connection of this number."""

    __module__ = "nagle_scan"

    def __str__(self) -> str:
        """The message as it is: a `KeyError` would show it in quotes."""
        return str(self.args[0])
