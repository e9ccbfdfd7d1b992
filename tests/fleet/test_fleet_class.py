"""`Fleet`: what a fleet adds up to, and the way back to the captures."""

from __future__ import annotations

import doctest
import gc
import re
import shutil
import tempfile
from pathlib import Path

import duckdb
import nagle_scan
import pandas as pd
import polars as pl
import pytest
from conftest import CAPTURES, ROOT
from fleets import (
    ALL,
    EPOLL,
    HIDDEN,
    SETTINGS,
    SPLIT,
    capture,
    connection,
    hour,
    made,
    scanned,
    written,
)
from nagle_scan import CaptureError, UnknownConnectionError
from nagle_scan.fleet import fields
from nagle_scan.fleet.fleet import Fleet
from nagle_scan.fleet.services import BUCKETS
from nagle_scan.result.options import ScanOptions
from nagle_scan.words import certainty


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Fleet:
    return Fleet(made(tmp_path_factory.mktemp("class") / "fleet", [ALL[:3], ALL[3:]]))


def of_one(folder: Path, *paths: str | Path) -> tuple[Fleet, str]:
    """A fleet of one set, and the set."""
    found = scanned(*paths)
    return Fleet(made(folder / "fleet", [[found]])), found.sets[0].id


# Sums of a fleet.


def test_services_and_hours_add_up_to_the_scans(found: Fleet) -> None:
    """Whoever trusts the sum must not be able to get another one by hand."""
    scans = [nagle_scan.scan(CAPTURES / name) for name in ALL]
    summaries = [scan._result.core.summary() for scan in scans]
    total = certainty.total(summaries)
    assert found.total.stalls_by_confidence == total.stalls_by_confidence
    assert found.total.stalled_ms_by_confidence == pytest.approx(total.stalled_ms_by_confidence)
    for rows in (found.services, found.hours):
        assert rows["stalls_certain"].sum() == total.stalls_by_confidence[2]
        assert rows["exchanges"].sum() == sum(summary.exchanges for summary in summaries)
    for rows in (found.services, found.worst):
        lost_ms = rows[["lost_ms_certain", "lost_ms_likely"]].sum(axis=1)
        assert lost_ms.is_monotonic_decreasing


def test_percentiles_of_a_service_are_those_of_its_exchanges(tmp_path: Path) -> None:
    """From sums of each hour, that no later scan can look into again: within half a bucket."""
    (row,) = of_one(tmp_path, CAPTURES / EPOLL)[0].services.to_dict("records")
    (server,) = nagle_scan.scan(CAPTURES / EPOLL).servers.to_dict("records")
    for name in ("p50_ms", "p95_ms", "p99_ms"):
        assert row[name] == pytest.approx(server[f"latency_{name}"], rel=2 ** (1 / BUCKETS) - 1)


def test_a_service_of_several_servers_is_one(tmp_path: Path) -> None:
    """With `--names`, three addresses of a service are what its owner asks for."""
    sums = [
        row
        for number in range(3)
        for row in hour(number, "payments:80", 100, 10 * number, server_addr=f"10.0.0.{number}")
    ]
    worst = [connection("payments:80", number, 40.0 * number) for number in range(1, 15)]
    fleet = Fleet(written(tmp_path / "fleet", {"sums": sums, "connections": worst}))
    (row,) = fleet.services.to_dict("records")
    assert (row["service"], row["servers"], row["server_addr"]) == ("payments:80", 3, "10.0.0.2")
    assert (row["stalls_certain"], row["exchanges"], row["hours"]) == (30, 300, 3)
    assert row["lost_ms_per_hour"] == pytest.approx(30 * 40 / 3)
    assert fleet.worst["connection"].tolist() == [*range(14, 4, -1)]


@pytest.mark.parametrize(("client", "side"), [(0, "server"), (5, "server"), (50, "both")])
def test_the_side_that_must_change(client: int, side: str, tmp_path: Path) -> None:
    sums = hour(0, "a:1", 900, 100) + hour(0, "a:1", 900, client, sender="client")[1:]
    assert Fleet(written(tmp_path / "fleet", {"sums": sums})).services["sender"].tolist() == [side]


def test_a_clock_in_the_future_is_no_onset(tmp_path: Path) -> None:
    """Nobody must look for a change that is to come in 2105."""
    clean = [row for number in range(5) for row in hour(number, "a:1", 900)]
    future = hour(79 * 365 * 24, "a:1", 900, 100)
    (row,) = Fleet(written(tmp_path / "fleet", {"sums": clean + future})).services.to_dict(
        "records"
    )
    assert row["stalls_certain"] == 100
    assert pd.isna(row["onset"])


def test_what_is_only_possible_comes_last(tmp_path: Path) -> None:
    sums = hour(0, "a:1", 900, 100, confidence="possible") + hour(0, "b:1", 900, 1)
    services = Fleet(written(tmp_path / "fleet", {"sums": sums})).services
    assert services["service"].tolist() == ["b:1", "a:1"]
    assert services["stalls_possible"].tolist() == [0, 100]


def test_a_question_in_sql(found: Fleet) -> None:
    rows = found.query("SELECT set, sum(wait_ms) AS lost FROM stalls GROUP BY set")
    by_set = found.stalls.groupby("set")["wait_ms"].sum()
    assert rows.set_index("set")["lost"].to_dict() == pytest.approx(by_set.to_dict())
    stalls = found.relation("SELECT * FROM stalls")
    assert stalls.aggregate("count(*)").fetchall() == [(len(found.stalls),)]


def test_other_programs_give_the_same_answers(tmp_path: Path) -> None:
    """With the rule that docs/fleet.md tells: of each set, the newest batch counts."""
    fleet = Fleet(made(tmp_path / "fleet", [ALL[:3], ALL[3:]]))
    made(fleet.path, [[scanned(ALL[4], replaces=scanned(ALL[0]).sets[0].id)]])
    fleet = Fleet(fleet.path)
    ask = "SELECT service, day, sum(wait_ms) AS lost FROM {} GROUP BY service, day"
    own = fleet.query(ask.format("stalls")).itertuples(index=False, name=None)
    expected = sorted((service, str(day)[:10], round(lost, 6)) for service, day, lost in own)
    text = (ROOT / "docs" / "fleet.md").read_text()
    view = re.search(r"```sql\n(.*?)```", text, re.S)
    assert view is not None
    with duckdb.connect() as asked:
        asked.execute(view[1].replace("fleet/", f"{fleet.path}/"))
        of_duckdb = asked.sql(ask.format("stalls")).fetchall()
    captures = pl.scan_parquet(f"{fleet.path}/captures/*.parquet", missing_columns="insert")
    newest = captures.group_by("set").agg(pl.col("batch", "gone").sort_by("batch").last())
    newest = newest.filter(~pl.col("gone")).select("set", "batch")
    stalls = pl.scan_parquet(f"{fleet.path}/stalls/*.parquet").join(newest, on=["set", "batch"])
    of_polars = stalls.group_by("service", "day").agg(pl.col("wait_ms").sum()).collect().rows()
    for answer in (of_duckdb, of_polars):
        losses = sorted((service, str(day)[:10], round(lost, 6)) for service, day, lost in answer)
        assert losses == expected
    assert len(expected) == 2


@pytest.mark.parametrize("kind", fields.tables())
def test_a_kind_has_the_documented_columns(kind: str, found: Fleet) -> None:
    assert list(getattr(found, kind).columns) == [field.name for field in fields.tables()[kind]]


def test_a_fleet_says_what_it_is(found: Fleet, tmp_path: Path) -> None:
    stalls = certainty.in_words(found.total)
    assert repr(found) == f"<Fleet {found.path}: 5 captures: {stalls}>"
    assert stalls in found._repr_html_()
    assert "127.0.0.1" in found._repr_html_()
    empty = Fleet(made(tmp_path / "fleet", [()]))
    assert repr(empty).endswith(": 0 captures: no stall>")
    for rows in (empty.services, empty.hours, empty.worst, empty.stalls, empty.changes):
        assert not len(rows)
    with pytest.raises(CaptureError, match="no fleet"):
        Fleet(tmp_path)


# The way back.


def test_a_set_is_scanned_again_from_its_captures(tmp_path: Path) -> None:
    paths = [
        Path(shutil.copy(CAPTURES / name, tmp_path / f"ring.pcap{number}"))
        for number, name in enumerate((SPLIT, EPOLL))
    ]
    back, id = of_one(tmp_path, *paths)
    scan = back.scan(id[:12])
    pd.testing.assert_frame_equal(scan.stalls, nagle_scan.scan(paths).stalls)
    assert sorted(back.stalls["frame_held"]) == sorted(scan.stalls["frame_held"])
    shutil.copy(CAPTURES / ALL[2], paths[1])
    with pytest.raises(CaptureError, match=r"ring.pcap1: no longer the capture that was scanned$"):
        back.scan(id)
    paths[1].unlink()
    with pytest.raises(CaptureError, match=r"ring.pcap1: .*no such file"):
        back.scan(id)


def test_a_filter_is_used_again(tmp_path: Path) -> None:
    filtered = SETTINGS._replace(options=ScanOptions("tcp port 1"))
    path = made(tmp_path / "fleet", [[SPLIT]], filtered)
    assert Fleet(path).scan(Fleet(path).captures["set"][0])._result.core.summary().connections == 0


def test_what_cannot_be_read_again_is_reported(found: Fleet, tmp_path: Path) -> None:
    for set in ("xyz", "", "' OR set > '", "fff"):
        with pytest.raises(CaptureError, match="no set begins with"):
            found.scan(set)
    sums = hour(0, "a:1", 9, set="a" * 31 + "1") + hour(0, "a:1", 9, set="a" * 31 + "2")
    away = [capture("b" * 32, host="web-1", path="/gone.pcap")]
    back = Fleet(written(tmp_path / "fleet", {"sums": sums, "captures": away}))
    with pytest.raises(CaptureError, match="2 sets begin with 'aaa': give more of it"):
        back.scan("aaa")
    with pytest.raises(CaptureError, match=r"/gone.pcap: no such .* \(it is a file of web-1\)"):
        back.report("bbb", 0, tmp_path / "report.html")
    hidden = Fleet(made(tmp_path / "hidden", [ALL[:1]], HIDDEN))
    with pytest.raises(CaptureError, match="a fleet with replaced addresses does not know"):
        hidden.scan(hidden.captures["set"][0])


def test_the_report_of_a_connection_has_it_in_detail(tmp_path: Path) -> None:
    back, id = of_one(tmp_path, CAPTURES / EPOLL)
    page = tmp_path / "new" / "report.html"
    back.report(id, 3, page)
    text = page.read_text()
    assert 'id="stream-3"' in text
    assert 'id="stream-2"' not in text
    with pytest.raises(UnknownConnectionError, match=r"tcp\.stream 99 is not in this scan"):
        back.report(id, 99, page)
    with pytest.raises(CaptureError, match=r"stream 0 of the set .* has no stall"):
        back.report(id, 0, page)


def test_a_remote_capture_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import fsspec

    copies = tmp_path / "copies"
    copies.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(copies))
    url = "memory://tap/ring.pcap"
    with fsspec.open(url, "wb") as file:
        file.write((CAPTURES / SPLIT).read_bytes())
    back, id = of_one(tmp_path, url)
    scan = back.scan(id)
    assert len(scan.packets([1])) == 1, "the capture is there as long as the scan"
    del scan
    gc.collect()
    assert not list(copies.iterdir())
    back.report(id, 0, tmp_path / "report.html")
    assert not list(copies.iterdir())


# Its words.


def test_the_examples_show_what_comes_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(tmp_path / "fleet", [sorted(path.name for path in CAPTURES.glob("*.pcap"))])
    monkeypatch.chdir(tmp_path)
    said: list[str] = []
    tried = 0
    with pd.option_context("display.width", 90, "display.max_columns", 20):
        for test in doctest.DocTestFinder(exclude_empty=True).find(Fleet, "Fleet"):
            runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
            tried += runner.run(test, out=said.append).attempted
    assert tried > 3
    assert not said, "".join(said)
