"""Finds room for a text in a band that arrows cross."""

from __future__ import annotations

Point = tuple[float, float]
Stroke = tuple[Point, Point]

ACROSS = (0.5, 0.42, 0.58, 0.36, 0.64)
"""Places to try, as fractions of the distance between the hosts, the best first."""
STEPS = 40
"""Heights to try at each of them."""
ENOUGH_PT = 3.0
"""Room above or below a text beyond which the middle of the band matters more."""


def freest(corners: list[Point], lines: list[Stroke], width_pt: float, height_pt: float) -> Point:
    """The middle of the band if the text fits there, else where the nearest arrow is farthest.

    `corners`: begin at this host, begin at the other, end at the other, end at this host.
    """
    (near_x, near_begin), (far_x, far_begin), (_, far_end), (_, near_end) = corners
    best, best_room = ((near_x + far_x) / 2, (near_begin + far_end) / 2), -1e9
    for share in ACROSS:
        x = near_x + share * (far_x - near_x)
        if min(abs(x - near_x), abs(x - far_x)) < width_pt / 2 and share != ACROSS[0]:
            continue
        begin = near_begin + share * (far_begin - near_begin)
        end = near_end + share * (far_end - near_end)
        crossed = [_extent(line, x, width_pt) for line in lines]
        for step in range(STEPS + 1):
            y = begin + (end - begin) * step / STEPS
            above, below = y - height_pt / 2, y + height_pt / 2
            # How far an arrow passes above or below the text; negative where it crosses it.
            room = min([max(top - below, above - bottom) for top, bottom in crossed], default=1e9)
            # Once there is enough room, prefer the middle.
            room = min(room, ENOUGH_PT) - abs(y - (begin + end) / 2) / 1e3
            if room > best_room + 1e-9:
                best, best_room = (x, y), room
    return best


def _extent(line: Stroke, x: float, width_pt: float) -> tuple[float, float]:
    """From where to where a straight line comes within a text's width."""
    (x0, y0), (x1, y1) = line
    ends = [
        y0 + (side - x0) / (x1 - x0) * (y1 - y0) for side in (x - width_pt / 2, x + width_pt / 2)
    ]
    return min(ends), max(ends)
