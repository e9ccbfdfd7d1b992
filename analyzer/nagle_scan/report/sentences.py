"""Sentences about a scan, shared by all reports.

Plain text; addresses come from the engine and hold nothing that needs escaping.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nagle_scan import _core
from nagle_scan.words import causes, certainty
from nagle_scan.words.wording import count, duration, percent, sentence_start, times

WITHOUT_STALLS = "without stalls"
"""A prediction: the program may have written a held segment late, and a fix may save more."""
LEAST_GAIN = 0.05
"""A smaller share of the latency is not worth reporting."""
LEAST_MS = 0.001
"""A shorter rest is one that the capture does not show: coarse or different clocks."""
MOST_HANDSHAKES = 10_000
"""Connections with handshakes that are read for a median."""
STREAM = "a stream of messages, not requests and replies: no latency tells what that costs"


def cost(
    summary: _core.Summary,
    servers: Sequence[_core.ServerRow],
    *,
    elsewhere: bool,
    at_most: str,
) -> str:
    """The share of the latency that stalls are, and an exchange with and without them.

    It covers the stalls that count; a second sentence counts possible ones beside them. `servers`
    are those with stalls that count. `elsewhere`: the capture was not taken at the client.
    `at_most`: words for holds of which the program may have been a part.
    """
    counted, more = _cost(summary, servers, elsewhere, at_most), certainty.possible(summary)
    if more is None:
        return counted
    possible = count(more.stalls, "possible stall")
    return f"{counted} {possible} ({duration(more.lost_ms)}) not counted."


def _part(summary: _core.Summary) -> float | None:
    """The share of the latency that the stalls are; `None` for a stream of messages."""
    exchanges, whole_ms = summary.cost_exchanges, summary.cost_latency_ms
    # The 'latency' of a stream of messages is meaningless.
    is_stream = certainty.is_stream(exchanges, certainty.counted_stalls(summary))
    if exchanges == 0 or whole_ms <= 0 or is_stream:
        return None
    return min(summary.cost_stalled_ms / whole_ms, 1.0)


def is_minor(summary: _core.Summary) -> bool:
    """Do the stalls that count take hardly any of the latency?"""
    part = _part(summary) if summary.verdict == "stalls" else None
    return part is not None and part < LEAST_GAIN


def _cost(
    summary: _core.Summary, servers: Sequence[_core.ServerRow], elsewhere: bool, at_most: str
) -> str:
    part, stalled = _part(summary), duration(certainty.counted_ms(summary))
    if part is None:
        return f"{stalled} in all; {STREAM}."
    if part <= 0:
        return f"{stalled} in all, outside the exchanges: their latency stays as it is."
    exchanges, whole_ms = summary.cost_exchanges, summary.cost_latency_ms
    lost_ms = part * whole_ms
    bound = "nearly all" if at_most and percent(part).startswith("over") else percent(part)
    share = f"{sentence_start(at_most + bound)} of the latency on {_affected(summary)}"
    share += _over_all(exchanges, servers, percent(part))
    if part < LEAST_GAIN:
        median = _median_cost(summary, servers)
        return f"{share}: {duration(lost_ms)} of {duration(whole_ms)}.{median}"
    seen = " (as seen at the capture point)" if elsewhere else ""
    now, then_ms = duration(whole_ms / exchanges), (whole_ms - lost_ms) / exchanges
    then = f"about {duration(then_ms)}" if then_ms >= LEAST_MS else "hardly any time"
    takes = f"its only exchange took {now}{seen}"
    if exchanges > 1:
        takes = f"an exchange takes {now} on average{seen}"
    return f"{share}: {takes}, {then} {_without(summary)}."


def _affected(summary: _core.Summary) -> str:
    if summary.affected_connections == summary.connections:
        return certainty.all_of(summary.connections)
    affected = f"{summary.affected_connections:,} affected of {summary.connections:,} connections"
    return f"the {affected}"


def _without(summary: _core.Summary) -> str:
    if certainty.is_only_possible(summary):
        return "without these stalls, if they are stalls"
    return "without the stalls"


def _over_all(affected: int, servers: Sequence[_core.ServerRow], part: str) -> str:
    """The share over all exchanges of these servers, if most are unaffected and it differs."""
    exchanges = sum(server.exchanges for server in servers)
    whole_ms = sum(server.latency_sum_ms for server in servers)
    if exchanges < 2 * affected or whole_ms <= 0:
        return ""
    lost_ms = min(sum(server.latency_stalled_ms for server in servers), whole_ms)
    owner = "this server's" if len(servers) == 1 else "these servers'"
    over_all = percent(lost_ms / whole_ms)
    if over_all == part:
        return ""
    return f" ({over_all} if {owner} other connections count, too)"


def _median_cost(summary: _core.Summary, servers: Sequence[_core.ServerRow]) -> str:
    """The medians of the worst server, where long pauses skew the means; or nothing."""
    if not servers or not servers[0].latency_ms:
        return ""
    now_ms, then_ms = servers[0].latency_ms[0], servers[0].predicted_ms[0]
    if now_ms - then_ms < LEAST_GAIN * now_ms or duration(now_ms) == duration(then_ms):
        return ""
    return (
        f" The median exchange takes {duration(now_ms)}, {duration(then_ms)} {_without(summary)}."
    )


def predicted_ms(row: _core.ConnectionRow) -> float | None:
    """The mean latency of a connection without its stalls; `None` for a stream: its messages
    would come no sooner."""
    is_stream = certainty.is_stream(row.exchanges, certainty.counted_stalls(row))
    return None if is_stream and row.stalls else row.predicted_latency_ms


def rest(
    summary: _core.Summary,
    others: Sequence[_core.CauseRow],
    meaning: Callable[[_core.CauseRow], str],
    server_of: Callable[[_core.CauseRow], str],
    told_twice_ms: Callable[[_core.CauseRow], float],
) -> str:
    """The largest other cause, if it took more than the stalls; empty if none did.

    `server_of` names the server of its longest wait, where there are several; `told_twice_ms` is
    the time that hosts wait on both sides, as relays do. A client that pauses
    behind a message without an answer may have waited for one: that is told if nothing else is.
    """
    busy = list(filter(_is_busy, others)) or list(filter(_is_pause_in_request, others))
    worst = max(busy, key=lambda row: row.total_ms, default=None)
    stalled_ms = certainty.counted_ms(summary) if summary.stalls else 0.0
    if worst is None or worst.total_ms < stalled_ms:
        return ""
    kind = "other wait" if summary.stalls else "wait"
    least = "at least " if summary.waits_not_listed else ""
    twice_ms = told_twice_ms(worst)
    total = duration(max(worst.total_ms - twice_ms, worst.longest_ms))
    waits = sentence_start(f"{least}{total} in {count(worst.waits, kind)}")
    waits += ", once where a host waits on both sides" if twice_ms else ""
    longest = f"longest {duration(worst.longest_ms)}" if worst.waits > 1 else ""
    server = server_of(worst)
    about = ", ".join(filter(None, (longest, f"at {server}" if server else "")))
    return f"{waits}{f' ({about})' if about else ''}: {meaning(worst)}."


def _is_busy(row: _core.CauseRow) -> bool:
    is_harmless = (row.cause, row.sender) in causes.HARMLESS and row.turn != "leave"
    return row.turn != "idle" and not is_harmless


def _is_pause_in_request(row: _core.CauseRow) -> bool:
    return (row.cause, row.sender) == causes.IDLE and row.turn == "midway"


def is_in_vain(row: _core.CauseRow) -> bool:
    """Are these debts that nobody had paid at the end?"""
    return row.cause == "unanswered" or row.turn == "open"


def in_vain(
    others: Sequence[_core.CauseRow],
    longest_of: Callable[[_core.CauseRow], _core.WaitRow | None],
    meaning: Callable[[_core.CauseRow], str],
) -> str:
    """Debts when connections or the capture ended; empty if there were none."""
    rows = list(filter(is_in_vain, others))
    if not rows:
        return ""
    row = max(rows, key=lambda row: (row.turn != "idle", row.longest_ms))
    # A spare connection does not hang, nor one that was closed.
    alike = [other for other in rows if other.turn == row.turn]
    many, wait = sum(other.waits for other in alike), longest_of(row)
    connections, long = count(many, "connection"), duration(row.longest_ms)
    if wait is None:
        return f"{connections} waited in vain for up to {long}: {meaning(row)}."
    up_to = "" if many == 1 else "up to "
    event = f"waited in vain for {up_to}{long}"
    if row.turn == "idle":
        event = f"{'was' if many == 1 else 'were'} left open for {up_to}{long}"
    elif wait.ending == "capture":
        event = f"{'hangs' if many == 1 else 'hang'} when the capture ends, {up_to}{long} by then"
    return f"{connections} {event}: in stream {wait.connection}, {causes.meaning_of(wait)}."


def handshakes(scan: _core.Scan) -> str:
    """How long connecting took, where nothing else happened; empty if that is not known."""
    rows = (scan.connection(number) for number in range(MOST_HANDSHAKES))
    took = sorted(row.handshake_rtt_ms for row in rows if row and row.handshake_rtt_ms)
    if not took:
        return ""
    if len(took) == 1:
        return f"Connecting took {duration(took[0])}."
    middle, most = took[len(took) // 2], took[-1]
    return (
        f"{len(took):,} connections were opened, in {duration(middle)} at the median and "
        f"{duration(most)} at most."
    )


def known_besides(summary: _core.Summary) -> str:
    """Connections that an inconclusive capture clears; empty if there are none."""
    if not summary.clean:
        return ""
    return f"{count(summary.clean, 'other connection')} without a stall."


def stale_requests(scan: _core.Scan) -> str:
    """How many requests met RST on a connection that was closed; empty if none did."""
    many, frame = scan.stale_requests()
    if not many:
        return ""
    request, first = ("1 request was", "") if many == 1 else (f"{many:,} requests were", "first ")
    return (
        f"{request} sent into a connection that its server had closed, and met RST ({first}frame "
        f"{frame}): where it had been idle, let the client close it before the server does."
    )


def unasked(summary: _core.Summary) -> str:
    """How many messages are in no exchange, where that is the most; else empty."""
    many = summary.unasked_messages
    if many <= summary.exchanges:
        return ""
    are, them = ("is", "it") if many == 1 else ("are", "them")
    return (
        f"{count(many, 'message')} {are} in no exchange: nobody had asked for {them}, or nobody "
        "answered."
    )


def connecting(row: _core.ConnectingRow | None) -> str | None:
    """How much of the time to the first reply was spent connecting, if that was slow."""
    if row is None:
        return None
    took = (
        f"connecting took {duration(row.connect_ms)} of the {duration(row.first_reply_ms)} to the "
        "end of the first reply"
    )
    if row.connections == 1:
        return sentence_start(f"{took} ({percent(row.median_share)}).")
    return f"On {row.connections:,} connections {took} (median: {percent(row.median_share)})."


def late_acks(row: _core.LateAckRow, summary: _core.Summary) -> str:
    """How many ACKs of one side came late, by how much, and since which frame."""
    late = f"the {row.side}'s ACKs"
    if row.connections > 1:
        late = f"on {row.connections:,} connections the {row.side}s' ACKs"
    often, first = f"at least {times(row.late)}", "one"
    if row.prompt is not None and not summary.waits_not_listed:
        acks, first = row.late + row.prompt, "first"
        of_all = f"{row.late:,} of {acks:,} times ({percent(row.late / acks)})"
        often = of_all if acks > 1 else "once"
    at = f" at the median, {first}" if row.late > 1 else ","
    by = f"by {duration(row.median_ms)}{at} in frame {row.first_frame}"
    return sentence_start(f"{late} came late {often}, {by}.")


def party(row: _core.ConnectionRow | None, sender: str) -> str:
    """The sender, named as sentences on stalls name it."""
    if row is None:
        return f"the {sender}"
    addr, port = row.client.rpartition(":")[0].strip("[]"), row.server.rpartition(":")[2]
    return row.server if sender == "server" else f"{addr} (client of port {port})"


def holder(row: _core.ConnectionRow) -> str:
    """Which side of a connection holds data back."""
    if row.client_stalls and row.server_stalls:
        return "both"
    return "client" if row.client_stalls else "server"


def _is_fast_by_chance(group: _core.ServerGroupRow) -> bool:
    """May a first exchange be fast for another reason than quick ACKs?"""
    quick = causes.of(group.worst.cause).ack_was_delayed and group.quick_acks
    return not quick or group.some_full_sized


def first_exchange(
    rows: Sequence[_core.ConnectionRow], groups: Sequence[_core.ServerGroupRow]
) -> str | None:
    """Why the first exchange was fast, if quick ACKs explain it."""
    # Only Linux has quick ACKs, and the first exchange may not have had a tail to hold.
    if any(_is_fast_by_chance(group) for group in groups):
        return None
    fast = [row for row in rows if _began_fast(row)]
    if not fast or len(fast) < len(rows):
        return None
    slowest_ms = max(row.first_latency_ms or 0.0 for row in fast)
    was_fast = f"on each connection was fast (at most {duration(slowest_ms)})"
    if len(rows) == 1:
        was_fast = f"was fast ({duration(slowest_ms)})"
    return (
        f"The first exchange {was_fast}: Linux starts a connection with quick ACKs (up to 16 "
        "segments), and delays its ACKs once it has answered. A test with one request per "
        "connection therefore looks healthy."
    )


def _began_fast(row: _core.ConnectionRow) -> bool:
    first_ms, mean_ms, without_ms = (
        row.first_latency_ms,
        row.mean_latency_ms,
        row.predicted_latency_ms,
    )
    if first_ms is None or mean_ms is None or without_ms is None or row.exchanges < 2:
        return False
    # Joined later, it is not the first one of its connection.
    is_first = row.handshake and not row.first_exchange_stalled
    # Without the stalls the others must be as fast.
    return is_first and max(first_ms, without_ms) < mean_ms / 2


def place(row: _core.ConnectionRow) -> str:
    """Where a connection was captured."""
    names = {
        "client": "at the client",
        "server": "at the server",
        "between": "between the two",
        "both": "at both ends",
    }
    where = names.get(row.capture_point, "capture point unknown")
    if is_within_host(row):
        where = "within one host"
    return where if row.handshake else f"{where}, without the handshake"


def is_within_host(row: _core.ConnectionRow) -> bool:
    """Do both ends have the same address?"""
    return row.client.rpartition(":")[0] == row.server.rpartition(":")[0]
