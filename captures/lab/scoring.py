"""Agreement of a result with the truth of its capture.

True stalls were held by Nagle for 12 ms or more and released by a pure ACK; 8 to 12 ms count
neither way. Those that data with an ACK in it released, or an ACK after a retransmission, count
apart ("by data"), and so does what is reported and was held for less than 8 ms: the wire shows only
an upper bound ("short").

A wait counts in a capture if the wire shows it: the connection carried no data, either way, for
12 ms before the byte that was waited for, and a segment begins with that byte. It is right if a
wait or a stall is reported at that byte with a cause that is true of it for 10 ms or more (a
program may pause and its next write be held as well: then either is true). Left out, because the
wire cannot tell: waits that data released, or the sender itself by setting TCP_NODELAY or ending;
program pauses that a short hold followed; the congestion window's that might be Nagle's as well;
programs that wait for the ACK of a small segment themselves.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import nagle_scan
import pandas as pd
import truths
from calibration import Event
from truths import SIDES, Place, Row, place

SURE_MS, NEUTRAL_MS = 12.0, 8.0
# A retransmission that was not needed draws the ACK that the receiver still kept back.
BY_ACK = ("ack", "retransmission")


@dataclass
class Score:
    """Counts, and a line for everything that is not as it should be."""

    counts: Counter[str] = field(default_factory=Counter)
    lines: list[str] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)

    def add(self, other: Score) -> None:
        """Add another one to this."""
        self.counts += other.counts
        self.lines += other.lines
        self.events += other.events


def scored(folder: Path, truth: Row) -> tuple[nagle_scan.Scan, Row, Score]:
    """The scan of a capture, its result as users read it, and how that agrees with the truth."""
    scan = nagle_scan.scan(truths.capture(folder, truth), exchanges=True)
    result = result_of(scan)
    return scan, result, score_capture(truth, result, scan)


def result_of(scan: nagle_scan.Scan) -> Row:
    """A scan's result as its users read it."""
    result: Row = json.loads(scan.render("json"))
    return result


def score_capture(truth: Row, result: Row, scan: nagle_scan.Scan) -> Score:
    """Verdict, stalls, TCP_NODELAY and waits of one capture."""
    score = Score()
    score.counts["captures"] += 1
    if truth.get("one_way") and result["summary"]["verdict"] == "clean":
        score.counts["one way called clean"] += 1
        score.lines.append(
            f"VERDICT {truth['name']}: 'clean', but the capture holds only one direction"
        )
    score_stalls(truth, result, score)
    score_nagle(truth, result, score)
    score_waits(truth, result, scan, score)
    return score


# -- stalls ---------------------------------------------------------------------------------------


def holds_of(truth: Row) -> dict[Place, Row]:
    """Whatever Nagle held, by its place."""
    return {place(hold): hold for hold in truth["stalls"] + truth["short_holds"]}


def score_stalls(truth: Row, result: Row, score: Score) -> None:
    """Every stall of the truth, and every one reported."""
    holds = holds_of(truth)
    reported = {place(s, c["connection"]): s for c in result["connections"] for s in c["stalls"]}
    for where, hold in holds.items():
        by_data = hold["release"] not in BY_ACK
        score.counts["true by data" if by_data else "true"] += hold["hold_ms"] >= SURE_MS
        if is_by_data_here(truth, hold):
            score.counts["true by data here"] += 1
            score.counts["found by data here"] += where in reported
        score.counts["neutral"] += NEUTRAL_MS <= hold["hold_ms"] < SURE_MS
        if hold["hold_ms"] >= SURE_MS and where not in reported:
            score.counts["missed by data" if by_data else "missed"] += 1
            score.lines.append(
                f"{'BYDATA ' if by_data else 'MISSED '} {at(truth, where)} "
                f"held {hold['hold_ms']:.1f} ms, {hold['cause']}, "
                f"ack delay {hold['ack_delay_ms']} ms, len {hold['len']}, "
                f"released by {hold['release']}"
            )
    for where, stall in reported.items():
        score_reported(truth, where, stall, holds.get(where), score)


def is_true_stall(hold: Row) -> bool:
    """Nagle held it for long enough, and an acknowledgment let it go."""
    return hold["hold_ms"] >= SURE_MS and hold["release"] in BY_ACK


def is_by_data_here(truth: Row, hold: Row) -> bool:
    """Did data release it, and does the capture at its sender's host show that?"""
    here = truth["point"] in {hold["sender"], "loopback"}
    return here and hold["release"] == "data" and hold["hold_ms"] >= SURE_MS


def score_reported(truth: Row, where: Place, stall: Row, hold: Row | None, score: Score) -> None:
    """One that was reported."""
    counts, confidence = score.counts, stall["confidence"]
    event = Event(truth["name"], where[0], confidence, is_true=hold is not None)
    seen = f"{at(truth, where)} wait {ms(stall, 'wait_ms')} ms, {stall['cause']}, {confidence}"
    if stall["cause"] == "nagle_reply":
        counts["reported by data"] += 1
        counts["right by data"] += hold is not None and hold["release"] == "data"
    if hold is None and is_other_wait(truth, where, "nagle_too"):
        counts["either"] += 1
    elif hold is None and is_other_wait(truth, where, "undecidable"):
        counts[f"undecidable {confidence}"] += 1
    elif hold is None:
        counts[f"false {confidence}"] += 1
        score.events.append(event)
        evidence = "; ".join(stall.get("evidence", []))
        score.lines.append(f"FALSE   {seen}, frame {stall.get('frame_held')}: {evidence}")
    elif hold["hold_ms"] < NEUTRAL_MS:
        counts["short"] += 1
        score.lines.append(f"SHORT   {seen}, really held {hold['hold_ms']:.1f} ms")
    elif hold["hold_ms"] >= SURE_MS:
        counts["found" if hold["release"] in BY_ACK else "found by data"] += 1
        counts[f"found {confidence}"] += 1
        score.events.append(event)
        score_cause(seen, stall, hold, score)


def is_other_wait(truth: Row, where: Place, flag: str) -> bool:
    """Does the truth set this flag on a wait of another cause there?"""
    return any(w.get(flag) and place(w) == where for w in truth["other_waits"])


def score_cause(seen: str, stall: Row, hold: Row, score: Score) -> None:
    """Is its cause the right one?"""
    delay = hold["ack_delay_ms"]
    by_data = hold["release"] == "data"
    neutral = not by_data and (delay is None or NEUTRAL_MS <= delay < SURE_MS)
    cause = "nagle_reply" if by_data else hold["cause"]
    if stall["cause"] != cause and not neutral:
        score.counts["cause"] += 1
        said = f"{seen}, ack delay {ms(stall, 'ack_delay_ms')}"
        score.lines.append(f"CAUSE   {said}; truly {cause}, {delay} ms")


# -- TCP_NODELAY ----------------------------------------------------------------------------------


def score_nagle(truth: Row, result: Row, score: Score) -> None:
    """The verdict on TCP_NODELAY in every direction.

    A program that waits for each ACK itself looks as if Nagle were on.
    """
    verdicts = {c["connection"]: c for c in result["connections"]}
    for connection in truth["connections"]:
        for side in SIDES:
            option = connection[side]["nagle"]
            found = verdicts.get(connection["connection"], {})
            verdict = found.get(side, {}).get("nagle", "unknown")
            by_itself = connection[side].get("waits_for_acks")
            if by_itself and verdict not in ("unknown", option):
                score.counts["nagle undecidable"] += 1
                verdict = "unknown"
            score.counts["nagle unknown"] += verdict == "unknown"
            score.counts["switched"] += verdict != "unknown" and option == "switched"
            score.counts["directions"] += 1
            if verdict != "unknown" and option != "switched" and verdict != option:
                score.counts["nagle"] += 1
                score.lines.append(
                    f"NAGLE   {truth['name']} connection {connection['connection']} {side}: "
                    f"verdict {verdict}, socket option {option}"
                )


# -- waits ----------------------------------------------------------------------------------------


def score_waits(truth: Row, result: Row, scan: nagle_scan.Scan, score: Score) -> None:
    """Every wait of the truth, stalls among them, that this capture shows."""
    score_connects(truth, result, score)
    reported = reported_causes(result)
    undecidable = {place(s) for s in truth["short_holds"]}
    silences: dict[int, dict[tuple[str, int], float]] = {}
    for where, causes in true_causes(truth).items():
        connection, by, offset = where
        if connection not in silences:
            silences[connection] = silence_before(scan.segments(connection))
        silence_ms = silences[connection].get((by, offset), 0.0)
        if silence_ms < SURE_MS:
            score.counts["wait not on the wire"] += 1
        elif "undecidable" in causes or where in undecidable:
            score.counts["wait undecidable"] += 1
        else:
            score.counts["waits"] += 1
            found = reported.get(where, "none")
            score.counts["waits right"] += found in causes
            if found not in causes:
                score.lines.append(
                    f"WAIT    {at(truth, where)} "
                    f"{silence_ms:.1f} ms, {' and '.join(causes)}; reported: {found}"
                )


def score_connects(truth: Row, result: Row, score: Score) -> None:
    """Connections with a repeated SYN; of slow ones with a single SYN, either is right."""
    slow = {
        c["connection"]
        for c in result["connections"]
        if any(w["cause"] == "connect" for w in c["waits"])
    }
    for connection in truth["connections"]:
        number, syns = connection["connection"], connection.get("syns", 0)
        is_reported, again = number in slow, syns > 1
        score.counts["connects"] += again
        score.counts["connects told"] += again and is_reported
        if (again and not is_reported) or (is_reported and not syns):
            score.lines.append(
                f"CONNECT {truth['name']} connection {number}: {syns or 1} SYN, "
                f"slow connect {'told' if is_reported else 'not told'}"
            )


def true_causes(truth: Row) -> dict[Place, list[str]]:
    """The causes of every wait of 10 ms or more, by its place."""
    causes: dict[Place, list[str]] = defaultdict(list)
    for stall in truth["stalls"]:
        by_data = stall["release"] == "data"
        causes[place(stall)].append("undecidable" if by_data else stall["cause"])
    for wait in truth["other_waits"]:
        either = (
            wait.get("nagle_too")
            or wait.get("undecidable")
            or wait["cause"] == "nagle_ended_by_sender"
        )
        causes[place(wait)].append("undecidable" if either else wait["cause"])
    return causes


def reported_causes(result: Row) -> dict[Place, str]:
    """The cause that was reported, by place; a stall goes before a wait."""
    causes: dict[Place, str] = {}
    for connection in result["connections"]:
        for row in (*connection["waits"], *connection["stalls"]):
            causes[place(row, connection["connection"])] = row["cause"]
    return causes


def silence_before(segments: pd.DataFrame) -> dict[tuple[str, int], float]:
    """For the first byte of every segment with data: how long there had been no data, in ms."""
    data = segments[segments["len"] > 0]
    since_first_ns = data["time_ns"] - data["time_ns"].min()
    places = [data["sender"].astype(str), data["rel_seq"]]
    silences: dict[tuple[str, int], float] = (
        since_first_ns.diff().div(1e6).groupby(places).first().dropna().to_dict()
    )
    return silences


# -- words ---------------------------------------------------------------------------------------


def at(truth: Row, where: Place) -> str:
    """The place in words."""
    return f"{truth['name']} connection {where[0]} {where[1]} rel_seq {where[2]}:"


def ms(row: Row, name: str) -> str:
    """A time with one decimal, or a question mark."""
    return f"{row[name]:.1f}" if row.get(name) is not None else "?"
