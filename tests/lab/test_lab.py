"""The lab's own rules: which captures are made, cut and shipped, and which can be compared."""

from __future__ import annotations

import struct
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import cases
import chains
import derive
import disturb
import drawn
import pytest
import real
import truths
from conftest import CAPTURES
from pairs import Pair, base_name, has_merged_writes, is_comparable, is_fixed
from scoring import silence_before
from ship import SNAP, snapped
from truths import Row

SECOND, MS = 1_000_000, 1_000_000
SHIPPED_FOLDERS = [CAPTURES / name for name in ("labelled", "chains", "programs")]


def pcap(order: str, lengths: list[int]) -> bytes:
    """A file whose frames have these lengths."""
    head = struct.pack(f"{order}IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    frames = (struct.pack(f"{order}4I", 1, 2, n, n) + bytes(n) for n in lengths)
    return head + b"".join(frames)


@pytest.mark.parametrize("order", ["<", ">"])
def test_frames_are_cut_and_keep_their_length_on_the_wire(order: str) -> None:
    cut = snapped(pcap(order, [1500, 60]))
    assert struct.unpack(f"{order}4I", cut[24:40]) == (1, 2, SNAP, 1500)
    at = 40 + SNAP
    assert struct.unpack(f"{order}4I", cut[at : at + 16]) == (1, 2, 60, 60)
    assert len(cut) == at + 16 + 60


@pytest.mark.parametrize("missing", [1, 500, 1450, 1505])
def test_a_file_that_ends_within_a_frame_still_does(missing: int) -> None:
    cut = snapped(pcap("<", [60, 1500])[:-missing])
    header = cut[24 + 16 + 60 :][:16]
    if len(header) == 16:
        assert len(cut) - (24 + 16 + 60 + 16) < struct.unpack("<4I", header)[2]
    assert cut[: 24 + 76] == pcap("<", [60])


def test_names_before_and_after_meet() -> None:
    assert base_name("redis-client-before") == base_name("redis-client-after") == "redis-client"
    assert base_name("both-split-nodelay-rtt2") == base_name("both-split-rtt2")
    assert is_fixed("both-split-nodelay-rtt2")
    assert not is_fixed("both-split-rtt2")


def truth_of(case: str, holds_ms: float, short_ms: float, writes: int) -> dict[str, Any]:
    return {
        "case": case,
        "stalls": [{"hold_ms": holds_ms, "writes": writes}],
        "short_holds": [{"hold_ms": short_ms}],
    }


def test_what_cannot_be_compared_is_left_out() -> None:
    assert is_comparable(truth_of("redis-client-before", 40, 2, 1), exchanges=4)
    assert not is_comparable(truth_of("redis-client-before", 40, 2, 1), exchanges=3)
    assert not is_comparable(truth_of("server-think0-80-rtt2", 40, 0, 1), exchanges=4)


def test_a_prediction_is_a_bound_only_where_writes_were_merged() -> None:
    assert has_merged_writes(truth_of("websocket-before", 40, 0, 7))
    assert not has_merged_writes(truth_of("redis-client-before", 40, 0, 2))
    assert Pair("near", 90, 0.6, 1.0, is_bound=False).is_met
    assert Pair("within a tenth", 90, 22, 20, is_bound=False).is_met
    assert not Pair("too good", 90, 0.6, 1.4, is_bound=False).is_met
    assert Pair("too good, but a bound", 90, 0.6, 1.4, is_bound=True).is_met
    assert not Pair("too bad, and a bound", 90, 2.4, 1.4, is_bound=True).is_met


def test_silence_counts_from_data_of_either_side_to_a_copy() -> None:
    segments = [
        ("client", 0, 10, 0),
        ("server", 0, 0, 30 * MS),  # a pure ACK breaks no silence
        ("server", 0, 5, 40 * MS),
        ("client", 10, 10, 45 * MS),
        ("client", 10, 10, 245 * MS),
    ]
    assert silence_before(segments) == {("server", 0): 40.0, ("client", 10): 5.0}


# -- captures made from captures ------------------------------------------------------------------


def capture(folder: Path, times_us: list[int]) -> Path:
    """A file of empty frames at these times."""
    path = folder / "client.pcap"
    records = (struct.pack("<4I", *divmod(t, SECOND), 0, 0) for t in times_us)
    path.write_bytes(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 96, 1) + b"".join(records))
    return path


def times_after(what: str, source: Path) -> list[int]:
    """The times, in microseconds, of what derive.py makes of a file."""
    target = source.with_name("target.pcap")
    derive.make(what, source, target)
    return [frame.time_ns // 1000 for frame in disturb.read(target).frames]


def test_a_coarse_clock_shows_its_last_tick(tmp_path: Path) -> None:
    source = capture(tmp_path, [5 * SECOND + 3_999, 5 * SECOND + 4_000, 6 * SECOND])
    assert times_after("coarse:4", source) == [5 * SECOND, 5 * SECOND + 4_000, 6 * SECOND]


def test_an_uneven_clock_never_shows_the_future(tmp_path: Path) -> None:
    real = [7 * SECOND + 137 * n for n in range(300)]
    shown = times_after("uneven:2", capture(tmp_path, real))
    assert shown == sorted(shown)
    assert all(t % 1000 == 0 for t in shown)
    assert all(0 <= r - t < 5_000 for r, t in zip(real, shown, strict=True))
    assert len({b - a for a, b in pairwise(shown) if b > a}) > 1


def test_so_many_frames_are_missing(tmp_path: Path) -> None:
    source = capture(tmp_path, [n * 1000 for n in range(4_000)])
    for percent in (0.1, 1, 15):
        missing = 4_000 - len(times_after(f"thinned:{percent / 100}", source))
        assert 0.3 * percent < missing / 40 < 2 * percent + 0.1


def test_the_first_frames_are_missing(tmp_path: Path) -> None:
    times = [n * 1000 for n in range(100)]
    assert times_after("joined:0.15", capture(tmp_path, times)) == times[15:]


# -- the cases ------------------------------------------------------------------------------------


def test_another_seed_draws_other_cases_of_the_same_kinds() -> None:
    one, two = (list(drawn.all_drawn(seed)) for seed in (1, 2))
    assert [c.id for c in one] == [c.id for c in two]
    assert any(a != b for a, b in zip(one, two, strict=True))
    assert one == list(drawn.all_drawn(1))


def test_every_case_has_its_name_and_what_is_shipped_can_be_made_again() -> None:
    scripted = [*cases.listed(), *drawn.all_drawn(1), *cases.stack_cases()]
    programs = [*real.before_and_after(), *real.as_shipped(), *real.overloaded()]
    names = [case.id for case in scripted]
    names += [case.id for case in programs]
    names += [case.id for case in chains.all_chains()]
    assert len(set(names)) == len(names)
    shipped = {truth["case"] for folder in SHIPPED_FOLDERS for truth in truths.read(folder)}
    # 'loaded-' ones on a machine with other work
    assert {case.removeprefix("loaded-") for case in shipped} <= set(names)


def test_the_table_of_cases_is_read_as_it_says() -> None:
    run = next(c for c in cases.listed() if c.id == "sleep44-nodelay-rtt26")
    assert run.net.rtt_ms == 26
    client = "nodelay:1 15( write:120 pause:44000 write:30 read:90 )"
    assert " ".join(run.client.split()) == client
    assert " ".join(run.server.split()) == "15( read:150 write:90 ) read:eof"


def test_loops_of_a_script_are_written_out() -> None:
    inner = "write:1 acked write:1 acked read:60"
    script = "nodelay:1 2( 2( write:1 acked ) read:60 ) read:eof"
    assert cases.unrolled(script) == f"nodelay:1 {inner} {inner} read:eof"


def test_the_truth_of_a_case_takes_the_place_of_what_was_known_of_it(tmp_path: Path) -> None:
    for case, names in (("b", ["client"]), ("a", ["server", "client"]), ("b", ["middle"])):
        rows: list[Row] = [{"case": case, "name": f"{case}/{name}"} for name in names]
        truths.replace(tmp_path, case, rows)
    assert [row["name"] for row in truths.read(tmp_path)] == ["a/client", "a/server", "b/middle"]


def test_siblings_share_a_port_and_come_one_after_the_other() -> None:
    run = next(c for c in cases.listed() if c.id == "siblings-split-rtt2")
    assert run.one_port
    starts = [script.split()[0] for script, _ in run.more]
    assert len(set(starts)) == len(starts) == 59
    assert all(start.startswith("after:") for start in starts)


# -- what is shipped ------------------------------------------------------------------------------


def test_a_capture_is_taken_over_cut_with_its_truth(tmp_path: Path) -> None:
    source, target = tmp_path / "out", tmp_path / "labelled"
    for folder, names in ((source, ["client", "server"]), (target, ["client"])):
        rows: list[Row] = [
            {"case": "x", "name": f"x/{name}", "capture": f"{name}.pcap", "of": folder.name}
            for name in names
        ]
        folder.mkdir()
        truths.replace(folder, "x", rows)
    frames = [disturb.Frame(n * MS, bytes(200), 200, n) for n in (1, 2)]
    (source / "x").mkdir()
    disturb.write(source / "x" / "client.pcap", disturb.Capture(1, False, []), frames)
    script = CAPTURES / "lab" / "ship.py"
    subprocess.run([sys.executable, script, target, source], check=True, capture_output=True)
    (row,) = truths.read(target)
    assert (row["name"], row["of"]) == ("x/client", "out")
    taken = disturb.read(truths.capture(target, row)).frames
    assert [(len(frame.data), frame.length) for frame in taken] == [(96, 200), (96, 200)]
