"""A trace without a capture: what a program writes, and what only packets can prove."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nagle_scan.report import calls, text
from nagle_scan.system.terminal import Style
from nagle_scan.words.wording import count, printable, sentence_start

Row = dict[str, Any]
WHAT = {"tcp": "", "socket": " (perhaps TCP)", "unknown": " (perhaps TCP)"}
FIX = (
    "Send the whole message in one write (one buffer, writev(), MSG_MORE or a buffered stream that "
    "is flushed once), or set TCP_NODELAY on this very socket."
)
UNCORK = "{}, or the kernel waits for more: until the next ACK, or for 200 ms."
BLOCKED = (
    "The write of descriptor {descriptor} in trace line {line} does not return: the other end does "
    "not read, so that its window is full. That is no matter of Nagle's algorithm."
)
PROVE = (
    "{why}: tcpdump -i any -s 256 -w traffic.pcap{port}, beside "
    "the strace that `nagle-scan --calls` prints; then nagle-scan traffic.pcap --calls calls.txt."
)
NO_PATTERN = (
    "As far as the trace shows, no socket has the pattern that stalls: two writes that leave "
    "apart, and then a read."
)
ALIKE = "A busy program or a far host would look the same: only packets tell."


def anonymize(alone: Row) -> None:
    """Takes addresses away, and names of functions and files: they may tell whose program it is."""
    for pattern in alone["patterns"]:
        pattern["local"] = pattern["remote"] = None
        for call in pattern["first"], pattern["last"]:
            call["function"] = ""
            call.pop("file", None)
            call.pop("caller", None)
    for option in alone["options"]:
        option["function"] = ""
    alone["addr2line"] = []


def render(alone: Row, names: str, style: Style, *, hides: bool) -> str:
    """The report; with `hides` without addresses."""
    facts = ", ".join(
        [count(alone["lines"], "line"), count(alone["connections"], "connection"), "no capture"]
    )
    title = text.title(f"{printable(names)}: {facts}", style)
    items = [item for item in _items(alone, hides=hides) if item[1]]
    return "\n".join([title, "", *text.items(items, style)])


def _items(alone: Row, *, hides: bool) -> Iterator[tuple[str, str]]:
    patterns = alone["patterns"]
    note = f"{sentence_start(alone['note'])}." if alone["note"] else ""
    if alone["blocked"]:
        yield "WAIT", BLOCKED.format(**alone["blocked"])
    elif not patterns:
        yield "PATTERN", note or NO_PATTERN
    for pattern in patterns[: calls.MOST_PATTERNS]:
        yield "PATTERN", f"{_pattern(pattern, hides=hides)} {note}".rstrip()
        yield "WAIT", _wait(pattern)
    corked = next((pattern["more"] for pattern in patterns if pattern["more"]), "")
    harmful = [pattern for pattern in patterns if pattern["more"] or not pattern["nodelay"]]
    yield "OPTION", calls.option(alone["options"], alone["nodelay"], "on these sockets")
    if corked:
        yield "FIX", UNCORK.format(calls.REMEDY[corked])
    elif harmful:
        yield "FIX", FIX
    port = next((pattern["port"] for pattern in patterns if pattern["port"]), None)
    why = "A capture of the same minutes proves it" if harmful else "To find out, capture as well"
    prove = PROVE.format(why=why, port=f" tcp port {port}" if port else "")
    yield "NEXT", " ".join([prove, *calls.look_up(alone["addr2line"])])


def _pattern(pattern: Row, *, hides: bool) -> str:
    what = WHAT[pattern["protocol"]]
    if pattern["local"] and pattern["remote"] and not pattern["is_whole"]:
        what = f" ({pattern['local']} to {pattern['remote']})"
    elif pattern["is_server"] and pattern["local"]:
        what = f" (accepted at {pattern['local']})"
    elif pattern["is_server"] and pattern["remote"]:
        what = f" (accepted from {pattern['remote']})"
    elif pattern["remote"]:
        what = f" (connected to {pattern['remote']})"
    if hides:
        what = ""
    message = "each reply" if pattern["is_server"] else "a message"
    first, last = calls.call(pattern["first"]), calls.call(pattern["last"])
    both = last if pattern["first"]["line"] == pattern["last"]["line"] else f"{first}, then {last}"
    times = f"{pattern['count']:,} of {count(pattern['turns'], 'time')}"
    if pattern["more"]:
        return (
            f"Descriptor {pattern['descriptor']}{what}: the program writes {message} by {both}, "
            f"the last with {pattern['more']}, which says that more is to come, and then reads: "
            f"{times}."
        )
    option = "without TCP_NODELAY"
    if pattern["nodelay"]:
        option = "with TCP_NODELAY, so Nagle should not hold it"
    elif not pattern["is_whole"]:
        option += ", unless it was set before the trace began"
    return (
        f"Descriptor {pattern['descriptor']}{what}: the program writes {message} in several calls, "
        f"{both}, and then reads, {option}: {times}."
    )


def _wait(pattern: Row) -> str:
    if pattern["wait_ms"] is None:
        return ""
    said = (
        f"Last write to next data read: {pattern['wait_ms']:.1f} ms "
        f"(median of {pattern['count']:,})"
    )
    for kind, name, low, high in (("linux", "Linux", 35, 60), ("windows", "Windows", 150, 250)):
        may_wait = pattern["more"] or not pattern["nodelay"]
        if 2 * pattern[kind] >= pattern["count"] and may_wait:
            waits = f"{name} delays an ACK"
            if pattern["more"] and kind == "windows":
                waits = "Linux waits for more"
            took = f"{pattern[kind]:,} took {low} to {high} ms"
            return f"{said}; {took}, as long as {waits}. {ALIKE}"
    return f"{said}."
