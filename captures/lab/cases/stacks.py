"""Cases in which one end's TCP is not Linux's: smoltcp, lwIP or gVisor, as the other side of Linux.

Each stack is the sender of split messages with Nagle on and off, and the receiver of
Linux's. Every case runs with the stack at the client and at the server.
"""

from __future__ import annotations

from dataclasses import replace

from net import LINUX, Net

from cases.case import COUNTRY, NODELAY, SPLIT, VETH, WHOLE, WIRE, Case, exchanges

NETS = {"rtt01": VETH, "rtt2": WIRE, "rtt26": COUNTRY}
SNAPLEN = 96
REPLY = "170 400"
SPLITS = ["request-split", "reply-split", "both-split", "chained", "typed"]
Scripts = tuple[str, str]  # client's, server's

# before the script of a stack: its ACK delay, where it has one to set
VARIANTS = {
    "smoltcp200": ("smoltcp", "ack-delay:200000"),
    "smoltcp100": ("smoltcp", "ack-delay:100000"),
    "lwip": ("lwip", ""),
    "gvisor": ("gvisor", ""),
}


def stack_cases() -> list[Case]:
    """Every case of every stack."""
    cases = []
    for variant in VARIANTS:
        for name, net in NETS.items():
            for side in ("client", "server"):
                for what in wanted(variant):
                    scripts = patterns(8)[what]
                    id = f"{variant}-{side}-{what}-{name}"
                    cases.append(stack_case(id, variant, side, scripts, net))
    return cases


def wanted(variant: str) -> list[str]:
    """The patterns that are run with it."""
    return SPLITS if variant == "smoltcp100" else list(patterns(1))


def stack_case(id: str, variant: str, side: str, scripts: Scripts, net: Net) -> Case:
    """A case with this stack at one side."""
    stack, start = VARIANTS[variant]
    client, server = scripts
    if side == "client":
        return Case(id, f"{start} {client}", server, at(net, stack, LINUX), snaplen=SNAPLEN)
    return Case(id, client, f"{start} {server}", at(net, LINUX, stack), snaplen=SNAPLEN)


def at(net: Net, client: str, server: str) -> Net:
    """The network with these stacks at its ends."""
    return replace(net, stacks=(client, server))


def patterns(n: int) -> dict[str, Scripts]:
    """What the two sides say to each other, n times."""
    off = {"client": NODELAY, "server": NODELAY}
    return {
        "request-split": exchanges(n, SPLIT, "90"),
        "reply-split": exchanges(n, "60", REPLY),
        "both-split": exchanges(n, SPLIT, REPLY),
        "both-split-nodelay": exchanges(n, SPLIT, REPLY, **off),
        "request-split-nodelay": exchanges(n, SPLIT, "90", client=NODELAY),
        "reply-split-nodelay": exchanges(n, "60", REPLY, server=NODELAY),
        "five-pieces": exchanges(n, "80 40 30 20 10", "90"),
        "coalesced": exchanges(n, "12 12 12 12 12", "12 12 12 12"),
        "tail-of-request": exchanges(n, "3000", "90"),
        "tail-of-reply": exchanges(n, "60", "3000"),
        # one full segment and a tail: Linux delays the ACK that a classic sender waits for
        "odd-tail-of-request": exchanges(n, "2000", "90"),
        "odd-tail-of-reply": exchanges(n, "60", "2000"),
        "full-then-small": exchanges(n, "1448 100", "1448 100"),
        "tail-nodelay": exchanges(n, "3000", "3000", **off),
        "head-and-body": exchanges(n, "60", "143 8000"),
        "chained": exchanges(n, "100 +15000 50 +15000 40 +15000 30", "90"),
        "single-write": exchanges(n, WHOLE, "570"),
        "think40": exchanges(n, WHOLE, "90", server_think="40000"),
        "sleep40-nodelay": exchanges(n, "120 +40000 30", "90", **off),
        "sleep200-nodelay": exchanges(n, "120 +200000 30", "90", **off),
        "typed": (
            "background-read 15( write:1 pause:40000-160000 )",
            "15( read:1 write:1 ) read:eof",
        ),
    }
