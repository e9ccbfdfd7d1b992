"""Parsers of option values; errors in one line."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable

from nagle_scan.report import formats
from nagle_scan.report.formats import STANDARD_OUTPUT, SUFFIXES
from nagle_scan.result.options import MAX_MIN_WAIT_MS
from nagle_scan.words.wording import printable

DURATION = r"(\d{1,9}(?:\.\d{1,9})?) ?(ms|s|min)"
DAYS = r"([1-9]\d{0,5}) ?d"
STREAM = r"([0-9a-f]+)/(\d{1,18})"
MOST_DIGITS = 18
"""Numbers of frames and connections have 64 bits in the engine."""
UNIT_MS = {"ms": 1.0, "s": 1000.0, "min": 60_000.0}


def output(path: str) -> str:
    """A file, with a suffix that selects the format, a folder, or standard output."""
    if path == STANDARD_OUTPUT or formats.is_folder(path):
        return utf8(path)
    if formats.suffix(path) not in SUFFIXES:
        from nagle_scan.command.parser import did_you_mean

        meant = did_you_mean(formats.suffix(path), SUFFIXES)
        known = ", ".join(SUFFIXES)
        raise argparse.ArgumentTypeError(
            f"'{printable(path)}' has no known suffix{meant} ({known})"
        )
    return utf8(path)


def utf8(argument: str) -> str:
    """The engine takes UTF-8 only; Python passes other bytes as lone surrogates."""
    try:
        argument.encode()
    except UnicodeEncodeError:
        raise argparse.ArgumentTypeError(
            f"'{printable(argument)}' is not UTF-8: take another name, or read a capture from '-'"
        ) from None
    return argument


def number(expected: str, least: int = 0, most: int = 10**MOST_DIGITS) -> Callable[[str], int]:
    """A parser of whole numbers, which says what was `expected`."""

    def parsed(value: str) -> int:
        is_number = value.isascii() and value.isdigit() and len(value) <= MOST_DIGITS
        if not (is_number and least <= int(value) <= most):
            raise argparse.ArgumentTypeError(f"expected {expected}")
        return int(value)

    return parsed


def seconds(value: str) -> str:
    """A time as editcap takes it, in seconds since the epoch: local without a zone."""
    if re.fullmatch(r"\d{1,10}(\.\d{1,9})?", value):
        return value
    from datetime import datetime

    # Python's times end at the microsecond.
    match = re.fullmatch(r"(.+?)(?:\.(\d{1,9}))?(Z|[+-]\d\d:?\d\d)?", value)
    try:
        whole = (
            int(datetime.fromisoformat(match[1] + (match[3] or "")).timestamp()) if match else -1
        )
    except (ValueError, OverflowError, OSError):
        whole = -1
    if whole < 0:
        raise argparse.ArgumentTypeError(
            "expected a date and time, '2026-11-23 12:00:00.5', or seconds since 1970"
        )
    return f"{whole}.{match[2]}" if match and match[2] else str(whole)


def milliseconds(value: str) -> float:
    """A wait, at most an hour."""
    try:
        milliseconds = float(value)
    except ValueError:
        milliseconds = -1.0
    if not 0 < milliseconds <= MAX_MIN_WAIT_MS:
        raise argparse.ArgumentTypeError("expected milliseconds, more than 0")
    return milliseconds


def pair(value: str) -> tuple[tuple[str, int], tuple[str, int]]:
    """A server before and after: OLD=NEW, each an address and a port."""
    from nagle_scan import moves

    old, equals, new = value.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError("expected OLD=NEW: 10.0.0.5:8901=10.0.0.7:8902")
    try:
        return moves.moved({old: new})[0]
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def names(value: str) -> str | tuple[str, str]:
    """A file of names, or an address and what to call it: ADDRESS=NAME."""
    from nagle_scan.api import names

    if not names.is_pair(value):
        return utf8(value)
    try:
        return names.parsed(value)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def duration(value: str) -> float:
    """A time with its unit, in ms."""
    match = _matched(DURATION, value, "a time with its unit: 500ms, 1s or 2min")
    return float(match[1]) * UNIT_MS[match[2]]


def days(value: str) -> int:
    """Whole days: 90d."""
    return int(_matched(DAYS, value, "a number of days: 90d")[1])


def stream(value: str) -> tuple[str, int]:
    """A connection of a fleet: SET/STREAM."""
    match = _matched(STREAM, value, "SET/STREAM, as in the page: 5c0f3a9be1d2/7")
    return match[1], int(match[2])


def _matched(pattern: str, value: str, expected: str) -> re.Match[str]:
    if match := re.fullmatch(pattern, value):
        return match
    raise argparse.ArgumentTypeError(f"expected {expected}")
