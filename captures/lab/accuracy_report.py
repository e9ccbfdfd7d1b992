"""The numbers of accuracy.py: limits, tables, and what was left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import calibration
from calibration import CONFIDENCES
from pairs import WITHIN_MS, WITHIN_SHARE, Pair
from scoring import BLURS, SURE_MS, Score

CERTAIN = "'certain' and true"
HEAD = (
    f"{'case':36} {'files':>5} {'true':>5} {'found':>5} {'missed':>6} {'false':>5} {'cause':>5} "
    f"{'certain':>11} {'nagle':>9} {'waits right':>11}"
)
LEFT_OUT = (
    ("neutral", "holds of 8 to 12 ms: too near to the limit of 10 ms"),
    ("true by data", "holds that data with an ACK in it ended, wherever they were captured"),
    ("short", "reported and truly held, but for less than 8 ms: the wire shows an upper bound"),
    ("either", "waits for the congestion window that may be Nagle's too, reported as stalls"),
    ("switched", "directions whose TCP_NODELAY was switched on the way"),
    ("nagle unknown", "directions whose TCP_NODELAY did not show"),
    ("wait not on the wire", "true waits that no 12 ms without data show in this capture"),
    ("wait undecidable", "waits ended by data or the sender itself, or with a short hold behind"),
)


@dataclass(frozen=True)
class Limit:
    """A number, and what it must be."""

    name: str
    value: float
    at_least: float | None = None
    at_most: float | None = None
    of: str = ""

    @property
    def is_met(self) -> bool:
        """It is good enough."""
        low, high = self.at_least, self.at_most
        return (low is None or self.value >= low) and (high is None or self.value <= high)

    @property
    def required(self) -> str:
        """The limit in words."""
        share = "%" in self.text
        bound = self.at_least if self.at_least is not None else self.at_most
        number = f"{(bound or 0) * 100:g} %" if share else f"{bound:g}"
        return f"{'>=' if self.at_least is not None else '<='} {number}"

    @property
    def text(self) -> str:
        """The value in words."""
        if isinstance(self.value, int):
            return str(self.value)
        return f"{self.value * 100:.2f} %"


def limits(counts: Mapping[str, int], pairs: list[Pair]) -> list[Limit]:
    """Every number with a limit."""
    false = sum(counts[f"false {c}"] for c in CONFIDENCES)
    found, certain = counts["found"], counts["found certain"]
    reported, sure = found + false, certain + counts["false certain"]
    told = counts["directions"] - counts["nagle unknown"] - counts["switched"]
    bad = sum(not p.is_met for p in pairs)
    return [
        Limit("recall", share(found, counts["true"]), 0.99, of=f"{counts['true']} stalls"),
        Limit("precision", share(found, reported), 0.99, of=f"{reported} reported"),
        Limit("wrong cause", counts["cause"] / max(found, 1), at_most=0.01, of=f"{found} found"),
        Limit(CERTAIN, share(certain, sure), 0.999, of=f"{sure} certain"),
        Limit(
            "held until data, found at the sender",
            share(counts["found by data here"], counts["true by data here"]),
            0.7,
            of=f"{counts['true by data here']} stalls",
        ),
        Limit(
            "held until data, true",
            share(counts["right by data"], counts["reported by data"]),
            0.97,
            of=f"{counts['reported by data']} reported",
        ),
        Limit(
            "waits with their true cause",
            share(counts["waits right"], counts["waits"]),
            0.95,
            of=f"{counts['waits']} waits",
        ),
        Limit("TCP_NODELAY verdicts wrong", counts["nagle"], at_most=0, of=f"{told} verdicts"),
        Limit("predicted latencies missed", bad, at_most=0, of=f"{len(pairs)} pairs"),
        Limit("one direction only, called clean", counts["one way called clean"], at_most=0),
    ]


def share(part: int, whole: int) -> float:
    """Part of a whole; all of nothing."""
    return part / whole if whole else 1.0


def row(name: str, counts: Counter[str]) -> str:
    """One line of the table."""
    false = sum(counts[f"false {c}"] for c in CONFIDENCES)
    sure = counts["found certain"] + counts["false certain"]
    told = counts["directions"] - counts["nagle unknown"] - counts["switched"]
    return (
        f"{name:36} {counts['captures']:5} {counts['true']:5} {counts['found']:5} "
        f"{counts['missed']:6} {false:5} {counts['cause']:5} "
        f"{counts['found certain']:5}/{sure:<5} {told - counts['nagle']:4}/{told:<4} "
        f"{counts['waits right']:5}/{counts['waits']:<5}"
    )


def show(scores: dict[str, Score], total: Score, pairs: list[Pair], limit: int) -> None:
    """Print everything: cases, disagreements, pairs, what was left out, limits."""
    print(HEAD, *(row(name, score.counts) for name, score in sorted(scores.items())), sep="\n")
    print(row("ALL", total.counts), end="\n\n")
    show_lines(total.lines, limit)
    print(f"\n{'predicted latency (medians)':44} {'before':>9} {'predicted':>9} {'after':>9}")
    for p in sorted(pairs, key=lambda p: p.name):
        miss = "" if p.is_met else f"  off by {p.error_ms:.1f} ms"
        miss += "  at least: many writes were merged" if p.is_bound else ""
        print(
            f"{p.name:44} {p.before_ms:6.1f} ms {p.predicted_ms:6.1f} ms {p.after_ms:6.1f} ms{miss}"
        )
    print("\nLeft out, because the wire cannot tell:")
    for key, why in LEFT_OUT:
        print(f"{total.counts[key]:6} {why}")
    print(
        f"Counted as false all the same: {total.counts['coincidence']} that the application wrote "
        f"within 3 ms after the ACK.\n"
    )
    print(undecidable(total.counts), blurred(total.counts), sep="\n")
    print(
        f"Connections whose SYN was sent again: {total.counts['connects']}, "
        f"slow connect told of {total.counts['connects told']}.\n"
    )
    print(f"Calibration:\n{calibration.text(total.events)}\n")
    for bound in limits(total.counts, pairs):
        verdict = "ok  " if bound.is_met else "FAIL"
        of = f" of {bound.of}" if bound.of else ""
        print(f"{verdict} {bound.name:34} {bound.text:>9}  ({bound.required}){of}")


def undecidable(counts: Mapping[str, int]) -> str:
    """What is said of what the wire cannot decide."""
    said = ", ".join(f"{counts[f'undecidable {c}']} {c}" for c in CONFIDENCES)
    return (
        f"Programs that themselves wait for the ACK of each small segment: reported as stalls "
        f"{said}; Nagle taken to be on {counts['nagle undecidable']} times."
    )


def blurred(counts: Mapping[str, int]) -> str:
    """How many are found of those whose way blurs when they left."""
    found = "; ".join(
        f"{blur}: {counts[f'found, {blur}']} of {counts[f'true, {blur}']}" for blur, _ in BLURS
    )
    return f"Found, by how much longer than the quickest they took to follow their ACK: {found}."


def show_lines(lines: list[str], limit: int) -> None:
    """At most so many lines of each kind of disagreement."""
    shown: Counter[str] = Counter()
    for line in lines:
        kind = line.split()[0]
        shown[kind] += 1
        if shown[kind] <= limit and kind != "BYDATA":
            print(line)
    for kind, count in shown.items():
        if count > limit and kind != "BYDATA":
            print(f"... and {count - limit} more {kind} (--limit)")


def markdown(total: Score, cases: int, pairs: list[Pair]) -> str:
    """The totals as tables for README.md."""
    counts = total.counts
    rows = [
        f"| {bound.name} | {bound.text}{f' of {bound.of}' if bound.of else ''} | {bound.required} |"
        for bound in limits(counts, pairs)
        # By stall and by connection below.
        if bound.name != CERTAIN
    ]
    left = "; ".join(f"{counts[key]} {why}" for key, why in LEFT_OUT if counts[key])
    return "\n".join(
        (
            f"{counts['captures']} labelled captures of {cases} cases, stalls of {SURE_MS:g} ms "
            "and more:",
            "",
            "| | measured | required |",
            "|---|---:|---:|",
            *rows,
            *calibration.markdown(total.events),
            "",
            f"A prediction is met within {WITHIN_SHARE:.0%} or {WITHIN_MS} ms. Left out, because "
            f"the wire cannot tell: {left}.",
        )
    )
