"""The matrix: what client and server do, over which network, and what is captured besides.

Every case is captured at all points of its network; an Extra is one more capture of the same run.
The cases are those of cases.toml, and thirty with exchanges drawn at random, always the same.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

from network import LINUX, Net
from truths import SIDES

TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())
FIRST_PORT = 7001  # of the server
NO_TIMESTAMPS = ("net.ipv4.tcp_timestamps=0",)
Scripts = tuple[str, str]  # client's and server's, in the language of peer.c, and with loops
LOOP = re.compile(r"(\d+)\( ([^()]*) \)")
Table = dict[str, Any]

# The stacks beside Linux's, and how many of their cases are run with it.
STACKS = {"smoltcp200": 21, "smoltcp100": 5, "lwip": 21, "gvisor": 21}
STACK_NETS = {"rtt01": "veth", "rtt2": "rtt2", "rtt26": "rtt26"}


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
    only: str = "tcp"  # tcpdump filter
    derive: str = ""
    suffix: str = ".pcap"


@dataclass(frozen=True, kw_only=True)
class Run:
    """A case of any kind: its name, its network, and the captures besides those at all points."""

    id: str
    net: Net
    extras: tuple[Extra, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Case(Run):
    """A run of scripts, which peer.c follows at both ends."""

    flows: tuple[Scripts, ...]  # of each connection
    client_rcvbuf: int = 0
    only: str = "tcp"  # tcpdump filter of the captures at the network's points
    one_port: bool = False  # of the server, for all connections; else one for each


# -- scripts --------------------------------------------------------------------------------------


def spoken(text: str) -> Scripts:
    """The scripts of a text of cases.toml: 'N: CLIENT / SERVER', or both scripts as they are."""
    number, _, both = text.rpartition(": ")
    client, _, server = both.partition(" / ")
    if not number:
        return client, server or "read:eof"
    (own, think, ask), (its, work, answer) = taken_apart(client), taken_apart(server)
    return (
        f"{own} {number}( {writes(ask)} read:{size(answer)} {think} )",
        f"{its} {number}( read:{size(ask)} {work} {writes(answer)} ) read:eof",
    )


def taken_apart(side: str) -> tuple[str, str, str]:
    """The options of one side of such a text, the pause before its next turn, and the pieces."""
    words = side.split()
    options = [word for word in words if ":" in word]
    pauses = [word.replace("think=", "pause:") for word in words if word.startswith("think=")]
    pieces = [word for word in words if ":" not in word and not word.startswith("think=")]
    return " ".join(options), " ".join(pauses), " ".join(pieces)


def writes(pieces: str) -> str:
    """The script that writes these pieces."""
    words = pieces.split()
    return " ".join(f"pause:{w[1:]}" if w[0] == "+" else f"write:{w}" for w in words)


def unrolled(script: str) -> str:
    """A script with its loops, 'N( ... )', written out."""
    while loop := LOOP.search(script):
        script = script.replace(loop[0], " ".join([loop[2]] * int(loop[1])), 1)
    return script


def size(pieces: str) -> int:
    """Bytes in all of these pieces."""
    return sum(int(p) for p in pieces.split() if p[0] != "+")


# -- the tables -----------------------------------------------------------------------------------


def net_of(fields: Table, base: Net | None = None) -> Net:
    """A network of cases.toml, or what a case adds to one."""
    lists = {name: tuple(of) for name, of in fields.items() if isinstance(of, list)}
    return replace(base or Net(), **(fields | lists))


NETS = {name: net_of(fields) for name, fields in TABLES["nets"].items()}


def listed() -> Iterator[Case]:
    """Every case that Linux runs at both ends."""
    for pattern, fields in TABLES["cases"].items():
        for name, value in variants(pattern):
            for net in fields.get("on", "rtt2").split():
                id = name.replace("*", net).replace("?", "" if net == "rtt2" else f"-{net}")
                yield case_of(id, fields, value, NETS[net])
    for kind, row in TABLES["hard"].items():
        net = net_of(row["net"])
        extras = tuple(e for e in EXTRAS[row.get("extras", "")] if e.point in net.points())
        for name, text in row["say"].items():
            own = replace(net, sysctls=NO_TIMESTAMPS) if name.endswith("-nots") else net
            flows = (spoken(text),)
            yield Case(id=f"hard-{kind}-{name}", net=own, extras=extras, flows=flows)
    yield from map(random_case, range(1, 31))


def variants(pattern: str) -> Iterator[tuple[str, str]]:
    """A name for each value in its braces, and that value."""
    braces = re.search(r"\{(.*?)\}", pattern)
    for value in braces[1].split(",") if braces else [""]:
        yield (pattern.replace(braces[0], value) if braces else pattern), value


def case_of(id: str, fields: Table, value: str, net: Net) -> Case:
    """One row of the table, with a value for its $."""
    scripts = spoken(fields["say"].replace("$", value))
    flows = [scripts, *map(spoken, fields.get("more", ()))]
    if again := fields.get("again"):
        flows += [
            (f"{again['after']}:{again['us'] * number} {scripts[0]}", scripts[1])
            for number in range(1, again["times"] + 1)
        ]
    return Case(
        id=id,
        net=net_of(fields.get("net", {}), net),
        extras=tuple(e for word in fields.get("extras", "").split() for e in EXTRAS[word]),
        flows=tuple(flows),
        **{name: fields[name] for name in ("client_rcvbuf", "only", "one_port") if name in fields},
    )


def stack_cases() -> Iterator[Case]:
    """Every case of every stack, at either end."""
    for stack, most in STACKS.items():
        for what, text in list(TABLES["stacks"].items())[:most]:
            for name, net in STACK_NETS.items():
                for side, stacks in zip(SIDES, ((stack, LINUX), (LINUX, stack)), strict=True):
                    at = replace(NETS[net], stacks=stacks)
                    id = f"{stack}-{side}-{what}-{name}"
                    yield Case(id=id, net=at, flows=(spoken(text),))


# -- exchanges at random --------------------------------------------------------------------------


def random_case(seed: int) -> Case:
    """Sizes, pieces, pauses, TCP_NODELAY, network; the same seed draws the same case."""
    dice = Random(seed)
    wires = [Net(rtt_ms=7), Net(rtt_ms=45), Net(rtt_ms=150, share_there=0.3)]
    known = [NETS[name] for name in ("rtt2", "rtt26", "rtt100", "loopback", "veth")]
    net = dice.choice([*known, *wires])
    if net.kind == "wire":
        jitter_us = 500 * dice.choice([0, 0, 0.3, 2])
        offload = " --offload" if dice.random() < 0.3 else ""
        net = replace(net, wire=f"--jitter {jitter_us},{jitter_us}{offload}")
    client, server = (f"nodelay:{dice.choice([0, 0, 1])} " for _ in range(2))
    for _ in range(dice.randint(12, 20)):
        request, reply = random_message(dice), random_message(dice)
        client += f"{writes(request)} read:{size(reply)} {random_pause(dice)}"
        server += f"read:{size(request)} {random_pause(dice)}{writes(reply)} "
    return Case(id=f"random-{seed:02}", net=net, flows=((client, server + "read:eof"),))


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


# -- further captures -----------------------------------------------------------------------------


def derived(points: str, **by_name: str) -> tuple[Extra, ...]:
    """Files made from the captures at these points, each by a function of derive.py."""
    suffixes = {"gzipped": ".pcap.gz", "zstandard": ".pcap.zst"}
    return tuple(
        Extra(f"{point}-{name}", point, derive=what, suffix=suffixes.get(what, ".pcap"))
        for point in points.split()
        for name, what in by_name.items()
    )


def disturbed(point: str) -> tuple[Extra, ...]:
    """A file cut off, incomplete, doubled, in other formats, and by coarse clocks."""
    damaged = {"cut": "cut", "thinned": "thinned:0.05", "mirrored": "mirrored"}
    formats = {"bigendian": "big_endian", "gz": "gzipped", "zst": "zstandard"}
    return derived(point, step1ms="coarse:1", step10ms="coarse:10", **damaged, **formats)


EXTRAS = {
    "": (),
    # what tcpdump and dumpcap can write otherwise
    "tools": (
        Extra("client-any", "client", interface="any"),
        Extra("client-sll1", "client", ("-y", "LINUX_SLL"), interface="any"),
        Extra("client-snap96", "client"),
        Extra("client-nano", "client", ("--time-stamp-precision=nano",)),
        Extra("client-pcapng", "client", suffix=".pcapng"),
        Extra("client-one-way", "client", only=f"tcp dst port {FIRST_PORT}"),
        Extra("client-other-way", "client", only=f"tcp src port {FIRST_PORT}"),
        Extra("client-late", "client", late_s=0.35),
        Extra("server-late", "server", late_s=0.35),
        Extra("middle-any", "middle", interface="any"),
        Extra("middle-late", "middle", late_s=0.35),
    ),
    "disturbed": (
        *disturbed("client"),
        *derived("server", step1ms="coarse:1"),
        Extra("two-taps", "client", derive="both_ends"),
    ),
    "loopback": (
        Extra("loopback-any", "loopback", interface="any"),
        Extra("loopback-late", "loopback", late_s=0.35),
        Extra("loopback-snap96", "loopback"),
        *disturbed("loopback"),
    ),
    # at each point a capture that begins after a second, and two without their first frames
    "late": (
        *(Extra(f"{point}-late", point, late_s=1.0) for point in ("client", "middle", "server")),
        *derived("client middle server", joined15="joined:0.15", joined40="joined:0.40"),
    ),
    # captures that could not keep up: a share of the frames is missing
    "lacks": derived(
        "client server",
        lacks01="thinned:0.001",
        lacks1="thinned:0.01",
        lacks5="thinned:0.05",
        lacks15="thinned:0.15",
    ),
    # clocks that tick seldom, or at uneven moments
    "clocks": derived(
        "client server loopback",
        coarse1="coarse:1",
        coarse4="coarse:4",
        coarse10="coarse:10",
        uneven1="uneven:1",
        uneven2="uneven:2",
    ),
    # both ends in one file, the server's clock late by these milliseconds, or early
    "two-clocks": tuple(
        Extra(f"both-{number}", "client", derive=f"both_ends:{ms}")
        for number, ms in enumerate((-6.5, 0.3, 7.9, -40))
    ),
    # both sides of a NAT in one file
    "both-sides": (
        Extra("both-sides", "client", derive="both_ends"),
        Extra("middle-any", "middle", interface="any"),
    ),
}
