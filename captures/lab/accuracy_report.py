"""The numbers of accuracy.py: groups of captures, limits, tables, and what was left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import calibration
import pandas as pd
from calibration import CONFIDENCES, Event
from pairs import WITHIN_MS, WITHIN_SHARE, Pair
from scoring import SURE_MS, Score
from truths import Row

SHIPPED = Path(__file__).resolve().parents[1] / "labelled"
Groups = dict[str, dict[str, Score]]
# Groups of captures, each with its own limits. In a capture of one leg alone, a relay that passes
# on what another hop held looks much like a hold: it may be suspected there, but never be called
# certain.
ALL, KNOWN_MISSED = "all connections captured", "known to be missed"
EVERY_LEG, A_LEG_MISSING, FILTERED = (
    "every leg captured",
    "a leg missing",
    "one subscriber captured",
)
SUBSCRIBER = "-subscriber"
CERTAIN = "'certain' and true"
LONGEST_LINE = 150  # of a disagreement
RIGHT = 0.98  # of the stalls and waits of a case that is right
COLUMNS = [
    *("captures", "true", "found", "missed", *(f"false {word}" for word in CONFIDENCES)),
    *("short", "cause", "found certain", "nagle", "waits", "waits right"),
    *("false clean", "contradictions"),
]
LEFT_OUT = {
    "neutral": "holds of 8 to 12 ms: too near to the limit of 10 ms",
    "true by data": "holds that data with an ACK in it ended, wherever they were captured",
    "short": "reported and truly held, but for less than 8 ms: the wire shows an upper bound",
    "either": "waits for the congestion window that may be Nagle's too, reported as stalls",
    "switched": "directions whose TCP_NODELAY was switched on the way",
    "nagle unknown": "directions whose TCP_NODELAY did not show",
    "wait not on the wire": "true waits that no 12 ms without data show in this capture",
    "wait undecidable": "waits ended by data or the sender itself, or with a short hold behind",
}
# Shipped cases that are known to be missed, and why; they are listed, and outside the limits. The
# report says which of them are right by now and are to be taken off.
KNOWN = {
    "hard-ack-thinned-split-nots": "ACKs thinned by the network: the client's holds missed",
    "hard-lossy-veth-work-nots": "5 and 15 % of the frames missing: waits called unknown",
    "hard-lost-near-client-split": "a late ACK after a loss taken for a delayed ACK",
    "hard-needless-split-nots": "delays that jump by 300 ms: releases after a jump",
    "hard-one-at-a-time-full-far": "waits that overlap with the answer's way: not listed",
    "hard-one-at-a-time-paced-far": "waits that overlap with the answer's way: not listed",
    "hard-tail-both-think": "heavy tails on a path of 2 ms: releases spread",
    "hard-jitter-tail-late-messages-nots": "jitter: missed in the middle and at the receiver",
    "hard-jitter-tail-prompt-reply-nots": "jitter: missed at the receiver, prompt ACKs called late",
    "hard-jitter-uniform-prompt-reply-nots": "jitter: missed in the middle and at the receiver",
    "hard-radio-tail-prompt-request-nots": "jitter on a radio link: prompt ACKs called late",
    "joined-beats1000-rtt2": "joined midway: the period of a program taken for the round trip",
    "joined-beats1000-rtt26": "joined midway: the period of a program taken for the round trip",
    "joined-beats50-rtt2": "joined midway: the period of a program taken for the round trip",
    "joined-beats50-rtt26": "joined midway: the period of a program taken for the round trip",
    "joined-messages-rtt26": "joined midway: writes right after an ACK taken for holds",
    "siblings-once-radio": "one hold a connection, on a radio link: half of them missed",
    "siblings-split-radio": "two exchanges a connection, on a radio link: a third missed",
}


def group(truth: Row, folder: Path) -> str:
    """Which captures it is counted with."""
    if "legs" in truth:
        legs = {connection["server"]["port"] for connection in truth["connections"]}
        return EVERY_LEG if len(legs) == truth["legs"] or not truth["relays"] else A_LEG_MISSING
    if SUBSCRIBER in truth["name"]:
        return FILTERED
    # Elsewhere a case of the same name is another draw.
    return KNOWN_MISSED if folder == SHIPPED and truth["case"] in KNOWN else ALL


class Limit(NamedTuple):
    """A number, and what it must be: a count, or a share."""

    name: str
    value: float
    sign: str
    bound: float
    of: str = ""

    @property
    def is_met(self) -> bool:
        """It is good enough."""
        return self.value >= self.bound if self.sign == ">=" else self.value <= self.bound

    @property
    def required(self) -> str:
        """The limit in words."""
        is_count = isinstance(self.value, int)
        return f"{self.sign} {f'{self.bound:g}' if is_count else f'{self.bound * 100:g} %'}"

    @property
    def text(self) -> str:
        """The value in words."""
        number = f"{self.value}" if isinstance(self.value, int) else f"{self.value * 100:.2f} %"
        return number + (f" of {self.of}" if self.of else "")

    @property
    def line(self) -> str:
        """For a terminal."""
        return f"{'ok  ' if self.is_met else 'FAIL'} {self.name:38} {self.text} ({self.required})"


def false(counts: Mapping[str, int]) -> int:
    """Stalls reported where nothing was held."""
    return sum(counts[f"false {confidence}"] for confidence in CONFIDENCES)


def decided(counts: Mapping[str, int]) -> int:
    """Directions with a verdict on TCP_NODELAY that is right or wrong."""
    return counts["directions"] - counts["nagle unknown"] - counts["switched"]


def share(part: int, whole: int) -> float:
    """Part of a whole; all of nothing."""
    return part / whole if whole else 1.0


def found_and_true(counts: Mapping[str, int], least: float) -> list[Limit]:
    """Limits of the share found of the true stalls, and of the share true of the reported."""
    found, reported = counts["found"], counts["found"] + false(counts)
    return [
        Limit("recall", share(found, counts["true"]), ">=", least, f"{counts['true']} stalls"),
        Limit("precision", share(found, reported), ">=", least, f"{reported} reported"),
    ]


def limits_of_the_lab(counts: Mapping[str, int], pairs: list[Pair]) -> list[Limit]:
    """Limits of the labelled captures."""
    by_data, waits, reported = (
        counts[name] for name in ("true by data here", "waits", "reported by data")
    )
    sure = counts["found certain"] + counts["false certain"]
    wrong = counts["cause"] / max(counts["found"], 1)
    here = share(counts["found by data here"], by_data)
    right = share(counts["right by data"], reported)
    caused = share(counts["waits right"], waits)
    missed = sum(not pair.is_met for pair in pairs)
    return [
        *found_and_true(counts, 0.99),
        Limit("wrong cause", wrong, "<=", 0.01, f"{counts['found']} found"),
        Limit(CERTAIN, share(counts["found certain"], sure), ">=", 0.999, f"{sure} certain"),
        Limit("held until data, found at the sender", here, ">=", 0.7, f"{by_data} stalls"),
        Limit("held until data, true", right, ">=", 0.97, f"{reported} reported"),
        Limit("waits with their true cause", caused, ">=", 0.95, f"{waits} waits"),
        options_wrong(counts)._replace(of=f"{decided(counts)} verdicts"),
        Limit("predicted latencies missed", missed, "<=", 0, f"{len(pairs)} pairs"),
        Limit("one direction only, called clean", counts["one way called clean"], "<=", 0),
    ]


def options_wrong(counts: Mapping[str, int]) -> Limit:
    """The limit of wrong verdicts on TCP_NODELAY."""
    return Limit("TCP_NODELAY verdicts wrong", counts["nagle"], "<=", 0)


def total(cases: Mapping[str, Score]) -> Score:
    """The sum of a group."""
    score = Score()
    for one in cases.values():
        score.add(one)
    return score


def table(cases: Mapping[str, Score]) -> str:
    """The counts of each case, and of all."""
    every = {name: one.counts for name, one in (*sorted(cases.items()), ("ALL", total(cases)))}
    counts = pd.DataFrame(every).T.reindex(columns=COLUMNS).fillna(0).astype(int)
    return counts.to_string()


def disagreements(lines: list[str], limit: int) -> Iterator[str]:
    """At most `limit` lines of each kind."""
    shown: Counter[str] = Counter()
    for line in lines:
        kind = line.split()[0]
        if kind != "BYDATA":
            shown[kind] += 1
            if shown[kind] <= limit:
                yield line[:LONGEST_LINE]
    for kind, count in shown.items():
        if count > limit:
            yield f"... and {count - limit} more {kind} (--limit)"


def is_right(counts: Counter[str]) -> bool:
    """Nothing false, no wrong verdict, and nearly everything found with its true cause."""
    is_found = counts["found"] >= RIGHT * counts["true"]
    wrong = counts["cause"] + counts["nagle"] + false(counts)
    return not wrong and is_found and counts["waits right"] >= RIGHT * counts["waits"]


def missed(counts: Mapping[str, int]) -> str:
    """The mistakes in cases that are known to be missed."""
    return (
        f"{counts['found']} of {counts['true']} stalls found; {false(counts)} false, of which "
        f"{counts['false certain']} certain; {counts['nagle']} TCP_NODELAY verdicts wrong; "
        f"{counts['waits right']} of {counts['waits']} waits right"
    )


def sentence(name: str, counts: Mapping[str, int]) -> str:
    """The sentence of docs/report.md on a group of the shipped programs."""
    return (
        f"With {name}, {counts['found']} of {counts['true']} stalls are found; of "
        f"{counts['found'] + false(counts)} reported {false(counts)} are false, "
        f"{counts['false certain']} of them `certain` and {counts['false possible']} `possible`.\n"
    )


@dataclass(frozen=True)
class Report:
    """The captures of a folder: their scores, their pairs, and further events to calibrate with."""

    folder: Path
    scores: Groups
    pairs: list[Pair]
    more_events: list[Event]

    @property
    def events(self) -> list[Event]:
        """Stalls that were reported."""
        counted = (total(cases) for name, cases in self.scores.items() if name != KNOWN_MISSED)
        return [event for score in counted for event in score.events] + self.more_events

    @property
    def is_calibrated(self) -> bool:
        """Whether the folder's captures are many enough for the words to have limits."""
        return ALL in self.scores and self.folder.name != "programs"

    def limits(self, name: str) -> list[Limit]:
        """Every number of a group with a limit."""
        counts = total(self.scores[name]).counts
        certain = Limit("false, and certain", counts["false certain"], "<=", 0)
        if name == KNOWN_MISSED:
            return []
        if name == EVERY_LEG:
            return [*found_and_true(counts, 0.99), options_wrong(counts)]
        if name == A_LEG_MISSING:
            return [found_and_true(counts, 0.99)[0], certain, options_wrong(counts)]
        if self.folder.name != "programs":
            return limits_of_the_lab(counts, self.pairs)
        return [
            *found_and_true(counts, 0.985),
            certain._replace(bound=2),
            options_wrong(counts),
            Limit("stalling connections called clean", counts["false clean"], "<=", 0),
            Limit("points that contradict", counts["contradictions"], "<=", 0),
        ]

    @property
    def is_met(self) -> bool:
        """Every limit is."""
        met = all(limit.is_met for name in self.scores for limit in self.limits(name))
        return met and (not self.is_calibrated or calibration.is_met(self.events))

    def text(self, limit: int) -> str:
        """Everything, for a terminal."""
        parts = [line for name in sorted(self.scores) for line in self._group(name, limit)]
        if self.pairs:
            parts.append("predicted latency (medians): before, predicted, after")
            parts += [pair.line for pair in self.pairs]
        if self.is_calibrated:
            parts += ["\nCalibration:", calibration.text(self.events)]
        return "\n".join(parts)

    def _group(self, name: str, limit: int) -> Iterator[str]:
        """Cases, disagreements, what was left out, limits."""
        cases = self.scores[name]
        score = total(cases)
        yield f"{name}:\n{table(cases)}\n"
        if name == KNOWN_MISSED:
            yield f"Outside the limits ({missed(score.counts)}):"
            for case in cases:
                right = " (no longer: take it off)" if is_right(cases[case].counts) else ""
                yield f"       {case}: {KNOWN[case]}{right}"
        else:
            yield from disagreements(score.lines, limit)
            yield from left_out(score.counts)
        yield from (bound.line for bound in self.limits(name))
        yield ""

    def markdown(self) -> str:
        """The totals as tables for README.md."""
        counted, known = self.scores[ALL], self.scores.get(KNOWN_MISSED, {})
        counts = total(counted).counts
        rows = [
            f"| {bound.name} | {bound.text} | {bound.required} |"
            for bound in self.limits(ALL)
            # By stall and by connection below.
            if bound.name != CERTAIN
        ]
        left = "; ".join(f"{counts[key]} {why}" for key, why in LEFT_OUT.items() if counts[key])
        lines = [
            f"{counts['captures']} labelled captures of {len(counted)} cases, stalls of "
            f"{SURE_MS:g} ms and more:",
            "",
            "| | measured | required |",
            "|---|---:|---:|",
            *rows,
            *calibration.markdown(self.events),
            "",
            f"A prediction is met within {WITHIN_SHARE:.0%} or {WITHIN_MS} ms. Left out, because "
            f"the wire cannot tell: {left}.",
        ]
        if known:
            lines += [
                f"Not counted above, and listed by `make accuracy`: {len(KNOWN)} cases known to be "
                f"missed ({missed(total(known).counts)}).",
                "",
            ]
        return "\n".join(lines)


def left_out(counts: Mapping[str, int]) -> Iterator[str]:
    """Findings that no limit counts."""
    yield "\nLeft out, because the wire cannot tell:"
    yield from (f"{counts[key]:6} {why}" for key, why in LEFT_OUT.items() if counts[key])
    by_word = ", ".join(f"{counts[f'undecidable {c}']} {c}" for c in CONFIDENCES)
    yield (
        f"Programs that themselves wait for the ACK of each small segment: reported as stalls "
        f"{by_word}; Nagle taken to be on {counts['nagle undecidable']} times."
    )
    yield (
        f"Connections whose SYN was sent again: {counts['connects']}, slow connect told of "
        f"{counts['connects told']}.\n"
    )
