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

    instants_ms: list[float]
    places_pt: list[float]
    cuts: list[tuple[float, float]]

    def place(self, at_ms: float) -> float:
        """The place of one of the instants."""
        return self.places_pt[self.instants_ms.index(at_ms)]

    @property
    def height_pt(self) -> float:
        """The place of the last instant."""
        return self.places_pt[-1] if self.places_pt else 0.0


def scale(
    instants_ms: list[float], labels: list[Label], wait: tuple[float, float], wait_pt: float
) -> Scale:
    """Lays out all instants; those of the labels must be among them."""
    ordered = sorted(set(instants_ms))
    begin, end = wait
    pt_per_ms = wait_pt / max(end - begin, 1e-6)
    starts = {label.at_ms: [one for one in labels if one.at_ms == label.at_ms] for label in labels}
    free = {"client": 0.0, "server": 0.0}
    places: list[float] = []
    cuts = []
    for index, at_ms in enumerate(ordered):
        place = 0.0
        if index:
            before = ordered[index - 1]
            inside = begin <= before and at_ms <= end
            wanted = (at_ms - before) * pt_per_ms
            limit = wait_pt if inside else wait_pt * CUT
            place = places[-1] + min(max(wanted, LEAST_GAP_PT), limit)
            if wanted > limit * 1.01:
                cuts.append((before, at_ms))
        for label in starts.get(at_ms, []):
            place = max(place, free[label.side] + label.above_pt)
        for label in starts.get(at_ms, []):
            free[label.side] = place + label.below_pt
        places.append(place)
    return Scale(ordered, places, cuts)
