"""Findings from a program's system calls: the lines of code behind stalls, the proof, the options.

Names of functions and files come from the trace: whoever prints them escapes them as all text.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from nagle_scan.report import sentences
from nagle_scan.words.wording import count, printable, sentence_start

if TYPE_CHECKING:
    from nagle_scan.report.view import View

MOST_PATTERNS, MOST_OPTIONS = 2, 3
"""Patterns of calls, and options, that a report describes."""
COUNTS = {1: "", 2: ", twice", 3: ", three times"}
QUICKACK = "it does not help: the late ACKs are those of the other end"
QUICKACK_OF_RECEIVER = "it lasts until the kernel takes it back: set it again after each read"
WRONG_LEVEL = "TCP_NODELAY has this number at the level IPPROTO_TCP, which was probably meant"
REMEDY = {
    "MSG_MORE": "Take MSG_MORE away from the last piece",
    "TCP_CORK": "Clear TCP_CORK after the last piece",
}
"""The cure where a call said that more was to come, and no more came."""
WHEN = {
    "late": "{} came before TCP_NODELAY was set",
    "taken back": "TCP_NODELAY was no longer in effect when {} came",
    "set": "TCP_NODELAY was in effect when what was held was written",
}
"""The timing of TCP_NODELAY where it did not prevent the stalls."""
Row = dict[str, Any]


def items(view: View, traced: str) -> Iterator[tuple[str, str]]:
    """The calls behind the stalls, what they prove, and where options were set.

    `traced` is what the engine found in the trace, as JSON.
    """
    calls: Row = json.loads(traced)
    yield "calls", " ".join(_calls(view, calls))
    if calls["proven"] or calls["refuted"]:
        yield "proven", " ".join(_proven(view, calls))
    whose = "traced" if calls["side"] == "both" else f"{calls['side']}'s"
    where = f"on the {whose} sockets"
    if calls["matched"] < _stalls(view, calls):
        where += " that the trace shows"
    when = WHEN.get(calls["nodelay"], "").format(_that(view, calls))
    said = option(calls["options"], calls["nodelay"], where, when, holds=bool(calls["patterns"]))
    if said and calls["of_other_side"] and not calls["patterns"]:
        said += " It is no cure for these stalls: the sockets that hold data back are not traced."
    yield "option", said


def _that(view: View, calls: Row) -> str:
    """The stalls for which that is true."""
    of_them, all_of_them = calls["nodelay_stalls"], _stalls(view, calls) + calls["corked"]
    return (
        "the stalls" if of_them == all_of_them else f"{of_them:,} of {count(all_of_them, 'stall')}"
    )


def _calls(view: View, calls: Row) -> Iterator[str]:
    for pattern in calls["patterns"][:MOST_PATTERNS]:
        yield _pattern(view, calls, pattern)
    if len(calls["patterns"]) > MOST_PATTERNS:
        yield "Others: see -o result.json."
    yield from look_up(calls["addr2line"])
    if calls["untraced"] and not calls["matched"]:
        yield f"The stalls are those of {_party(view, calls['untraced'])}, which is not traced:"
        yield "trace that; what is traced held nothing."
    elif calls["note"]:
        yield f"{sentence_start(calls['note'])}."
    elif not calls["patterns"]:
        bytes_of = f"{calls['bytes_in_trace']:,} of {calls['bytes_on_wire']:,} bytes"
        yield f"The calls of the {calls['side']} are known for {bytes_of}: no stall among them."


def _pattern(view: View, calls: Row, pattern: Row) -> str:
    name = _party(view, pattern)
    message = "reply" if pattern["sender"] == "server" else "request"
    first, held = pattern["first"], pattern["held"]
    before = f"{call(first)}, then " if first and pattern["calls"] > 1 else ""
    if pattern["more"]:
        times = f"{count(pattern['stalls'], 'time')} the kernel waited for the rest"
        more = f"{pattern['more']}, so that {times}, until the next ACK, or for 200 ms"
        return f"{name}: {before}{call(held)} with {more}. {REMEDY[pattern['more']]}."
    times = f"{pattern['stalls']:,} of {count(_stalls(view, calls), 'stall')}"
    if not before:
        after = f", after {call(first)}" if first and not pattern["is_read_between"] else ""
        return f"{name}: the held segment was written by {call(held)}{after}: {times}."
    read = "something read" if pattern["is_read_between"] else "nothing read"
    which = "two calls:" if pattern["calls"] == 2 else f"{pattern['calls']:,} calls, among them"
    is_only = sum(_party(view, other) == name for other in calls["patterns"]) == 1
    messages = f"sends each {message} in" if is_only else f"sent a {message} in"
    return f"{name} {messages} {which} {before}{call(held)}, {read} in between: {times}."


def _party(view: View, sender: Row) -> str:
    return sentences.party(view.core.connection(sender["connection"]), sender["sender"])


def _stalls(view: View, calls: Row) -> int:
    """All but those of an untraced sender."""
    return view.summary.stalls - int(calls["of_other_side"])


def call(row: Row) -> str:
    """`sendto 143 B in put() at put.c:9, called from serve() at split.c:2 (trace line 12)`."""
    where = f" in {function(row['function'])}" if row["function"] else ""
    where += f", called from {function(row['caller'])}" if "caller" in row else ""
    return f"{row['name']} {row['bytes']:,} B{where} ({line(row)})"


def line(row: Row) -> str:
    """Its place in the trace, with the file if there are several."""
    return f"trace line {row['line']}" + (f" of {printable(row['file'])}" if "file" in row else "")


def function(name: str) -> str:
    """`serve() at split.c:12`."""
    name, _, place = printable(name).partition(" (")
    return f"{name}()" + (f" at {place.removesuffix(')')}" if place else "")


def look_up(commands: Sequence[str]) -> Iterator[str]:
    """How to find the lines of code."""
    if commands:
        yield f"Lines of code: {'; '.join(commands)}."


def _proven(view: View, calls: Row) -> Iterator[str]:
    matched, stalls = calls["matched"] - calls["refuted"] - calls["corked"], _stalls(view, calls)
    if proven := calls["proven"]:
        least, most = f"{calls['hold_min_ms']:.1f}", f"{calls['hold_max_ms']:.1f}"
        held = f"for {least} ms" if least == most else f"for {least} to {most} ms"
        each = "It was" if stalls == proven == 1 else f"{proven:,} of {stalls:,} were"
        them = "it" if proven == 1 else "them"
        yield (
            f"{each} written before the ACK came and left only after it: the kernel held {them} "
            f"{held}."
        )
    if missing := stalls - matched:
        which = "other one" if missing == 1 else f"other {missing:,}"
        yield f"The trace does not show what wrote the {which}."
    if (other := calls["of_other_side"]) and matched:
        name = sentence_start(_party(view, calls["untraced"]))
        yield f"{name} holds data back, too ({count(other, 'stall')}): trace it as well."
    if refuted := calls["refuted"]:
        waits = "1 similar wait was" if refuted == 1 else f"{refuted:,} similar waits were"
        yield f"{waits} no stall: the program wrote after the ACK."
    if contradicted := calls["contradicted"]:
        yield (
            f"TCP_NODELAY was set when {contradicted:,} of them were written, and yet they were "
            "held: the two contradict. Another process may have taken it back: trace that, too."
        )


def option(
    options: Sequence[Row], nodelay: str, where: str, when: str = "", *, holds: bool = True
) -> str:
    """Where TCP_NODELAY and its like were set, and with what result.

    `holds`: the traced side is the one that holds data back.
    """
    unset = {_setting(row): row for row in options if not row["value"]}
    taken_back = {_setting(row) for row in options if row["taken_back"]}
    rows = [row for row in options if row["value"] or _setting(row) not in taken_back]
    said = [_option(row, unset.get(_setting(row)), holds=holds) for row in rows[:MOST_OPTIONS]]
    if (more := len(rows) - MOST_OPTIONS) > 0:
        said.append(f"{more} more: see --format json")
    text = ". ".join(said)
    tried = [row for row in options if row["name"] == "TCP_NODELAY" and row["value"]]
    if nodelay == "never" and tried:
        worked = any(not row["error"] for row in tried)
        text += f"; never {'on a connection that stalls' if worked else 'to a connection'}"
    elif nodelay == "never":
        text += _also(text, f"TCP_NODELAY was never set {where}")
    elif nodelay == "not seen":
        never = f"no call in the trace sets TCP_NODELAY {where}"
        text += _also(text, f"{never}; calls before it, or not traced, are unknown")
    elif when:
        text += _also(text, when)
    return f"{sentence_start(text)}." if text else ""


def _also(text: str, said: str) -> str:
    return f"; {said}" if text else said


def _setting(row: Row) -> tuple[str, int]:
    return row["name"], row["descriptor"]


def _option(row: Row, unset: Row | None, *, holds: bool) -> str:
    """`unset` is the call that took the option back, where it has such a row."""
    what = f" ({row['what']})" if row["what"] else ""
    verb = "went to" if row["error"] else "was set on"
    result = f": {row['error']}" if row["error"] else ""
    others = f" and {row['others']:,} more" if row["others"] else ""
    times = COUNTS.get(row["count"], f", {row['count']:,} times")
    where = f", in {function(row['function'])}" if row["function"] else ""
    said = f"{row['name']}={row['value']} {verb} descriptor {row['descriptor']}{others}{what}"
    said += f"{result}{times}{where}, {line(row)}"
    if row["taken_back"]:
        said += f", and taken back in {line(unset)}" if unset else ", and taken back later"
    if row["name"] == "TCP_QUICKACK":
        return f"{said}; {QUICKACK if holds else QUICKACK_OF_RECEIVER}"
    return said if row["name"].startswith("TCP_") else f"{said}: {WRONG_LEVEL}"
