"""Whether a wait got its true cause.

A wait of the truth counts in a capture if the wire shows it: the connection carried no data, either
way, for 12 ms before the byte that was waited for, and a segment begins with that byte. It is right
if the analyzer lists a wait or a stall at that byte with a cause that is true of it for 10 ms or
more (a program may pause and its next write be held as well: then either is true).
Left out, because the wire cannot tell: waits that data released, or the sender itself by setting
TCP_NODELAY or ending; program pauses that a short hold followed; the congestion window's that
might be Nagle's as well; programs that wait for the ACK of a small segment themselves.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable

from scoring import SURE_MS, Place, Row, Score, place

Segments = Callable[[int], Iterable[tuple[str, int, int, int]]]  # sender, rel_seq, length, time_ns


def score_waits(truth: Row, result: Row, segments: Segments, score: Score) -> None:
    """Every wait of the truth, stalls among them, that this capture shows."""
    score_connects(truth, result, score)
    reported = reported_causes(result)
    undecidable = {place(s, s["connection"]) for s in truth["short_holds"]}
    silences: dict[int, dict[tuple[str, int], float]] = {}
    for where, rows in true_causes(truth).items():
        connection, by, offset = where
        if connection not in silences:
            silences[connection] = silence_before(segments(connection))
        silence_ms = silences[connection].get((by, offset), 0.0)
        if silence_ms < SURE_MS:
            score.counts["wait not on the wire"] += 1
        elif "undecidable" in rows or where in undecidable:
            score.counts["wait undecidable"] += 1
        else:
            score.counts["waits"] += 1
            found = reported.get(where, "none")
            score.counts["waits right"] += found in rows
            if found not in rows:
                score.lines.append(
                    f"WAIT    {truth['name']} connection {connection} {by} rel_seq {offset}: "
                    f"{silence_ms:.1f} ms, {' and '.join(rows)}; reported: {found}"
                )


def score_connects(truth: Row, result: Row, score: Score) -> None:
    """Connections whose SYN comes again; of slow ones with a single SYN, either is right."""
    told = {
        c["connection"]
        for c in result["connections"]
        if any(w["cause"] == "connect" for w in c["waits"])
    }
    for connection in truth["connections"]:
        number, syns = connection["connection"], connection.get("syns", 0)
        is_told, again = number in told, syns > 1
        score.counts["connects"] += again
        score.counts["connects told"] += again and is_told
        if (again and not is_told) or (is_told and not syns):
            score.lines.append(
                f"CONNECT {truth['name']} connection {number}: {syns or 1} SYN, "
                f"slow connect {'told' if is_told else 'not told'}"
            )


def true_causes(truth: Row) -> dict[Place, list[str]]:
    """The causes of every wait of 10 ms or more, by its place."""
    causes: dict[Place, list[str]] = defaultdict(list)
    for stall in truth["stalls"]:
        by_data = stall["release"] == "data"
        causes[place(stall, stall["connection"])].append(
            "undecidable" if by_data else stall["cause"]
        )
    for wait in truth["other_waits"]:
        either = (
            wait.get("nagle_too")
            or wait.get("undecidable")
            or wait["cause"] == "nagle_ended_by_sender"
        )
        causes[wait["connection"], wait["by"], wait["from_rel"]].append(
            "undecidable" if either else wait["cause"]
        )
    return causes


def reported_causes(result: Row) -> dict[Place, str]:
    """The cause that was reported, by place; a stall goes before a wait."""
    causes: dict[Place, str] = {}
    for connection in result["connections"]:
        for wait in connection["waits"]:
            causes[connection["connection"], wait["sender"], wait["rel_seq"]] = wait["cause"]
        for stall in connection["stalls"]:
            causes[place(stall, connection["connection"])] = stall["cause"]
    return causes


def silence_before(segments: Iterable[tuple[str, int, int, int]]) -> dict[tuple[str, int], float]:
    """For the first byte of every segment with data: how long there had been no data, in ms."""
    silence: dict[tuple[str, int], float] = {}
    before: int | None = None
    for sender, offset, length, time_ns in segments:
        if length > 0:
            if before is not None:
                silence.setdefault((sender, offset), (time_ns - before) / 1e6)
            before = time_ns
    return silence
