"""The Rust engine. Durations in ms, times in ns since the epoch, frames from 1."""

from collections.abc import Mapping, Sequence
from typing import Any, final

VERSION: str
CAUSES: tuple[str, ...]
LEDGER: tuple[list[str], ...]
PARTS: list[str]

class NagleScanError(Exception): ...
class CaptureError(NagleScanError): ...
class FilterError(NagleScanError): ...
class OutputError(NagleScanError): ...

@final
class Summary:
    connections: int
    connections_not_listed: int
    tcp_packets: int
    packets: int
    affected_connections: int
    possible_connections: int
    stalls: int
    stalled_ms: float
    verdict: str
    exchanges: int
    cost_exchanges: int
    cost_latency_ms: float
    cost_stalled_ms: float
    stalls_by_confidence: list[int]
    stalled_ms_by_confidence: list[float]
    clean: int
    unproven: int
    short_holds: int
    short_ms: float
    short_latency_ms: float
    first_ns: int
    last_ns: int
    is_text: bool
    has_dates: bool
    not_judged: int
    not_judged_by: dict[str, int]
    copied: int
    clock_ms: float
    clocks_differ: bool
    without_handshake: int
    waits_not_listed: int
    waits_not_listed_ms: float
    warnings: list[tuple[str, str, bool]]
    anonymized: str | None

@final
class Group:
    cause: str
    sender: str
    sender_addr: str
    receiver_addr: str
    server_ip: str
    server_port: int
    stalls: int
    connections: int
    exchanges: int
    stalled_ms: float
    confidence: str
    nagle: str
    nagle_frames: tuple[int, int]
    ack_delay_ms: float
    ack_delay_min_ms: float
    ack_delay_max_ms: float
    ack_after_min_ms: float
    ack_after_max_ms: float
    consistent_with: str
    quick_acks: bool
    len_unacked: int
    len: int
    unacked_full_sized: bool
    alternate: bool
    frames_split: list[tuple[int, int]]
    connection: int
    frame_first_reply: int | None

@final
class ServerGroup:
    worst: Group
    stalls: int
    stalled_ms: float
    stalls_by_confidence: list[int]
    stalled_ms_by_confidence: list[float]
    held_ms: tuple[float, float]
    clients: int
    nagle: str
    sockets: tuple[int, int, int, int]
    consistent_with: str
    quick_acks: bool
    some_full_sized: bool
    may_be_relay: bool

@final
class NagleRow:
    side: str
    addr: str
    server_port: int
    on: int
    off: int
    unknown: int
    switched: int
    on_proof: tuple[int, int, int] | None
    off_proof: tuple[int, int, int] | None
    switched_proof: tuple[int, int, int] | None
    variant: tuple[str, int, int, int] | None

@final
class ConnectionRow:
    connection: int
    handshake_rtt_ms: float | None
    connect_ms: float | None
    first_reply_ms: float | None
    client: str
    server: str
    client_nagle: str
    server_nagle: str
    stalls: int
    stalled_ms: float
    stalls_by_confidence: list[int]
    stalled_ms_by_confidence: list[float]
    client_stalls: int
    server_stalls: int
    segments: int
    exchanges: int
    mean_latency_ms: float | None
    predicted_latency_ms: float | None
    first_latency_ms: float | None
    first_exchange_stalled: bool
    rtt_ms: float | None
    client_rtt_ms: float | None
    server_rtt_ms: float | None
    capture_point: str
    mss: int
    mss_inferred: bool
    handshake: bool
    verdict: str
    conclusive: bool
    hidden: str
    first_ns: int
    last_ns: int

@final
class ServerRow:
    addr: str
    ip: str
    port: int
    verdict: str
    connections: int
    affected_connections: int
    exchanges: int
    stalled_exchanges: int
    stalls: int
    stalled_ms: float
    latency_sum_ms: float
    latency_stalled_ms: float
    latency_ms: list[float]
    predicted_ms: list[float]

@final
class ExchangeRow:
    connection: int
    frame_begin: int
    frame_end: int
    latency_ms: float
    stalls: int
    stalled_ms: float
    connecting_ms: float | None
    sending_ms: float
    on_the_way_ms: float
    resent_ms: float
    window_ms: float
    held_ms: float
    server_ms: float
    parts_ms: list[float]

@final
class TenthRow:
    exchanges: int
    is_whole: bool
    latency_ms: float
    parts_ms: list[float]

@final
class CauseRow:
    cause: str
    sender: str
    turn: str
    waits: int
    total_ms: float
    longest_ms: float

@final
class ConnectingRow:
    connections: int
    connect_ms: float
    first_reply_ms: float
    median_share: float

@final
class LateAckRow:
    side: str
    connections: int
    late: int
    prompt: int | None
    median_ms: float
    first_frame: int

@final
class WaitRow:
    connection: int
    cause: str
    sender: str
    sender_end: str
    receiver_end: str
    sender_ip: str
    receiver_ip: str
    confidence: str
    frame_from: int
    frame_ack: int
    frame_to: int
    from_ns: int
    ack_ns: int
    to_ns: int
    len_unacked: int
    len: int
    rel_seq: int
    wait_ms: float
    hold_ms: float
    ack_delay_ms: float
    release_ms: float
    turn: str
    owed: str
    ended_by: str
    len_ack: int
    unanswered_syns: int
    ending: str
    heard_ns: int
    has_arrived: bool
    is_mute: bool
    may_be_held: bool
    is_measured: bool
    lost_before_capture: bool | None
    evidence: list[str]
    rivals: list[tuple[str, bool, str]]

@final
class HopRow:
    chain: int
    number: int
    clients: int
    client: str
    called_by: list[str]
    server: str
    connections: int
    exchanges: int
    client_stalls: int
    server_stalls: int
    stalled_ms: float
    client_passed_on: int
    server_passed_on: int
    passed_on_ms: float
    client_nagle: str
    server_nagle: str
    mean_latency_ms: float | None
    first_hop_predicted_latency_ms: float | None

@final
class Progress:
    def stop(self) -> None: ...
    @property
    def stopped(self) -> bool: ...
    @property
    def packets(self) -> int: ...
    @property
    def connections(self) -> int: ...
    @property
    def read_bytes(self) -> int: ...
    @property
    def total_bytes(self) -> int | None: ...

@final
class FrameRow:
    frame: int
    time_ns: int
    wire_len: int
    link_type: int
    data: bytes
    payload_at: int
    payload_len: int
    identity: bytes

@final
class ChosenFrames:
    connection: int
    frames: list[tuple[int, int]]
    of: int

@final
class Scan:
    def summary(self) -> Summary: ...
    def groups(self) -> list[ServerGroup]: ...
    def nagle(self, limit: int) -> tuple[list[NagleRow], int]: ...
    def server_count(self) -> int: ...
    def affected(self, limit: int) -> list[ConnectionRow]: ...
    def servers(self, limit: int) -> list[ServerRow]: ...
    def slowest(self, limit: int) -> list[ExchangeRow]: ...
    def median(self) -> ExchangeRow | None: ...
    def calls(self) -> str | None: ...
    def tenth(self) -> TenthRow: ...
    def connection(self, number: int) -> ConnectionRow | None: ...
    def stalls_of(self, number: int, limit: int) -> list[WaitRow]: ...
    def hops(self) -> list[HopRow]: ...
    def causes(self) -> list[CauseRow]: ...
    def stale_requests(self) -> tuple[int, int]: ...
    def connecting(self) -> ConnectingRow | None: ...
    def late_acks(self) -> list[LateAckRow]: ...
    def clearest(self) -> WaitRow | None: ...
    def longest_waits(self, limit: int, connection: int | None = None) -> list[WaitRow]: ...
    def busiest(self) -> int | None: ...
    def columns(self, table: str) -> dict[str, Any]: ...
    def findings(
        self, stalls: bool, names: list[str], connection: int | None = None
    ) -> dict[str, Any]: ...
    def json_head(self) -> str: ...
    def json_leaves_out(self) -> list[int]: ...
    def write(self, format: str, path: str, extra: str | None = None) -> None: ...
    def anonymized(self, key: bytes) -> Scan: ...
    def names(self) -> dict[str, str]: ...
    def captures(self) -> list[str]: ...
    def first_times_ns(self) -> list[int]: ...

def scan_captures(
    paths: list[str],
    filter: str | None,
    min_wait_ms: float,
    exchanges: bool,
    progress: Progress,
    threads: int | None = None,
    names: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    hourly: bool = False,
    calls: Calls | None = None,
    trial: tuple[int, int] | None = None,
) -> Scan: ...
def first_time_ns(path: str) -> int | None: ...
def first_time_of_bytes(bytes: bytes) -> int | None: ...

@final
class WhyRow:
    connection: int
    sender: str
    frame_from: int
    frame_ack: int
    frame_to: int
    wait_ms: float
    cause: str
    owed: str
    ended_by: str
    verdict: str
    confidence: str
    probability: float
    terms: list[tuple[str, str, str]]
    calls: list[str]

@final
class Calls:
    def alone(self) -> str: ...

def read_calls(paths: list[str], progress: Progress) -> Calls: ...
def why(
    paths: list[str],
    filter: str | None,
    min_wait_ms: float,
    frame: int,
    threads: int | None = None,
    calls: Calls | None = None,
) -> WhyRow | None: ...
def explain(cause: str) -> str | None: ...
def fields() -> list[tuple[str, str, str, str, list[str], list[str], str]]: ...
def reasons() -> list[tuple[str, str, str]]: ...
def thresholds() -> list[tuple[str, str, str, str, str, str]]: ...
def segments(
    paths: list[str],
    filter: str | None,
    connections: list[int],
    threads: int | None = None,
    excerpts: Mapping[int, tuple[int, int]] | None = None,
) -> list[dict[str, Any]]: ...
def read_frames(
    paths: list[str],
    numbers: list[int],
    payload: bool,
    key: bytes | None,
    scan: Scan | None = None,
) -> list[FrameRow]: ...
def write_pcapng(
    path: str,
    about: str,
    frames: Sequence[FrameRow],
    comments: Mapping[int, Sequence[str]],
    names: Mapping[str, str],
) -> None: ...
def annotate(
    paths: list[str],
    path: str,
    about: str,
    comments: Mapping[int, Sequence[str]],
    names: Mapping[str, str],
    payload: bool,
    key: bytes | None,
) -> None: ...
def choose_frames(
    paths: list[str],
    filter: str | None,
    wanted: list[tuple[int, list[tuple[int, int]]]],
    threads: int | None = None,
) -> list[ChosenFrames]: ...
