"""The chains that chains.py makes: who holds, in which direction, with how many at once."""

from __future__ import annotations

import random

from net import Net

from cases.chains import LOOPBACK, Chain, ChainCase, Scripts, calls, pushes

THREADS = ("--threads",)
REPLY, REQUEST = calls(), calls((250, 150), (90,))
APART = "300"  # microseconds, so that a relay reads and writes the pieces one by one
MANY = (1, 2, 10, 50)
VARIED = 12


def one(
    id: str, sockets: str, scripts: Scripts, connections: int = 1, relay: tuple[str, ...] = ()
) -> ChainCase:
    """A case of one chain on one host."""
    return ChainCase(id, (Chain(sockets, scripts, connections, relay=relay),))


def holders() -> list[ChainCase]:
    """One hop holds, of chains of one to five relays."""
    found = []
    for relays in range(1, 6):
        middle = " ++" * relays
        found += [
            one(f"server-{relays}-relays", f"+{middle} -", REPLY, 2),
            one(f"client-{relays}-relays", f"-{middle} +", REQUEST, 2),
        ]
        for at in range(1, relays + 1):
            hops = ["+", *("-+" if i == at else "++" for i in range(1, relays + 1)), "+"]
            scripts = calls(reply_gap=APART)
            found.append(one(f"front-{at}-of-{relays}", " ".join(hops), scripts, 2))
            hops = ["+", *("+-" if i == at else "++" for i in range(1, relays + 1)), "+"]
            scripts = calls((250, 150), (90,), request_gap=APART)
            found.append(one(f"back-{at}-of-{relays}", " ".join(hops), scripts, 2))
    return found


def several() -> list[ChainCase]:
    """More than one hop has Nagle; the same with one of them fixed."""
    both = calls((250, 150), (90, 12), request_gap=APART, reply_gap=APART)
    three = calls(reply=(90, 12, 30), reply_gap=APART)
    return [
        one("nagle-everywhere-1", "- -- -", both, 2),
        one("nagle-everywhere-3", "- -- -- -- -", both, 2),
        one("nagle-relays-only", "+ -- -- +", both, 2),
        one("server-and-front", "+ ++ -+ ++ -", three, 2),
        one("server-and-front-fixed", "+ ++ -+ ++ +", three, 2),
        one("client-and-server", "- ++ ++ -", calls((250, 150), (90, 12)), 2),
        one("client-and-server-fixed", "- ++ ++ +", calls((250, 150), (90, 12)), 2),
    ]


def loads() -> list[ChainCase]:
    """Many connections at once; thinking; relays with a thread each."""
    found = []
    for n in MANY:
        found += [
            one(f"load-server-{n}", "+ ++ ++ -", calls(think="0-30000"), n),
            one(f"load-threads-{n}", "+ ++ -", calls(think="3000"), n, relay=THREADS),
            one(f"load-client-{n}", "- ++ ++ +", calls((250, 150), (90,)), n),
            one(f"load-both-{n}", "- ++ -", calls((250, 150), (90, 12), think=""), n),
            one(
                f"load-front-{n}",
                "+ -+ ++ +",
                calls(reply_gap="200-900", think="0-20000"),
                n,
                relay=THREADS,
            ),
        ]
    return found


def pieces() -> list[ChainCase]:
    """More pieces, other sizes, other rhythms."""
    return [
        one("three-pieces", "+ ++ ++ -", calls(reply=(90, 12, 700), think="")),
        one("five-pieces-apart", "+ ++ ++ -", calls(reply=(90, 12, 30, 7, 400), reply_gap="500")),
        one("four-pieces-request", "- ++ ++ +", calls((40, 40, 40, 200), (90,), request_gap="800")),
        one("think-long", "+ ++ ++ -", calls(think="50000-300000"), 2),
        one("think-none", "+ ++ ++ -", calls(think=""), 2),
        one("work-first", "+ ++ ++ -", calls(work="3000-20000"), 2),
        one("large-then-small", "+ ++ ++ -", calls(reply=(12000, 300))),
        one("pushes", "+ ++ ++ -", pushes((200, 60))),
        one("pushes-front", "+ ++ -+ +", pushes((200, 60), gap=APART)),
        one("small-buffer", "+ ++ -+ +", calls(reply=(700,)), relay=("--buffer", "256")),
        one("threads-4", "+ ++ ++ ++ ++ -", calls(think="0-9000"), 4, relay=THREADS),
    ]


def silent() -> list[ChainCase]:
    """TCP_NODELAY on all sockets: nobody holds, whatever it looks like."""
    found = [
        one("nodelay-everywhere", "+ ++ ++ +", calls(), 2),
        one("nodelay-many", "+ ++ ++ +", calls((250, 150), (90, 12)), 50),
        one("nodelay-no-relay-40", "+ +", calls(reply_gap="40000"), 4),
    ]
    for pause in ("38000", "40000", "41000", "42000", "44000", "38000-46000"):
        paced = calls((80, 40), request_gap=pause, reply=(90,))
        found += [
            one(f"nodelay-server-pauses-{pause}", "+ ++ ++ +", calls(reply_gap=pause), 4),
            one(f"nodelay-client-pauses-{pause}", "+ ++ +", paced, 4),
        ]
    found.append(one("nodelay-many-pauses", "+ ++ ++ +", calls(reply_gap="40000"), 50))
    return found


def look_alikes() -> list[ChainCase]:
    """No relay anywhere, and stalls that are true."""
    found = [one(f"stalling-server-{n}", "+ -", calls(think="0-5000"), n) for n in (1, 4, 50, 200)]
    found += [one(f"stalling-both-{n}", "- -", calls((250, 150), (90, 12)), n) for n in (4, 20, 50)]
    found.append(one("stalling-client-50", "- +", calls((250, 150), (90,), think="0-5000"), 50))
    same, other = calls(), calls((90,), (110, 25))
    for n in (1, 4):
        found += [
            ChainCase(f"two-services-alike-{n}", (Chain("+ -", same, n), Chain("+ -", same, n))),
            ChainCase(f"two-services-differ-{n}", (Chain("+ -", same, n), Chain("+ -", other, n))),
        ]
    found += [
        ChainCase("two-services-no-think", (Chain("+ -", calls(think="", n=30)),) * 2),
        ChainCase("request-and-reply-services", (Chain("+ -", same, 2), Chain("- +", REQUEST, 2))),
        ChainCase("chain-beside-a-service", (Chain("+ ++ -", same, 2), Chain("+ -", other, 2))),
        ChainCase("chain-beside-nodelay", (Chain("+ ++ -", same, 2), Chain("+ +", same, 2))),
        ChainCase("two-chains", (Chain("+ ++ -", same, 2), Chain("- ++ +", REQUEST, 2))),
    ]
    return found


def hosts() -> list[ChainCase]:
    """Two hosts, a and b."""
    found = []
    for name, net in (("veth", Net("veth")), ("rtt2", Net(rtt_ms=1.9)), ("rtt26", Net(rtt_ms=26))):
        for where, what, sockets, scripts in (
            ("aabb", "server", "+ ++ ++ -", REPLY),
            ("aaab", "server", "+ ++ ++ -", REPLY),
            ("abbb", "server", "+ ++ ++ -", REPLY),
            ("aabb", "client", "- ++ ++ +", REQUEST),
            ("aabb", "front", "+ -+ ++ +", calls(reply_gap=APART)),
            ("aabb", "pauses", "+ ++ ++ +", calls(reply_gap="40000")),
        ):
            chain = Chain(sockets, scripts, 2, where)
            found.append(ChainCase(f"{name}-{where}-{what}", (chain,), net))
    return found


def containers() -> list[ChainCase]:
    """A hop in each container, joined by their host's bridge."""
    return [
        ChainCase(f"containers-{what}", (Chain(sockets, scripts, many, where),), containers=n)
        for what, sockets, scripts, many, where, n in (
            ("server", "+ ++ -", REPLY, 2, "abc", 3),
            ("server-10", "+ ++ -", calls(think="0-9000"), 10, "abc", 3),
            ("client", "- ++ +", REQUEST, 2, "abc", 3),
            ("front", "+ -+ +", calls(reply_gap=APART), 2, "abc", 3),
            ("pauses", "+ ++ +", calls(reply_gap="40000"), 4, "abc", 3),
            ("4", "+ ++ ++ -", REPLY, 2, "abcd", 4),
        )
    ]


def varied(seed: int, many: int) -> list[ChainCase]:
    """Chains with random lengths, sockets, scripts and loads."""
    dice = random.Random(seed)
    return [_varied(f"varied-{seed}-{number:02}", dice) for number in range(many)]


def _varied(id: str, dice: random.Random) -> ChainCase:
    relays = dice.randint(1, 5)
    share = dice.choice((0.0, 0.2, 0.2, 0.4))  # of sockets with Nagle
    flags = ["-" if dice.random() < share else "+" for _ in range(2 * relays + 2)]
    flags[dice.randrange(len(flags))] = "-"
    middle = [flags[i] + flags[i + 1] for i in range(1, 2 * relays, 2)]
    sizes = [[dice.randint(5, 900) for _ in range(dice.choice((1, 2, 2, 3, 5)))] for _ in "ab"]
    gaps = [dice.choice(("", "150", "400-1500", "5000")) for _ in "ab"]
    think = dice.choice(("", "1000", "0-30000", "100000"))
    scripts = calls(sizes[0], sizes[1], dice.randint(8, 25), think, gaps[0], gaps[1])
    load = dice.choice((1, 2, 5, 20))
    relay = dice.choice(((), THREADS))
    sockets = " ".join([flags[0], *middle, flags[-1]])
    return ChainCase(id, (Chain(sockets, scripts, load, relay=relay),), LOOPBACK)


def all_chains(seed: int = 1) -> list[ChainCase]:
    """Every case that chains.py knows."""
    groups = (several, look_alikes, loads, silent, holders, pieces, hosts, containers)
    cases = [case for group in groups for case in group()] + varied(seed, VARIED)
    assert len({c.id for c in cases}) == len(cases), "case ids must differ"
    return cases
