"""The options of a call, without argparse: most calls only name captures."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from nagle_scan import _core
from nagle_scan.errors import CaptureError
from nagle_scan.report import formats
from nagle_scan.report.formats import TEXT
from nagle_scan.result import Endpoint
from nagle_scan.result.options import DEFAULT_MIN_WAIT_MS, ScanOptions


class Chosen(NamedTuple):
    """The options as their help tells them; what is not given has its default."""

    capture: Sequence[str]
    merge: bool = False
    filter: str | None = None
    since: str | None = None
    """Seconds since the epoch."""
    until: str | None = None
    baseline_filter: str | None = None
    """The filter without times, which are those of the capture alone."""
    min_wait: float = DEFAULT_MIN_WAIT_MS
    output: Sequence[str] = ()
    format: str = TEXT
    quiet: int = 0
    names: Sequence[str | tuple[str, str]] = ()
    why: int | None = None
    stream: int | None = None
    calls: Sequence[str] = ()
    """Traces; an empty one asks how to make one."""
    baseline: Sequence[str] = ()
    baseline_map: Sequence[tuple[Endpoint, Endpoint]] = ()
    anonymize: bool = False
    payload: bool = False
    max_lost: float = 0.0
    exit_zero: bool = False
    key: bytes | None = None
    """The key that replaces addresses."""
    key_is_random: bool = False
    trace: _core.Calls | None = None
    named: Mapping[str, str] | None = None
    """Addresses, and what the outputs call them."""

    @property
    def in_range(self) -> "Chosen":
        """These options with the times in the filter of the capture. Raises `CaptureError`."""
        if self.since and self.until and float(self.since) >= float(self.until):
            raise CaptureError("--from must be before --to")
        bounds = [("time >=", self.since), ("time <", self.until)]
        parts = [f"{word} {seconds}" for word, seconds in bounds if seconds is not None]
        both = [*parts, f"({self.filter})"] if self.filter and parts else parts
        chosen = " and ".join(both) if parts else self.filter
        return self._replace(filter=chosen, baseline_filter=self.filter)

    @property
    def scan_options(self) -> ScanOptions:
        """The options of the scan; it keeps exchanges that an output holds."""
        printed = [] if self.format == TEXT else [f"result.{self.format}"]
        keeps = any(formats.holds_exchanges(path) for path in (*self.output, *printed))
        return ScanOptions(
            self.filter, self.min_wait, exchanges=keeps, names=self.named, calls=self.trace
        )


def is_plain(words: Sequence[str]) -> bool:
    """Does it name captures, and nothing else?"""
    return bool(words) and all(word.isascii() and word[:1] != "-" for word in words)
