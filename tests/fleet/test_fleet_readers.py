"""Questions that users ask of the Delta tables: DuckDB, Polars and Fleet answer the same."""

from __future__ import annotations

from typing import Any

import duckdb
import polars as pl
import pytest
from conftest import CAPTURES
from deltalake import DeltaTable
from fleets import ALL, job, made, scanned
from nagle_scan.fleet.fields import tables
from nagle_scan.fleet.fleet import Fleet
from nagle_scan.fleet.lake import RUNNING
from nagle_scan.fleet.writer import Writer

LOADED = (*ALL, "labelled/hard-lte-think/client.pcap.gz")
"""Of two days."""
LOST = "SELECT service, day, sum(wait_ms) AS lost FROM stalls {} GROUP BY service, day"

Answer = dict[tuple[Any, ...], float]


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> str:
    """With stalls of a batch that a killed run did not finish."""
    path = made(tmp_path_factory.mktemp("readers") / "fleet", [LOADED[:3], LOADED[3:]])
    stalls = DeltaTable(f"{path}/stalls").to_pyarrow_table()
    at = stalls.schema.get_field_index("batch")
    left = stalls.set_column(at, "batch", [["killed"] * len(stalls)])
    dead = Writer(path)
    dead._state(RUNNING)
    dead._append("stalls", left)
    return path


def rounded(rows: list[tuple[Any, ...]]) -> Answer:
    return {tuple(key): round(value, 6) for *key, value in rows}


def of_duckdb(path: str) -> Answer:
    stalls = DeltaTable(f"{path}/stalls").to_pyarrow_dataset()
    captures = DeltaTable(f"{path}/captures").to_pyarrow_dataset()
    with duckdb.connect() as own:
        own.register("stalls", stalls)
        own.register("captures", captures)
        return rounded(own.sql(LOST.format("SEMI JOIN captures USING (batch, set)")).fetchall())


def of_polars(path: str) -> Answer:
    captures = pl.scan_delta(f"{path}/captures")
    stalls = pl.scan_delta(f"{path}/stalls").join(captures, on=["batch", "set"], how="semi")
    return rounded(stalls.group_by("service", "day").agg(pl.col("wait_ms").sum()).collect().rows())


def test_all_give_the_same_answers_and_the_right_ones(fleet: str) -> None:
    """Also while a run writes, or was killed: what it has no row in `captures` for is left out."""
    rows = Fleet(fleet).query(LOST.format(""))
    own = rounded(list(rows.itertuples(index=False, name=None)))
    assert of_duckdb(fleet) == of_polars(fleet) == own
    assert len({day for _, day in own}) == 2
    summaries = (scanned(job(CAPTURES / name)).summary() for name in LOADED)
    sure_ms = sum(sum(summary.stalled_ms_by_confidence[1:]) for summary in summaries)
    assert sum(own.values()) == pytest.approx(sure_ms)


def test_a_day_reads_only_its_files(fleet: str) -> None:
    """A year of a company's stalls is too much for a question about yesterday."""
    table = DeltaTable(f"{fleet}/stalls")
    every = table.file_uris()
    of_day = table.file_uris(file_pruning_predicate="day = '2026-11-23'")
    assert 0 < len(of_day) < len(every)
    assert all("day=2026-11-23" in path for path in of_day)


@pytest.mark.parametrize("name", tables())
def test_a_table_has_the_documented_columns(name: str, fleet: str) -> None:
    columns = [field.name for field in tables()[name]]
    assert list(getattr(Fleet(fleet), name).columns) == columns
