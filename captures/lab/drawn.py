"""Cases that a seed draws: networks and captures that blur what an analyzer goes by, radio links,
and exchanges at random.

Another seed makes other cases of the same kinds. On each network, programs that stall ('split',
'think') and programs that only look so, with TCP_NODELAY and pauses of their own ('pace', 'work',
'beat', 'late', 'close'); with and without TCP timestamps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random
from typing import Any

from cases import (
    FIRST_PORT,
    LOOPBACK,
    NETS,
    NODELAY,
    VETH,
    Case,
    Extra,
    Scripts,
    exchanges,
    size,
    writes,
)
from net import Access, Jitter, Net

NO_TIMESTAMPS = ("net.ipv4.tcp_timestamps=0",)
SHORT_RTTS, LONG_RTTS, LOSSY_RTTS = (2, 8, 14, 26), (26, 45, 70), (2, 14, 26, 45)
LOSSES = (0.01, 0.02, 0.04)
LACKS = [f"thinned:{percent / 100}" for percent in (0.1, 1, 5, 15)]
ALONE = f"tcp port {FIRST_PORT}"  # captured is the conversation, not what fills the queue
LONG_RUN_S = 9  # a conversation across a full queue takes about so long
OFF = {"client": NODELAY, "server": NODELAY}
WIRE = NETS["rtt2"]
Made = tuple[Net, tuple[Extra, ...]]  # a network, and what is captured besides
Programs = dict[str, Scripts]


def all_drawn(seed: int) -> Iterator[Case]:
    """Every case that this seed draws; those at random are always the same."""
    yield from (random_case(number) for number in range(1, 31))
    yield from on_hard_networks(seed)
    yield from with_jitter(seed)


def on_hard_networks(seed: int) -> Iterator[Case]:
    """Every kind of network with the parameters that this seed draws."""
    for kind, made in NETWORKS.items():
        dice = Random(f"{seed} {kind}")
        drawn = made(dice)
        net, extras = (drawn, ()) if isinstance(drawn, Net) else drawn
        net = replace(net, seed=seed)
        for name, scripts in conversations(dice, net.rtt_ms).items():
            for clock in ("", "-nots"):
                id = f"hard-{kind}-{name}{clock}"
                at = replace(net, sysctls=(*net.sysctls, *(NO_TIMESTAMPS if clock else ())))
                yield Case(id, *scripts, at, extras, crossing(at, dice), only=ALONE)


def conversations(dice: Random, rtt_ms: float) -> Programs:
    """Two that stall, and five that look so.

    The pauses of 'pace' and 'work' last as long as an ACK timer; 'beat' writes about when the
    delayed ACK comes, 'late' only after it, 'close' right after it: a clock that ticks seldom
    cannot tell that from a stall.
    """
    pieces = [dice.randint(20, 400) for _ in range(8)]
    low = dice.choice([36, 38, 40])
    pause = dice.choice(["40000", "44000", f"{low}000-{low + 10}000"])
    beat, late, close = (
        own_pause(rtt_ms + more, width) for more, width in ((36, 14), (45, 15), (44.5, 0.5))
    )
    return {
        "split": exchanges(16, f"{pieces[0]} {pieces[1]}", f"{pieces[2]} {pieces[3]}"),
        "think": exchanges(22, f"{pieces[4]} {pieces[5]}", "90", think="0-30000"),
        "pace": exchanges(20, f"{pieces[6]} +{pause} {pieces[7]}", "90", **OFF),
        "work": exchanges(20, f"{pieces[0]} 30", "170 400", server_think=pause, **OFF),
        "beat": exchanges(30, f"{pieces[1]} {beat} {pieces[3]}", "90", **OFF),
        "late": exchanges(30, f"{pieces[2]} {late} {pieces[5]}", "90", **OFF),
        "close": exchanges(30, f"{pieces[3]} {close} {pieces[6]}", "90", **OFF),
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


# -- networks -------------------------------------------------------------------------------------


def somewhere(dice: Random) -> Net:
    """A plain wire of some length."""
    return Net(rtt_ms=dice.choice(SHORT_RTTS + LONG_RTTS))


def bloat(dice: Random, up: bool) -> Net:
    """A full queue in front of a slow link, to the client or from it; the other way is free."""
    kbit, deep_ms = dice.choice([1500, 3000, 6000]), dice.randint(80, 130)
    queue = kbit / 8 * deep_ms
    access = Access(
        kbit=(kbit, 0.0) if up else (0.0, kbit), queue_bytes=(queue, 0.0) if up else (0.0, queue)
    )
    return Net(rtt_ms=dice.randint(12, 24), access=access)


def tail(dice: Random, ways: tuple[float, float], shape: str = "tail") -> Net:
    """Jitter with a heavy tail."""
    jitter_ms = round(dice.uniform(1, 15 if shape != "uniform" else 10), 1)
    if shape == "steady":
        shape = f"steady:{dice.randint(15, 60)}000"
    rtt_ms = dice.choice(SHORT_RTTS + LONG_RTTS)
    return Net(rtt_ms=rtt_ms, jitter_ms=jitter_ms, jitter=Jitter(shape, ways))


def change(dice: Random) -> Net:
    """Another path, longer or shorter, twice during the capture."""
    first, more = dice.randint(700, 1200), dice.randint(12, 50)
    changes = ((first, more), (first + dice.randint(700, 1100), dice.choice([0, more * 2])))
    return Net(rtt_ms=dice.choice(SHORT_RTTS), changes=changes)


def blurred(net: Net, *derives: str) -> Made:
    """Captures at the ends that could not keep up, or by clocks that tick seldom."""
    return net, tuple(
        Extra(f"{point}-{name(derive)}", point, derive=derive)
        for point in net.points()
        if point != "middle"
        for derive in derives
    )


def name(derive: str) -> str:
    """How a derived capture is called: 'coarse1', or 'lacks15' for 15 % of the frames."""
    kind, _, number = derive.partition(":")
    lacks = f"lacks{float(number) * 100:g}".replace(".", "")
    return lacks if kind == "thinned" else kind + number


def clocks(dice: Random, net: Net) -> Made:
    """Captures with clocks that tick seldom."""
    return blurred(net, "coarse:1", "coarse:4", "coarse:10", f"uneven:{dice.choice([1, 2])}")


def bunched_acks(dice: Random, thin: bool) -> Net:
    """A network that sends pure ACKs only now and then, or only the newest of those that wait."""
    grid_ms = float(dice.choice([8, 10, 16, 20]))
    way = dice.choice([(1.0, 0.0), (0.0, 1.0), (1.0, 1.0)])
    bunches, thinned = (grid_ms * way[0], grid_ms * way[1]), way if thin else (0.0, 0.0)
    access = Access(ack_grid_ms=bunches, thin_acks=thinned)
    return Net(rtt_ms=dice.choice(SHORT_RTTS), access=access)


def needless(dice: Random) -> Net:
    """Delays that jump beyond the retransmission timer: sent again, and nothing was lost."""
    start, jump = dice.randint(500, 800), dice.randint(240, 400)
    changes = ((start, jump), (start + 500, 0), (start + 1300, jump), (start + 1900, 0))
    return Net(rtt_ms=dice.choice(SHORT_RTTS), changes=changes)


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
    both = Extra("both-sides", "client", derive="two_taps")
    return replace(somewhere(dice), nat=True), (
        both,
        Extra("middle-any", "middle", interface="any"),
    )


def rtt(dice: Random, choices: tuple[int, ...], **more: Any) -> Net:  # noqa: ANN401
    """A network with one of these round trips; whatever else is drawn, is drawn before it."""
    return Net(rtt_ms=dice.choice(choices), **more)


def kbit(dice: Random, *choices: int) -> float:
    """The rate of a link."""
    return dice.choice(choices)


NETWORKS: dict[str, Callable[[Random], Net | Made]] = {
    "near": lambda dice: rtt(dice, SHORT_RTTS),
    "far": lambda dice: rtt(dice, LONG_RTTS),
    "bloat-down": lambda dice: bloat(dice, up=False),
    "bloat-up": lambda dice: bloat(dice, up=True),
    "tail-there": lambda dice: tail(dice, (1.0, 0.0)),
    "tail-back": lambda dice: tail(dice, (0.0, 1.0)),
    "tail-both": lambda dice: tail(dice, (1.0, 1.0)),
    "tail-light": lambda dice: rtt(
        dice, SHORT_RTTS, jitter=Jitter("tail"), jitter_ms=round(dice.uniform(0.3, 1.5), 1)
    ),
    "steady": lambda dice: tail(dice, (1.0, 1.0), "steady"),
    "even": lambda dice: tail(dice, (1.0, 1.0), "uniform"),
    # grants every 10 ms on the way up, transmissions every millisecond on the way down
    "lte": lambda dice: Net(
        rtt_ms=dice.randint(24, 50),
        jitter_ms=dice.uniform(0.5, 2),
        jitter=Jitter("tail"),
        access=Access(grid_ms=(10.0, 1.0)),
    ),
    # both ways on a grid of 5 ms, or near it
    "wifi": lambda dice: Net(
        access=Access(grid_ms=(dice.choice([4.0, 5.0, 6.0]),) * 2), rtt_ms=dice.randint(3, 12)
    ),
    "change": change,
    # containers on a loaded machine: answers are late by parts of a tick
    "veth-busy": lambda dice: replace(VETH, busy=dice.randint(2, 4)),
    # captures that could not keep up
    "lossy-wire": lambda dice: blurred(somewhere(dice), *LACKS),
    "lossy-veth": lambda _: blurred(VETH, *LACKS),
    # some frames come after their successors
    "reordered": lambda dice: rtt(
        dice,
        SHORT_RTTS,
        access=Access(
            reorder=(dice.choice([0.02, 0.05, 0.1]),) * 2, late_ms=round(dice.uniform(0.5, 6), 1)
        ),
    ),
    "ack-bunches": lambda dice: bunched_acks(dice, thin=False),
    "ack-thinned": lambda dice: bunched_acks(dice, thin=True),
    # slow and far on the way up, fast and near on the way down
    "uneven-ways": lambda dice: Net(
        access=Access(kbit=(kbit(dice, 256, 384, 512), kbit(dice, 4000, 8000))),
        rtt_ms=dice.choice(LONG_RTTS),
        share_there=dice.uniform(0.65, 0.9),
    ),
    # a full segment takes 20 ms and more
    "slow-link": lambda dice: rtt(
        dice, SHORT_RTTS, access=Access(kbit=(kbit(dice, 128, 256, 512),) * 2)
    ),
    # frames lost on the client's side of the router, or on the server's
    "lost-near-client": lambda dice: rtt(
        dice, LOSSY_RTTS, loss=dice.choice(LOSSES), lossy_wire="client"
    ),
    "lost-near-server": lambda dice: rtt(
        dice, LOSSY_RTTS, loss=dice.choice(LOSSES), lossy_wire="server"
    ),
    "needless": needless,
    "two-clocks": two_clocks,
    "nat": translated,
    "clocks-wire": lambda dice: clocks(dice, somewhere(dice)),
    "clocks-loopback": lambda dice: clocks(dice, LOOPBACK),
    "clocks-veth": lambda dice: clocks(dice, VETH),
}


# -- jitter of 5 to 20 ms -------------------------------------------------------------------------


def with_jitter(seed: int) -> Iterator[Case]:
    """With a grid of 10 ms or none; ACKs late or prompt."""
    for shape in ("uniform", "tail"):
        for link in ("radio", "jitter"):
            for acks in ("late", "prompt"):
                dice = Random(f"{seed} {link} {shape} {acks}")
                net = radio_net(dice, link, shape, seed)
                net = replace(net, client_quickack=acks == "prompt")
                for name, scripts in radio_programs(dice, acks == "prompt").items():
                    id = f"hard-{link}-{shape}-{acks}-{name}"
                    yield Case(id, *scripts, net)
                    yield Case(f"{id}-nots", *scripts, replace(net, sysctls=NO_TIMESTAMPS))


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


def radio_programs(dice: Random, prompt: bool) -> Programs:
    """Three that stall and two with pauses of their own."""
    head, rest, reply = (dice.randint(20, 400) for _ in range(3))
    ask, pause = f"{head} {rest}", f"+{dice.randint(10, 30)}000-{dice.randint(50, 90)}000"
    ack = "quickack:1" if prompt else ""
    stream = f"50( {writes(f'{rest} +2000-30000')} )"

    def answers(n: int) -> str:
        return f"{n}( {ack} read:{head} {ack} read:{rest} write:{reply} ) read:eof"

    return {
        "request": (f"18( {writes(ask)} read:{reply} )", answers(18)),
        "reply": exchanges(18, "60", ask),
        "messages": (stream, f"50( {ack} read:{rest} ) read:eof"),
        "paced": (
            f"{NODELAY} 25( {writes(f'{head} {pause} {rest}')} read:{reply} )",
            f"{NODELAY} {answers(25)}",
        ),
        "sends": (f"{NODELAY} {stream}", f"50( {ack} read:{rest} ) read:eof"),
    }


# -- at random ------------------------------------------------------------------------------------


def random_case(seed: int) -> Case:
    """Sizes, pieces, pauses, TCP_NODELAY, network; the same seed draws the same case."""
    dice = Random(seed)
    wires = [Net(rtt_ms=7), Net(rtt_ms=45), Net(rtt_ms=150, share_there=0.3)]
    net = dice.choice([WIRE, NETS["rtt26"], NETS["rtt100"], LOOPBACK, VETH, *wires])
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
