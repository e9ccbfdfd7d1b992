"""Frames as scapy packets. scapy is imported when the first one is asked for."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import scapy.layers.inet6  # noqa: F401 - scapy learns its layers by importing them
from scapy.config import conf
from scapy.packet import Raw
from scapy.utils import EDecimal

if TYPE_CHECKING:
    from scapy.packet import Packet

    from nagle_scan import _core

NS_PER_S = Decimal(1_000_000_000)


def packet(row: _core.FrameRow) -> Packet:
    """The frame by the layers of its link type; `Raw` if scapy does not know it."""
    layer = conf.l2types.num2layer.get(row.link_type, Raw)
    dissected: Packet = layer(row.data)
    dissected.time = EDecimal(Decimal(row.time_ns) / NS_PER_S)
    dissected.wirelen = row.wire_len
    return dissected
