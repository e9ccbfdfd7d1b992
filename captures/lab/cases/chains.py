"""What a chain of relays is made of: its sockets, what its ends do, and where its hops run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

from net import Net

LOOPBACK = Net("loopback")
FIRST_PORT = 8100  # of the server; one more for each relay before it
PORTS_OF_A_CHAIN = 100
Scripts = tuple[str, str]  # of client and server, in the language of peer.c


@dataclass(frozen=True)
class Chain:
    """A client, relays, a server.

    Its sockets are named in order from the client to the server, '+' with TCP_NODELAY: '+ +- +'
    has one relay, whose socket towards the server holds what Nagle tells it to.
    """

    sockets: str
    scripts: Scripts
    connections: int = 1
    hosts: str = ""  # a letter for each hop; without, all are on host a
    relay: tuple[str, ...] = ()  # further options of the relays

    @property
    def hops(self) -> list[str]:
        """The sockets of each hop, from the client to the server."""
        return self.sockets.split()

    def host(self, hop: int) -> str:
        """Where a hop runs."""
        return self.hosts[hop] if self.hosts else "a"


@dataclass(frozen=True)
class ChainCase:
    """One run: chains that run at the same time, each with its own ports."""

    id: str
    chains: tuple[Chain, ...]
    net: Net = LOOPBACK
    containers: int = 0  # on a bridge, where there are any

    @property
    def relays(self) -> int:
        """How many there are; without any it is a look-alike."""
        return sum(len(chain.hops) - 2 for chain in self.chains)


def first_ports() -> count[int]:
    """The server's port of each chain of a case."""
    return count(FIRST_PORT, PORTS_OF_A_CHAIN)


# -- what the ends do ---------------------------------------------------------


def writes(pieces: Sequence[int], gap: str) -> str:
    """Writes of these lengths, with a pause of GAP microseconds (or FROM-TO) between."""
    return (f" pause:{gap} " if gap else " ").join(f"write:{piece}" for piece in pieces)


def calls(
    request: Sequence[int] = (80,),
    reply: Sequence[int] = (90, 12),
    n: int = 14,
    think: str = "2000",
    request_gap: str = "",
    reply_gap: str = "",
    work: str = "",
) -> Scripts:
    """N requests, each of these pieces, answered by a reply of these, THINK apart."""
    pause = f" pause:{think}" if think else ""
    before = f"pause:{work} " if work else ""
    client = f"{writes(request, request_gap)} read:{sum(reply)}{pause}"
    server = f"read:{sum(request)} {before}{writes(reply, reply_gap)}"
    return f"{n}( {client} )", f"{n}( {server} )"


def pushes(pieces: Sequence[int], n: int = 14, gap: str = "", every: str = "60000") -> Scripts:
    """The server sends pieces again and again, nobody answers."""
    server = f"read:10 {n}( {writes(pieces, gap)} pause:{every} )"
    return f"write:10 read:{n * sum(pieces)}", server
