"""Captures at both ends: which is where, and where a stall is in each."""

from __future__ import annotations

from collections.abc import Sequence

from nagle_scan import _core
from nagle_scan.words.wording import count, duration, file_name, printable

OTHER = {"client": "server", "server": "client"}


MOST_ASKED = 100
"""Stalls among which one is sought that both captures show."""


def seen(core: _core.Scan, captures: Sequence[str]) -> str:
    """Which capture is at which end, and the proof of a clear stall; empty for one end."""
    ends = core.ends()
    if ends is None:
        return ""
    first = _files(captures[: ends.first_captures])
    second = _files(captures[ends.first_captures :])
    only = [
        f"{count(alone, 'more connection')} in {files} only"
        for files, alone in ((first, ends.only_first), (second, ends.only_second))
        if alone
    ]
    where = f"{first} at the {ends.first_at}, {second} at the {OTHER[ends.first_at]}"
    if ends.is_same_place:
        where = f"{first} and {second}, which were taken at the same place"
    about = "; ".join([where, *only])
    twice = "Twice," if ends.is_same_place else "At both ends of"
    said = f"{twice} {count(ends.shared, 'connection')}: {about}. Each stall is counted once."
    example = "" if ends.is_same_place else _clearest(core)
    return " ".join(filter(None, (said, example, _clocks(ends))))


def _clocks(ends: _core.EndsRow) -> str:
    """How far the clocks are apart, and how well that is known."""
    if ends.clock is None:
        return ""
    ahead_ms, bound_ms = ends.clock
    if abs(ahead_ms) <= bound_ms:
        return f"No difference of their clocks shows (+- {duration(bound_ms)})."
    where = "ahead of" if ahead_ms > 0 else "behind"
    drift = "" if ends.drift_ppm is None else f", drift {ends.drift_ppm:.0f} ppm"
    return (
        f"The {OTHER[ends.first_at]}'s clock is {abs(ahead_ms) / 1000:,.3f} s {where} the "
        f"{ends.first_at}'s (+- {duration(bound_ms)}{drift})."
    )


def _clearest(core: _core.Scan) -> str:
    rows = core.affected(MOST_ASKED)
    stalls = (stall for row in rows for stall in core.stalls_of(row.connection, MOST_ASKED))
    return next(filter(None, map(proof, stalls)), "")


def proof(stall: _core.WaitRow) -> str:
    """Where a stall is in captures at both ends; empty if it is not in both."""
    if stall.other_end is None or stall.held_in is None:
        return ""
    (here, held_frame), (there, _, ack_there, held_there) = stall.held_in, stall.other_end
    ack_here = held_frame - (stall.frame_to - stall.frame_ack)
    if ack_here < 1:
        # The ACK is in the rotated file before.
        return ""
    held, ack = (here, held_frame), (there, ack_there)
    if not stall.is_held_here:
        held, ack = (there, held_there), (here, ack_here)
    waited = f"waited {duration(stall.ack_delay_ms)}" if stall.ack_delay_ms >= 1 else "left at once"
    return (
        f"For example, held at the {stall.sender}: {_file(held[0])} frame {held[1]:,}; its ACK "
        f"{waited} at the {OTHER[stall.sender]}: {_file(ack[0])} frame {ack[1]:,}."
    )


def numbering(core: _core.Scan, captures: Sequence[str]) -> str:
    """How frames of the second end are numbered, without a full stop; empty for one end."""
    ends = core.ends()
    if ends is None:
        return ""
    second = _files(captures[ends.first_captures :])
    return (
        f"frames are numbered on into {second}: its first frame is {ends.first_frame_of_second:,}"
    )


def _file(path: str) -> str:
    return printable(file_name(path))


def _files(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    return _file(paths[0]) + more
