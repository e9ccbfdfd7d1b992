"""What the system calls of a program say of the stalls: the line of code, the proof, the options.

Names of functions come from the trace: whoever prints them escapes them as all text.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from nagle_scan.words.wording import count, printable, sentence_start

if TYPE_CHECKING:
    from nagle_scan import _core
    from nagle_scan.report.view import View

MOST_PATTERNS, MOST_OPTIONS = 2, 3
COUNTS = {1: "", 2: ", twice", 3: ", three times"}
QUICKACK = "it does not help: the late ACKs are those of the other end"
Row = dict[str, Any]


def items(view: View, told: str) -> Iterator[tuple[str, str]]:
    """The calls behind the stalls, what they prove, and where options were set; `told` as JSON."""
    calls: Row = json.loads(told)
    yield "calls", " ".join(_calls(view, calls))
    if calls["proven"] or calls["refuted"]:
        yield "proven", " ".join(_proven(view, calls))
    yield "option", option(calls["options"], calls["nodelay"])


def _calls(view: View, calls: Row) -> Iterator[str]:
    for pattern in calls["patterns"][:MOST_PATTERNS]:
        yield _pattern(view, calls, pattern)
    if len(calls["patterns"]) > MOST_PATTERNS:
        yield "Others: see -o result.json."
    if calls["note"]:
        yield f"{sentence_start(calls['note'])}."
    elif not calls["patterns"]:
        bytes_of = f"{calls['bytes_in_trace']:,} of {calls['bytes_on_wire']:,} bytes"
        yield f"The calls of the {calls['side']} are known for {bytes_of}: none was held."


def _pattern(view: View, calls: Row, pattern: Row) -> str:
    row = view.core.connection(pattern["connection"])
    name = _party(row, pattern["sender"])
    message = "reply" if pattern["sender"] == "server" else "request"
    first, held = pattern["first"], pattern["held"]
    times = f"{pattern['stalls']:,} of {count(_stalls(view, calls), 'stall')}"
    if first is None or first["line"] == held["line"]:
        return f"{name} sent what was held by {call(held)}: {times}."
    read = "something read" if pattern["is_read_between"] else "nothing read"
    both = f"{call(first)}, then {call(held)}"
    return f"{name} sends each {message} in two calls: {both}, {read} in between: {times}."


def _stalls(view: View, calls: Row) -> int:
    """All but those whose sender was not traced."""
    return view.summary.stalls - int(calls["of_other_side"])


def _party(row: _core.ConnectionRow | None, sender: str) -> str:
    if row is None:
        return f"the {sender}"
    return row.server if sender == "server" else f"{row.client} (client of {row.server})"


def call(told: Row, with_line: bool = True) -> str:
    """`sendto 143 B in serve() (line 12)`."""
    where = f" in {function(told['function'])}" if told["function"] else ""
    line = f" (line {told['line']})" if with_line else ""
    return f"{told['name']} {told['bytes']:,} B{where}{line}"


def function(name: str) -> str:
    """As it is called; a place in a file stays behind it."""
    name, _, place = printable(name).partition(" (")
    return f"{name}()" + (f" ({place}" if place else "")


def _proven(view: View, calls: Row) -> Iterator[str]:
    matched, stalls = calls["matched"] - calls["refuted"], _stalls(view, calls)
    if proven := calls["proven"]:
        least, most = f"{calls['hold_min_ms']:.1f}", f"{calls['hold_max_ms']:.1f}"
        held = f"for {least} ms" if least == most else f"{least} to {most} ms"
        each = "It was" if stalls == proven == 1 else f"{proven:,} of {stalls:,} were"
        yield f"{each} written before the ACK came and left only then: held {held} by the kernel."
    if stalls > matched:
        yield f"The trace does not show what wrote the other {stalls - matched:,}."
    if (other := calls["of_other_side"]) and matched:
        side = "client" if calls["side"] == "server" else "server"
        are = "1 more is" if other == 1 else f"{other:,} more are"
        yield f"{are} the {side}'s: trace it, too."
    if refuted := calls["refuted"]:
        waits = "1 other wait looked" if refuted == 1 else f"{refuted:,} other waits looked"
        yield f"{waits} the same, but the program wrote only when the ACK had come: no stall."
    if contradicted := calls["contradicted"]:
        yield (
            f"TCP_NODELAY was set when {contradicted:,} of them were written, and yet they were "
            "held: the two contradict. Another process may have taken it back (strace -f)."
        )


def option(options: Sequence[Row], nodelay: str, stalled: str = "what stalls") -> str:
    """Where TCP_NODELAY and its like were set, and with what result."""
    said = [_option(row) for row in options[:MOST_OPTIONS]]
    if more := len(options) - MOST_OPTIONS:
        said += [f"{more} more: see -o result.json"] if more > 0 else []
    text = ". ".join(said)
    if nodelay == "never":
        worked = any(_is_nodelay(row) and not row["error"] for row in options)
        never = "never to a connection" + (" that stalls" if worked else "")
        tried = any(map(_is_nodelay, options))
        text += f"; {never}" if tried else _also(text, "TCP_NODELAY was never set")
    elif nodelay == "not seen":
        never = f"no call in the trace sets TCP_NODELAY on {stalled or 'these sockets'}"
        unknown = "; what it leaves out, or what was before it, is not known" if stalled else ""
        text += _also(text, never + unknown)
    elif nodelay == "set" and not any(row["taken_back"] for row in options):
        text += _also(text, "what stalled was written before that, or on another connection")
    return f"{sentence_start(text)}." if text else ""


def _is_nodelay(row: Row) -> bool:
    return row["name"] == "TCP_NODELAY" and bool(row["value"])


def _also(text: str, said: str) -> str:
    return f"; {said}" if text else said


def _option(row: Row) -> str:
    what = f" ({row['what']})" if row["what"] else ""
    verb = "went to" if row["error"] else "was set on"
    result = f": {row['error']}" if row["error"] else ""
    times = COUNTS.get(row["count"], f", {row['count']:,} times")
    where = f", in {function(row['function'])}" if row["function"] else ""
    said = f"{row['name']}={row['value']} {verb} descriptor {row['descriptor']}{what}{result}"
    said += f"{times}{where}, line {row['line']}"
    if row["taken_back"]:
        said += ", and taken back later"
    return f"{said}; {QUICKACK}" if row["name"] == "TCP_QUICKACK" else said
