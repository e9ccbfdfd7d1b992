"""What of a result agrees with the truth of its capture.

True stalls were held by Nagle for 12 ms or more and released by a pure ACK; 8 to 12 ms count
neither way. Those that data with an ACK in it released, or an ACK after a retransmission, count
apart ("by data"), and so does what is reported and was held for less than 8 ms: the wire shows only
an upper bound ("short").
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from calibration import Event

Row = dict[str, Any]  # of a result or a truth file
Place = tuple[int, str, int]  # connection, sender, stream offset
SURE_MS, NEUTRAL_MS = 12.0, 8.0
# A retransmission that was not needed draws the ACK that the receiver still kept back.
BY_ACK = ("ack", "retransmission")
BLURS = (
    ("below 1 ms", 1.0),
    ("1 to 5 ms", 5.0),
    ("5 to 20 ms", 20.0),
    ("20 ms and more", float("inf")),
)


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


def score_capture(truth: Row, result: Row) -> Score:
    """What of one capture's result agrees with its truth: verdict, stalls, TCP_NODELAY."""
    score = Score()
    score.counts["captures"] += 1
    if truth.get("one_way") and result["summary"]["verdict"] == "clean":
        score.counts["one way called clean"] += 1
        score.lines.append(
            f"VERDICT {truth['name']}: 'clean', but the capture holds only one direction"
        )
    score_stalls(truth, result, score)
    score_nagle(truth, result, score)
    return score


def score_stalls(truth: Row, result: Row, score: Score) -> None:
    """Every stall of the truth, and every one reported."""
    holds = {place(s, s["connection"]): s for s in truth["stalls"] + truth["short_holds"]}
    reported = {place(s, c["connection"]): s for c in result["connections"] for s in c["stalls"]}
    for where, hold in holds.items():
        by_data = hold["release"] not in BY_ACK
        score_blur(hold, where in reported, score)
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


def is_by_data_here(truth: Row, hold: Row) -> bool:
    """Did data release it, and was it captured at its sender's host, where that can be told?"""
    here = truth["point"] in {hold["sender"], "loopback"}
    return here and hold["release"] == "data" and hold["hold_ms"] >= SURE_MS


def score_blur(hold: Row, is_found: bool, score: Score) -> None:
    """One of the truth, by how much longer than the quickest it took to follow its ACK here."""
    if hold["hold_ms"] >= SURE_MS and hold["release"] in BY_ACK and "blur_ms" in hold:
        blur = next(name for name, ms in BLURS if hold["blur_ms"] < ms)
        score.counts[f"true, {blur}"] += 1
        score.counts[f"found, {blur}"] += is_found


def score_reported(truth: Row, where: Place, stall: Row, hold: Row | None, score: Score) -> None:
    """One that was reported."""
    wait = f"wait {ms(stall, 'wait_ms')} ms"
    seen = f"{at(truth, where)} {wait}, {stall['cause']}, {stall['confidence']}"
    if stall["cause"] == "nagle_reply":
        score.counts["reported by data"] += 1
        score.counts["right by data"] += hold is not None and hold["release"] == "data"
    if hold is None and is_other_wait(truth, where, "nagle_too"):
        score.counts["either"] += 1
    elif hold is None and is_other_wait(truth, where, "undecidable"):
        score.counts[f"undecidable {stall['confidence']}"] += 1
    elif hold is None:
        score.counts[f"false {stall['confidence']}"] += 1
        score.events.append(event(truth, where, stall, is_true=False))
        alike = next((a for a in truth["coincidences"] if place(a, a["connection"]) == where), None)
        score.counts["coincidence"] += alike is not None
        if alike:
            seen += f" [coincidence: written {alike['after_ack_ms']:.2f} ms after the ACK]"
        evidence = "; ".join(stall.get("evidence", []))
        score.lines.append(f"FALSE   {seen}, frame {stall.get('frame_held')}: {evidence}")
    elif hold["hold_ms"] < NEUTRAL_MS:
        score.counts["short"] += 1
        score.lines.append(f"SHORT   {seen}, really held {hold['hold_ms']:.1f} ms")
    elif hold["hold_ms"] >= SURE_MS:
        score.counts["found" if hold["release"] in BY_ACK else "found by data"] += 1
        score.counts[f"found {stall['confidence']}"] += 1
        score.events.append(event(truth, where, stall, is_true=True))
        score_cause(seen, stall, hold, score)


def is_other_wait(truth: Row, where: Place, flag: str) -> bool:
    """A wait of another cause, of which the truth says this."""
    return any(
        w.get(flag) and (w["connection"], w["by"], w["from_rel"]) == where
        for w in truth["other_waits"]
    )


def event(truth: Row, where: Place, stall: Row, is_true: bool) -> Event:
    """For the calibration."""
    capture = f"{truth['case']}/{truth['name']}"
    return Event(capture, where[0], stall["cause"], stall["confidence"], is_true)


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


def score_nagle(truth: Row, result: Row, score: Score) -> None:
    """The verdict on TCP_NODELAY in every direction.

    A program that waits for each ACK itself looks as if Nagle were on.
    """
    verdicts = {c["connection"]: c for c in result["connections"]}
    for connection in truth["connections"]:
        for side in ("client", "server"):
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


def place(stall: Row, connection: int) -> Place:
    """Where a stall is."""
    return connection, stall["sender"], stall["rel_seq"]


def at(truth: Row, where: Place) -> str:
    """The same in words."""
    return f"{truth['name']} connection {where[0]} {where[1]} rel_seq {where[2]}:"


def ms(row: Row, name: str) -> str:
    """A time with one decimal, or a question mark."""
    return f"{row[name]:.1f}" if row.get(name) is not None else "?"
