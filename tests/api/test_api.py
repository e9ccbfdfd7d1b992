"""The Python interface as notebooks use it: answers, connections, times, errors in plain words."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any, get_args

import matplotlib as mpl
import nagle_scan
import numpy as np
import pytest
from conftest import CAPTURES, ROOT, Run, outputs, written
from matplotlib.figure import Figure
from nagle_scan import Connection, Scan, timeline
from nagle_scan.api.written import Text
from nagle_scan.report import formats
from nagle_scan.report.formats import SUFFIXES
from nagle_scan.system import progress
from scapy.layers.inet import TCP

LABELLED = CAPTURES / "labelled"
PRINTED = ROOT / "tests" / "printed"


@pytest.fixture(scope="module")
def scan() -> Scan:
    return nagle_scan.scan(CAPTURES / "epoll-fd0.pcap", exchanges=True)


# Answers.


def test_summary_and_advice_are_in_the_words_of_the_json(scan: Scan, tmp_path: Path) -> None:
    result = written(scan, tmp_path)
    report, summary = result["report"], scan.summary
    assert summary.sentence == report["sentence"]
    assert [summary.sentences, summary.notices] == [report["sentences"], report["notices"]]
    assert summary.packets == sum(capture["packets"] for capture in result["captures"])
    for name in ("connections", "exchanges", "stalls", "stalled_ms", "verdict"):
        assert getattr(summary, name) == result["summary"][name]
    assert str(summary).splitlines()[:2] == [f"{summary.sentence}.", summary.sentences[0]]
    assert [one.where for one in scan.advice] == [one["where"] for one in report["advice"]]
    for ours, theirs in zip(scan.advice, report["advice"], strict=True):
        assert theirs["what"] in ours.text
        assert theirs["price"] in ours.text
        assert ours.host in (theirs["sender"], theirs["receiver"])
        assert ours.host in ours.where
    assert scan.advice[0].text in str(scan.advice)


def test_a_clean_scan_has_neither_findings_nor_advice() -> None:
    clean = nagle_scan.scan(CAPTURES / "epoll-fixed.pcap")
    assert clean.summary.sentence.startswith("Clean")
    assert (len(clean.findings), str(clean.advice)) == (0, "Nothing to change.")
    assert clean.findings.dtypes["stalls"] == np.dtype("int64")


def test_findings_add_up_to_the_stalls() -> None:
    scan = nagle_scan.scan(CAPTURES / "jdk-httpserver.pcap")
    (row,) = scan.findings.to_dict("records")
    assert row["stalls"] == len(scan.stalls) == scan.summary.stalls
    assert row["wait_ms"] == scan.stalls["wait_ms"].median()
    assert row["stalled_ms"] == pytest.approx(scan.stalls["hold_ms"].sum())
    assert row["sentence"].startswith(scan.summary.sentences[0])
    assert str(scan.findings["cause"].dtype) == "category"


def test_latency_is_that_of_the_exchanges(scan: Scan) -> None:
    table = scan.latency("connection")
    for number, row in table.iterrows():
        own = scan.exchanges[scan.exchanges["connection"] == number]
        assert row["exchanges"] == len(own)
        for start, column in (("latency", "latency_ms"), ("predicted", "predicted_latency_ms")):
            expected = np.quantile(own[column], [0.5, 0.95, 1.0], method="inverted_cdf")
            names = [f"{start}_{name}_ms" for name in ("p50", "p95", "max")]
            assert row[names].tolist() == expected.tolist()
    by_server, by_client = scan.latency(), scan.latency("client")
    assert by_server.index.tolist() == ["127.0.0.1:8888"]
    assert by_client.index.tolist() == ["127.0.0.1"]
    assert list(by_server) == list(by_client) == list(table)
    np.testing.assert_allclose(by_server, by_client, rtol=0.005)
    with pytest.raises(ValueError, match="'server', 'connection' or 'client', not 'port'"):
        scan.latency("port")


def test_a_comparison_tells_before_and_after() -> None:
    before = nagle_scan.scan(CAPTURES / "jdk-httpserver.pcap")
    after = nagle_scan.scan(CAPTURES / "jdk-httpserver-nodelay.pcap")
    comparison = before.compare(after)
    assert comparison.verdict == "fixed"
    assert str(comparison) == comparison.sentence
    assert f"{comparison.sentence}" in before.compare(after).render("md").replace("FIXED", "Fixed")
    (row,) = comparison.table.to_dict("records")
    assert (row["server"], row["state"]) == ("127.0.0.1:8080", "gone")
    assert (row["before_stalls"], row["after_stalls"]) == (len(before.stalls), 0)
    assert row["before_p50_ms"] == before.latency()["latency_p50_ms"].iloc[0]
    assert row["predicted_p50_ms"] == before.latency()["predicted_p50_ms"].iloc[0]
    assert after.compare(before).verdict == "worse"


def test_a_notebook_shows_a_comparison_with_its_servers() -> None:
    before = nagle_scan.scan(CAPTURES / "jdk-httpserver.pcap")
    comparison = before.compare(nagle_scan.scan(CAPTURES / "jdk-httpserver-nodelay.pcap"))
    page = comparison._repr_html_()
    for text in (comparison.sentence, *comparison.predictions, "127.0.0.1:8080", "before_stalls"):
        assert escape(text) in page
    comparison.table.loc[0, "server"] = "<b>x</b>"
    assert "<b>" not in comparison._repr_html_()


def test_a_notebook_shows_the_answer_the_sockets_and_the_histogram(scan: Scan) -> None:
    page = scan._repr_html_()
    said = [scan.summary.sentence, *scan.summary.sentences]
    assert all(escape(text).split(": ", 1)[-1] in page for text in said)
    assert "<td>no</td><td>server 127.0.0.1:8888</td>" in page
    assert "Histogram of 100 waits" in page
    text = nagle_scan.scan(PRINTED / "names.txt")
    assert text.summary.notices
    assert all(escape(notice) in text._repr_html_() for notice in text.summary.notices)


# Tables.


def test_a_time_stands_beside_its_nanoseconds() -> None:
    scan = nagle_scan.scan(CAPTURES / "jdk-httpserver.pcap")
    tables = [scan.connections, scan.stalls, scan.waits, scan.exchanges, scan.segments(0)]
    assert all(map(len, tables))
    columns = [(table, str(name)) for table in tables for name in table]
    named = [(table, name) for table, name in columns if name.endswith("_ns")]
    assert len(named) == 6
    for table, name in named:
        time = name.removesuffix("_ns")
        assert list(table).index(time) == list(table).index(name) + 1
        assert str(table[time].dtype) == "datetime64[ns, UTC]"
        assert (table[time].astype("int64") == table[name]).all()


def test_without_a_date_no_time_is_made_up() -> None:
    texts = sorted(PRINTED.glob("*.txt"))
    scans = [nagle_scan.scan(path) for path in texts]
    dated = {scan._result.core.summary().has_dates for scan in scans}
    assert dated == {True, False}
    for scan in scans:
        has_dates = scan._result.core.summary().has_dates
        assert scan.connections["first"].notna().all() == has_dates
        assert scan.segments(0)["time"].isna().any() != has_dates
        assert timeline.ladder(scan._result)


# One connection.


@pytest.mark.parametrize(
    "number", [3, np.int64(3), np.uint8(3)], ids=lambda one: type(one).__name__
)
def test_a_connection_has_its_rows_of_the_tables(number: int, scan: Scan) -> None:
    one = scan.connection(number)
    assert isinstance(one, Connection)
    for own, table in ((one.stalls, scan.stalls), (one.exchanges, scan.exchanges)):
        assert len(own)
        assert own.equals(table[table["connection"] == 3])
    assert one.segments().equals(scan.segments(3))
    assert [packet[TCP].sport for packet in one.packets()[:2]] == [55704, 8888]
    assert (one.client, one.server, one.verdict) == ("127.0.0.1:55704", "127.0.0.1:8888", "stalls")
    assert one.row.stalls == 25
    assert "<svg" in one._repr_html_()


def test_a_connection_gives_the_evidence_that_the_ticket_has(scan: Scan) -> None:
    number = scan._result.core.clearest().connection  # type: ignore[union-attr]
    connection = scan.connection(number)
    ticket = scan.render("md").replace("\\", "")
    assert len(connection.evidence()) > 3
    assert [line for line in connection.evidence()[:3] if line not in ticket] == []
    assert connection.evidence(1) != connection.evidence()
    with pytest.raises(IndexError, match=f"tcp.stream {number} has 0 to "):
        connection.evidence(len(connection.stalls))
    assert nagle_scan.scan(CAPTURES / "java-single-write.pcap").connection(0).evidence() == []


def test_a_connection_is_drawn_as_its_number_is(scan: Scan) -> None:
    one = scan.connection(3)
    assert one.ladder(2).get_label() == timeline.ladder(scan._result, 3, 2).get_label()
    assert one.sequence().get_label() == timeline.sequence(scan._result, 3).get_label()
    assert one.timeline().get_label() == timeline.overview(scan._result, 3).get_label()
    assert one.wait_histogram().get_label() == timeline.histogram(scan._result, 3).get_label()
    assert one.ladder(0).get_label() != one.ladder(2).get_label()


# Results as files and texts.


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_is_rendered_is_what_is_written(suffix: str, scan: Scan, tmp_path: Path) -> None:
    path = tmp_path / f"x{suffix}"
    scan.write(path)
    content = scan.render(suffix.removeprefix("."))
    assert isinstance(content, str if formats.of(path.name).is_text else bytes)
    assert path.read_bytes() == (content.encode() if isinstance(content, str) else content)


def test_texts_are_texts_for_a_type_checker_too() -> None:
    texts = {suffix.lstrip(".") for suffix in SUFFIXES if formats.of(f"x{suffix}").is_text}
    assert set(get_args(Text)) == texts


def test_a_comparison_is_written_as_the_command_writes_it(run: Run, tmp_path: Path) -> None:
    before, after = CAPTURES / "jdk-httpserver.pcap", CAPTURES / "jdk-httpserver-nodelay.pcap"
    names = ["a.html", "a.md", "a.json", "a.svg", "a.zip"]
    run(after, "--baseline", before, *outputs(*(tmp_path / name for name in names)))
    compared = nagle_scan.scan(before).compare(nagle_scan.scan(after))
    for name in names:
        compared.write(tmp_path / f"python-{name}")
        assert (tmp_path / f"python-{name}").read_bytes() == (tmp_path / name).read_bytes(), name
    with pytest.raises(nagle_scan.OutputError, match=r"^x\.csv: \.csv shows no baseline$"):
        compared.write("x.csv")


def test_an_error_without_a_file_names_no_temporary_one() -> None:
    text = nagle_scan.scan(next(iter(sorted(PRINTED.glob("*.txt")))))
    with pytest.raises(nagle_scan.OutputError, match=r"^result\.pcapng: printed text holds no"):
        text.render("pcapng")


# Names and errors.


@pytest.mark.parametrize("name", ["NagleScanError", "CaptureError", "FilterError", "OutputError"])
def test_an_error_is_called_as_it_is_imported(name: str) -> None:
    kind = getattr(nagle_scan, name)
    assert f"{kind.__module__}.{kind.__qualname__}" == f"nagle_scan.{name}"
    assert issubclass(kind, nagle_scan.NagleScanError)


def test_tab_completion_lists_public_names_only(scan: Scan) -> None:
    api = {"stalls", "summary", "findings", "advice", "latency", "compare", "connection"}
    assert api <= set(dir(scan))
    assert not {"core", "key", "kept_segments"} & set(dir(scan))
    for shown in (scan, scan.connection(1)):
        assert not [name for name in dir(shown) if name.startswith("_")]
        assert all(hasattr(shown, name) for name in dir(shown))
    assert all(hasattr(nagle_scan, name) for name in dir(nagle_scan))


PATH = str(CAPTURES / "epoll-fd0.pcap")
SPLIT = nagle_scan.scan(CAPTURES / "java-split.pcap")


def asked(**how: Any) -> Callable[[Any], object]:
    """A scan that is called like this."""
    return lambda _: nagle_scan.scan(PATH, **how)


WRONG: dict[str, tuple[Callable[[Any], object], type[Exception], str]] = {
    "path": (lambda _: nagle_scan.scan(5), TypeError, "a capture is a path .*, not int"),  # type: ignore[arg-type]
    "text file": (lambda _: nagle_scan.scan(io.StringIO("x")), TypeError, "open it with 'rb'"),
    "at once": (lambda _: nagle_scan.scan_each([], at_once=0), ValueError, "at_once must"),
    "filter": (asked(filter=80), TypeError, r"filter is a BPF expression \(str\), not int"),
    "min_wait_ms": (asked(min_wait_ms="10"), TypeError, "min_wait_ms is a number, not str"),
    "threads": (asked(threads="2"), TypeError, "threads is an integer, not str"),
    "no thread": (asked(threads=0), ValueError, "threads"),
    "many threads": (asked(threads=1025), ValueError, "threads"),
    "no address": (asked(names={"10.0.0": "a"}), ValueError, "is no IP"),
    "key": (asked(anonymize="secret"), TypeError, "anonymize is a key of 32 bytes, not str"),
    "names": (asked(names=["a"]), TypeError, "names is a mapping of addresses to names, not list"),
    "suffix": (lambda scan: scan.write("x.gif"), nagle_scan.OutputError, "'x.gif' has no known"),
    "format": (lambda scan: scan.render("gif"), nagle_scan.OutputError, "'result.gif' has no"),
    "payload": (
        lambda scan: scan.write("x.html", payload=True),
        nagle_scan.OutputError,
        "shows no payload",
    ),
    "negative": (lambda scan: scan.segments(-1), KeyError, "tcp.stream -1 is not in this scan"),
    "text": (lambda scan: scan.connection("3"), TypeError, "a connection is a number, .*not str"),
    "the only one": (lambda _: SPLIT.connection(1), KeyError, "1 is not .*: it has 0 only"),
    "stall": (lambda scan: scan.connection(3).ladder(99), IndexError, "tcp.stream 3 has 0 to 24"),
    "negative stall": (lambda scan: scan.connection(3).ladder(-1), IndexError, "stall -1"),
    "a ladder of none": (
        lambda scan: timeline.ladder(scan._result, 7),
        KeyError,
        "tcp.stream 7 is not",
    ),
    "no stall": (lambda scan: scan.connection(0).ladder(1), IndexError, "tcp.stream 0 has none"),
    "kind": (lambda scan: scan.connection(3).ladder("x"), TypeError, "a stall is a number"),
    "axes": (lambda scan: scan.connection(3).sequence(ax=Figure()), TypeError, "Axes, not Figure"),
    "map": (lambda scan: scan.compare(scan, baseline_map=5), TypeError, "is a mapping of .*int"),
    "frame": (lambda scan: scan.packets(5), TypeError, "frames are several numbers, .*not int"),
    "frame 0": (lambda scan: scan.packets([0]), ValueError, "from 1"),
    "frame -1": (lambda scan: scan.packets([-1]), ValueError, "from 1"),
    "large frame": (lambda scan: scan.packets([1 << 70]), ValueError, "from 1"),
    "half a frame": (lambda scan: scan.packets([1.5]), TypeError, "a frame is a number, .*float"),
    "calls": (asked(calls=[1]), TypeError, "calls are paths of traces, not int"),
    "other": (lambda scan: scan.compare("x"), TypeError, "compared with a Scan, not str"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_told_with_what_was_expected(what: str, scan: Scan) -> None:
    ask, kind, said = WRONG[what]
    with pytest.raises(kind, match=said):
        ask(scan)


# Progress.


def test_a_notebook_shows_a_line_that_is_rewritten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jupyter's output is not a terminal, but its pages know a carriage return."""
    shown = type("OutStream", (io.StringIO,), {"__module__": "ipykernel.iostream"})()
    monkeypatch.setattr("sys.stderr", shown)
    monkeypatch.setattr(progress, "SILENT_S", 0.0)
    with progress.ProgressLine(lambda elapsed_s: f"{elapsed_s >= 0} so far", shown):
        while "so far" not in shown.getvalue():
            pass
    assert "\rTrue so far" in shown.getvalue()
    assert shown.getvalue().endswith("\r")


def test_without_a_terminal_nothing_is_shown(capfd: pytest.CaptureFixture[str]) -> None:
    nagle_scan.scan(PATH, progress=True)
    assert capfd.readouterr() == ("", "")


# Pictures.


@pytest.mark.parametrize("picture", ["ladder", "sequence", "timeline", "wait_histogram"])
def test_a_notebook_displays_a_picture(picture: str, scan: Scan) -> None:
    """A cell that ends with Axes shows them, without pyplot and its list of open figures."""
    shown = getattr(scan.connection(3), picture)()
    assert shown._repr_png_().startswith(b"\x89PNG")
    given = Figure().add_subplot()
    assert not hasattr(getattr(scan.connection(3), picture)(ax=given), "_repr_png_")


SPREAD = [*sorted(CAPTURES.glob("*.pcap"))[::3], *sorted(LABELLED.glob("*/middle.pcap.gz"))[::99]]


@pytest.mark.parametrize("path", SPREAD, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_picture_is_drawn_on_the_axes_without_a_warning(path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scan = nagle_scan.scan(path)
        one = scan.connection(int(scan.connections.index[0]))
        own = one.ladder, one.sequence, one.timeline, one.wait_histogram
        for draw in (scan.wait_histogram, *own):
            figure = Figure(figsize=(6.0, 4.0))
            axes = figure.add_subplot()
            assert draw(ax=axes) is axes
            figure.savefig(io.BytesIO(), format="png", dpi=30)
    assert "matplotlib.pyplot" not in vars(mpl)


def test_what_a_user_writes_into_a_table_stays_there() -> None:
    scan = nagle_scan.scan(CAPTURES / "java-split.pcap")
    for name in ("stalls", "waits", "connections", "exchanges", "servers"):
        before = getattr(scan, name)
        mine = getattr(scan, name)
        mine["note"] = "mine"
        mine.loc[:, mine.select_dtypes("number").columns[0]] = -1
        assert getattr(scan, name).equals(before), name
