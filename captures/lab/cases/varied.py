"""Think times from a range, short connections in great number, and exchanges drawn at random."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from net import Net

from cases.case import (
    COUNTRY,
    LOOPBACK,
    NODELAY,
    OCEAN,
    SPLIT,
    VETH,
    WIRE,
    Case,
    case,
    exchanges,
    size,
    writes,
)


def varied() -> list[Case]:
    """Think times and idle periods from a range, and short connections in great number."""
    nets = {"rtt2": WIRE, "rtt26": COUNTRY, "loopback": LOOPBACK}
    cases = []
    for name, net in nets.items():
        cases += [
            case(
                f"both-split-think0-80-{name}",
                exchanges(25, SPLIT, "170 400", think="0-80000"),
                net,
            ),
            case(
                f"server-think0-80-{name}",
                exchanges(25, SPLIT, "170 400", server_think="0-80000"),
                net,
            ),
            case(
                f"both-split-think400-{name}", exchanges(8, SPLIT, "170 400", think="400000"), net
            ),
            case(
                f"server-think0-80-nodelay-{name}",
                exchanges(
                    25, SPLIT, "170 400", server_think="0-80000", client=NODELAY, server=NODELAY
                ),
                net,
            ),
        ]
        first = exchanges(2, SPLIT, "170 400")
        short = tuple((f"pause:{40000 * i} {first[0]}", first[1]) for i in range(1, 30))
        cases.append(Case(f"short-connections-{name}", *first, net, more=short))
    return cases


def random_cases() -> list[Case]:
    """Exchanges drawn at random: sizes, pieces, pauses, TCP_NODELAY, network."""
    return [random_case(seed) for seed in range(1, 31)]


def random_case(seed: int) -> Case:
    """One of them; the same seed draws the same case."""
    dice = Random(seed)
    wires = [Net(rtt_ms=7), Net(rtt_ms=45), Net(rtt_ms=150, share_there=0.3)]
    net = dice.choice([WIRE, COUNTRY, OCEAN, LOOPBACK, VETH, *wires])
    if net.kind == "wire":
        jitter_ms = dice.choice([0, 0, 0.3, 2])
        net = replace(net, jitter_ms=jitter_ms, offload=dice.random() < 0.3)
    client, server = (f"nodelay:{dice.choice([0, 0, 1])} " for _ in range(2))
    for _ in range(dice.randint(12, 20)):
        request, reply = random_message(dice), random_message(dice)
        client += f"{writes(request)} read:{size(reply)} {random_pause(dice)}"
        server += f"read:{size(request)} {random_pause(dice)}{writes(reply)} "
    return Case(f"random-{seed:02}", client, server + "read:eof", net)


def random_message(dice: Random) -> str:
    """Pieces of a request or reply."""
    pieces = [
        str(dice.choice([dice.randint(1, 400), dice.randint(1, 1400), dice.randint(1, 9000)]))
        for _ in range(dice.choice([1, 1, 2, 2, 3, 5]))
    ]
    return " ".join(
        f"{p} +{dice.randint(100, 60000)}" if dice.random() < 0.15 and p is not pieces[-1] else p
        for p in pieces
    )


def random_pause(dice: Random) -> str:
    """A pause of the application, or none."""
    return dice.choice(
        ["", "", f"pause:{dice.randint(100, 5000)} ", f"pause:{dice.randint(5000, 70000)} "]
    )
