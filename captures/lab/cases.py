"""The matrix: what client and server do, over which network, and what is captured besides.

Every case is captured at all points of its network; an Extra is one more capture of the same run.
The cases of cases.toml are the same each time, those of drawn.py are drawn by a seed.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from net import LINUX, Access, Net
from truths import SIDES

TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())
FIRST_PORT = 7001  # of the server
STACK_SNAPLEN = 96
NODELAY = "nodelay:1"
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
    net: Net
    extras: tuple[Extra, ...] = ()
    more: tuple[Scripts, ...] = ()  # of further connections
    client_rcvbuf: int = 0
    snaplen: int = 0  # of the captures at the network's points
    only: str = "tcp"  # tcpdump filter of these captures
    one_port: bool = False  # of the server, for all connections; else one for each

    @property
    def flows(self) -> tuple[Scripts, ...]:
        """Client script and server script of every connection."""
        return ((self.client, self.server), *self.more)


# -- scripts --------------------------------------------------------------------------------------


def exchanges(
    n: int,
    request: str,
    reply: str,
    think: str = "",
    client: str = "",
    server: str = "",
    server_think: str = "",
) -> Scripts:
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


def unrolled(script: str) -> str:
    """A script with its loops, 'N( ... )', written out."""
    while loop := LOOP.search(script):
        script = script.replace(loop[0], " ".join([loop[2]] * int(loop[1])), 1)
    return script


def size(pieces: str) -> int:
    """Bytes in all of these pieces."""
    return sum(int(p) for p in pieces.split() if p[0] != "+")


def spoken(text: str) -> Scripts:
    """The scripts of a text of cases.toml: 'N: CLIENT / SERVER'."""
    n, _, both = text.partition(":")
    client, server = (parsed(side.split()) for side in both.split(" / "))
    options = (client.think, client.options, server.options, server.think)
    return exchanges(int(n), client.pieces, server.pieces, *options)


class Side(NamedTuple):
    """One side of such a text."""

    pieces: str
    options: str
    think: str


def parsed(words: list[str]) -> Side:
    """Its words taken apart."""
    think = "".join(w.removeprefix("think=") for w in words if w.startswith("think="))
    options = [w for w in words if ":" in w]
    pieces = [w for w in words if w not in options and not w.startswith("think=")]
    return Side(" ".join(pieces), " ".join(options), think)


# -- the tables -----------------------------------------------------------------------------------


def net_of(fields: Table, base: Net | None = None) -> Net:
    """A network of cases.toml, or what a case adds to one."""
    known: Table = {name: tuple(v) if isinstance(v, list) else v for name, v in fields.items()}
    if "access" in known:
        access: Table = {n: tuple(map(float, ways)) for n, ways in known["access"].items()}
        known["access"] = Access(**access)
    return replace(base or Net(), **known)


NETS = {name: net_of(fields) for name, fields in TABLES["nets"].items()}
LOOPBACK, VETH = NETS["loopback"], NETS["veth"]


def listed() -> Iterator[Case]:
    """Every case of the table of cases."""
    for pattern, fields in TABLES["cases"].items():
        for name, value in variants(pattern):
            for net in fields.get("on", "rtt2").split():
                yield case_of(name.replace("*", net), fields, value, NETS[net])


def variants(pattern: str) -> Iterator[tuple[str, str]]:
    """A name for each value in its braces, and that value."""
    braces = re.search(r"\{(.*?)\}", pattern)
    for value in braces[1].split(",") if braces else [""]:
        yield (pattern.replace(braces[0], value) if braces else pattern), value


def case_of(id: str, fields: Table, value: str, net: Net) -> Case:
    """One row of the table, with a value for its $."""
    scripts = scripts_of(fields, value)
    more = [spoken(text) for text in fields.get("more", ())]
    if again := fields.get("again"):
        more += [
            (f"{again['after']}:{again['us'] * number} {scripts[0]}", scripts[1])
            for number in range(1, again["times"] + 1)
        ]
    return Case(
        id,
        *scripts,
        net_of(fields.get("net", {}), net),
        tuple(e for word in fields.get("extras", "").split() for e in EXTRAS[word]),
        tuple(more),
        fields.get("client_rcvbuf", 0),
        one_port=fields.get("one_port", False),
    )


def scripts_of(fields: Table, value: str = "") -> Scripts:
    """The scripts of both sides."""
    if "say" in fields:
        return spoken(fields["say"].replace("$", value))
    return fields["client"].replace("$", value), fields.get("server", "read:eof")


def stack_cases() -> Iterator[Case]:
    """Every case of every stack, at either end."""
    for stack, most in STACKS.items():
        for what, fields in list(TABLES["stacks"].items())[:most]:
            scripts = scripts_of(fields)
            for name, net in STACK_NETS.items():
                for side, stacks in zip(SIDES, ((stack, LINUX), (LINUX, stack)), strict=True):
                    at = replace(NETS[net], stacks=stacks)
                    yield Case(f"{stack}-{side}-{what}-{name}", *scripts, at, snaplen=STACK_SNAPLEN)


# -- further captures -----------------------------------------------------------------------------


def derived(point: str) -> tuple[Extra, ...]:
    """Files made from the capture at a point."""
    return (
        *(
            Extra(f"{point}-{derive.replace('_', '')}", point, derive=derive)
            for derive in ("cut", "thinned", "big_endian", "mirrored")
        ),
        *(Extra(f"{point}-step{ms}ms", point, derive=f"coarse:{ms}") for ms in (1, 10)),
        Extra(f"{point}-gz", point, derive="gzipped", suffix=".pcap.gz"),
        Extra(f"{point}-zst", point, derive="zstandard", suffix=".pcap.zst"),
    )


EXTRAS = {
    # what tcpdump and dumpcap can write otherwise
    "tools": (
        Extra("client-any", "client", interface="any"),
        Extra("client-sll1", "client", ("-y", "LINUX_SLL"), interface="any"),
        Extra("client-snap96", "client", ("-s", "96")),
        Extra("client-nano", "client", ("--time-stamp-precision=nano",)),
        Extra("client-pcapng", "client", pcapng=True, suffix=".pcapng"),
        Extra("client-one-way", "client", only=f"tcp dst port {FIRST_PORT}"),
        Extra("client-other-way", "client", only=f"tcp src port {FIRST_PORT}"),
        Extra("client-late", "client", late_s=0.35),
        Extra("server-late", "server", late_s=0.35),
        Extra("middle-any", "middle", interface="any"),
        Extra("middle-late", "middle", late_s=0.35),
    ),
    "disturbed": (
        *derived("client"),
        Extra("server-step1ms", "server", derive="coarse:1"),
        Extra("two-taps", "client", derive="two_taps"),
    ),
    "loopback": (
        Extra("loopback-any", "loopback", interface="any"),
        Extra("loopback-late", "loopback", late_s=0.35),
        Extra("loopback-snap96", "loopback", ("-s", "96")),
        *derived("loopback"),
    ),
    # at each point a capture that begins after a second, and two without their first frames
    "late": tuple(
        extra
        for point in ("client", "middle", "server")
        for extra in (
            Extra(f"{point}-late", point, late_s=1.0),
            Extra(f"{point}-joined15", point, derive="joined:0.15"),
            Extra(f"{point}-joined40", point, derive="joined:0.40"),
        )
    ),
}
