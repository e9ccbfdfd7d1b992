"""Advice: the data behind it, and what a report may name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import nagle_scan
import pytest
from conftest import CAPTURES, Run, said
from conversation import Conversation, connected, interleaved, write
from nagle_scan import _core, advice
from nagle_scan.advice import settings as known
from nagle_scan.advice.programs import SETTINGS, UNNAMED
from nagle_scan.advice.setting import Setting
from nagle_scan.messages.payloads import PayloadPair
from nagle_scan.messages.protocols import SERVICES
from nagle_scan.messages.services import Sample
from nagle_scan.report.options import Options
from nagle_scan.report.text import LIMITS
from nagle_scan.report.view import View
from nagle_scan.system.terminal import WIDTH
from nagle_scan.words.wording import printable
from scapy.packet import Raw

ALL = SETTINGS + UNNAMED

REPLY = b"HTTP/1.1 200 OK\r\n%s\r\n\r\n"


def group(**fields: Any) -> _core.HostPairRow:
    """A group of stalls of a server on a port that no service has."""
    usual = {
        "cause": "nagle_delack",
        "sender": "server",
        "server_port": 7001,
        "stalls": 9,
        "connections": 3,
        "exchanges": 10,
        "ack_delay_ms": 41.3,
        "ack_delay_min_ms": 40.2,
        "ack_delay_max_ms": 44.0,
        "consistent_with": "Linux, or Windows 8 and later, 40 ms",
        "quick_acks": True,
        "len_unacked": 143,
        "len": 6,
        "unacked_full_sized": False,
        "alternate": True,
        "frames_split": [],
        "frame_first_reply": None,
        "nagle": "unknown",
    }
    return cast(_core.HostPairRow, SimpleNamespace(**{**usual, **fields}))


def for_group(group: _core.HostPairRow, paths: Sequence[str] = ()) -> list[advice.Remedy]:
    return advice.for_groups([group], paths)[0].remedies


def sample(role: str, port: int = 7001, *messages: bytes, cut_at: int = 0) -> Sample:
    """Stalls of a sender that show these messages, each before one that tells nothing."""
    by_client = role == "client"
    pairs = [PayloadPair(message, b"\0", port, by_client) for message in messages]
    return Sample(port, by_client, pairs, cut_at=cut_at)


def programs(role: str, port: int = 7001, *messages: bytes) -> list[str]:
    return [setting.program for setting in known.likely(sample(role, port, *messages)).settings]


def test_every_setting_is_complete_and_there_once() -> None:
    assert len(ALL) >= 50
    for setting in ALL:
        assert setting.program
        assert setting.knob
        assert setting.role in ("", "client", "server")
        assert re.fullmatch(r"https://\S+|[\w.-]+/[\w.-]+(#\d+|:[\w./-]+)", setting.source)
        assert re.fullmatch(r"https://[\w.-]+/\S+", setting.address)
        assert printable(str(setting)) == str(setting)
        assert setting.service in {"", *(service.name for service in SERVICES)}
        re.compile(setting.head)
    keys = [(setting.program, setting.role, setting.service) for setting in ALL]
    assert len(set(keys)) == len(keys)
    names = [name for setting in SETTINGS for name in setting.server + setting.agent]
    assert len(set(names)) == len(names)


HEADS = {
    "server": REPLY % b"Date: x\r\nserver: %s 1.2.3",
    "client": b"POST / HTTP/1.1\r\nUser-Agent: %s1\r\n\r\n",
}


@pytest.mark.parametrize("setting", [s for s in SETTINGS if s.server or s.agent])
def test_a_header_names_its_program(setting: Setting) -> None:
    for by, other, names in (
        ("server", "client", setting.server),
        ("client", "server", setting.agent),
    ):
        for name in names:
            message = HEADS[by] % name.encode()
            assert programs(by, 7001, message)[0] == setting.program
            assert programs(other, 7001, message) == []


@pytest.mark.parametrize(
    ("role", "message"),
    [
        ("server", b""),
        ("server", REPLY % b"Date: x\r\nServer: epoll/0.1\r\nContent-length: 6"),
        ("server", REPLY % b"Date: x\r\nContent-Length: 6"),
        ("server", REPLY % b"X-Note: Server: nginx"),
        ("server", b"HTTP/1.1 200 OK\r\n\r\n\r\nServer: nginx\r\n"),
        ("server", b"\r\nServer: nginx\r\n"),
        ("server", b"Server: nginx"),
        ("server", REPLY % b"Server: my-nginx"),
        ("client", b"GET / HTTP/1.1\r\nUser-Agent: Mozilla/5.0 curl/8\r\n\r\n"),
        ("client", REPLY % b"Server: nginx"),
        ("client", b"*1\r\n$"),
        ("server", b"\x00\xff\x1b[31m<script>" * 80),
    ],
)
def test_where_nothing_shows_the_program_none_is_named(role: str, message: bytes) -> None:
    assert known.likely(sample(role, 7001, message)) == known.Hints()
    assert known.likely(sample(role, 8080, message)) == known.Hints()


def test_a_port_suggests_and_says_that_it_only_does() -> None:
    hints = known.likely(sample("client", 6379))
    assert hints.known_by == "Port 6379 is Redis (IANA). If this is"
    assert 1 <= len(hints.settings) <= known.MAX_SETTINGS
    assert programs("server", 6379) != programs("client", 6379)
    assert programs("client", 6380) == []


def test_the_messages_themselves_outweigh_the_port() -> None:
    nginx = REPLY % b"Server: nginx/1.25"
    assert programs("server", 6379, nginx) == ["nginx"]
    assert programs("server", 6379, REPLY % b"Server: other") == []
    assert programs("client", 7001, b"*1\r\n$4\r\nPING\r\n") == programs("client", 6379)


BIND = b"B\0\0\0\x0c" + b"S" * 8
AMQP_START_OK = b"\1\0\0\0\0\0\5\0\x0a\0\x0b\0\xce"
QUERY = b"Q\0\0\0\x22" + b"S" * 30


@pytest.mark.parametrize(
    ("unacked", "held", "known_by"),
    [
        (QUERY[:20], QUERY[20:], "It looks like PostgreSQL. If this is"),
        (BIND, b"S\0\0\0\4", "It speaks PostgreSQL. If this is"),
        (b"*1\r\n$4\r\n", b"PING\r\n", "It speaks Redis. If this is"),
        (b"AMQP\0\0\x09\x01", AMQP_START_OK, "It speaks AMQP. If this is"),
        (b"\x17\3\3\0\2hi", b"\x17\3\3\0\2hi", ""),
    ],
)
def test_a_protocol_is_known_by_its_messages_on_any_port(
    unacked: bytes, held: bytes, known_by: str
) -> None:
    pair = PayloadPair(unacked, held, 7001, by_client=True)
    assert known.likely(Sample(7001, True, [pair] * 3)).known_by == known_by


def test_a_likeness_counts_only_if_every_stall_has_it() -> None:
    alike = PayloadPair(QUERY[:20], QUERY[20:], 7001, by_client=True)
    other = PayloadPair(b"secret", b"secret", 7001, by_client=True)
    assert known.likely(Sample(7001, True, [alike, other])) == known.Hints()


def test_what_tls_hides_the_port_may_tell() -> None:
    record = b"\x17\3\3\0\2hi"
    pair = PayloadPair(record, record, 6379, by_client=True)
    hints = known.likely(Sample(6379, True, [pair], cut_at=96))
    assert hints.known_by == "It speaks TLS. Port 6379 is Redis (IANA). If this is"


def test_the_reply_to_an_upgrade_names_the_clients_protocol() -> None:
    reply = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nServer: nginx\r\n\r\n"
    hints = known.likely(Sample(7001, True, [], reply))
    assert hints.known_by == "It speaks WebSocket. If this is"
    assert "nginx" not in {setting.program for setting in hints.settings}


def test_frames_cut_too_short_are_told_with_what_is_enough() -> None:
    cut = "Frames were cut at 96 bytes: capture with 'tcpdump -s 256' to name the message and its "
    assert known.likely(sample("server", cut_at=96)) == known.Hints(cut + "program.")
    by_port = known.likely(sample("client", 6379, cut_at=96))
    assert by_port.known_by == cut + "program. Port 6379 is Redis (IANA). If this is"
    half = REPLY[:30]
    assert known.likely(sample("server", 7001, half, cut_at=96)).known_by.startswith(cut)


def stall_with(made: Conversation, unacked: bytes, held: bytes) -> None:
    """A stall of segments that begin with these messages."""
    hold = made.stall(first=len(unacked), second=len(held))
    hold.unacked.packet[Raw].load = unacked
    hold.held.packet[Raw].load = held


@pytest.mark.parametrize(("snap_length", "is_noticed"), [(54, True), (57, True), (256, False)])
def test_a_report_tells_where_messages_were_split_or_cut(
    snap_length: int, is_noticed: bool, tmp_path: Path, run: Run
) -> None:
    made = connected(server=("10.0.0.2", 7001))
    for _ in range(3):
        stall_with(made, BIND, b"S\0\0\0\4")
    path = write(tmp_path / "cut.pcap", made.frames, snap_length)
    for words in said(run, path, tmp_path):
        assert ("Frames were cut at" in words) == is_noticed
        assert ("PostgreSQL Bind ends with the first, Sync in the second" in words) != is_noticed


def test_the_fixes_come_in_their_order() -> None:
    wheres = [remedy.where for remedy in for_group(group())]
    assert [where.split()[1] for where in wheres] == ["program", "socket", "other"]
    assert len(for_group(group(cause="nagle_rtt"))) == 2


@pytest.mark.parametrize(
    ("port", "lengths", "typed"),
    [(23, (1, 1), True), (7001, (3, 4), True), (22, (36, 52), True), (7001, (6, 7), False)],
)
def test_keystrokes_cannot_be_sent_in_one_write(
    port: int, lengths: tuple[int, int], typed: bool
) -> None:
    known = group(server_port=port, len_unacked=lengths[0], len=lengths[1])
    wheres = [remedy.where for remedy in for_group(known)]
    assert ("the program on {sender}" in wheres) == (not typed)
    assert ("nothing to merge" in for_group(known)[0].what) == typed


BANNER = b"SSH-2.0-OpenSSH_9.2\r\n"
PUTTY = b"SSH-2.0-PuTTY_Release_0.78\r\n"
NEW_KEYS = b"\0\0\0\x0c\x0a\x15" + bytes(10)
CIPHERED = b"\0\0\0\x10\x0a\x15" + bytes(30)


@pytest.mark.parametrize(
    ("port", "message", "stalls", "is_nothing"),
    [
        (22, NEW_KEYS, 3, True),
        (22, NEW_KEYS, 4, False),  # more than once per connection
        (22, CIPHERED, 3, False),  # its length is of whole blocks without itself
        (2222, BANNER, 3, True),
        (2222, PUTTY, 3, True),
        (7001, NEW_KEYS, 3, False),  # no SSH
    ],
)
def test_a_key_exchange_is_not_to_be_changed(
    port: int, message: bytes, stalls: int, is_nothing: bool, tmp_path: Path
) -> None:
    made = []
    for number in range(3):
        made.append(Conversation(("10.0.0.1", 40000 + number), ("10.0.0.2", port)))
        made[-1].open()
        for _ in range(stalls - 2 if number == 0 else 1):
            stall_with(made[-1], message, bytes(44))
    path = write(tmp_path / "ssh.pcap", interleaved(*made))
    (found,) = nagle_scan.scan(path)._result.core.groups()
    remedies = for_group(found.worst, [str(path)])
    assert (remedies == [advice.KEY_EXCHANGE]) == is_nothing
    assert any("set TCP_NODELAY" in one.short for one in remedies) != is_nothing


@pytest.mark.parametrize(
    ("server", "places"),
    [
        ("192.168.0.9", ["{}", "{}", "the other end, {}, as a last resort"]),
        (
            "93.184.216.34",
            ["{}, if it is yours", "{}, if it is yours", "else your own end, {}"],
        ),
    ],
)
def test_what_the_reader_cannot_change_is_told_whose_it_is(
    server: str, places: list[str], tmp_path: Path
) -> None:
    """The server is beside the capture point, as a phone's VPN puts hosts of the internet."""
    made = connected(("192.168.0.4", 40000), (server, 7001), rtt_ms=0.1)
    for _ in range(9):
        made.data("client", 60)
        made.answer(100)
        made.wait(41.0)
        made.ack("client")
        made.wait(0.1)
        made.data("server", 30)
        made.wait(0.02)
        made.ack("client")
        made.wait(2.0)
    scan = nagle_scan.scan(write(tmp_path / "a.pcap", made.frames))
    (fix,) = View(scan._result, LIMITS, Options()).fixes
    *senders, receiver = map(fix.where, fix.remedies)
    assert receiver == places[-1].format("192.168.0.4")
    assert all(
        one.endswith(place.format(fix.sender))
        for one, place in zip(senders, places[:-1], strict=True)
    )


def test_without_payloads_the_last_packet_in_the_clear_is_known_by_its_length() -> None:
    assert for_group(group(server_port=22, stalls=1, len_unacked=16, len=44)) == [
        advice.KEY_EXCHANGE
    ]


def test_the_tail_of_one_large_write_is_not_said_to_need_merging() -> None:
    remedies = for_group(group(unacked_full_sized=True, len_unacked=1448))
    assert "TCP_NODELAY" in remedies[0].what
    assert "merging helps only if" in remedies[1].what
    assert all("send the whole message in one write" not in remedy.what for remedy in remedies)


def test_messages_without_answers_are_not_pieces_of_one() -> None:
    remedies = for_group(group(stalls=90, exchanges=1))
    assert "TCP_NODELAY" in remedies[0].what
    assert all("segments of" not in remedy.what for remedy in remedies)
    assert advice.how_to_test(group(stalls=90, exchanges=1)) == ""


MODBUS = b"\0\1\0\0\0\6\1\3\0\0\0\2"
ADS = b"\0\0\x20\0\0\0" + bytes(32)
KEEPALIVE = b"\xff" * 16 + b"\0\x13\4"
GET = b"get key\r\n"


@pytest.mark.parametrize(
    ("port", "message"), [(502, MODBUS), (48898, ADS), (179, KEEPALIVE), (11211, GET)]
)
def test_separate_messages_are_not_to_be_sent_in_one_write(
    port: int, message: bytes, tmp_path: Path
) -> None:
    """Nobody can merge a poll with the next one: the option alone helps."""
    made = connected(server=("10.0.0.2", port))
    for _ in range(3):
        stall_with(made, message, message)
    path = write(tmp_path / "separate.pcap", made.frames)
    (found,) = nagle_scan.scan(path)._result.core.groups()
    first, *others = for_group(found.worst, [str(path)])
    assert first.short == "set TCP_NODELAY"
    assert first.what.startswith("these are separate messages (")
    assert all("send the whole message" not in remedy.what for remedy in others)


def test_the_pieces_are_told_with_their_sizes() -> None:
    assert "typically 143 and 6 bytes: send" in for_group(group())[0].what
    assert "of 143 and 6 bytes: send" in for_group(group(stalls=1))[0].what
    assert "perhaps an HTTP head" in for_group(group(server_port=80))[0].what


def test_what_may_be_one_message_or_several_is_said_to_be_unknown() -> None:
    first, second, *_ = for_group(group(alternate=False))
    assert first.short == "set TCP_NODELAY"
    assert "if these are parts of one message, which the capture does not show" in second.what


def test_what_hides_a_stall_is_told_where_it_is_known() -> None:
    assert "pause longer" in advice.how_to_test(group())
    assert "thinks" not in advice.how_to_test(group(sender="client"))
    assert "first exchange" in advice.how_to_test(group())
    # Quick ACKs are Linux': elsewhere the first exchange and those after pauses stall, too.
    assert advice.how_to_test(group(quick_acks=False)) == ""
    assert advice.how_to_test(group(cause="nagle_rtt")) == ""


def test_a_capture_that_is_gone_costs_the_name_only(tmp_path: Path) -> None:
    gone = for_group(group(frames_split=[(1, 2)]), [str(tmp_path / "gone.pcap")])
    assert gone == for_group(group())


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("jdk-httpserver", "HTTP head (typically 77 bytes) and its body (100 bytes) separately"),
        ("jdk-httpserver", "JDK HttpServer (com.sun.net.httpserver): -Dsun.net.httpserver.nodelay"),
        ("epoll-fd0", "HTTP head (typically 143 bytes) and its body (6 bytes) separately"),
        ("java-split", "segments of typically 6 and 7 bytes"),
    ],
)
def test_reports_of_real_captures_name_the_knob(name: str, words: str, run: Run) -> None:
    report = run(CAPTURES / f"{name}.pcap").stdout.decode()
    assert words in " ".join(report.split())
    assert ("look like those of" in report) == (name == "jdk-httpserver")
    advised = report.split("What to change")[1].split("Is TCP_NODELAY")[0]
    assert all(len(line) <= WIDTH or "https://" in line for line in advised.splitlines())


def test_a_websocket_server_is_known_by_the_reply_that_began_it(tmp_path: Path) -> None:
    """Its frames say nothing of the program; the reply to the upgrade does."""
    made = connected(server=("10.0.0.2", 7001))
    made.data("client", 30)
    upgraded = b"HTTP/1.1 101 Switching Protocols\r\nServer: swoole-http-server\r\n\r\n"
    made.answer(len(upgraded)).packet[Raw].load = upgraded
    made.wait(5.0)
    for _ in range(4):
        made.data("client", 20)
        made.wait(made.rtt_ms + 0.1)
        made.reply_in_two(made.rtt_ms + 40.0, made.rtt_ms + 0.02, 10, 300)
        made.wait(0.1)
        made.ack("client")
        made.wait(200.0)
    path = write(tmp_path / "pushes.pcap", made.frames)
    (group,) = nagle_scan.scan(path)._result.core.groups()
    found = group.worst
    assert found.sender == "server"
    assert (found.len_unacked, found.len) == (10, 300)
    advised = for_group(found, [str(path)])
    (settings,) = (remedy.settings for remedy in advised if remedy.settings)
    assert [setting.program for setting in settings] == ["Swoole"]
