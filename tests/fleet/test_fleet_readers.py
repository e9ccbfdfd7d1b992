"""Questions that users ask of the Parquet files: pandas, Polars and DuckDB answer the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pytest
from conftest import CAPTURES
from fleets import ALL, UNDATED, made, shipped, undated
from nagle_scan.fleet import parquet, tables

LOADED = (*ALL, "labelled/hard-lte-think/client.pcap.gz")
"""Of two days."""

Answer = dict[Any, float]


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("readers")
    return made(folder / "fleet", [LOADED[:3], [*LOADED[3:], undated(folder / "capture.txt")]])


def rounded(rows: list[tuple[Any, ...]]) -> Answer:
    """What is not known, None or NaN, is left out."""
    return {
        key[0] if len(key) == 1 else tuple(key): round(value, 6)
        for *key, value in rows
        if not pd.isna(value)
    }


def of_pandas(path: str) -> list[Answer]:
    stalls = pd.read_parquet(f"{path}/stalls")
    connections = pd.read_parquet(f"{path}/connections")
    captures = pd.read_parquet(f"{path}/captures")
    joined = stalls.merge(connections, on=["set", "connection"])
    of_service = joined.groupby(["server_addr", "server_port"])["wait_ms"].sum()
    of_day = stalls.groupby("day", observed=True)["wait_ms"].sum()
    named = stalls.merge(captures[captures["file"] == 0], on="set")
    of_capture = named.groupby("path")["wait_ms"].sum()
    acks = connections.groupby("server_addr")["server_delayed_ack_ms"].mean()
    return [
        rounded(list(of_service.reset_index().itertuples(index=False, name=None))),
        rounded(list(of_day.items())),
        rounded(list(of_capture.items())),
        rounded(list(acks.items())),
        {"packets": captures["packets"].sum(), "stalls": captures["stalls"].sum()},
    ]


def of_polars(path: str) -> list[Answer]:
    def table(name: str) -> pl.LazyFrame:
        return pl.scan_parquet(f"{path}/{name}/**/*.parquet", hive_partitioning=True)

    stalls, connections, captures = map(table, ("stalls", "connections", "captures"))
    joined = stalls.join(connections, on=["set", "connection"])
    lost = pl.col("wait_ms").sum()
    named = stalls.join(captures.filter(pl.col("file") == 0), on="set")
    return [
        rounded(joined.group_by("server_addr", "server_port").agg(lost).collect().rows()),
        rounded(stalls.group_by("day").agg(lost).collect().rows()),
        rounded(named.group_by("path").agg(lost).collect().rows()),
        rounded(
            connections.group_by("server_addr")
            .agg(pl.col("server_delayed_ack_ms").mean())
            .collect()
            .rows()
        ),
        captures.select(pl.col("packets").sum(), pl.col("stalls").sum())
        .collect()
        .row(0, named=True),
    ]


def ask(query: str) -> list[tuple[Any, ...]]:
    return duckdb.connect().execute(query).fetchall()


def of_duckdb(path: str) -> list[Answer]:
    def table(name: str) -> str:
        return f"read_parquet('{path}/{name}/**/*.parquet', hive_partitioning=true)"

    stalls, connections, captures = map(table, ("stalls", "connections", "captures"))
    packets, found = ask(f"SELECT sum(packets), sum(stalls) FROM {captures}")[0]
    return [
        rounded(
            ask(
                f"SELECT server_addr, server_port, sum(wait_ms) FROM {stalls} "
                f"JOIN {connections} USING (set, connection) GROUP BY ALL"
            )
        ),
        rounded(ask(f"SELECT day, sum(wait_ms) FROM {stalls} GROUP BY day")),
        rounded(
            ask(
                f"SELECT path, sum(wait_ms) FROM {stalls} JOIN {captures} USING (set) "
                "WHERE file = 0 GROUP BY path"
            )
        ),
        rounded(
            ask(f"SELECT server_addr, avg(server_delayed_ack_ms) FROM {connections} GROUP BY ALL")
        ),
        {"packets": packets, "stalls": found},
    ]


def test_all_give_the_same_answers_and_the_right_ones(fleet: str) -> None:
    answers = of_pandas(fleet)
    assert of_polars(fleet) == answers
    assert of_duckdb(fleet) == answers
    of_service, of_day, of_capture, acks, totals = answers
    assert len(of_service) > 3
    assert len(of_day) == 2
    expected = {}
    for name in LOADED:
        stalls = tables.from_bytes(shipped(name)[1].tables["stalls"]).to_pandas()
        if len(stalls):
            expected[str(CAPTURES / name)] = round(stalls["wait_ms"].sum(), 6)
    assert of_capture == expected
    assert sum(of_service.values()) == pytest.approx(sum(expected.values()))
    # Of some connections it is not known, and that must not hide those of which it is.
    assert len(acks) == 2
    packets = sum(shipped(name)[1].packets for name in LOADED)
    assert totals["packets"] == packets + UNDATED


def test_a_day_is_text_and_prunes_files(fleet: str) -> None:
    """Even though one capture tells no date; DuckDB and Polars would else take it for a date."""
    day = "2026-11-23"
    stalls = pd.read_parquet(f"{fleet}/stalls", filters=[("day", "==", day)])
    assert len(stalls) > 10
    assert set(stalls["day"]) == {day}
    assert (stalls["time"].dt.strftime("%Y-%m-%d") == day).all()
    lazy = pl.scan_parquet(f"{fleet}/stalls/**/*.parquet", hive_partitioning=True)
    asked = lazy.filter(pl.col("day") == day)
    assert asked.select(pl.len()).collect().item() == len(stalls)
    source = f"read_parquet('{fleet}/stalls/**/*.parquet', hive_partitioning=true)"
    told = str(ask(f"EXPLAIN ANALYZE SELECT count(*) FROM {source} WHERE day = '{day}'"))
    of_day = list(Path(fleet, "stalls", f"day={day}").glob("*.parquet"))
    every = list(Path(fleet, "stalls").rglob("*.parquet"))
    assert f"Scanning Files: {len(of_day)}/{len(every)}" in told
    assert ask(f"SELECT count(*) FROM {source} WHERE day = '{day}'") == [(len(stalls),)]


@pytest.mark.parametrize("name", tables.NAMES)
def test_a_table_without_a_row_can_be_read(name: str, tmp_path: Path) -> None:
    path = made(tmp_path / "fleet", [["java-split-nodelay.pcap"]])
    every = f"{path}/{name}/**/*.parquet"
    columns = list(pd.read_parquet(f"{path}/{name}"))
    assert columns[:2] == ["set", "run"]
    assert pl.scan_parquet(every, hive_partitioning=True).collect_schema().names() == columns
    source = f"read_parquet('{every}', hive_partitioning=true)"
    described = ask(f"DESCRIBE SELECT * FROM {source}")
    assert [name for name, *_ in described] == columns
    assert len(parquet.files_of(path, name)) == (name not in ("stalls", "waits"))
