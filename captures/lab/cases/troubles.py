"""Programs that wait for reasons of their own, each with one that only looks so.

As in hard.py, a seed draws the parameters.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

from net import Access, Net

from cases.case import NODELAY, SPLIT, VETH, WHOLE, WIRE, Case, exchanges, writes
from cases.hard import LONG_RTTS, SHORT_RTTS, Scripts

FULL = 1448  # bytes, with TCP timestamps
RAPID = "40( write:60 pause:1500 )"


def troubles(seed: int) -> list[Case]:
    """Every program on a network that the seed draws."""
    cases = []
    for kind, programs in KINDS.items():
        dice = Random(f"{seed} {kind}")
        for name, scripts in programs(dice).items():
            near = dice.choice([WIRE, VETH, Net(rtt_ms=dice.choice(SHORT_RTTS))])
            far = Net(rtt_ms=dice.choice(LONG_RTTS))
            cases += [
                Case(f"hard-{kind}-{name}-near", *scripts, replace(near, seed=seed)),
                Case(f"hard-{kind}-{name}-far", *scripts, replace(far, seed=seed)),
            ]
    return cases + connects(seed)


def corked(dice: Random) -> dict[str, Scripts]:
    """TCP_CORK that nobody clears: a small message waits 200 ms; a program that takes so long."""
    head, body = dice.randint(60, 300), dice.randint(10, 200)
    split = f"{head} {body}"
    return {
        "request": exchanges(12, split, "90", client="cork:1"),
        "reply": exchanges(12, "60", split, server="cork:1"),
        "paused": exchanges(12, f"{head} +200000 {body}", "90", client=NODELAY, server=NODELAY),
        "cleared": (
            f"12( cork:1 {writes(split)} cork:0 read:90 )",
            f"12( read:{head + body} write:90 ) read:eof",
        ),
    }


def one_at_a_time(dice: Random) -> dict[str, Scripts]:
    """A sender that waits for each ACK itself; one with Nagle; one paced like an ACK timer."""
    small, pace = dice.randint(20, 900), dice.choice([40, 42, 44])

    def pieces(words: str, bytes_in_all: int) -> Scripts:
        return f"{NODELAY} 10( {words} read:60 )", f"10( read:{bytes_in_all} write:60 ) read:eof"

    return {
        "small": pieces(f"3( write:{small} acked )", 3 * small),
        "full": pieces(f"3( write:{FULL} acked )", 3 * FULL),
        "large": pieces(f"3( write:{FULL + 900} acked )", 3 * (FULL + 900)),
        "stream": (f"{NODELAY} 30( write:{FULL} acked )", "read:eof"),
        "nagle": (RAPID, "read:eof"),
        "paced": pieces(f"3( write:{small} pause:{pace}000 )", 3 * small),
    }


def urgent(dice: Random) -> dict[str, Scripts]:
    """Urgent data, which Nagle does not hold, nor what follows while it is unacknowledged."""
    first, second = dice.randint(40, 300), dice.randint(10, 200)
    return {
        "between": (
            f"15( write:{first} urgent:1 write:{second} read:90 )",
            f"15( read:{first + second} write:90 ) read:eof",
        ),
        "seldom": (
            f"5( 4( write:{first} write:{second} read:90 ) urgent:1 )",
            f"20( read:{first + second} write:90 ) read:eof",
        ),
    }


def switched(dice: Random) -> dict[str, Scripts]:
    """TCP_NODELAY on and off in the middle."""
    n = dice.randint(5, 9)
    part = f"{n}( {writes(SPLIT)} read:90 )"
    other = f"{3 * 2 * n}( read:150 write:90 ) read:eof"
    return {
        "often": (f"3( nodelay:0 {part} nodelay:1 {part} )", other),
        "on": (f"2( {part} ) nodelay:1 4( {part} )", other),
        "off": (f"nodelay:1 3( {part} ) nodelay:0 3( {part} )", other),
    }


def paced(dice: Random) -> dict[str, Scripts]:
    """A pace of 10, 20 or 40 ms of its own, with Nagle and without."""
    size = dice.randint(20, 160)
    scripts: dict[str, Scripts] = {}
    for ms in (10, 20, 40):
        for name, option in (("nodelay", NODELAY), ("nagle", "")):
            words = f"{option} {1200 // ms}( write:{size} pause:{ms}000 )"
            scripts[f"{name}{ms}"] = (words, "read:eof")
    return scripts


KINDS = {
    "cork": corked,
    "one-at-a-time": one_at_a_time,
    "urgent": urgent,
    "switched": switched,
    "paced": paced,
}


def connects(seed: int) -> list[Case]:
    """Connections that took long to come about, and one that did not."""
    dice = Random(f"{seed} connect")
    rtt_ms = dice.choice(SHORT_RTTS)
    slow = dice.randint(150, 400)
    nets = {
        "syn-lost": Net(rtt_ms=rtt_ms, access=Access(drop_syns=(1, 0))),
        "answer-lost": Net(rtt_ms=rtt_ms, access=Access(drop_syns=(0, 1))),
        "two-lost": Net(rtt_ms=rtt_ms, access=Access(drop_syns=(2, 0))),
        "slow": Net(rtt_ms=rtt_ms, changes=((0.001, slow), (slow - 20, 0))),
        "prompt": Net(rtt_ms=rtt_ms),
    }
    clean = exchanges(15, WHOLE, "90", client=NODELAY, server=NODELAY)
    return [
        Case(f"hard-connect-{name}-{what}", *scripts, replace(net, seed=seed))
        for name, net in nets.items()
        for what, scripts in (("split", exchanges(12, SPLIT, "170 400")), ("whole", clean))
    ]
