"""What is written in how many pieces, and waits that Nagle did not make."""

from __future__ import annotations

from dataclasses import replace

from cases.case import (
    COUNTRY,
    LOOPBACK,
    NODELAY,
    OCEAN,
    SPLIT,
    VETH,
    WHOLE,
    WIRE,
    Case,
    case,
    exchanges,
)


def basic() -> list[Case]:
    """Every split on every network."""
    nets = {"rtt2": WIRE, "rtt26": COUNTRY, "rtt100": OCEAN, "loopback": LOOPBACK, "veth": VETH}
    cases = []
    for name, net in nets.items():
        cases += [
            case(f"request-split-{name}", exchanges(15, SPLIT, "90"), net),
            case(f"reply-split-{name}", exchanges(15, "60", "170 400"), net),
            case(f"both-split-{name}", exchanges(12, SPLIT, "170 400"), net),
            case(f"single-write-{name}", exchanges(15, WHOLE, "570"), net),
            case(f"request-split-nodelay-{name}", exchanges(15, SPLIT, "90", client=NODELAY), net),
            case(
                f"both-split-nodelay-{name}",
                exchanges(15, SPLIT, "170 400", client=NODELAY, server=NODELAY),
                net,
            ),
        ]
    return cases


def pieces_and_think() -> list[Case]:
    """More pieces than two, and a client that pauses between its requests."""
    cases = [
        case("request-three-pieces", exchanges(12, "80 40 30", "90")),
        case("request-five-pieces", exchanges(12, "80 40 30 20 10", "90")),
        case("reply-five-pieces", exchanges(12, "60", "80 40 30 20 10")),
        case("reply-three-pieces-rtt26", exchanges(12, "60", "80 40 30"), COUNTRY),
    ]
    for ms in (1, 20, 60):
        cases += [
            case(f"request-split-think{ms}", exchanges(12, SPLIT, "90", think=f"{ms}000")),
            case(f"reply-split-think{ms}", exchanges(12, "60", "170 400", think=f"{ms}000")),
            case(
                f"reply-split-think{ms}-loopback",
                exchanges(12, "60", "170 400", think=f"{ms}000"),
                LOOPBACK,
            ),
        ]
    return cases


def sizes() -> list[Case]:
    """Full segments, tails, coalesced writes, chains."""
    cases = []
    for name, net in (
        ("rtt2", WIRE),
        ("veth", VETH),
        ("offload", replace(WIRE, offload=True)),
        ("loopback", LOOPBACK),
    ):
        cases += [
            case(f"large-head-{name}", exchanges(12, "60", "3000 60"), net),
            case(f"head-and-body-{name}", exchanges(12, "60", "143 20000"), net),
            case(f"tail-after-full-{name}", exchanges(12, "60", "2896 100"), net),
            case(f"coalesced-{name}", exchanges(12, "12 12 12 12 12", "90"), net),
        ]
    return [
        *cases,
        case("head-and-body-rtt26", exchanges(12, "60", "143 20000"), COUNTRY),
        case("head-and-body-rtt100", exchanges(12, "60", "143 20000"), OCEAN),
        case("body-200k-rtt26", exchanges(8, "60", "143 200000"), COUNTRY),
        case(
            "chained", exchanges(10, "100 +15000 50 +15000 40 +15000 30 +15000 20 +15000 10", "90")
        ),
        case(
            "chained-rtt26",
            exchanges(10, "100 +15000 50 +15000 40 +15000 30 +15000 20", "90"),
            COUNTRY,
        ),
    ]


def look_alikes() -> list[Case]:
    """Waits that Nagle did not make, or made shorter than they look."""
    cases = []
    for ms in (40, 44, 200):
        split = f"120 +{ms}000 30"
        cases += [
            case(f"sleep{ms}-nodelay", exchanges(15, split, "90", client=NODELAY)),
            case(f"sleep{ms}-nagle", exchanges(15, split, "90")),
            case(f"sleep{ms}-nodelay-rtt26", exchanges(15, split, "90", client=NODELAY), COUNTRY),
        ]
    return [
        *cases,
        case(
            "sleep44-nodelay-loopback",
            exchanges(20, "120 +44000 30", "90", client=NODELAY),
            LOOPBACK,
        ),
        case("sleep30-50-nodelay", exchanges(20, "120 +30000-50000 30", "90", client=NODELAY)),
        case("client-think40", exchanges(15, WHOLE, "90", think="40000")),
        case("client-think44-loopback", exchanges(15, WHOLE, "90", think="44000"), LOOPBACK),
        case(
            "server-think40-nodelay",
            exchanges(15, WHOLE, "90", server_think="40000", client=NODELAY, server=NODELAY),
        ),
        case(
            "server-think20-60-nodelay",
            exchanges(20, WHOLE, "90", server_think="20000-60000", client=NODELAY, server=NODELAY),
        ),
        case("server-think40-split-request", exchanges(15, SPLIT, "90", server_think="40000")),
        case("periodic20-nodelay", (f"{NODELAY} 60( write:48 pause:20000 )", "read:eof")),
        case("periodic20-nagle", ("60( write:48 pause:20000 )", "read:eof")),
        case("periodic20-nagle-rtt26", ("60( write:48 pause:20000 )", "read:eof"), COUNTRY),
        case("periodic20-nagle-rtt100", ("60( write:48 pause:20000 )", "read:eof"), OCEAN),
        case(
            "periodic20-nodelay-rtt100",
            (f"{NODELAY} 60( write:48 pause:20000 )", "read:eof"),
            OCEAN,
        ),
        case("cork-never-cleared", exchanges(10, SPLIT, "90", client="cork:1")),
        case("small-window", exchanges(12, "60", "143 20000"), client_rcvbuf=4096),
        case("one-way-stream", ("write:200000 write:200000", "read:eof")),
        case("one-way-stream-rtt26", ("write:200000 write:200000", "read:eof"), COUNTRY),
        case("one-way-small", ("80( write:100 pause:3000 )", "read:eof")),
        case("one-way-small-rtt26", ("80( write:100 pause:3000 )", "read:eof"), COUNTRY),
    ]
