"""`Fleet`: what a dataset adds up to, what changed, and the way back to the captures."""

from __future__ import annotations

import doctest
import gc
import inspect
import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import nagle_scan
import pandas as pd
import pytest
from conftest import CAPTURES
from fleets import (
    ALL,
    HIDDEN,
    SETTINGS,
    STALLED,
    answered,
    captured,
    job,
    made,
    scanned,
    seen,
    shipped,
)
from nagle_scan import CaptureError, Scan, UnknownConnectionError
from nagle_scan.compare import Numbers, compare
from nagle_scan.fleet import changes, fleet, parts, sums, tables
from nagle_scan.fleet.dataset import Dataset
from nagle_scan.fleet.fleet import Fleet
from nagle_scan.fleet.work import Answer, Job
from nagle_scan.words import certainty

SPLIT, EPOLL = STALLED
FIXED = "java-split-nodelay.pcap"


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Fleet:
    return Fleet(made(tmp_path_factory.mktemp("class") / "fleet", [ALL[:3], ALL[3:]]))


def original(*paths: Path, replaces: str = "") -> tuple[Job, Answer]:
    wanted = job(*paths, replaces=replaces)
    return wanted, answered(wanted)


# What it adds up to.


def test_tables_are_those_of_the_scans(found: Fleet) -> None:
    scans = [nagle_scan.scan(CAPTURES / name) for name in ALL]
    for name in ("stalls", "connections", "waits", "servers"):
        own = getattr(found, name)
        assert isinstance(own, pd.DataFrame)
        assert len(own) == sum(len(getattr(scan, name)) for scan in scans)
    assert found.stalls["wait_ms"].sum() == pytest.approx(
        sum(scan.stalls["wait_ms"].sum() for scan in scans)
    )
    assert len(found.captures) == len(ALL)


def test_large_tables_are_dask(found: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    import dask.dataframe as dd

    expected = found.stalls
    monkeypatch.setattr(fleet, "LARGE_BYTES", 1)
    large = found.stalls
    assert isinstance(large, dd.DataFrame)
    asked = large.groupby("set")["wait_ms"].sum().compute()
    by_set = expected.groupby("set")["wait_ms"].sum()
    pd.testing.assert_series_equal(asked.sort_index(), by_set, check_index_type=False)
    assert set(large.columns) == set(expected.columns)


def test_services_hosts_and_hours_add_up_to_the_scans(found: Fleet) -> None:
    scans = [nagle_scan.scan(CAPTURES / name) for name in ALL]
    summaries = [scan.core.summary() for scan in scans]
    total = certainty.total(summaries)
    for rows in (found.services, found.hosts, found.hours):
        assert sums.total(rows).stalls_by_confidence == total.stalls_by_confidence
        assert sums.total(rows).stalled_ms_by_confidence == pytest.approx(
            total.stalled_ms_by_confidence
        )
    services = found.services
    assert services["connections"].sum() == sum(summary.connections for summary in summaries)
    assert services["exchanges"].sum() == sum(summary.exchanges for summary in summaries)
    assert services["affected_connections"].sum() == sum(
        summary.affected_connections for summary in summaries
    )
    lost_ms = services[sums.LOSSES].sum(axis=1).tolist()
    assert lost_ms == sorted(lost_ms, reverse=True)
    assert services["first_stall"].iloc[0] <= services["last_stall"].iloc[0]


def test_a_service_is_one_row_over_all_parts_and_runs(tmp_path: Path) -> None:
    copy = tmp_path / "copy.pcap"
    copy.write_bytes((CAPTURES / SPLIT).read_bytes())
    again = job(copy)._replace(id="0" * 32)
    other = Fleet(made(tmp_path / "fleet", [[SPLIT], [(again, answered(again))]]))
    (row,) = other.services.to_dict("records")
    assert (row["stalls_certain"], row["affected_sets"], row["connections"]) == (18, 2, 2)
    assert row["lost_ms_certain"] == pytest.approx(2 * 391.557)
    (host,) = other.hosts.to_dict("records")
    assert (host["addr"], host["sender"], host["services"]) == ("127.0.0.1", "client", 1)


def test_the_worst_connections_of_a_service_come_from_all_parts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sums, "WORST", 3)
    monkeypatch.setattr(sums, "MOST_ROWS", 2)
    copy = tmp_path / "copy.pcap"
    copy.write_bytes((CAPTURES / EPOLL).read_bytes())
    again = job(copy)._replace(id="0" * 32)
    worst = Fleet(made(tmp_path / "fleet", [[EPOLL], [(again, answered(again))]])).worst
    assert len(worst) == 3
    stalls = nagle_scan.scan(copy).connections["stalled_ms"].nlargest(2)
    assert worst["lost_ms_certain"].tolist()[:2] == [pytest.approx(stalls.iloc[0])] * 2
    assert worst["set"].nunique() == 2


def test_what_is_only_possible_comes_last() -> None:
    rows = pd.DataFrame(0.0, index=range(2), columns=sums.SUMS)
    rows.loc[0, ["stalls_possible", "lost_ms_possible"]] = [9, 900.0]
    rows.loc[1, ["stalls_likely", "lost_ms_likely"]] = [1, 10.0]
    assert sums.in_order(rows)["stalls_likely"].tolist() == [1, 0]


def test_a_fleet_says_what_it_is(found: Fleet) -> None:
    told = certainty.told(found.total)
    assert repr(found) == f"<Fleet {found.path}: 5 captures: {told}>"
    assert told in found._repr_html_()
    assert "127.0.0.1" in found._repr_html_()
    assert "services" in dir(found)
    assert not {"about", "total", "sentence"} & set(dir(found))


def test_an_empty_fleet_is_one(tmp_path: Path) -> None:
    empty = Fleet(made(tmp_path / "fleet", [()]))
    assert repr(empty).endswith(": 0 captures: no stall>")
    for rows in (empty.services, empty.hosts, empty.hours, empty.worst, empty.changes):
        assert not len(rows)
    assert not len(empty.stalls)
    assert not len(empty.failures)


def test_a_folder_that_is_no_fleet_is_said_to_be_none(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match=r"fleet.json: cannot read: no such file"):
        Fleet(tmp_path)


# What changed.


def test_the_first_run_has_nothing_to_compare_with(tmp_path: Path) -> None:
    first = Fleet(made(tmp_path / "fleet", [[SPLIT], ()]))
    assert first.compared.sentence == (
        "Only run 1 has added captures: there is nothing to compare it with."
    )
    assert not len(first.changes)
    nothing = Fleet(made(tmp_path / "none", [()]))
    assert nothing.compared.sentence == "No run has added anything yet."


@pytest.mark.parametrize(("before", "after"), [(SPLIT, FIXED), (FIXED, SPLIT)])
def test_what_changed_is_what_a_comparison_of_the_scans_says(
    before: str, after: str, tmp_path: Path
) -> None:
    compared = Fleet(made(tmp_path / "fleet", [[seen(before, 1)], [seen(after, 2)]])).compared
    own = compare(nagle_scan.scan(CAPTURES / before), nagle_scan.scan(CAPTURES / after))
    expected = [server.state for server in own.servers if server.state in changes.SHOWN]
    assert [server.state for server in compared.servers] == expected
    assert expected in (["gone"], ["new"])
    words = {"gone": "without stalls any more", "new": "with new stalls"}[expected[0]]
    assert compared.sentence == f"Run 2 compared with run 1: 1 service {words}."


def test_a_longer_day_is_not_worse(tmp_path: Path) -> None:
    """The same twice loses twice the time in twice the exchanges."""
    copies = [seen(SPLIT, hour, set_id=f"{hour:032x}") for hour in range(3)]
    compared = Fleet(made(tmp_path / "fleet", [copies[:1], copies[1:]])).changes
    (row,) = compared.to_dict("records")
    assert (row["state"], row["stalls_before"], row["stalls_after"]) == ("remain", 9, 18)
    assert row["lost_ms_per_exchange_after"] == pytest.approx(row["lost_ms_per_exchange_before"])


def test_a_service_that_was_not_captured_is_unseen_not_gone(tmp_path: Path) -> None:
    compared = Fleet(made(tmp_path / "fleet", [[SPLIT], [EPOLL]])).changes
    states = dict(zip(compared["server_port"], compared["state"], strict=True))
    assert states == {8000: "unseen", 8888: "new"}


def test_an_older_capture_that_comes_later_changes_nothing(tmp_path: Path) -> None:
    """An archive may get its old captures last; then nothing became new, and nothing has gone."""
    older = Fleet(made(tmp_path / "gone", [[seen(SPLIT, 5)], [seen(FIXED, 4)]]))
    assert older.compared.sentence == (
        "What run 2 added was captured no later than what run 1 added: there is nothing to compare."
    )
    assert not len(older.changes)
    other = Fleet(
        made(tmp_path / "new", [[seen(FIXED, 5)], [seen(SPLIT, 4, 9000), seen(FIXED, 6, 8000)]])
    )
    assert not len(other.changes)


def test_a_few_exchanges_without_a_stall_do_not_prove_it_gone() -> None:
    few = Numbers(0, 0.0, 1)
    many = Numbers(9, 391.6, 10, stalls_by_confidence=(0, 0, 9))
    assert changes._is_too_little(many, few)
    assert changes._is_too_little(many, few._replace(exchanges=3))
    assert not changes._is_too_little(many, few._replace(exchanges=4))
    assert not changes._is_too_little(None, few)


def test_a_run_that_was_cut_off_is_not_compared_with_its_rest(tmp_path: Path) -> None:
    """What comes second was there all the time."""
    path = str(tmp_path / "fleet")
    cut_off = Dataset(path, SETTINGS)
    cut_off.add(*seen(FIXED, 1))
    cut_off.flush()
    found = Fleet(made(path, [[seen(SPLIT, 2)]]))
    assert found.compared.sentence.startswith("Only run 1 has added captures")
    assert found.runs[["run", "sets", "complete"]].values.tolist() == [[1, 2, True]]


def test_a_capture_that_grew_is_compared_with_what_it_was(tmp_path: Path) -> None:
    """It counts for the later run now; that does not make its stalls new."""
    whole = (CAPTURES / EPOLL).read_bytes()
    ring, path = tmp_path / "ring.pcap", tmp_path / "fleet"
    sizes = (len(whole) // 2, len(whole) * 3 // 4, len(whole))
    before, lost_ms = "", []
    for run, size in enumerate(sizes, 1):
        ring.write_bytes(whole[:size])
        wanted = original(ring, replaces=before)
        fleet = Fleet(made(path, [[wanted]]))
        lost_ms.append(fleet.services["lost_ms_certain"].sum())
        before = wanted[0].id
        if run == 1:
            continue
        assert fleet.compared.sentence.startswith(f"Run {run} compared with run {run - 1}: no ")
        (row,) = fleet.changes.to_dict("records")
        assert row["state"] == "remain"
        (server,) = fleet.compared.servers
        assert server.before is not None
        assert server.before.stalled_ms == pytest.approx(lost_ms[-2])
    assert lost_ms[0] < lost_ms[1] < lost_ms[2]


def test_runs_that_added_nothing_are_left_out(tmp_path: Path) -> None:
    path = made(tmp_path / "fleet", [[SPLIT], (), [seen(FIXED)], ()])
    assert Fleet(path).compared.sentence.startswith("Run 3 compared with run 1")


# What is kept of it.


def summed(path: str) -> dict[str, pd.DataFrame]:
    """All that the page adds up."""
    found = Fleet(path)
    names = ("services", "hosts", "hours", "worst", "changes")
    return {name: getattr(found, name) for name in names}


def assert_the_same_without(kept: str, path: str) -> None:
    """As if all had been read again."""
    with_kept = summed(path)
    shutil.rmtree(kept)
    for name, rows in summed(path).items():
        pd.testing.assert_frame_equal(rows, with_kept[name])


def test_a_run_reads_only_parts_that_are_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else each run of a growing archive would take longer than the one before."""
    read: list[str] = []
    rows = parts._rows

    def counted(path: str, of: Sequence[parts.Part]) -> tuple[pd.DataFrame, pd.DataFrame]:
        read.extend(part.name for part in of)
        return rows(path, of)

    monkeypatch.setattr(parts, "_rows", counted)
    path = made(tmp_path / "fleet", [[SPLIT], [EPOLL], [FIXED]])
    assert read == ["00000001", "00000002", "00000003"]
    summed(path)
    assert len(read) == 3
    assert_the_same_without(f"{path}/{parts.KEPT}", path)
    assert len(read) > 3


def test_sums_of_a_part_that_changed_are_not_used(tmp_path: Path) -> None:
    ring = tmp_path / "ring.pcap"
    whole = (CAPTURES / EPOLL).read_bytes()
    ring.write_bytes(whole[: len(whole) // 2])
    half = original(ring)
    path = made(tmp_path / "fleet", [[SPLIT, half]])
    before = Fleet(path).services
    ring.write_bytes(whole)
    made(path, [[original(ring, replaces=half[0].id)]])
    assert Fleet(path).services["stalls_certain"].sum() > before["stalls_certain"].sum()
    assert_the_same_without(f"{path}/{parts.KEPT}", path)


def test_sums_that_are_damaged_or_behind_do_no_harm(tmp_path: Path) -> None:
    path = made(tmp_path / "fleet", [[SPLIT]])
    dataset = Dataset(path, SETTINGS)
    dataset.add(*shipped(EPOLL))
    dataset.flush()  # and then it is killed
    assert len(Fleet(path).services) == 2
    for file in Path(path, parts.KEPT).iterdir():
        file.write_bytes(file.read_bytes()[:40])
        assert len(Fleet(path).services) == 2
    made(path, [()])
    assert_the_same_without(f"{path}/{parts.KEPT}", path)


# The way back.


def test_a_set_is_scanned_again_from_its_captures(tmp_path: Path) -> None:
    paths = []
    for number, name in enumerate((SPLIT, EPOLL)):
        paths.append(Path(shutil.copy(CAPTURES / name, tmp_path / f"ring.pcap{number}")))
    wanted, answer = original(*paths)
    back = Fleet(made(tmp_path / "fleet", [[(wanted, answer), FIXED]]))
    scan = back.scan(wanted.id[:12])
    assert isinstance(scan, Scan)
    expected = nagle_scan.scan(paths)
    pd.testing.assert_frame_equal(scan.stalls, expected.stalls)
    rows = back.stalls[back.stalls["set"] == wanted.id]
    assert rows["frame_held"].tolist() == scan.stalls["frame_held"].tolist()


def test_a_filter_is_used_again(tmp_path: Path) -> None:
    filtered = SETTINGS._replace(filter="tcp port 1")
    wanted, _ = original(CAPTURES / SPLIT)
    path = made(tmp_path / "fleet", [[(wanted, answered(wanted, filtered))]], filtered)
    assert Fleet(path).scan(wanted.id).core.summary().connections == 0


def test_an_original_that_is_gone_or_changed_is_told(tmp_path: Path) -> None:
    ring = Path(shutil.copy(CAPTURES / SPLIT, tmp_path / "ring.pcap"))
    wanted, answer = original(ring)
    back = Fleet(made(tmp_path / "fleet", [[(wanted, answer)]]))
    shutil.copy(CAPTURES / EPOLL, ring)
    with pytest.raises(CaptureError, match=r"ring.pcap: no longer the capture that was scanned$"):
        back.scan(wanted.id)
    ring.unlink()
    with pytest.raises(CaptureError, match=r"ring.pcap: .*no such file"):
        back.scan(wanted.id)


def test_a_set_that_is_not_there_is_told(found: Fleet) -> None:
    with pytest.raises(CaptureError, match="no set begins with 'xyz'"):
        found.scan("xyz")
    with pytest.raises(CaptureError, match="no set begins with ''"):
        found.scan("")
    path = found.path
    ids = ["a" * 31 + "1", "a" * 31 + "2"]
    other = Path(path).with_name("alike")
    if not other.exists():
        made(other, [[(shipped(ALL[0])[0]._replace(id=id), shipped_as(id)) for id in ids]])
    with pytest.raises(CaptureError, match="2 sets begin with 'aaa': give more of it"):
        Fleet(other).scan("aaa")


def shipped_as(name: str) -> Answer:
    wanted, _ = shipped(ALL[0])
    return answered(wanted._replace(id=name))


def test_a_fleet_with_a_key_does_not_know_its_captures(tmp_path: Path) -> None:
    back = Fleet(made(tmp_path / "fleet", [ALL[:1]], HIDDEN))
    with pytest.raises(CaptureError, match="a fleet with replaced addresses does not know"):
        back.scan(shipped(ALL[0])[0].id)


def test_the_report_of_a_connection_has_it_in_detail(tmp_path: Path) -> None:
    wanted, answer = original(CAPTURES / EPOLL)
    back = Fleet(made(tmp_path / "fleet", [[(wanted, answer)]]))
    page = tmp_path / "new" / "report.html"
    back.report(wanted.id, 3, page)
    text = page.read_text()
    assert 'id="stream-3"' in text
    assert 'id="stream-2"' not in text
    assert "Stream 3, as requested. The verdict above covers the whole capture." in text
    with pytest.raises(UnknownConnectionError, match=r"tcp\.stream 99 is not in this scan"):
        back.report(wanted.id, 99, page)
    with pytest.raises(CaptureError, match=r"stream 0 of the set .* has no stall"):
        back.report(wanted.id, 0, page)


def test_the_examples_show_what_comes_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shipped_all = sorted(path.name for path in CAPTURES.glob("*.pcap"))
    made(tmp_path / "fleet", [shipped_all])
    monkeypatch.chdir(tmp_path)
    said: list[str] = []
    tried = 0
    with pd.option_context("display.width", 90, "display.max_columns", 20):
        for test in doctest.DocTestFinder(exclude_empty=True).find(Fleet, "Fleet"):
            runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
            tried += runner.run(test, out=said.append).attempted
    assert tried > 3
    assert not said, "".join(said)


def test_every_public_name_is_told() -> None:
    told = [name for name in dir(Fleet) if name[0] != "_" and name not in fleet.INTERNAL]
    assert {"stalls", "services", "changes", "scan", "report"} <= set(told)
    assert all(inspect.getdoc(getattr(Fleet, name)) for name in told)


def test_a_remote_capture_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import fsspec

    copies = tmp_path / "copies"
    copies.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(copies))

    url = "memory://tap/ring.pcap"
    with fsspec.open(url, "wb") as file:
        file.write((CAPTURES / SPLIT).read_bytes())

    def scanned_from(place: str) -> Fleet:
        there = wanted._replace(captures=(captured(place),))
        found = tables.to_bytes(tables.of(scanned(wanted), there, SETTINGS))
        folder = tmp_path / os.path.basename(place)
        return Fleet(made(folder, [[(there, answer._replace(tables=found))]]))

    wanted, answer = shipped(SPLIT)
    back, local = scanned_from(url), scanned_from(str(CAPTURES / SPLIT))
    back.report(wanted.id, 0, tmp_path / "remote.html")
    local.report(wanted.id, 0, tmp_path / "local.html")
    # With all pictures, which need a second look at the frames; only the name is another.
    page = (tmp_path / "remote.html").read_text()
    assert page.replace("ring.pcap", SPLIT) == (tmp_path / "local.html").read_text()
    assert not list(copies.iterdir())
    found = back.scan(wanted.id)
    assert len(found.stalls) == 9
    assert len(found.packets([1])) == 1, "the capture is there as long as the scan"
    del found
    gc.collect()
    assert not list(copies.iterdir())
    with fsspec.open(url, "wb") as file:
        file.write((CAPTURES / EPOLL).read_bytes())
    with pytest.raises(CaptureError, match="no longer the capture that was scanned"):
        back.scan(wanted.id)
