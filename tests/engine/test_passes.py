"""A scan in passes finds what one scan of the same captures finds, to the last byte."""

from __future__ import annotations

import contextlib
import gzip
import os
import pickle
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from conftest import CAPTURES, ROOT, generated
from conversation import (
    Conversation,
    block,
    in_ethernet,
    in_vxlan,
    interleaved,
    over_ipv6,
    pcap,
    records,
    stalled,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from nagle_scan import _core
from nagle_scan.errors import CaptureError, FilterError, OutputError
from nagle_scan.fleet import passes
from nagle_scan.fleet.passes import FileRecords

PCAPNG = b"\x0a\x0d\x0d\x0a"
PACKETS = (3, 6)
"""Kinds of pcapng blocks that hold a frame."""


def at_once(paths: Sequence[Path], filter: str | None = None) -> _core.Scan:
    return _core.scan_captures(
        [str(path) for path in paths], filter, 10.0, True, _core.Progress(), threads=1
    )


def decoded(paths: Sequence[Path], folder: Path, filter: str | None = None) -> list[FileRecords]:
    """The first pass. What goes to another process is what Dask can send there."""
    made = [
        passes.records_of(str(path), str(path), filter, str(folder / f"{number}.parquet"))
        for number, path in enumerate(paths)
    ]
    again: list[FileRecords] = pickle.loads(pickle.dumps(made))
    return again


def tracked(captures: Sequence[FileRecords]) -> list[bytes]:
    return [passes.track(shard, captures, 10.0, True) for shard in range(passes.SHARDS)]


def in_passes(paths: Sequence[Path], filter: str | None = None) -> _core.Scan:
    with TemporaryDirectory() as name:
        captures = decoded(paths, Path(name), filter)
        return passes.combine(captures, tracked(captures), threads=1)


def assert_same(paths: Sequence[Path], filter: str | None = None) -> _core.Scan:
    """All of a scan is in its state: tables, captures, warnings and what they are made from."""
    expected, found = at_once(paths, filter), in_passes(paths, filter)
    assert found.state() == expected.state(), [path.name for path in paths]
    return found


def pieces(content: bytes) -> tuple[bytes, list[bytes]]:
    """The beginning of a capture, with which a file of its own can begin, and its frames."""
    if content[:2] == b"\x1f\x8b":
        content = gzip.decompress(content)
    if not content.startswith(PCAPNG):
        lengths = _pcap_lengths(content)
        ends = [24]
        for length in lengths:
            ends.append(ends[-1] + length)
        return content[:24], [content[begin:end] for begin, end in pairwise(ends)]
    head, frames, at = b"", list[bytes](), 0
    while at < len(content):
        kind, length = struct.unpack_from("<II", content, at)
        part = content[at : at + length]
        at += length
        if kind in PACKETS:
            frames.append(part)
        elif frames:
            frames[-1] += part
        else:
            head += part
    return head, frames


def _pcap_lengths(content: bytes) -> Iterator[int]:
    order = "<" if content[0] in (0xD4, 0x4D) else ">"
    at = 24
    while at < len(content):
        (captured,) = struct.unpack_from(f"{order}I", content, at + 8)
        yield 16 + captured
        at += 16 + captured


def cut(folder: Path, content: bytes, *cuts: int) -> list[Path]:
    """Files that together have the frames of a capture, each from one cut to the next."""
    head, frames = pieces(content)
    paths = []
    for number, (begin, end) in enumerate(pairwise((0, *cuts, len(frames)))):
        paths.append(folder / f"cut{number}.pcap")
        paths[-1].write_bytes(head + b"".join(frames[begin:end]))
    return paths


def in_tunnels() -> bytes:
    """The same addresses and ports in two VXLANs, and once more outside, over IPv6 beside it."""
    inside = [stalled(Conversation(now_ms=now_ms)) for now_ms in (0.0, 1.5)]
    outside = [stalled(Conversation(now_ms=0.7)), stalled(over_ipv6(2.1))]
    made = [
        (frame.time_ns, in_vxlan(frame, number))
        for number, one in enumerate(inside, 1)
        for frame in one.frames
    ]
    made += records(interleaved(*outside), in_ethernet)
    return pcap(sorted(made), nanoseconds=True)


LABELLED = CAPTURES / "labelled"
WHOLE: dict[str, Callable[[], tuple[bytes, str | None]]] = {
    "stalls": lambda: ((CAPTURES / "java-split.pcap").read_bytes(), None),
    "IPv6 in pcapng": lambda: (
        (LABELLED / "formats-ipv6" / "client-pcapng.pcapng.gz").read_bytes(),
        None,
    ),
    "a clock of 10 ms": lambda: (
        (LABELLED / "formats-rtt26" / "client-step10ms.pcap.gz").read_bytes(),
        None,
    ),
    "relays": lambda: (
        (CAPTURES / "chains" / "containers-client" / "b.pcap.gz").read_bytes(),
        None,
    ),
    "tunnels": lambda: (in_tunnels(), None),
    "a filter": lambda: (in_tunnels(), "ip6 or udp"),
}


@pytest.mark.parametrize("name", WHOLE)
def test_a_set_cut_at_any_frame_is_the_set(name: str, tmp_path: Path) -> None:
    """Connections, waits, exchanges and clocks go across the border between two files."""
    content, filter = WHOLE[name]()
    _, frames = pieces(content)
    for at in range(len(frames) + 1):
        scan = assert_same(cut(tmp_path, content, at), filter)
    assert scan.summary().stalls > 0


def test_json_and_csv_are_the_same(tmp_path: Path) -> None:
    """What users see, with the frame numbers and stream ids of the whole capture."""
    content, _ = WHOLE["relays"]()
    whole = tmp_path / "whole.pcap"
    whole.write_bytes(gzip.decompress(content))
    paths = cut(tmp_path, content, 101, 200)
    written = {}
    for name, scan in (("once", at_once(paths)), ("passes", in_passes(paths))):
        for format in ("json", "csv"):
            path = tmp_path / f"{name}.{format}"
            scan.write(format, str(path))
            written[name, format] = path.read_bytes()
        assert scan.columns("stalls").keys() == at_once([whole]).columns("stalls").keys()
        for column in ("connection", "frame_unacked", "frame_held"):
            again = scan.columns("stalls")[column]
            assert list(again) == list(at_once([whole]).columns("stalls")[column])
    for format in ("json", "csv"):
        assert written["once", format] == written["passes", format]


CONTENTS = [whole()[0] for name, whole in WHOLE.items() if name != "a filter"]


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_set_in_any_order_is_the_set(data: st.DataObject) -> None:
    """Pieces of several captures, which may overlap in time, packed or not, in any order."""
    with TemporaryDirectory() as name:
        paths: list[Path] = []
        for number in range(data.draw(st.integers(1, 3))):
            content = data.draw(st.sampled_from(CONTENTS))
            _, frames = pieces(content)
            cuts = data.draw(st.lists(st.integers(0, len(frames)), max_size=3))
            folder = Path(name) / str(number)
            folder.mkdir()
            paths += cut(folder, content, *sorted(cuts))
        for path in paths:
            if data.draw(st.booleans()):
                path.write_bytes(gzip.compress(path.read_bytes()))
        assert_same(data.draw(st.permutations(paths)))


def test_captures_that_overlap_in_time_share_no_connections(tmp_path: Path) -> None:
    content = (CAPTURES / "java-split.pcap").read_bytes()
    first, second = tmp_path / "a.pcap", tmp_path / "b.pcap"
    first.write_bytes(content)
    second.write_bytes(content)
    assert assert_same([first, second]).summary().connections == 2
    other = CAPTURES / "jdk-httpserver.pcap"
    assert_same([first, other, second])


@pytest.mark.parametrize("kept", [-1, -60, 27, 24, 23, 1, 0])
def test_a_last_file_that_was_cut_off(kept: int, tmp_path: Path) -> None:
    """In the middle of a frame, after its header, and in it."""
    paths = cut(tmp_path, (CAPTURES / "java-split.pcap").read_bytes(), 20, 40)
    content = paths[-1].read_bytes()
    paths[-1].write_bytes(content[:kept])
    assert_same(paths)
    assert_same(paths[::-1])


def test_damage_and_files_without_frames(tmp_path: Path) -> None:
    paths = cut(tmp_path, (CAPTURES / "java-split.pcap").read_bytes(), 0, 20, 20, 40)
    content = bytearray(paths[1].read_bytes())
    content[24 + 8 : 24 + 12] = b"\xff" * 4
    for damaged in (paths, paths[:1], paths[2:3] * 2):
        assert_same(damaged)
    paths[1].write_bytes(content)
    assert_same(paths)


def test_what_tcpdump_printed(tmp_path: Path) -> None:
    """Without a date, and with what there is to say of such a text."""
    for name in ("date-absolute", "delta", "names"):
        path = ROOT / "tests" / "printed" / f"{name}.txt"
        lines = path.read_text().splitlines(keepends=True)
        half = tmp_path / "half.txt"
        half.write_text("".join(lines[: len(lines) // 2]))
        assert_same([path])
        assert_same([path, half])


def test_many_batches_of_one_shard(tmp_path: Path) -> None:
    """A capture whose records do not fit into a batch; and they take little room."""
    whole = generated(tmp_path, "rpc", 1, 200_000)
    paths = cut(tmp_path, whole.read_bytes(), 150_000)
    whole.unlink()
    captures = decoded(paths, tmp_path)
    assert [len(max(one.row_groups, key=len)) for one in captures] == [3, 1]
    size = sum(os.path.getsize(one.path) for one in captures)
    assert size < 32 * 200_000
    assert passes.combine(captures, tracked(captures)).state() == at_once(paths).state()


def test_settings_decide_as_in_a_scan(tmp_path: Path) -> None:
    """The limit of waits, and exchanges that nobody asked for."""
    paths = cut(tmp_path, (CAPTURES / "epoll-fd0.pcap").read_bytes(), 300)
    captures = decoded(paths, tmp_path)
    shards = [passes.track(shard, captures, 1.0) for shard in range(16)]
    found = passes.combine(captures, shards[::-1])
    texts = [str(path) for path in paths]
    expected = _core.scan_captures(texts, None, 1.0, False, _core.Progress())
    assert found.state() == expected.state()


def test_only_whole_files_appear(tmp_path: Path) -> None:
    """A capture that cannot be read leaves nothing; nor does a disk that is full."""
    into = tmp_path / "into.parquet"
    text = tmp_path / "notes.txt"
    text.write_text("not a capture, but long enough for a header")
    with pytest.raises(CaptureError, match=r"^s3://notes: not a capture file: "):
        passes.records_of(str(text), "s3://notes", None, str(into))
    with pytest.raises(CaptureError, match=r"^s3://gone: no such file"):
        passes.records_of(str(tmp_path / "gone"), "s3://gone", None, str(into))
    with pytest.raises(FilterError):
        passes.records_of(str(CAPTURES / "java-split.pcap"), "a", "no filter", str(into))
    with pytest.raises(OutputError, match="cannot write"):
        passes.records_of(
            str(CAPTURES / "java-split.pcap"), "a", None, str(tmp_path / "no" / "into.parquet")
        )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["notes.txt"]


def test_a_full_disk_is_named_in_the_words_of_the_system(tmp_path: Path) -> None:
    """pyarrow has words of its own, with a number in them."""
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    (tmp_path / "full").symlink_to("/dev/full")
    with pytest.raises(OutputError, match=r"full: cannot write: no space left on device$"):
        passes.records_of(str(CAPTURES / "java-split.pcap"), "a", None, str(tmp_path / "full"))


def test_ctrl_c_ends_a_pass_that_waits_for_its_input(tmp_path: Path) -> None:
    """Nothing is left of it, though frames had come."""
    words = (
        "import sys\n"
        "from nagle_scan.fleet import passes\n"
        "print('ready', flush=True)\n"
        "passes.records_of('/dev/stdin', 'a', None, sys.argv[1])"
    )
    with subprocess.Popen(
        [sys.executable, "-c", words, tmp_path / "into.parquet"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        assert process.stdout.readline() == b"ready\n"
        process.stdin.write((CAPTURES / "java-split.pcap").read_bytes())
        process.stdin.flush()
        process.send_signal(signal.SIGINT)
        assert process.stderr.read().endswith(b"KeyboardInterrupt\n")
    assert list(tmp_path.iterdir()) == []


def test_captures_without_header_alone_are_no_capture(tmp_path: Path) -> None:
    paths = [tmp_path / "a.pcap", tmp_path / "b.pcap"]
    for path in paths:
        path.touch()
    said = []
    for scan in (at_once, in_passes):
        with pytest.raises(CaptureError) as error:
            scan(paths)
        said.append(str(error.value))
    assert said[0] == said[1]


@contextlib.contextmanager
def piped(content: bytes) -> Iterator[str]:
    """The path of a pipe out of which this comes."""
    reading, writing = os.pipe()

    def fill() -> None:
        with open(writing, "wb") as pipe, contextlib.suppress(BrokenPipeError):
            pipe.write(content)

    thread = threading.Thread(target=fill)
    thread.start()
    try:
        yield f"/dev/fd/{reading}"
    finally:
        os.close(reading)
        thread.join()


def test_a_stream_is_called_by_its_label(tmp_path: Path) -> None:
    """As what is read from a URL through a pipe."""
    content, url = (CAPTURES / "java-split.pcap").read_bytes(), "s3://bucket/java-split.pcap"
    with piped(content) as path:
        streamed = _core.scan_captures(
            [path], None, 10.0, True, _core.Progress(), labels={path: url}
        )
    assert streamed.captures() == [url]
    whole = str(CAPTURES / "java-split.pcap")
    named = _core.scan_captures([whole], None, 10.0, True, _core.Progress(), labels={whole: url})
    assert named.state() == streamed.state()
    with piped(content) as path:
        into = str(tmp_path / "into.parquet")
        captures = [passes.records_of(path, url, None, into)]
    assert passes.combine(captures, tracked(captures)).state() == streamed.state()
    with piped(b"no capture at all, only words") as path, pytest.raises(CaptureError) as error:
        _core.scan_captures([path], None, 10.0, True, _core.Progress(), labels={path: url})
    assert str(error.value).startswith(f"{url}: not a capture file")


@pytest.mark.parametrize(
    "name",
    [
        "java-split.pcap",
        "labelled/formats-rtt26/client-pcapng.pcapng.gz",
        "labelled/formats-rtt26/client-zst.pcap.zst",
        "labelled/formats-rtt26/client-bigendian.pcap.gz",
    ],
)
def test_the_first_bytes_tell_the_first_time(name: str) -> None:
    """So that remote captures are put in order without reading all of them."""
    content = (CAPTURES / name).read_bytes()
    expected = _core.first_time_ns(str(CAPTURES / name))
    assert expected is not None
    assert _core.first_time_of_bytes(content[:4096]) == expected
    told = [_core.first_time_of_bytes(content[:length]) for length in range(0, 400, 7)]
    assert told[0] is None
    assert set(told) <= {None, expected}
    # Of zstd a whole block must be there.
    assert told[-1] == (None if name.endswith(".zst") else expected)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[FileRecords], list[bytes]]:
    folder = tmp_path_factory.mktemp("kept")
    paths = cut(folder, (CAPTURES / "java-split.pcap").read_bytes(), 20)
    captures = decoded(paths, folder)
    return captures, tracked(captures)


def test_damaged_records_are_an_error(
    kept: tuple[list[FileRecords], list[bytes]], tmp_path: Path
) -> None:
    """One line that names the file; never another result."""
    captures, shards = kept
    shard = next(number for number, groups in enumerate(captures[0].row_groups) if groups)
    content = Path(captures[0].path).read_bytes()
    damaged = captures[0]._replace(path=str(tmp_path / "damaged.parquet"))
    refused = 0
    for at in range(0, len(content), 11):
        changed = bytearray(content)
        changed[at] ^= 0x55
        Path(damaged.path).write_bytes(changed)
        said, found = "", b""
        try:
            found = passes.track(shard, [damaged, captures[1]], 10.0, True)
        except CaptureError as error:
            said = str(error)
            refused += 1
        assert found == shards[shard] or said.startswith(damaged.path), (at, said)
        assert "\n" not in said
    assert refused > len(content) / 11 / 3
    for length in (0, 3, len(content) // 2, len(content) - 1):
        Path(damaged.path).write_bytes(content[:length])
        with pytest.raises(CaptureError, match="the records are damaged"):
            passes.track(shard, [damaged, captures[1]], 10.0, True)


def test_records_of_another_capture_or_shard_are_an_error(
    kept: tuple[list[FileRecords], list[bytes]], tmp_path: Path
) -> None:
    captures, _ = kept
    first, second = captures
    shard = next(number for number, groups in enumerate(first.row_groups) if groups)
    swapped = [first._replace(path=second.path), second]
    with pytest.raises(CaptureError, match="these are the records of another capture"):
        passes.track(shard, swapped, 10.0)
    gone = [first._replace(path=str(tmp_path / "gone.parquet")), second]
    with pytest.raises(CaptureError, match="are gone"):
        passes.track(shard, gone, 10.0)
    turned = tuple(first.row_groups[(number + 1) % 16] for number in range(16))
    with pytest.raises(CaptureError, match="the records are damaged"):
        passes.track((shard - 1) % 16, [first._replace(row_groups=turned), second], 10.0)
    again = tuple(groups * 2 for groups in first.row_groups)
    with pytest.raises(CaptureError, match="the records are damaged"):
        passes.track(shard, [first._replace(row_groups=again), second], 10.0)
    beyond = tuple((99,) for _ in first.row_groups)
    with pytest.raises(CaptureError, match="the records are damaged"):
        passes.track(shard, [first._replace(row_groups=beyond), second], 10.0)
    with pytest.raises(CaptureError, match="there is no shard 16"):
        passes.track(16, captures, 10.0)


def test_parts_that_are_not_of_one_scan_are_an_error(
    kept: tuple[list[FileRecords], list[bytes]], tmp_path: Path
) -> None:
    captures, shards = kept
    filtered = decoded([CAPTURES / "java-split.pcap"], tmp_path, "tcp")
    for wrong in (shards[1:], [*shards[1:], shards[1]], [], [*shards, shards[0]]):
        with pytest.raises(CaptureError, match="not of one scan"):
            passes.combine(captures, wrong)
    with pytest.raises(CaptureError, match="not of one scan"):
        passes.combine(captures[:1], shards)
    with pytest.raises(CaptureError, match="not of one scan"):
        passes.combine([*captures, *filtered], shards)
    other = passes.track(0, captures, 11.0, True)
    with pytest.raises(CaptureError, match="not of one scan"):
        passes.combine(captures, [other, *shards[1:]])
    for bad in (b"", b"nagle-scan-shard 9.9.9 (format 1)\n", shards[3][:-5], b"x" * 99):
        with pytest.raises(CaptureError):
            passes.combine(captures, [bad, *shards[1:]])
    with pytest.raises(CaptureError, match=r"damaged|not a"):
        passes.track(0, [captures[0]._replace(summary=captures[0].summary[:-3])], 10.0)


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_no_record_makes_the_engine_panic(
    kept: tuple[list[FileRecords], list[bytes]], data: st.DataObject
) -> None:
    """Whatever a file says, there is a result or an error."""
    captures, shards = kept
    shard = next(number for number, groups in enumerate(captures[0].row_groups) if groups)
    records = _core.CaptureRecords(str(CAPTURES / "java-split.pcap"), "a", None)
    batch = records.next_batch()
    assert batch is not None
    columns: dict[str, Any] = {name: values.copy() for name, values in batch[1].items()}
    summary = [one.summary for one in captures]
    for name in data.draw(st.lists(st.sampled_from(sorted(columns)), min_size=1, max_size=4)):
        limits = np.iinfo(columns[name].dtype)
        at = data.draw(st.integers(0, len(columns[name]) - 1))
        columns[name][at] = data.draw(st.integers(int(limits.min), int(limits.max)))
    tracker = _core.ShardTracker(summary, batch[0], 10.0, True)
    ended = b""
    with contextlib.suppress(CaptureError):
        tracker.take(data.draw(st.integers(0, 2)), columns)
    ended = tracker.end()
    parts = [ended if number == batch[0] else part for number, part in enumerate(shards)]
    passes.combine(captures, parts)
    assert shard == batch[0]


def test_records_of_a_wrong_shape_are_an_error(
    kept: tuple[list[FileRecords], list[bytes]],
) -> None:
    captures, _ = kept
    records = _core.CaptureRecords(str(CAPTURES / "java-split.pcap"), "a", None)
    with pytest.raises(CaptureError, match="not all records were read"):
        records.summary()
    batch = records.next_batch()
    assert batch is not None
    shard, columns = batch
    assert records.next_batch() is None
    summary = [one.summary for one in captures]
    for wrong in (
        {},
        {**columns, "seq": columns["seq"].astype(float)},
        {**columns, "seq": columns["seq"][:-1]},
        {**columns, "seq": columns["seq"].reshape(-1, 1)},
        {**columns, "seq": [1, 2]},
    ):
        with pytest.raises(CaptureError, match="the records are damaged"):
            _core.ShardTracker(summary, shard, 10.0, True).take(0, wrong)


def test_blocks_that_hold_no_frame_stay_where_they_are() -> None:
    """The cutter itself: nothing is lost."""
    head, frames = pieces(
        PCAPNG
        + block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))[4:]
        + block(1, struct.pack("<HHI", 1, 0, 0))
        + block(6, bytes(24))
        + block(4, bytes(4))
        + block(6, bytes(20))
    )
    assert len(head) == 28 + 20
    assert [len(frame) for frame in frames] == [36 + 16, 32]
