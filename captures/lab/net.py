"""What a network between client and server is like; network.py builds it."""

from __future__ import annotations

from dataclasses import dataclass

LINUX = "linux"
STACK_INTERFACE = "stack0"  # the TUN interface of a stack in user space


@dataclass(frozen=True)
class Net:
    """What lies between client and server. Times are one way, from client to server and back."""

    kind: str = "wire"  # wire | veth | loopback
    rtt_ms: float = 1.9
    share_there: float = 0.5  # of the RTT on the way to the server
    jitter_ms: float = 0.0  # each way, uniform in 0..jitter
    loss: float = 0.0
    drop_every: tuple[int, int] = (0, 0)  # frames with payload, there and back
    dup: float = 0.0
    offload: bool = False  # TSO on the wire's interfaces
    tun: bool = False  # no Ethernet header
    ipv6: bool = False
    congestion: str = "cubic"  # of the peers' sockets
    sysctls: tuple[str, ...] = ()  # 'net.ipv4....=1', on both ends
    gro_off: bool = False  # veth only
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
