"""The options of a scan that the engine takes, declared and checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, SupportsFloat, SupportsIndex

from nagle_scan import _core

DEFAULT_MIN_WAIT_MS = 10.0
"""Shorter waits are not reported: quick ACKs take 0.1 ms, the shortest timers 14 ms."""
MAX_MIN_WAIT_MS = 3_600_000.0
MAX_THREADS = 1024
"""More than any machine has; the engine never starts more than pay."""


class ScanOptions(NamedTuple):
    """How captures are scanned; `analyzer/src/python/options.rs` takes each field by its name."""

    filter: str | None = None
    """A BPF expression that packets match."""
    min_wait_ms: float = DEFAULT_MIN_WAIT_MS
    """The shortest wait that is listed."""
    threads: int | None = None
    """One per processor by default; results do not depend on it."""
    exchanges: bool | None = False
    """Keep each exchange. `None`, if the captures are small: the engine takes no `None`."""
    names: Mapping[str, str] | None = None
    """Words for addresses."""
    calls: _core.Calls | None = None
    """System calls of a program of the capture."""
    labels: Mapping[str, str] | None = None
    """Names that outputs print for the captures, by path."""
    hourly: bool = False
    """Count exchanges by hour and latency."""

    def check(self) -> None:
        """Raises `TypeError` and `ValueError` for values that users get wrong."""
        check_kinds(KINDS, self._asdict())
        if not 0 < self.min_wait_ms <= MAX_MIN_WAIT_MS:
            most = "more than 0 and at most an hour"
            raise ValueError(f"min_wait_ms must be {most}: {self.min_wait_ms}")
        check_number("threads", self.threads)


KINDS: dict[str, tuple[Any, str]] = {
    "filter": (str | None, "a BPF expression (str)"),
    "min_wait_ms": (SupportsFloat, "a number"),
    "threads": (SupportsIndex | None, "an integer"),
    "names": (Mapping | None, "a mapping of addresses to names"),
}
"""The types of options, for `isinstance` and in words."""


def check_kinds(kinds: Mapping[str, tuple[Any, str]], given: Mapping[str, object]) -> None:
    """Raises `TypeError` that says what was expected: the engine's says less."""
    for name, (kind, expected) in kinds.items():
        if not isinstance(given[name], kind):
            raise TypeError(f"{name} is {expected}, not {type(given[name]).__name__}")


def check_number(name: str, number: int | None) -> None:
    """Checks a number of threads or processes, if there is one. Raises `ValueError`."""
    if number is not None and not 0 < number <= MAX_THREADS:
        raise ValueError(f"{name} must be 1 to {MAX_THREADS}: {number}")
