"""What captures from the field have and the other cases lack.

Radio links with jitter, short connections in great number to one port, and captures that begin
when the connections have long been open; of each also programs that only look as if they stall.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

from net import Access, Jitter, Net

from cases.case import COUNTRY, NODELAY, SPLIT, WHOLE, WIRE, Case, Extra, exchanges, writes
from cases.hard import NO_TIMESTAMPS, Scripts

SIBLINGS = 60
SPACED_US = 45_000  # one connection after the other
RADIO = Net(rtt_ms=36, jitter_ms=8, access=Access(grid_ms=(10.0, 1.0)))
LATE_S = 1.0
PROMPT = "quickack:1"
BOTH_OFF = {"client": NODELAY, "server": NODELAY}


def radio(seed: int) -> list[Case]:
    """Jitter of 5 to 20 ms, with a grid of 10 ms or none; ACKs late or prompt."""
    cases = []
    for shape in ("uniform", "tail"):
        for link in ("radio", "jitter"):
            for acks in ("late", "prompt"):
                dice = Random(f"{seed} {link} {shape} {acks}")
                net = radio_net(dice, link, shape, seed)
                net = replace(net, client_quickack=acks == "prompt")
                for name, scripts in radio_programs(dice, acks == "prompt").items():
                    id = f"hard-{link}-{shape}-{acks}-{name}"
                    silent = replace(net, sysctls=NO_TIMESTAMPS)
                    cases += [Case(id, *scripts, net), Case(f"{id}-nots", *scripts, silent)]
    return cases


def radio_net(dice: Random, link: str, shape: str, seed: int) -> Net:
    """A path with that jitter; of a radio link the frames leave every 10 ms."""
    grid_ms = (10.0, dice.choice([1.0, 10.0])) if link == "radio" else (0.0, 0.0)
    return Net(
        rtt_ms=dice.randint(15, 60),
        jitter_ms=round(dice.uniform(5, 20), 1),
        jitter=Jitter(shape),
        access=Access(grid_ms=grid_ms),
        seed=seed,
    )


def radio_programs(dice: Random, prompt: bool) -> dict[str, Scripts]:
    """Three that stall and two with pauses of their own."""
    head, rest, reply = (dice.randint(20, 400) for _ in range(3))
    ask, pause = f"{head} {rest}", f"+{dice.randint(10, 30)}000-{dice.randint(50, 90)}000"
    ack = PROMPT if prompt else ""
    stream = f"50( {writes(f'{rest} +2000-30000')} )"
    return {
        "request": (
            f"18( {writes(ask)} read:{reply} )",
            f"18( {ack} read:{head} {ack} read:{rest} write:{reply} ) read:eof",
        ),
        "reply": exchanges(18, "60", ask),
        "messages": (stream, f"50( {ack} read:{rest} ) read:eof"),
        "paced": (
            f"{NODELAY} 25( {writes(f'{head} {pause} {rest}')} read:{reply} )",
            f"{NODELAY} 25( {ack} read:{head} {ack} read:{rest} write:{reply} ) read:eof",
        ),
        "sends": (f"{NODELAY} {stream}", f"50( {ack} read:{rest} ) read:eof"),
    }


def siblings() -> list[Case]:
    """Sixty short connections of two exchanges or one."""
    programs = {
        "split": exchanges(2, SPLIT, "170 400"),
        "once": exchanges(1, SPLIT, "90"),
        "paced": exchanges(2, "120 +38000-46000 30", "90", **BOTH_OFF),
        "works": exchanges(2, WHOLE, "90", server_think="30000-60000", **BOTH_OFF),
    }
    return [
        Case(
            f"siblings-{name}-{where}",
            *scripts,
            net,
            more=tuple(
                (f"after:{SPACED_US * number} {scripts[0]}", scripts[1])
                for number in range(1, SIBLINGS)
            ),
            one_port=True,
        )
        for where, net in (("rtt2", WIRE), ("rtt26", COUNTRY), ("radio", RADIO))
        for name, scripts in programs.items()
    ]


def joined() -> list[Case]:
    """Captures that lack the beginning: begun late, and cut off."""
    off = f"{NODELAY} {PROMPT}"
    programs = {
        "split": exchanges(40, SPLIT, "170 400", think="0-30000"),
        "head900": exchanges(40, "900 300", "90", think="0-30000"),
        "head1460": exchanges(100, "60", "1448 300", server_think="0-30000"),
        "messages": ("120( write:80 pause:5000-40000 )", "read:eof"),
        "whole": exchanges(60, WHOLE, "570", think="0-60000", **BOTH_OFF),
        "paced": exchanges(40, "120 +45000 30", "90", **BOTH_OFF),
        "beats50": (f"{NODELAY} 80( write:60 pause:50000 )", f"{off} 80( {PROMPT} read:60 )"),
        "beats1000": (f"{NODELAY} 15( write:60 pause:1000000 )", f"{off} 15( {PROMPT} read:60 )"),
        "asks200": exchanges(20, "60", "90", think="200000", **BOTH_OFF),
    }
    cases = [
        Case(f"joined-{name}-{where}", *scripts, net, late_starts())
        for where, net in (("rtt2", WIRE), ("rtt26", COUNTRY), ("radio", RADIO))
        for name, scripts in programs.items()
    ]
    window = exchanges(30, "60", "143 20000", think="30000", server=NODELAY)
    return [*cases, Case("joined-window-rtt2", *window, WIRE, late_starts(), client_rcvbuf=4096)]


def late_starts() -> tuple[Extra, ...]:
    """At each point a capture that begins after a second, and two without their first frames."""
    return tuple(
        extra
        for point in ("client", "middle", "server")
        for extra in (
            Extra(f"{point}-late", point, late_s=LATE_S),
            Extra(f"{point}-joined15", point, derive="joined:0.15"),
            Extra(f"{point}-joined40", point, derive="joined:0.40"),
        )
    )
