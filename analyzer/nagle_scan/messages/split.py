"""Where a message was split: what ended with one segment of a stall and what the other carried."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from nagle_scan.messages import payloads
from nagle_scan.messages.payloads import Payload, pair_of
from nagle_scan.messages.services import recognise

if TYPE_CHECKING:
    from nagle_scan import _core


def describe(paths: Sequence[str], stalls: Sequence[_core.WaitRow]) -> list[list[str]]:
    """For each stall, the message that its unacknowledged segment ended, and what the held carried.

    Empty where that is not known. Reads the captures again, once for all of them.
    """
    numbers = [number for stall in stalls for number in (stall.frame_from, stall.frame_to)]
    found = payloads.read(paths, numbers)
    return [_described(stall, found) for stall in stalls]


def _described(stall: _core.WaitRow, found: Mapping[int, Payload]) -> list[str]:
    unacked, held = (found.get(frame) for frame in (stall.frame_from, stall.frame_to))
    if unacked is None or held is None:
        return []
    server = stall.sender_end if stall.sender == "server" else stall.receiver_end
    port = int(server.rpartition(":")[2])
    split = recognise(pair_of(unacked, held, port, stall.sender == "client"))
    names = f"frame {stall.frame_from}", f"frame {stall.frame_to}"
    return [] if split is None else [split.sentence(*names)]
