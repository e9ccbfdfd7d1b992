"""The time axis of a ladder: microseconds and a long wait on one page, without overlaps.

Time runs to scale with the wait; gaps too short to be seen are stretched, idle times far longer
than the wait are cut (and marked), and labels on the same side push what follows down.
"""

from __future__ import annotations

from dataclasses import dataclass

LEAST_GAP_PT = 5.0
"""Between two instants, however close they are."""
CUT = 0.6
"""Gaps before and after the wait are cut to this share of its height."""


@dataclass(frozen=True)
class Label:
    """A text beside a host: when, on which side, how far it reaches above and below that line."""

    at_ms: float
    side: str
    above_pt: float
    below_pt: float


@dataclass(frozen=True)
class Scale:
    """The place of each instant, in points from the top."""

    places_pt: dict[float, float]
    """By the instant, in ms."""
    cuts: list[tuple[float, float]]
    """Instants between which time is cut."""

    @property
    def height_pt(self) -> float:
        """The place of the last instant."""
        return max(self.places_pt.values(), default=0.0)


def scale(
    instants_ms: list[float], labels: list[Label], wait: tuple[float, float], wait_pt: float
) -> Scale:
    """Lays out all instants; those of the labels must be among them."""
    ordered = sorted(set(instants_ms))
    begin, end = wait
    pt_per_ms = wait_pt / max(end - begin, 1e-6)
    starts = {label.at_ms: [one for one in labels if one.at_ms == label.at_ms] for label in labels}
    free = {"client": 0.0, "server": 0.0}
    places: dict[float, float] = {}
    cuts = []
    place = 0.0
    for before, at_ms in zip([None, *ordered], ordered, strict=False):
        if before is not None:
            inside = begin <= before and at_ms <= end
            wanted = (at_ms - before) * pt_per_ms
            limit = wait_pt if inside else wait_pt * CUT
            place += min(max(wanted, LEAST_GAP_PT), limit)
            if wanted > limit * 1.01:
                cuts.append((before, at_ms))
        for label in starts.get(at_ms, []):
            place = max(place, free[label.side] + label.above_pt)
        for label in starts.get(at_ms, []):
            free[label.side] = place + label.below_pt
        places[at_ms] = place
    return Scale(places, cuts)
