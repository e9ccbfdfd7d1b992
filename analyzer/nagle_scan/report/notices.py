"""Facts about the capture that a reader must know before trusting a report."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from nagle_scan.result.options import DEFAULT_MIN_WAIT_MS
from nagle_scan.words.wording import count, printable

if TYPE_CHECKING:
    from nagle_scan.result import Result


class Notice(NamedTuple):
    """A fact about the capture, without a full stop."""

    text: str
    is_urgent: bool = False
    """Must it be known before the verdict?"""


def anonymized(result: "Result") -> str:
    """How its addresses were replaced, without a full stop."""
    key = "random key: addresses differ between runs" if result.key_is_random else "keyed"
    return f"addresses anonymized: {result.core.summary().anonymized}, {key}"


def of(result: "Result") -> Iterator[Notice]:
    """Gaps in the capture, and changes that were made to it."""
    summary, names = result.core.summary(), result.captures
    if summary.anonymized:
        yield Notice(anonymized(result))
    for path, warning, is_loss in summary.warnings:
        yield Notice((f"{printable(path)}: " if len(names) > 1 else "") + warning, is_loss)
    if summary.tcp_packets and summary.clock_ms >= DEFAULT_MIN_WAIT_MS:
        # Its steps hide the shortest waits that are listed by default.
        times, there = "its timestamps", ""
        if summary.clocks_differ:
            times, there = "timestamps of some captures", " there"
        yield Notice(
            f"{times} come in steps of {summary.clock_ms:g} ms or more: shorter waits cannot "
            f"be seen{there}, and holds cannot be proven",
            is_urgent=True,
        )
    if summary.without_handshake:
        their = "its" if summary.without_handshake == 1 else "their"
        guess = "; which end is the server is a guess by port" if summary.guessed_servers else ""
        yield Notice(
            f"{count(summary.without_handshake, 'connection')} without {their} handshake: "
            f"round trips, windows and MSS are estimates{guess}"
        )
    if summary.connections_not_listed:
        yield Notice(
            f"{count(summary.connections_not_listed, 'connection')} without data (port scan, SYN "
            "flood?), counted but not listed"
        )
    ends = result.core.ends()
    if copied := summary.copied - (ends.shared if ends else 0):
        yield Notice(
            f"{count(copied, 'connection')} captured again elsewhere on the way (a bridge "
            "and its ports, before and behind NAT): judged and counted once"
        )
    if summary.waits_not_listed:
        waits = count(summary.waits_not_listed, "wait")
        yield Notice(f"{waits} without a stall counted but not listed")


def left_out_of_json(result: "Result") -> Iterator[str]:
    """A notice on rows that JSON does not list, and on the files that do."""
    nouns = ("connection", "server", "stall", "other wait")
    counts = zip(nouns, result.core.json_leaves_out(), strict=True)
    left_out = {f".{noun.split()[-1]}s": count(number, noun) for noun, number in counts if number}
    if left_out:
        stalls = ", and -o stalls.csv all stalls of one capture" if ".stalls" in left_out else ""
        yield (
            f"counted but not listed in the JSON: {', '.join(left_out.values())}; "
            f"nagle_scan.scan() has all in {', '.join(left_out)}{stalls}"
        )
