"""Ends of a network whose TCP is not Linux's but a stack in user space, on a TUN interface.

    stack --stack0-- namespace c or s --eth0-- ...

The kernel of the namespace only forwards packets between the two interfaces.
"""

from __future__ import annotations

from dataclasses import dataclass

from net import STACK_INTERFACE, Net


@dataclass(frozen=True)
class Addresses:
    """A stack's own address, its neighbour's in the kernel, and that of the namespace's eth0."""

    own: str
    kernel: str
    wire: str
    veth: str

    @property
    def network(self) -> str:
        """The network that the stack is in."""
        return self.own[: self.own.rindex(".")] + ".0/24"


ADDRESSES = {
    "c": Addresses("10.10.3.2", "10.10.3.1", wire="10.10.1.2", veth="10.10.2.1"),
    "s": Addresses("10.10.4.2", "10.10.4.1", wire="10.10.2.2", veth="10.10.2.2"),
}


def program(net: Net, side: str) -> str:
    """Name of the program that plays the client or the server."""
    return f"{net.stacks[side == 'server']}_peer" if net.has_stack(side[0]) else "peer"


def priority(net: Net, side: str) -> tuple[str, ...]:
    """A stack takes the kernel's part: other programs must not delay it."""
    return ("chrt", "--fifo", "5") if net.has_stack(side[0]) else ()


def commands(net: Net) -> list[tuple[str, str]]:
    """Namespaces, and the commands to run there, that connect the stacks."""
    made: list[tuple[str, str]] = []
    for which in filter(net.has_stack, "cs"):
        at = ADDRESSES[which]
        made += [
            (which, "sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.default.disable_ipv6=1"),
            (which, f"ip tuntap add dev {STACK_INTERFACE} mode tun"),
            (which, f"ip addr add {at.kernel}/24 dev {STACK_INTERFACE}"),
            (which, f"ip link set {STACK_INTERFACE} up"),
        ]
        if net.kind == "wire":
            made.append(("m", f"ip route add {at.network} via {at.wire}"))
        else:
            made.append(("s" if which == "c" else "c", f"ip route add {at.network} via {at.veth}"))
    return made
