"""The properties of a network between client and server; network.py builds it."""

from __future__ import annotations

from dataclasses import dataclass

LINUX = "linux"
STACK_INTERFACE = "stack0"  # the TUN interface of a stack in user space


Ways = tuple[float, float]  # to the server and back
NEITHER: Ways = (0.0, 0.0)


@dataclass(frozen=True)
class Jitter:
    """How the jitter is spread: the shapes of wire.c, and the share of it on each way."""

    shape: str = "uniform"
    ways: Ways = (1.0, 1.0)


@dataclass(frozen=True)
class Access:
    """A link that is not merely far: rate and queue, the moments it sends at, what it does to ACKs.

    It lies between the client and the point 'middle'.
    """

    kbit: Ways = NEITHER
    queue_bytes: Ways = NEITHER
    grid_ms: Ways = NEITHER
    ack_grid_ms: Ways = NEITHER
    thin_acks: Ways = NEITHER  # 1: a newer pure ACK takes the place of one that waits
    reorder: Ways = NEITHER  # chance that a frame comes late
    late_ms: float = 0.0
    drop_syns: Ways = NEITHER

    def options(self) -> str:
        """The options of wire.c; its times are in microseconds."""

        def both(ways: Ways, factor: float = 1) -> str:
            return f"{ways[0] * factor},{ways[1] * factor}"

        return (
            f" --rate {both(self.kbit)} --queue {both(self.queue_bytes)}"
            f" --grid {both(self.grid_ms, 1000)} --ack-grid {both(self.ack_grid_ms, 1000)}"
            f" --thin {both(self.thin_acks)} --reorder {both(self.reorder)}"
            f" --late {self.late_ms * 1000} --drop-syn {both(self.drop_syns)}"
        )


@dataclass(frozen=True)
class Net:
    """The path between client and server. Times are one way, from client to server and back."""

    kind: str = "wire"  # wire | veth | loopback
    rtt_ms: float = 1.9
    share_there: float = 0.5  # of the RTT on the way to the server
    jitter_ms: float = 0.0  # each way, uniform in 0..jitter
    jitter: Jitter = Jitter()
    loss: float = 0.0
    lossy_wire: str = "server"  # at whose side the frames are lost: before or after the router
    drop_every: tuple[int, int] = (0, 0)  # frames with payload, there and back
    dup: float = 0.0
    offload: bool = False  # TSO on the wire's interfaces
    tun: bool = False  # no Ethernet header
    ipv6: bool = False
    congestion: str = "cubic"  # of the peers' sockets
    sysctls: tuple[str, ...] = ()  # 'net.ipv4....=1', on both ends
    access: Access = Access()  # the client's link to the network
    # after so many ms, so many ms more, on both ways together
    changes: tuple[tuple[float, float], ...] = ()
    nat: bool = False  # the server sees the router's address
    busy: int = 0  # programs that do nothing but take processor time
    seed: int = 0  # of all that is drawn
    client_quickack: bool = False  # the client acknowledges at once, as macOS does; wire only
    stacks: tuple[str, str] = (LINUX, LINUX)  # that run TCP at the client and at the server

    @property
    def one_way_ms(self) -> tuple[float, float]:
        """Delay there and back."""
        rtt = self.rtt_ms if self.kind == "wire" else 0.0
        return rtt * self.share_there, rtt * (1 - self.share_there)

    def has_stack(self, which: str) -> bool:
        """A stack in user space runs TCP in the namespace c or s."""
        return which in "cs" and self.stacks["cs".index(which)] != LINUX

    def points(self) -> dict[str, tuple[str, str]]:
        """Where captures can be taken: name -> (namespace, interface)."""
        if self.kind == "loopback":
            return {"loopback": ("c", "lo")}
        ends = {
            "client": ("c", STACK_INTERFACE if self.has_stack("c") else "eth0"),
            "server": ("s", STACK_INTERFACE if self.has_stack("s") else "eth0"),
        }
        return ends | ({"middle": ("m", "left")} if self.kind == "wire" else {})
