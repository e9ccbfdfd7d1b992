"""Networks and captures that blur what an analyzer goes by.

Each kind draws its parameters, so another seed makes other cases of the same kinds. In each,
programs that stall ('split', 'think') and programs that only look so, with TCP_NODELAY and pauses
of their own ('pace', 'work', 'beat', 'late', 'close'); with and without TCP timestamps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

from net import Access, Jitter, Net

from cases.case import FIRST_PORT, LOOPBACK, NODELAY, VETH, Case, Extra, exchanges

Scripts = tuple[str, str]  # client's, server's
NO_TIMESTAMPS = ("net.ipv4.tcp_timestamps=0",)
SHORT_RTTS, LONG_RTTS = (2, 8, 14, 26), (26, 45, 70)
ALONE = f"tcp port {FIRST_PORT}"  # captured is the conversation, not what fills the queue
LONG_RUN_S = 9  # a conversation across a full queue takes about so long


def hard_cases(seed: int) -> list[Case]:
    """Every kind with the parameters that this seed draws."""
    cases = []
    for kind, made in KINDS.items():
        dice = Random(f"{seed} {kind}")
        net, extras = made(dice)
        net = replace(net, seed=seed)
        for name, scripts in conversations(dice, net.rtt_ms).items():
            for clock in ("", "-nots"):
                id = f"hard-{kind}-{name}{clock}"
                at = replace(net, sysctls=(*net.sysctls, *(NO_TIMESTAMPS if clock else ())))
                cases.append(Case(id, *scripts, at, extras, crossing(at, dice), only=ALONE))
    return cases


def conversations(dice: Random, rtt_ms: float) -> dict[str, Scripts]:
    """Two that stall, and five that look so.

    The pauses of 'pace' and 'work' last as long as an ACK timer; 'beat' writes about when the
    delayed ACK comes, 'late' only after it, 'close' right after it: a clock that ticks seldom
    cannot tell that from a stall.
    """
    off = {"client": NODELAY, "server": NODELAY}
    pieces = [dice.randint(20, 400) for _ in range(8)]
    low = dice.choice([36, 38, 40])
    pause = dice.choice(["40000", "44000", f"{low}000-{low + 10}000"])
    return {
        "split": exchanges(16, f"{pieces[0]} {pieces[1]}", f"{pieces[2]} {pieces[3]}"),
        "think": exchanges(22, f"{pieces[4]} {pieces[5]}", "90", think="0-30000"),
        "pace": exchanges(20, f"{pieces[6]} +{pause} {pieces[7]}", "90", **off),
        "work": exchanges(20, f"{pieces[0]} 30", "170 400", server_think=pause, **off),
        "beat": exchanges(30, f"{pieces[1]} {own_pause(rtt_ms + 36, 14)} {pieces[3]}", "90", **off),
        "late": exchanges(30, f"{pieces[2]} {own_pause(rtt_ms + 45, 15)} {pieces[5]}", "90", **off),
        "close": exchanges(
            30, f"{pieces[3]} {own_pause(rtt_ms + 44.5, 0.5)} {pieces[6]}", "90", **off
        ),
    }


def own_pause(least_ms: float, more_ms: float) -> str:
    """A pause of the program, drawn anew each time."""
    return f"+{least_ms * 1000:.0f}-{(least_ms + more_ms) * 1000:.0f}"


def crossing(net: Net, dice: Random) -> tuple[Scripts, ...]:
    """Where a queue is to be filled: a transfer beside the conversation."""
    there, back = net.access.kbit
    if max(there, back) < 1000 or not any(net.access.queue_bytes):
        return ()
    chunk = 100_000
    chunks = int(max(there, back) * 1000 / 8 * LONG_RUN_S / chunk)
    many = f"pause:{dice.randint(200, 900)}000 {chunks}( write:{chunk} )"
    return ((many, "read:eof"),) if there > back else (("read:eof", many),)


# -- the kinds: a network, and what is captured besides ------------------------------------------

Made = tuple[Net, tuple[Extra, ...]]


def bloat(dice: Random, up: bool) -> Made:
    """A full queue in front of a slow link, to the client or from it; the other way is free."""
    kbit, deep_ms = dice.choice([1500, 3000, 6000]), dice.randint(80, 130)
    queue = kbit / 8 * deep_ms
    access = Access(
        kbit=(kbit, 0.0) if up else (0.0, kbit), queue_bytes=(queue, 0.0) if up else (0.0, queue)
    )
    return Net(rtt_ms=dice.randint(12, 24), access=access), ()


def tail(dice: Random, ways: tuple[float, float], shape: str = "tail") -> Made:
    """Jitter with a heavy tail."""
    jitter_ms = round(dice.uniform(1, 15 if shape != "uniform" else 10), 1)
    if shape == "steady":
        shape = f"steady:{dice.randint(15, 60)}000"
    rtt_ms = dice.choice(SHORT_RTTS + LONG_RTTS)
    return Net(rtt_ms=rtt_ms, jitter_ms=jitter_ms, jitter=Jitter(shape, ways)), ()


def light_tail(dice: Random) -> Made:
    """A little of it, on a short path."""
    jitter_ms = round(dice.uniform(0.3, 1.5), 1)
    return Net(rtt_ms=dice.choice(SHORT_RTTS), jitter_ms=jitter_ms, jitter=Jitter("tail")), ()


def lte(dice: Random) -> Made:
    """Grants every 10 ms on the way up, transmissions every millisecond on the way down."""
    access = Access(grid_ms=(10.0, 1.0))
    net = Net(rtt_ms=dice.randint(24, 50), jitter_ms=dice.uniform(0.5, 2), access=access)
    return replace(net, jitter=Jitter("tail")), ()


def wifi(dice: Random) -> Made:
    """Both ways on a grid of 5 ms, or near it."""
    grid_ms = dice.choice([4.0, 5.0, 6.0])
    return Net(rtt_ms=dice.randint(3, 12), access=Access(grid_ms=(grid_ms, grid_ms))), ()


def change(dice: Random) -> Made:
    """Another path, longer or shorter, twice during the capture."""
    first, more = dice.randint(700, 1200), dice.randint(12, 50)
    changes = ((first, more), (first + dice.randint(700, 1100), dice.choice([0, more * 2])))
    return Net(rtt_ms=dice.choice(SHORT_RTTS), changes=changes), ()


def busy_veth(dice: Random) -> Made:
    """Containers on a loaded machine: answers are late by parts of a tick."""
    return replace(VETH, busy=dice.randint(2, 4)), ()


def lossy(net: Net) -> Made:
    """Captures that could not keep up."""
    points = [p for p in net.points() if p != "middle"]
    return net, tuple(
        Extra(f"{point}-lacks{percent}".replace(".", ""), point, derive=f"thinned:{percent / 100}")
        for point in points
        for percent in (0.1, 1, 5, 15)
    )


def clocks(dice: Random, net: Net) -> Made:
    """Captures with clocks that tick seldom."""
    ticks = ("coarse:1", "coarse:4", "coarse:10", f"uneven:{dice.choice([1, 2])}")
    return net, tuple(
        Extra(f"{point}-{tick.replace(':', '')}", point, derive=tick)
        for point in net.points()
        if point != "middle"
        for tick in ticks
    )


def reordered(dice: Random) -> Made:
    """Some frames come after their successors."""
    share, late_ms = dice.choice([0.02, 0.05, 0.1]), round(dice.uniform(0.5, 6), 1)
    return Net(
        rtt_ms=dice.choice(SHORT_RTTS), access=Access(reorder=(share, share), late_ms=late_ms)
    ), ()


def bunched_acks(dice: Random, thin: bool) -> Made:
    """A network that sends pure ACKs only now and then, or only the newest of those that wait."""
    grid_ms = float(dice.choice([8, 10, 16, 20]))
    way = dice.choice([(1.0, 0.0), (0.0, 1.0), (1.0, 1.0)])
    return Net(
        rtt_ms=dice.choice(SHORT_RTTS),
        access=Access(
            ack_grid_ms=(grid_ms * way[0], grid_ms * way[1]), thin_acks=way if thin else (0.0, 0.0)
        ),
    ), ()


def uneven_ways(dice: Random) -> Made:
    """Slow and far on the way up, fast and near on the way down."""
    access = Access(kbit=(dice.choice([256, 384, 512]), dice.choice([4000, 8000])))
    return Net(
        rtt_ms=dice.choice(LONG_RTTS), share_there=dice.uniform(0.65, 0.9), access=access
    ), ()


def slow_link(dice: Random) -> Made:
    """A full segment takes 20 ms and more."""
    kbit = dice.choice([128, 256, 512])
    return Net(rtt_ms=dice.choice(SHORT_RTTS), access=Access(kbit=(kbit, kbit))), ()


def lossy_path(dice: Random, side: str) -> Made:
    """Frames lost on the client's side of the router, or on the server's."""
    loss = dice.choice([0.01, 0.02, 0.04])
    return Net(rtt_ms=dice.choice((2, 14, 26, 45)), loss=loss, lossy_wire=side), ()


def needless(dice: Random) -> Made:
    """Delays that jump beyond the retransmission timer: sent again, and nothing was lost."""
    start, jump = dice.randint(500, 800), dice.randint(240, 400)
    changes = ((start, jump), (start + 500, 0), (start + 1300, jump), (start + 1900, 0))
    return Net(rtt_ms=dice.choice(SHORT_RTTS), changes=changes), ()


def two_clocks(dice: Random) -> Made:
    """Both ends' captures in one file, by clocks that differ."""
    net = somewhere(dice)
    offsets = (-net.rtt_ms / 4, 0.3, round(dice.uniform(1, 8), 1), dice.choice([-40, 45, 200]))
    return net, tuple(
        Extra(f"both-{index}", "client", derive=f"two_clocks:{ms}")
        for index, ms in enumerate(offsets)
    )


def translated(dice: Random) -> Made:
    """A NAT between the ends; also both sides of it in one file."""
    return replace(somewhere(dice), nat=True), (
        Extra("both-sides", "client", derive="two_taps"),
        Extra("middle-any", "middle", interface="any"),
    )


def somewhere(dice: Random) -> Net:
    """A plain wire of some length."""
    return Net(rtt_ms=dice.choice(SHORT_RTTS + LONG_RTTS))


KINDS: dict[str, Callable[[Random], Made]] = {
    "near": lambda dice: (Net(rtt_ms=dice.choice(SHORT_RTTS)), ()),
    "far": lambda dice: (Net(rtt_ms=dice.choice(LONG_RTTS)), ()),
    "bloat-down": lambda dice: bloat(dice, up=False),
    "bloat-up": lambda dice: bloat(dice, up=True),
    "tail-there": lambda dice: tail(dice, (1.0, 0.0)),
    "tail-back": lambda dice: tail(dice, (0.0, 1.0)),
    "tail-both": lambda dice: tail(dice, (1.0, 1.0)),
    "tail-light": light_tail,
    "steady": lambda dice: tail(dice, (1.0, 1.0), "steady"),
    "even": lambda dice: tail(dice, (1.0, 1.0), "uniform"),
    "lte": lte,
    "wifi": wifi,
    "change": change,
    "veth-busy": busy_veth,
    "lossy-wire": lambda dice: lossy(somewhere(dice)),
    "lossy-veth": lambda _: lossy(VETH),
    "reordered": reordered,
    "ack-bunches": lambda dice: bunched_acks(dice, thin=False),
    "ack-thinned": lambda dice: bunched_acks(dice, thin=True),
    "uneven-ways": uneven_ways,
    "slow-link": slow_link,
    "lost-near-client": lambda dice: lossy_path(dice, "client"),
    "lost-near-server": lambda dice: lossy_path(dice, "server"),
    "needless": needless,
    "two-clocks": two_clocks,
    "nat": translated,
    "clocks-wire": lambda dice: clocks(dice, somewhere(dice)),
    "clocks-loopback": lambda dice: clocks(dice, LOOPBACK),
    "clocks-veth": lambda dice: clocks(dice, VETH),
}
