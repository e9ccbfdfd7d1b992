"""Cases that are known to be missed: shown with their numbers, and left out of the limits.

A case is listed openly, with what goes wrong, rather than not shipped. One that the analyzer gets
right by now is to be taken off: accuracy.py says so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from calibration import CONFIDENCES
from scoring import Score

RIGHT = 0.98  # of the stalls and waits of a case that is right

KNOWN: dict[str, str] = {
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
    "joined-asks200-radio": "joined midway: pauses of 200 ms of a program called cork",
    "joined-beats1000-rtt2": "joined midway: the period of a program taken for the round trip",
    "joined-beats1000-rtt26": "joined midway: the period of a program taken for the round trip",
    "joined-beats50-rtt2": "joined midway: the period of a program taken for the round trip",
    "joined-beats50-rtt26": "joined midway: the period of a program taken for the round trip",
    "joined-messages-rtt26": "joined midway: writes right after an ACK taken for holds",
    "siblings-once-radio": "one hold a connection, on a radio link: half of them missed",
    "siblings-split-radio": "two exchanges a connection, on a radio link: a third missed",
}


def parted(scores: Mapping[str, Score], shipped: bool) -> tuple[Score, Score]:
    """The sum of the cases that the limits are for, and of those known to be missed.

    Only what is shipped can be known: elsewhere a case of the same name is another draw.
    """
    counted, missed = Score(), Score()
    for case, score in scores.items():
        (missed if shipped and case in KNOWN else counted).add(score)
    return counted, missed


def is_right(counts: Counter[str]) -> bool:
    """Nothing false, no wrong verdict, and nearly everything found with its true cause."""
    wrong = counts["cause"] + counts["nagle"] + sum(counts[f"false {c}"] for c in CONFIDENCES)
    found = counts["found"] >= RIGHT * counts["true"]
    return not wrong and found and counts["waits right"] >= RIGHT * counts["waits"]


def text(scores: Mapping[str, Score], missed: Score) -> list[str]:
    """The listed cases for the terminal."""
    listed = [case for case in KNOWN if case in scores]
    lines = [
        f"       {case}: {KNOWN[case]}"
        f"{' (no longer: take it off)' if is_right(scores[case].counts) else ''}"
        for case in listed
    ]
    return [f"Known to be missed, outside the limits ({numbers(missed)}):", *lines] if lines else []


def markdown(missed: Score) -> str:
    """The listed cases in a sentence for README.md."""
    if not missed.counts:
        return ""
    return (
        f"\nNot counted above, and listed by `make accuracy`: {len(KNOWN)} cases known to be "
        f"missed ({numbers(missed)}).\n"
    )


def numbers(missed: Score) -> str:
    """What is wrong with them."""
    counts = missed.counts
    false = sum(counts[f"false {c}"] for c in CONFIDENCES)
    return (
        f"{counts['found']} of {counts['true']} stalls found; {false} false, of which "
        f"{counts['false certain']} certain; {counts['nagle']} TCP_NODELAY verdicts wrong; "
        f"{counts['waits right']} of {counts['waits']} waits right"
    )
