"""Kinds of path, of receiver, and of capture."""

from __future__ import annotations

from dataclasses import replace

from net import Access

from cases.case import (
    COUNTRY,
    FIRST_PORT,
    LOOPBACK,
    NODELAY,
    OCEAN,
    SPLIT,
    WHOLE,
    WIRE,
    Case,
    Extra,
    case,
    exchanges,
)


def paths() -> list[Case]:
    """Delays that differ by direction, jitter, loss, duplicates, offload, bare IP."""
    ask, both = exchanges(15, SPLIT, "90"), exchanges(12, SPLIT, "170 400")
    cases = []
    for share, name in ((0.1, "slow-back"), (0.9, "slow-there")):
        cases += [
            case(f"both-split-rtt26-{name}", both, replace(COUNTRY, share_there=share)),
            case(f"request-split-rtt100-{name}", ask, replace(OCEAN, share_there=share)),
        ]
    for jitter in (1, 4):
        cases += [
            case(f"both-split-rtt2-jitter{jitter}", both, replace(WIRE, jitter_ms=jitter)),
            case(f"both-split-rtt26-jitter{jitter}", both, replace(COUNTRY, jitter_ms=jitter)),
            case(
                f"think40-nodelay-rtt26-jitter{jitter}",
                exchanges(20, WHOLE, "90", server_think="40000", client=NODELAY, server=NODELAY),
                replace(COUNTRY, jitter_ms=jitter),
            ),
        ]
    return [
        *cases,
        case("both-split-rtt26-loss", exchanges(25, SPLIT, "170 400"), replace(COUNTRY, loss=0.03)),
        case(
            "request-split-lost-segments",
            exchanges(25, SPLIT, "90"),
            replace(WIRE, drop_every=(7, 0)),
        ),
        case(
            "nodelay-loss-rtt26",
            exchanges(30, SPLIT, "90", client=NODELAY),
            replace(COUNTRY, loss=0.03),
        ),
        # A full segment takes 24 ms.
        case(
            "bulk-reply-512kbit",
            exchanges(4, WHOLE, "30000"),
            replace(WIRE, access=Access(kbit=(512, 512))),
        ),
        case("both-split-duplicates", both, replace(WIRE, dup=0.3)),
        case("both-split-offload", both, replace(WIRE, offload=True)),
        case("both-split-tun", both, replace(WIRE, tun=True)),
        case("both-split-ipv6", both, replace(WIRE, ipv6=True)),
        case("both-split-ipv6-loopback", both, replace(LOOPBACK, ipv6=True)),
        case("both-split-bbr-rtt26", both, replace(COUNTRY, congestion="bbr")),
    ]


def receivers() -> list[Case]:
    """Receivers whose ACK timer is not 40 ms."""
    return [
        case("delack-10ms", exchanges(15, SPLIT, "90", server="delack-max:10000")),
        case("delack-20ms-rtt26", exchanges(15, SPLIT, "90", server="delack-max:20000"), COUNTRY),
        case(
            "pingpong-threshold-3",
            exchanges(15, SPLIT, "90"),
            replace(WIRE, sysctls=("net.ipv4.tcp_pingpong_thresh=3",)),
        ),
        case(
            "no-timestamps",
            exchanges(12, SPLIT, "170 400"),
            replace(WIRE, sysctls=("net.ipv4.tcp_timestamps=0",)),
        ),
        case(
            "no-timestamps-rtt26",
            exchanges(12, SPLIT, "143 20000"),
            replace(COUNTRY, sysctls=("net.ipv4.tcp_timestamps=0",)),
        ),
    ]


def formats() -> list[Case]:
    """The same run in many file formats, incomplete, disturbed, and with its beginning missing."""
    router = (
        Extra("middle-any", "middle", interface="any"),
        Extra("middle-late", "middle", late_s=0.35),
    )
    both = exchanges(15, SPLIT, "170 400")
    clean = exchanges(25, SPLIT, "570", client=NODELAY, think="20000")
    extras = (*at_client(), Extra("server-late", "server", late_s=0.35), *router)
    disturbed = (
        *derived("client"),
        Extra("server-step1ms", "server", derive="step_1ms"),
        Extra("two-taps", "client", derive="two_taps"),
    )
    return [
        case("formats-rtt2", both, extras=extras + disturbed),
        case("formats-rtt26", both, COUNTRY, extras=extras + disturbed),
        case("formats-rtt100", both, OCEAN, extras=extras + disturbed),
        case("formats-ipv6", both, replace(COUNTRY, ipv6=True), extras=extras),
        case("formats-clean-rtt26", clean, COUNTRY, extras=extras + disturbed),
        case("late-rtt100", exchanges(15, "60", "170 400"), OCEAN, extras=extras),
        case(
            "any-loopback",
            both,
            LOOPBACK,
            extras=(
                Extra("loopback-any", "loopback", interface="any"),
                Extra("loopback-late", "loopback", late_s=0.35),
                Extra("loopback-snap96", "loopback", ("-s", "96")),
                *derived("loopback"),
            ),
        ),
    ]


def at_client() -> tuple[Extra, ...]:
    """What tcpdump and dumpcap can write otherwise, at the client."""
    return (
        Extra("client-any", "client", interface="any"),
        Extra("client-sll1", "client", ("-y", "LINUX_SLL"), interface="any"),
        Extra("client-snap96", "client", ("-s", "96")),
        Extra("client-nano", "client", ("--time-stamp-precision=nano",)),
        Extra("client-pcapng", "client", pcapng=True, suffix=".pcapng"),
        Extra("client-one-way", "client", only=f"tcp dst port {FIRST_PORT}"),
        Extra("client-other-way", "client", only=f"tcp src port {FIRST_PORT}"),
        Extra("client-late", "client", late_s=0.35),
    )


def derived(point: str) -> tuple[Extra, ...]:
    """Files made from the capture at a point."""
    return (
        *(
            Extra(f"{point}-{derive.replace('_', '')}", point, derive=derive)
            for derive in ("cut", "step_1ms", "step_10ms", "thinned", "big_endian", "mirrored")
        ),
        Extra(f"{point}-gz", point, derive="gzipped", suffix=".pcap.gz"),
        Extra(f"{point}-zst", point, derive="zstandard", suffix=".pcap.zst"),
    )
