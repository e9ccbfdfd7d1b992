"""The verdict in words, shared by all reports: what it covers, and what cannot be judged.

Plain text; nothing in it comes from a capture.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nagle_scan import _core
from nagle_scan.report import sentences
from nagle_scan.words import certainty
from nagle_scan.words.wording import count, percent, sentence_start

SIDES = "client", "server"
OTHER = {"client": "server", "server": "client"}
COULD_NOT = "nothing here could have stalled"
ACKED_AT_ONCE = (
    "the {receiver} delayed no ACK of a small segment, as Linux does on new connections and after "
    "pauses of 40 ms. Test with several requests on one connection, back to back."
)
NEVER_ACKED = "No ACK of a small segment of the {sender} was captured: none can have been released."
IN_PIECES = "{} sent {:,} and {:,} bytes one right after the other (frames {}, {})"
HELD_SOON = "without TCP_NODELAY, held as soon as {} delays an ACK"
NOTHING_HELD = (
    "Nagle's algorithm held nothing for 1 ms or more{unless}: if something takes longer here, "
    "TCP_NODELAY will not help."
)
UNLESS_SET_LATE = ", except perhaps until the program set TCP_NODELAY"
"""Said where it is in effect: a segment that the option released left without an ACK, as the
segments do that were never held."""
SHORT_UNSEEN = "Stalls under {least} ms would not show here{by_data}."
BY_DATA = {
    "client": ", nor ones of the server that ended with data instead of a bare ACK",
    "server": ", nor ones of the client that ended with data instead of a bare ACK",
    "both": "",
}
"""Stalls that show only on their sender's host, by where the capture was taken."""
ELSEWHERE = ", nor ones that ended with data instead of a bare ACK"
SHORT_HELD = "TCP_NODELAY may remove those; nothing longer waited for an ACK alone."
QUICK_HOLDS = (
    "Holds for one round trip would be too short here to be counted, though a large part of an "
    "exchange: --min-wait 0.2 searches for them."
)
QUICK_MS = 0.2, 1.0
"""A hold for one round trip is seen among the delays of clocks and programs above the first limit,
and counted by the engine above the second."""
FEW_ROUND_TRIPS = 4.0
"""A hold for one round trip is a large part of an exchange that takes no more than these."""
ONE_DIRECTION = "one_direction"
"""The reason that has words of its own where it is the only one."""
MOST_CHECKED = 1000
"""Connections that are checked, by their round trips, for holds too short to be counted."""
MOST_PLACED = 50
"""Connections that tell where the capture was taken: others seldom tell otherwise."""
DROPPED = {
    "left out by the filter": "no TCP packet matches the filter",
    "outside the times that were asked for": "no TCP packet is within --from and --to",
}
"""How the engine counts frames that options drop, and what it says where no others are left."""
SHORT_LISTED_MS = 1.0
"""The `--min-wait` that lists every hold that the engine counts."""


def in_one_line(summary: _core.Summary) -> str:
    """The verdict for a title, without a full stop."""
    if summary.stalls:
        said = _after_heading(summary.verdict, certainty.on_connections(summary))
    elif summary.verdict == "clean":
        said = f"no Nagle stall on {certainty.clean_of(summary)}{_could_not(summary)}"
    else:
        said = why_inconclusive(summary)
    return f"{heading(summary)}: {said}{mark(summary)}"


def _after_heading(verdict: str, said: str) -> str:
    """'Possible: 1 possible stall' says it twice."""
    return said.replace(" possible stall", " stall", 1) if verdict == "possible" else said


def mark(summary: _core.Summary) -> str:
    """Notices that stand beside the verdict in a title, which has no room for more."""
    is_cut = any(is_loss for _, _, is_loss in summary.warnings)
    cut = " (not all of the capture could be read)" if is_cut else ""
    return cut + (" (anonymized)" if summary.anonymized else "")


def heading(summary: _core.Summary) -> str:
    """The verdict above a report; stalls that cost hardly anything are minor."""
    return summary.verdict.capitalize() + (", minor" if sentences.is_minor(summary) else "")


def why_inconclusive(summary: _core.Summary) -> str:
    """The reason in a few words."""
    if summary.tcp_packets == 0:
        return _no_tcp(summary)
    if not summary.not_judged:
        return "no connection carries data"
    reasons = list(_reasons(summary))
    if len(reasons) == 1 and summary.not_judged == summary.connections:
        return reasons[0][1]
    return not_judged(summary).removesuffix(".")


def _no_tcp(summary: _core.Summary) -> str:
    warnings = " ".join(warning for _, warning, _ in summary.warnings)
    said = (said for dropped, said in DROPPED.items() if dropped in warnings)
    return next(said, "no usable TCP segment in the capture")


def of_connection(row: _core.ConnectionRow) -> str:
    """The verdict on one connection, without a full stop."""
    if row.stalls:
        return f"{row.verdict.capitalize()}: {_after_heading(row.verdict, certainty.in_words(row))}"
    if row.verdict == "clean":
        return "Clean: no Nagle stall"
    return "Inconclusive: this connection cannot be judged"


def clean(summary: _core.Summary, min_wait_ms: float) -> str:
    """The stalls that a clean capture is free of, in one sentence."""
    stall = f"Nagle or delayed-ACK stall of {min_wait_ms:g} ms or more"
    said = f"No {stall} in {certainty.clean_of(summary)}"
    if summary.short_holds:
        said += f"; {_short(summary, min_wait_ms)}"
        if min_wait_ms > SHORT_LISTED_MS:
            said += f" (--min-wait {SHORT_LISTED_MS:g} searches for them)"
    return f"{said}{_could_not(summary)}."


def _short(summary: _core.Summary, min_wait_ms: float) -> str:
    holds = f"{count(summary.short_holds, 'hold')} under {min_wait_ms:g} ms"
    if summary.short_ms <= 0:
        return f"there may be {holds}"
    share = percent(summary.short_ms / summary.short_latency_ms)
    return f"{holds} may make up {share} of the latency of their connections"


def clean_means(scan: _core.Scan, min_wait_ms: float) -> Iterator[tuple[str, str]]:
    """Heads and sentences below a clean verdict. 'Will not help' is said only
    where something could have stalled, and nothing can have been held."""
    summary = scan.summary()
    if summary.short_holds:
        yield "fix", SHORT_HELD
        return
    untested = _untested(summary)
    splits = scan.splits()
    if splits:
        yield "fix", _in_pieces(scan, splits)
    elif untested:
        acked = [side for side in untested if summary.acked[SIDES.index(side)]]
        never = [NEVER_ACKED.format(sender=side) for side in untested if side not in acked]
        yield "test", " ".join([*never, *_acked_at_once(acked)])
    if summary.unproven:
        yield "limit", _unseen([*_first_rows(scan, MOST_PLACED)], min_wait_ms)
        return
    unless = ""
    for row in _first_rows(scan, MOST_CHECKED):
        if min_wait_ms > QUICK_MS[0] and _may_be_quick(row):
            yield "limit", QUICK_HOLDS
            return
        if {row.client_nagle, row.server_nagle} & {"off", "switched"}:
            unless = UNLESS_SET_LATE
    if not (splits or untested or summary.not_judged):
        yield "fix", NOTHING_HELD.format(unless=unless)


def _first_rows(scan: _core.Scan, most: int) -> Iterator[_core.ConnectionRow]:
    connections = range(min(scan.summary().connections, most))
    return filter(None, map(scan.connection, connections))


def _in_pieces(
    scan: _core.Scan, splits: Sequence[tuple[int, str, Sequence[int], Sequence[int]]]
) -> str:
    pieces = [
        IN_PIECES.format(sentences.party(scan.connection(number), sender), *lens, *frames)
        for number, sender, lens, frames in splits
    ]
    receiver = f"the {OTHER[splits[0][1]]}" if len(splits) == 1 else "the other end"
    return f"{', and '.join(pieces)}: {HELD_SOON.format(receiver)}."


def _acked_at_once(untested: Sequence[str]) -> Iterator[str]:
    if len(untested) > 1:
        yield sentence_start(ACKED_AT_ONCE.format(receiver="receiver"))
        return
    for sender in untested:
        why = ACKED_AT_ONCE.format(receiver=OTHER[sender])
        yield f"Nothing that the {sender} sent could have stalled: {why}"


def _unseen(rows: Sequence[_core.ConnectionRow], min_wait_ms: float) -> str:
    """The stalls that would not show, by where the capture was taken."""
    places = {row.capture_point for row in rows if not sentences.is_within_host(row)}
    by_data = "".join(BY_DATA.get(place, ELSEWHERE) for place in places)
    by_data = ELSEWHERE if len(places) > 1 else by_data
    return SHORT_UNSEEN.format(least=f"{min_wait_ms:g}", by_data=by_data)


def _untested(summary: _core.Summary) -> list[str]:
    """Sides that sent data and could not have stalled, though TCP_NODELAY may not be in effect."""
    each = zip(SIDES, summary.opportunities, summary.undecided, strict=True)
    return [side for side, could, undecided in each if undecided and not could]


def _could_not(summary: _core.Summary) -> str:
    """Said of a clean capture, in its title too."""
    could = any(summary.opportunities) or summary.short_holds
    is_untested = _untested(summary) and not could
    return f", but {COULD_NOT}" if is_untested else ""


def _may_be_quick(row: _core.ConnectionRow) -> bool:
    """May each exchange have waited for one round trip, which is too short to be counted?"""
    rtt_ms, mean_ms = row.rtt_ms or 0.0, row.mean_latency_ms
    is_quick = QUICK_MS[0] <= rtt_ms < QUICK_MS[1]
    is_off = row.client_nagle == row.server_nagle == "off"
    return is_quick and not is_off and mean_ms is not None and mean_ms <= FEW_ROUND_TRIPS * rtt_ms


def not_judged(summary: _core.Summary) -> str:
    """How many connections cannot be judged, and why; empty if all can."""
    if not summary.not_judged:
        return ""
    reasons = list(_reasons(summary))
    # With several reasons, each gets its number.
    why = ", ".join(f"{why} ({number:,})" for number, why, _ in reasons)
    if len(reasons) == 1:
        why = reasons[0][1]
    which = f"{summary.not_judged:,} of {count(summary.connections, 'connection')}"
    if summary.connections == 1:
        which = "The connection"
    return f"{which} cannot be judged: {why}."


def _reasons(summary: _core.Summary) -> Iterator[tuple[int, str, str]]:
    """How many connections cannot be judged for each reason, its sentence, and the remedy."""
    by = summary.not_judged_by
    return ((by[name], why, remedy) for name, why, remedy in _core.reasons() if name in by)


def cannot_tell(summary: _core.Summary) -> str:
    """Why a capture gives no verdict, and what would help."""
    return f"{why_not(summary)} {capture_instead(summary)}".rstrip()


def why_not(summary: _core.Summary) -> str:
    """Why a capture gives no verdict, beginning in lower case."""
    if summary.tcp_packets == 0:
        return f"{_no_tcp(summary)}."
    if not summary.not_judged:
        return "no connection in the capture carries data."
    if summary.not_judged_by.keys() == {ONE_DIRECTION} and not summary.clean:
        return "only one direction was captured; stalls show in the other's ACKs."
    return not_judged(summary)


def capture_instead(summary: _core.Summary) -> str:
    """Advice on the capture to make for a verdict; empty without TCP data."""
    if summary.not_judged_by.keys() == {ONE_DIRECTION}:
        how = "no 'src' or 'dst' in the tcpdump filter; both links of a mirror port"
        return f"Capture both directions ({how})."
    return " ".join(remedy for _, _, remedy in _reasons(summary))
