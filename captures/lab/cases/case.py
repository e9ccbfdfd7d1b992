"""What a case is made of: its scripts, in the language of peer.c, its network, its captures."""

from __future__ import annotations

from dataclasses import dataclass

from net import Net

FIRST_PORT = 7001  # of the server
LOOPBACK, VETH = Net("loopback"), Net("veth")
WIRE, COUNTRY, OCEAN = Net(rtt_ms=1.9), Net(rtt_ms=26), Net(rtt_ms=100)

NODELAY = "nodelay:1"
SPLIT, WHOLE = "120 30", "150"


@dataclass(frozen=True)
class Extra:
    """One more capture of a run.

    Its own tcpdump at a point (late ones start while the client runs), or a file derived from that
    point's capture by a function of derive.py.
    """

    name: str
    point: str
    tcpdump: tuple[str, ...] = ()
    interface: str = ""
    late_s: float = 0.0
    pcapng: bool = False
    only: str = "tcp"  # tcpdump filter
    derive: str = ""
    suffix: str = ".pcap"


@dataclass(frozen=True)
class Case:
    """One run: what client and server do, over which network, and what is captured besides."""

    id: str
    client: str
    server: str
    net: Net = WIRE
    extras: tuple[Extra, ...] = ()
    more: tuple[tuple[str, str], ...] = ()  # further connections: client script, server script
    client_rcvbuf: int = 0
    server_rcvbuf: int = 0
    snaplen: int = 0  # of the captures at the network's points
    only: str = "tcp"  # tcpdump filter of these captures
    one_port: bool = False  # of the server, for all connections; else one for each

    @property
    def flows(self) -> tuple[tuple[str, str], ...]:
        """Client script and server script of every connection."""
        return ((self.client, self.server), *self.more)


def case(
    id: str,
    scripts: tuple[str, str],
    net: Net = WIRE,
    extras: tuple[Extra, ...] = (),
    more: tuple[tuple[str, str], ...] = (),
    client_rcvbuf: int = 0,
) -> Case:
    """A Case from a pair of scripts."""
    return Case(id, *scripts, net, extras, more, client_rcvbuf)


def exchanges(
    n: int,
    request: str,
    reply: str,
    think: str = "",
    client: str = "",
    server: str = "",
    server_think: str = "",
) -> tuple[str, str]:
    """Scripts of n requests and replies.

    A request or reply is the sizes of its writes, '120 30', with '+US' for a pause between two of
    them: '120 +5000 30'.
    """
    ask, answer = size(request), size(reply)
    pause, work = (f"pause:{p} " if p else "" for p in (think, server_think))
    return (
        f"{client} {n}( {writes(request)} read:{answer} {pause})",
        f"{server} {n}( read:{ask} {work}{writes(reply)} ) read:eof",
    )


def writes(pieces: str) -> str:
    """The script that writes these pieces."""
    words = pieces.split()
    return " ".join(f"pause:{w[1:]}" if w[0] == "+" else f"write:{w}" for w in words)


def size(pieces: str) -> int:
    """Bytes in all of these pieces."""
    return sum(int(p) for p in pieces.split() if p[0] != "+")
