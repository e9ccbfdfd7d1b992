"""The terminal report: the verdict, the connections, the clearest stall, what to change."""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TextIO

from nagle_scan import _core, advice

WIDTH = 100
MAX_CONNECTIONS = 10
MAX_GROUPS = 5
MAX_WAITS = 5
MAX_PARTIES = 6
NUMBER = re.compile(r"-|[\d.,]+( ms| s| B)?")


@dataclass(frozen=True)
class Style:
    """Escape sequences around the parts that stand out."""

    bad: str = ""
    good: str = ""
    bold: str = ""
    faint: str = ""
    end: str = ""


PLAIN = Style()
COLOURS = Style("\x1b[1;31m", "\x1b[1;32m", "\x1b[1m", "\x1b[2m", "\x1b[0m")


def wants_colours(stream: TextIO) -> bool:
    """Only a terminal gets colours, and not when `NO_COLOR` asks for none (no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def printable(text: str) -> str:
    """`text` with everything that could steer a terminal written as an escape."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in text
    )


def render(scan: _core.Scan, paths: Sequence[str], min_wait_ms: float, style: Style) -> str:
    """The whole report, without a final newline."""
    summary = scan.summary()
    parts = [_header(summary, paths, style), *_notices(summary, style)]
    if summary.verdict == "stalls":
        parts += _stalls(scan, summary, style)
    elif summary.verdict == "clean":
        parts += _clean(scan, summary, min_wait_ms, style)
    else:
        parts.append(_inconclusive(summary, style))
    return "\n".join(parts)


def _header(summary: _core.Summary, paths: Sequence[str], style: Style) -> str:
    names = printable(", ".join(paths[:3])) + (f" and {len(paths) - 3} more" * (len(paths) > 3))
    counts = (
        f"{_count(summary.packets, 'packet')}, {_count(summary.connections, 'TCP connection')}, "
        f"{_count(summary.exchanges, 'exchange')}"
    )
    return f"{style.faint}nagle-scan {_core.VERSION}: {names}: {counts}{style.end}"


def _notices(summary: _core.Summary, style: Style) -> Iterator[str]:
    several = len({path for path, _ in summary.warnings}) > 1
    for path, warning in summary.warnings:
        yield _notice((f"{printable(path)}: " if several else "") + warning, style)
    if summary.one_sided:
        yield _notice(
            f"{_count(summary.one_sided, 'connection')} captured in one direction only: "
            "no stall can be told there",
            style,
        )
    if summary.without_handshake:
        yield _notice(
            f"{_count(summary.without_handshake, 'connection')} without its handshake: "
            "round trips, windows and the MSS are estimates there",
            style,
        )
    if summary.waits_not_listed:
        yield _notice(
            f"{_count(summary.waits_not_listed, 'wait')} without a stall counted but not listed",
            style,
        )


def _notice(text: str, style: Style) -> str:
    return _wrapped(f"note: {text}.", "      ").replace("note:", f"{style.bold}note:{style.end}", 1)


def _stalls(scan: _core.Scan, summary: _core.Summary, style: Style) -> Iterator[str]:
    groups = scan.groups()
    connections = scan.affected(MAX_CONNECTIONS)
    yield ""
    for group in groups[:MAX_GROUPS]:
        yield _headed("STALL", style.bad, _sentence(group), style)
    if len(groups) > MAX_GROUPS:
        yield f"       ... and {len(groups) - MAX_GROUPS} more pairs of hosts (see -o stalls.csv)"
    yield from _expected(connections, style)
    yield from _connections(connections, summary, style)
    yield from _first_exchange(connections)
    clearest = scan.clearest()
    if clearest is not None:
        yield from _clearest(clearest, style)
    yield from _remedies(groups[0], style)
    yield from _options(scan, style)


def _sentence(group: _core.Group) -> str:
    message = "reply" if group.sender == "server" else "request"
    total = _duration(group.stalled_ms)
    held = (
        f"{_party(group)} held part of its {message} {_times(group.stalls)} for "
        f"~{group.median_wait_ms:.1f} ms each, {total} in all"
    )
    if group.stalls == 1:
        held = f"{_party(group)} held part of its {message} once, for {total}"
    return f"{held}, {_reason(group)} {_option(group)}"


def _party(group: _core.Group) -> str:
    """The sender as its owner knows it: a server by its port, a client by the server it called."""
    if group.sender == "server":
        return _endpoint(group.sender_addr, group.server_port)
    return f"{group.sender_addr} (client of port {group.server_port})"


def _reason(group: _core.Group) -> str:
    if group.cause == "nagle_rtt":
        return (
            f"waiting for ACKs of {group.receiver_addr} that came at once: each hold cost one "
            "round trip."
        )
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
    table = [
        ("stream", "client", "server", "held by", "stalls", "lost", "exchanges", "mean now", "without stalls")
    ]
    for row in rows:
        table.append(
            (
                str(row.id),
                row.client,
                row.server,
                _holder(row),
                str(row.stalls),
                _duration(row.stalled_ms),
                str(row.exchanges),
                _maybe_ms(row.mean_latency_ms),
                _maybe_ms(row.predicted_latency_ms),
            )
        )
    yield from _table(table)
    if affected > len(rows):
        yield f"  ... and {affected - len(rows)} more (see -o result.json)"


def _holder(row: _core.ConnectionRow) -> str:
    if row.client_stalls and row.server_stalls:
        return "both"
    return "client" if row.client_stalls else "server"


def _first_exchange(rows: Sequence[_core.ConnectionRow]) -> Iterator[str]:
    fast = [
        row for row in rows if row.first_latency_ms is not None and not row.first_exchange_stalled
    ]
    if fast and len(fast) == len(rows) and all(row.exchanges > 1 for row in rows):
        slowest_ms = max(row.first_latency_ms or 0.0 for row in fast)
        yield "\n" + _wrapped(
            f"The first exchange of each was spared (at most {slowest_ms:.1f} ms): a connection "
            "begins with quick ACKs, and the receiver delays its ACKs only once it has answered. "
            "So a test with one request per connection looks healthy.",
            "",
        )


def _clearest(stall: _core.WaitRow, style: Style) -> Iterator[str]:
    yield f"\n{style.bold}The clearest stall{style.end} (tcp.stream {stall.connection})\n"
    sender, receiver = stall.sender, stall.receiver
    after_ms = (stall.to_ns - stall.from_ns) / 1e6
    ack_ms = (stall.ack_ns - stall.from_ns) / 1e6
    yield from _table(
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
        yield _wrapped(f"  - {reason}.", "    ")


def _remedies(group: _core.Group, style: Style) -> Iterator[str]:
    sender = _party(group)
    yield f"\n{style.bold}What to change{style.end} (one of these is enough)\n"
    for number, remedy in enumerate(advice.REMEDIES[group.cause], 1):
        where = remedy.where.format(sender=sender, receiver=group.receiver_addr)
        yield _wrapped(f"  {number}. {where}: {remedy.what} {remedy.price}", "     ")


def _expected(rows: Sequence[_core.ConnectionRow], style: Style) -> Iterator[str]:
    exchanges = sum(row.exchanges for row in rows)
    if not exchanges:
        return
    now = sum((row.mean_latency_ms or 0.0) * row.exchanges for row in rows) / exchanges
    then = sum((row.predicted_latency_ms or 0.0) * row.exchanges for row in rows) / exchanges
    yield _headed(
        "COST ",
        style.bold,
        f"An exchange on these connections takes {now:.1f} ms on average; without the stalls it "
        f"would take {then:.1f} ms.",
        style,
    )


def _options(scan: _core.Scan, style: Style) -> Iterator[str]:
    """What the wire shows of TCP_NODELAY, whatever the source code says."""
    parties = scan.nagle(MAX_PARTIES)
    if not parties:
        return
    yield f"\n{style.bold}Is TCP_NODELAY in effect?{style.end}\n"
    rows = [("", "sockets", "connections", "")]
    for party in parties:
        who = (
            f"server {_endpoint(party.addr, party.server_port)}"
            if party.side == "server"
            else f"client {party.addr} to port {party.server_port}"
        )
        for answer, count, proof in (
            ("no", party.on, party.on_proof),
            ("yes", party.off, party.off_proof),
            ("cannot tell", party.unknown, None),
        ):
            if count:
                rows.append((answer, who, f"{count:,}", _proof(answer, proof)))
    yield from _table(rows)


def _proof(answer: str, proof: tuple[int, int, int] | None) -> str:
    if proof is None:
        return "nothing small was sent while something small was unacknowledged"
    connection, first, second = proof
    if answer == "no":
        return f"held data left with the ACK: frames {first}, {second} (tcp.stream {connection})"
    return f"two small segments in flight: frames {first}, {second} (tcp.stream {connection})"


def _clean(
    scan: _core.Scan, summary: _core.Summary, min_wait_ms: float, style: Style
) -> Iterator[str]:
    yield ""
    yield _headed(
        "NO STALL",
        style.good,
        f"No Nagle or delayed-ACK stall of {min_wait_ms:g} ms or more in "
        f"{_count(summary.connections, 'connection')}.",
        style,
    )
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
            _duration(wait.wait_ms),
            wait.cause,
            wait.by,
            f"{wait.frame_from}-{wait.frame_to}",
            advice.hint(wait),
        )
        for wait in waits
    ]
    yield from _table(rows)


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
    return "\n" + _headed("CANNOT TELL", style.bold, reason, style)


def _table(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """Aligned columns: numbers to the right, texts to the left."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = [
            cell.rjust(width) if _is_number_column(rows, column) else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield ("  " + "  ".join(cells)).rstrip()


def _is_number_column(rows: Sequence[tuple[str, ...]], column: int) -> bool:
    return all(NUMBER.fullmatch(row[column]) for row in rows[1:])


def _headed(head: str, colour: str, text: str, style: Style) -> str:
    """A wrapped sentence beside a word that says what it is."""
    wrapped = _wrapped(f"{head}  {text}", " " * (len(head) + 2))
    return f"{colour}{head}{style.end}" + wrapped[len(head) :]


def _wrapped(text: str, indent: str) -> str:
    """`text` in lines of at most `WIDTH`; all but the first begin with `indent`."""
    return textwrap.fill(
        text, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def _endpoint(addr: str, port: int) -> str:
    return f"[{addr}]:{port}" if ":" in addr else f"{addr}:{port}"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


def _count(count: int, noun: str) -> str:
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def _duration(milliseconds: float) -> str:
    if milliseconds >= 10_000:
        return f"{milliseconds / 1000:,.0f} s"
    if milliseconds >= 1000:
        return f"{milliseconds / 1000:.1f} s"
    return f"{milliseconds:.1f} ms"


def _maybe_ms(milliseconds: float | None) -> str:
    return "-" if milliseconds is None else f"{milliseconds:.1f} ms"
