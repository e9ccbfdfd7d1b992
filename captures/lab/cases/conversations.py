"""Typing, pipelining, options that change on the way, and the shapes of known protocols."""

from __future__ import annotations

from cases.case import (
    COUNTRY,
    LOOPBACK,
    NODELAY,
    OCEAN,
    SPLIT,
    WHOLE,
    WIRE,
    Case,
    case,
    exchanges,
    writes,
)


def conversations() -> list[Case]:
    """Typing, pipelining, ends, and options that change on the way."""
    typed = "background-read 25( write:1 pause:40000-160000 ) pause:200000"
    return [
        case("typed-echo", (typed, "25( read:1 write:1 ) read:eof")),
        case("typed-echo-rtt26", (typed, "25( read:1 write:1 ) read:eof"), COUNTRY),
        case("typed-echo-rtt100", (typed, "25( read:1 write:1 ) read:eof"), OCEAN),
        case(
            "typed-echo-nodelay-rtt100",
            (f"{NODELAY} {typed}", "nodelay:1 25( read:1 write:1 ) read:eof"),
            OCEAN,
        ),
        case("typed-no-echo", ("25( write:1 pause:40000-160000 )", "read:eof")),
        case("typed-no-echo-rtt100", ("25( write:1 pause:40000-160000 )", "read:eof"), OCEAN),
        case(
            "nodelay-after-login",
            (
                f"10( {writes(SPLIT)} read:90 ) nodelay:1 15( {writes(SPLIT)} read:90 )",
                "25( read:150 write:90 ) read:eof",
            ),
        ),
        case(
            "nagle-after-nodelay",
            (
                f"nodelay:1 10( {writes(SPLIT)} read:90 ) nodelay:0 15( {writes(SPLIT)} read:90 )",
                "25( read:150 write:90 ) read:eof",
            ),
        ),
        case(
            "nodelay-releases",
            (
                f"12( {writes(SPLIT)} pause:20000 nodelay:1 read:90 nodelay:0 )",
                "12( read:150 write:90 ) read:eof",
            ),
        ),
        case(
            "fin-with-small-data",
            (f"5( {writes(SPLIT)} read:90 ) {writes(SPLIT)}", "5( read:150 write:90 ) read:eof"),
        ),
        case(
            "end-after-pause",
            (
                f"5( {writes(SPLIT)} read:90 ) {writes(SPLIT)} pause:15000 end read:eof",
                "5( read:150 write:90 ) read:eof",
            ),
        ),
        case("quickack-receiver", exchanges(15, SPLIT, "90", server="quickack:1")),
        case(
            "quickack-each-time",
            (
                f"15( {writes(SPLIT)} read:90 )",
                "15( quickack:1 read:120 quickack:1 read:30 write:90 ) read:eof",
            ),
        ),
        case(
            "pipelined",
            (
                "6( write:60 write:60 write:60 write:60 read:360 )",
                "24( read:60 write:90 ) read:eof",
            ),
        ),
        case(
            "pipelined-rtt26",
            (
                "6( write:60 write:60 write:60 write:60 read:360 )",
                "24( read:60 write:90 ) read:eof",
            ),
            COUNTRY,
        ),
        # a reply to data that came just after the ACK of the last reply
        case(
            "answers-to-pipelined-rtt26",
            (
                "background-read 12( 3( write:60 pause:3000 ) pause:50000 ) pause:100000",
                "36( read:60 write:90 ) read:eof",
            ),
            COUNTRY,
        ),
        # what a tick leaves behind is let go by the next input, or by a delayed ACK
        case(
            "ticks-and-inputs",
            (
                "background-read 100( write:24 pause:25000-65000 ) pause:200000",
                "background-read 110( write:80 write:60 pause:39000-41000 ) pause:400000",
            ),
        ),
        case(
            "typed-fast-echo-rtt26",
            (
                "background-read 40( write:1 pause:5000-40000 ) pause:200000",
                "40( read:1 write:1 ) read:eof",
            ),
            COUNTRY,
        ),
        case(
            "pipelined-nodelay-rtt26",
            (
                "nodelay:1 6( write:60 write:60 write:60 write:60 read:360 )",
                "nodelay:1 24( read:60 write:90 ) read:eof",
            ),
            COUNTRY,
        ),
        case(
            "parallel",
            exchanges(12, SPLIT, "90"),
            more=(
                exchanges(12, SPLIT, "90", client=NODELAY),
                exchanges(12, "60", "170 400"),
                exchanges(12, WHOLE, "90", server_think="40000"),
                exchanges(12, SPLIT, "170 400", think="5000"),
            ),
        ),
        case(
            "parallel-rtt26",
            exchanges(12, SPLIT, "90"),
            COUNTRY,
            more=(
                exchanges(12, SPLIT, "90", client=NODELAY),
                exchanges(12, "60", "170 400"),
                exchanges(12, WHOLE, "90", server_think="40000"),
                exchanges(12, SPLIT, "170 400", think="5000"),
            ),
        ),
    ]


def protocols() -> list[Case]:
    """Conversations shaped like known protocols."""
    cases = []
    for name, net in (("rtt2", WIRE), ("rtt26", COUNTRY), ("loopback", LOOPBACK)):
        cases += [
            # ClientHello; ServerHello to Finished; client Finished, then the request at once;
            # tickets, head, body
            case(
                f"tls-like-{name}",
                (
                    "write:517 read:3300 pause:2000 write:80 6( write:230 read:1200 pause:3000 )",
                    "read:517 pause:1000 write:3300 read:80"
                    " 6( read:230 write:200 write:1000 ) read:eof",
                ),
                net,
            ),
            # the server speaks first, in lines; each command one line
            case(
                f"mail-like-{name}",
                (
                    "read:90 8( write:24 write:2 read:60 )",
                    "write:40 write:50 8( read:26 write:30 write:30 ) read:eof",
                ),
                net,
            ),
            # preface, settings and first headers in one go;
            # then header and data frames in each direction
            case(
                f"http2-like-{name}",
                (
                    "write:24 write:45 write:120 read:70 8( write:9 write:60 read:850 pause:2000 )",
                    "write:57 read:189 write:13 8( read:69 write:50 write:800 ) read:eof",
                ),
                net,
            ),
            # events pushed at their own pace, acknowledged by the application now and then
            case(
                f"pushes-{name}",
                (
                    "background-read 10( pause:70000 write:20 ) pause:200000",
                    "background-read 50( write:90 write:35 pause:5000-25000 ) pause:100000",
                ),
                net,
            ),
        ]
    return cases
