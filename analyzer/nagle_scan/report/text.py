"""The terminal report: the verdict, the connections, the clearest stall, what to change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nagle_scan import _core, advice
from nagle_scan.report import remedies
from nagle_scan.report.layout import (
    Style,
    count,
    duration,
    endpoint,
    headed,
    maybe_ms,
    printable,
    table,
    times,
    wrapped,
)
from nagle_scan.results import Scan

MAX_CONNECTIONS = 10
MAX_GROUPS = 5
MAX_SERVERS = 5
MAX_WAITS = 5
MAX_PARTIES = 6
MAX_REMEDIES = 2


def render(whole: Scan, style: Style) -> str:
    """The whole report, without a final newline."""
    scan = whole.core
    summary = scan.summary()
    parts = [_header(summary, whole.names, style), *_notices(summary, style)]
    if summary.verdict == "stalls":
        parts += _stalls(scan, summary, whole.paths, style)
    elif summary.verdict == "clean":
        parts += _clean(scan, summary, whole.min_wait_ms, style)
    else:
        parts.append(_inconclusive(summary, style))
    return "\n".join(parts)


def _header(summary: _core.Summary, paths: Sequence[str], style: Style) -> str:
    names = printable(", ".join(paths[:3])) + (f" and {len(paths) - 3} more" * (len(paths) > 3))
    counts = (
        f"{count(summary.packets, 'packet')}, {count(summary.connections, 'TCP connection')}, "
        f"{count(summary.exchanges, 'exchange')}"
    )
    return (
        f"{style.faint}{wrapped(f'nagle-scan {_core.VERSION}: {names}: {counts}', '  ')}{style.end}"
    )


def _notices(summary: _core.Summary, style: Style) -> Iterator[str]:
    for path, sentence in notices(summary):
        yield _notice((f"{printable(path)}: " if path else "") + sentence, style)


def notices(summary: _core.Summary) -> Iterator[tuple[str, str]]:
    """What a reader must know first: the capture it is about, if one of several, and a sentence."""
    if summary.anonymized:
        yield "", f"addresses anonymized: {summary.anonymized}, keyed"
    several = len({path for path, _ in summary.warnings}) > 1
    for path, warning in summary.warnings:
        yield path if several else "", warning
    if summary.one_sided:
        yield (
            "",
            (
                f"{count(summary.one_sided, 'connection')} captured in one direction only: "
                "no stall can be told there"
            ),
        )
    if summary.without_handshake:
        yield (
            "",
            (
                f"{count(summary.without_handshake, 'connection')} without its handshake: "
                "round trips, windows and the MSS are estimates there"
            ),
        )
    if summary.waits_not_listed:
        yield (
            "",
            (f"{count(summary.waits_not_listed, 'wait')} without a stall counted but not listed"),
        )


def _notice(text: str, style: Style) -> str:
    return wrapped(f"note: {text}.", "      ").replace("note:", f"{style.bold}note:{style.end}", 1)


def _stalls(
    scan: _core.Scan, summary: _core.Summary, paths: Sequence[str], style: Style
) -> Iterator[str]:
    groups = scan.groups()
    connections = scan.affected(MAX_CONNECTIONS)
    yield ""
    for group in groups[:MAX_GROUPS]:
        yield headed("STALL", style.bad, _sentence(group), style)
    if len(groups) > MAX_GROUPS:
        yield f"       ... and {len(groups) - MAX_GROUPS} more pairs of hosts (see -o stalls.csv)"
    yield from _expected(connections, style)
    yield from _latencies(scan, style)
    yield from _connections(connections, summary, style)
    yield from _first_exchange(connections, groups)
    clearest = scan.clearest()
    if clearest is not None:
        yield from _clearest(clearest, style)
    yield from _remedies(groups, paths, style)
    yield from _options(scan, style)


def _sentence(group: _core.Group) -> str:
    message = "reply" if group.sender == "server" else "request"
    total = duration(group.stalled_ms)
    held = (
        f"{_party(group)} held part of its {message} {times(group.stalls)} for "
        f"~{group.stalled_ms / group.stalls:.1f} ms each, {total} in all"
    )
    if group.stalls == 1:
        held = f"{_party(group)} held part of its {message} once, for {total}"
    return f"{held}, {_reason(group)} {_option(group)}"


def _party(group: _core.Group) -> str:
    """The sender as its owner knows it: a server by its port, a client by the server it called."""
    if group.sender == "server":
        return endpoint(group.sender_addr, group.server_port)
    return f"{group.sender_addr} (client of port {group.server_port})"


def _reason(group: _core.Group) -> str:
    if group.cause == "nagle_rtt":
        return f"waiting one round trip for ACKs of {group.receiver_addr} that came at once."
    return (
        f"waiting for delayed ACKs of {group.receiver_addr} "
        f"(consistent with {group.consistent_with})."
    )


def _option(group: _core.Group) -> str:
    where = (
        _party(group)
        if group.sender == "server"
        else f"{group.sender_addr}'s sockets to port {group.server_port}"
    )
    if group.nagle == "on":
        return f"TCP_NODELAY is not in effect on {where}."
    return f"Probably TCP_NODELAY is not in effect on {where}."


def _connections(
    rows: Sequence[_core.ConnectionRow], summary: _core.Summary, style: Style
) -> Iterator[str]:
    affected = summary.affected_connections
    yield f"\n{style.bold}Affected connections{style.end} ({affected} of {summary.connections})\n"
    heads = ("stream", "client", "server", "held by", "stalls", "lost", "exchanges", "mean now")
    lines = [(*heads, "without stalls")]
    for row in rows:
        lines.append(
            (
                str(row.id),
                row.client,
                row.server,
                _holder(row),
                str(row.stalls),
                duration(row.stalled_ms),
                str(row.exchanges),
                maybe_ms(row.mean_latency_ms),
                maybe_ms(row.predicted_latency_ms),
            )
        )
    yield from table(lines)
    if affected > len(rows):
        yield f"  ... and {affected - len(rows)} more (see -o result.json)"


def _holder(row: _core.ConnectionRow) -> str:
    if row.client_stalls and row.server_stalls:
        return "both"
    return "client" if row.client_stalls else "server"


def _first_exchange(
    rows: Sequence[_core.ConnectionRow], groups: Sequence[_core.Group]
) -> Iterator[str]:
    """Why the first exchange was fast, where it was and delayed ACKs explain it."""
    if any(group.cause != "nagle_delack" for group in groups):
        return
    fast = [row for row in rows if _began_fast(row)]
    if fast and len(fast) == len(rows):
        slowest_ms = max(row.first_latency_ms or 0.0 for row in fast)
        yield "\n" + wrapped(
            f"The first exchange of each was spared (at most {slowest_ms:.1f} ms): a connection "
            "begins with quick ACKs, and the receiver delays its ACKs only once it has answered. "
            "So a test with one request per connection looks healthy.",
            "",
        )


def _began_fast(row: _core.ConnectionRow) -> bool:
    first_ms, mean_ms = row.first_latency_ms, row.mean_latency_ms
    if first_ms is None or mean_ms is None or row.exchanges < 2:
        return False
    return not row.first_exchange_stalled and first_ms < mean_ms / 2


def _clearest(stall: _core.WaitRow, style: Style) -> Iterator[str]:
    yield f"\n{style.bold}The clearest stall{style.end} (tcp.stream {stall.connection})\n"
    sender, receiver = stall.sender, stall.receiver
    after_ms = (stall.to_ns - stall.from_ns) / 1e6
    ack_ms = (stall.ack_ns - stall.from_ns) / 1e6
    yield from table(
        [
            ("frame", "time", "from", "to", "payload", ""),
            (
                str(stall.frame_from),
                "0.000 ms",
                sender,
                receiver,
                f"{stall.len_from} B",
                "not yet acknowledged: the next small segment is held",
            ),
            (
                str(stall.frame_ack),
                f"{ack_ms:.3f} ms",
                receiver,
                sender,
                "0 B",
                f"pure ACK, {stall.ack_delay_ms:.1f} ms late"
                if stall.cause == "nagle_delack"
                else "pure ACK, after one round trip",
            ),
            (
                str(stall.frame_to),
                f"{after_ms:.3f} ms",
                sender,
                receiver,
                f"{stall.len_to} B",
                f"held, leaves {stall.release_ms:.3f} ms after the ACK",
            ),
        ]
    )
    yield f"\n  Why this is {stall.confidence}:"
    for reason in stall.evidence:
        yield wrapped(f"  - {reason}.", "    ")


def _remedies(groups: Sequence[_core.Group], paths: Sequence[str], style: Style) -> Iterator[str]:
    """What to change, for each side that holds something back; its costliest cause decides."""
    by_sender: dict[str, _core.Group] = {}
    for group in groups:
        by_sender.setdefault(_party(group), group)
    for sender, group in list(by_sender.items())[:MAX_REMEDIES]:
        yield from remedies.render(sender, group, paths, style)


def _expected(rows: Sequence[_core.ConnectionRow], style: Style) -> Iterator[str]:
    exchanges = sum(row.exchanges for row in rows)
    # Many stalls in few exchanges: a stream of messages, whose 'latency' says nothing.
    if exchanges * 4 < sum(row.stalls for row in rows):
        return
    now = sum((row.mean_latency_ms or 0.0) * row.exchanges for row in rows) / exchanges
    then = sum((row.predicted_latency_ms or 0.0) * row.exchanges for row in rows) / exchanges
    yield headed(
        "COST ",
        style.bold,
        f"An exchange on these connections takes {now:.1f} ms on average; without the stalls it "
        f"would take {then:.1f} ms.",
        style,
    )


def _latencies(scan: _core.Scan, style: Style) -> Iterator[str]:
    """Percentiles by server, as measured and without the stalls."""
    servers = scan.servers(MAX_SERVERS)
    if not servers:
        return
    yield f"\n{style.bold}Latency by server{style.end} (request's first byte to reply's last)\n"
    rows: list[tuple[str, ...]] = [
        ("server", "exchanges", "", "p50", "p75", "p90", "p95", "p99", "max")
    ]
    for server in servers:
        name = endpoint(server.addr, server.port)
        rows.append((name, f"{server.exchanges:,}", "now", *map(duration, server.latency_ms)))
        if server.stalled_exchanges:
            rows.append(("", "", "without stalls", *map(duration, server.predicted_ms)))
    yield from table(rows)


def _options(scan: _core.Scan, style: Style) -> Iterator[str]:
    """What the wire shows of TCP_NODELAY, whatever the source code says."""
    parties = scan.nagle(MAX_PARTIES)
    if not parties:
        return
    yield f"\n{style.bold}Is TCP_NODELAY in effect?{style.end}\n"
    rows = [("", "sockets", "connections", "")]
    for party in parties:
        who = (
            f"server {endpoint(party.addr, party.server_port)}"
            if party.side == "server"
            else f"client {party.addr} to port {party.server_port}"
        )
        for answer, sockets, proof in (
            ("no", party.on, party.on_proof),
            ("yes", party.off, party.off_proof),
            ("cannot tell", party.unknown, None),
        ):
            if sockets:
                rows.append((answer, who, f"{sockets:,}", _proof(answer, proof)))
    yield from table(rows)


def _proof(answer: str, proof: tuple[int, int, int] | None) -> str:
    if proof is None:
        return "it never had a small piece to send while another was on its way"
    connection, first, second = proof
    if answer == "no":
        return f"held data left with the ACK: frames {first}, {second} (tcp.stream {connection})"
    return f"two small segments in flight: frames {first}, {second} (tcp.stream {connection})"


def _clean(
    scan: _core.Scan, summary: _core.Summary, min_wait_ms: float, style: Style
) -> Iterator[str]:
    yield ""
    yield headed(
        "NO STALL",
        style.good,
        f"No Nagle or delayed-ACK stall of {min_wait_ms:g} ms or more in "
        f"{count(summary.connections, 'connection')}.",
        style,
    )
    yield from _latencies(scan, style)
    yield from _other_waits(scan, min_wait_ms, style)
    yield from _options(scan, style)


def _other_waits(scan: _core.Scan, min_wait_ms: float, style: Style) -> Iterator[str]:
    waits = scan.longest_waits(MAX_WAITS)
    if not waits:
        yield f"\nNo other wait was longer than {min_wait_ms:g} ms beyond the round trip."
        return
    yield f"\n{style.bold}The longest waits were{style.end}\n"
    rows = [("stream", "wait", "cause", "by", "frames", "")]
    rows += [
        (
            str(wait.connection),
            duration(wait.wait_ms),
            wait.cause,
            wait.by,
            f"{wait.frame_from}-{wait.frame_to}",
            advice.hint(wait),
        )
        for wait in waits
    ]
    yield from table(rows)


def _inconclusive(summary: _core.Summary, style: Style) -> str:
    if summary.tcp_packets == 0:
        reason = "the capture holds no TCP segment that could be used."
    elif summary.one_sided:
        reason = (
            "only one direction was captured, and a stall shows in the ACKs of the other. "
            "Capture both (no 'src' or 'dst' in the tcpdump filter; both links of a mirror port)."
        )
    else:
        reason = "no connection in it carries data."
    return "\n" + headed("CANNOT TELL", style.bold, reason, style)
