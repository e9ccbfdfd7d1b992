"""The kinds of rows of a fleet and their columns, declared once: for the files, for answers and for
the documentation."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from nagle_scan import _core
from nagle_scan.words.certainty import CONFIDENCES

TEXT, INTEGER, NUMBER, BOOL = "text", "integer", "number", "true or false"
TIME, DAY, INTEGERS = "time, UTC", "date", "integers"
SQL_TYPES = {
    TEXT: "VARCHAR",
    INTEGER: "BIGINT",
    NUMBER: "DOUBLE",
    BOOL: "BOOLEAN",
    TIME: "TIMESTAMP WITH TIME ZONE",
    DAY: "DATE",
    INTEGERS: "BIGINT[]",
}
"""DuckDB's names."""
OF_SCAN = {
    "integer": INTEGER,
    "integer, ns since the epoch": TIME,
    "float, ms": NUMBER,
    "true or false": BOOL,
}
"""Types of a scan's columns by their description; all others are text."""
DETAILS = ("stalls", "connections", "waits")
"""Kinds that `--keep` removes."""
COMMIT = "captures"
"""The kind that is written last: its file is the commit of a batch."""
CHANGES = "changes"
"""The kind that is in no batch."""
KINDS = ("sums", *DETAILS, COMMIT, CHANGES)
"""All kinds; each has a folder of its name."""


class Field(NamedTuple):
    """A column."""

    name: str
    kind: str
    meaning: str


SET = Field("set", TEXT, "The capture: files that are read as one.")
DATE = Field("day", DAY, "Its date, UTC; null if the capture tells none.")
BATCH = Field("batch", INTEGER, "When it was written: of a set, only the rows of the newest count.")
SERVICE = (
    Field("service", TEXT, "Name of the server and its port, or what `--names` calls them."),
    Field("owner", TEXT, "Who owns the service, from `--names`."),
    Field("pod", TEXT, "Where the service runs, from `--names`."),
)
SERVER = (
    *SERVICE,
    Field("server_addr", TEXT, "IP address of the server."),
    Field("server_port", INTEGER, "TCP port of the server."),
)
CLIENT = (
    Field("client_addr", TEXT, "IP address of the client."),
    Field("client_port", INTEGER, "TCP port of the client."),
)
BY_CONFIDENCE = tuple(
    field
    for word in CONFIDENCES
    for field in (
        Field(f"stalls_{word}", INTEGER, f"Number of {word} stalls."),
        Field(f"lost_ms_{word}", NUMBER, f"Total wait of its {word} stalls."),
    )
)
SAID = (
    Field("sentence", TEXT, "Who held what in this capture, for how long, and why."),
    Field("change", TEXT, "What to change, in a few words."),
    Field("fix", TEXT, "The same in full, with its price."),
)
CAPTURES = (
    SET,
    Field("file", INTEGER, "Place of the file in its capture, from 0."),
    Field("path", TEXT, "Absolute path, or URL without credentials."),
    Field("host", TEXT, "The host that has the file; empty for a URL."),
    Field("size", INTEGER, "Bytes as stored."),
    Field("modified", TEXT, "When it was modified, in ns since the epoch, or the ETag of a store."),
    Field("first", TIME, "Its first frame."),
    Field("first_ns", INTEGER, "The same in ns since the epoch, also of captures without a date."),
    Field("last", TIME, "Its last frame."),
    Field("first_frame", INTEGER, "Number of its first frame in the capture."),
    Field("packets", INTEGER, "Number of frames."),
    Field("complete", BOOL, "Read to its end."),
    Field("warnings", TEXT, "What limits the result, one sentence a line."),
    Field("verdict", TEXT, "Verdict of the capture."),
    Field("cannot_tell", TEXT, "Why it is `inconclusive`; empty otherwise."),
    Field("connections", INTEGER, "Number of connections; only in the row of its first file."),
    Field("exchanges", INTEGER, "Requests with responses; likewise."),
    Field("stalls", INTEGER, "Number of stalls, possible ones included; likewise."),
    Field("stalled_ms", NUMBER, "Time lost to these stalls; likewise."),
    Field("version", TEXT, "Version of nagle-scan that read it."),
    Field("scanned", TIME, "When it was read."),
    Field("error", TEXT, "Why it could not be read; null if it was read."),
    Field("attempts", INTEGER, "How often that was tried."),
    Field("final", BOOL, "No capture: it is not tried again until it changes."),
    Field("ends", TEXT, "A hash of its first and last 64 KiB, to know a copy."),
    Field("gone", BOOL, "Takes its set away: `captures` leaves such rows out."),
    DATE,
)
SUMS = (
    SET,
    Field("hour", TIME, "Begin of the hour; null if the capture tells no date."),
    *SERVER,
    Field("cause", TEXT, "Cause of the waits; null in the row that counts the exchanges."),
    Field("sender", TEXT, "Side that kept the other waiting: `client` or `server`."),
    Field("confidence", TEXT, "Of stalls: `certain`, `likely` or `possible`."),
    Field("waits", INTEGER, "Number of waits."),
    Field("wait_ms", NUMBER, "How long they were in all; of stalls, the sum of `hold_ms`."),
    Field("exchanges", INTEGER, "Requests with responses that ended in this hour."),
    Field(
        "latency_bucket",
        INTEGERS,
        "Their latencies: bucket b is 2^(b/8) to 2^((b+1)/8) microseconds.",
    ),
    Field("latency_count", INTEGERS, "Exchanges in each of these buckets."),
    DATE,
)
CHANGED = (
    Field("time", TIME, "When it was told."),
    *SERVICE,
    Field("change", TEXT, "`new`, `worse`, `gone`, `flaps`; of a host, `silent`."),
    Field("since", DAY, "The first day of it, UTC."),
    Field("hosts", TEXT, "The hosts with stalls since, where several have captured the service."),
    Field("before_ms", NUMBER, "Time lost per exchange in the four weeks before that day."),
    Field("now_ms", NUMBER, "Time lost per exchange since."),
    Field("stalls", INTEGER, "Certain and likely stalls since."),
    Field("exchanges", INTEGER, "Requests with responses since."),
)
SENDER = Field("sender_addr", TEXT, "IP address of the side that held data back.")


def _of_scan(row: str, prefix: str = "") -> Iterator[Field]:
    """The columns of a table of `Scan`, with one column for a time."""
    for of, name, kind, _, _, outputs, meaning in _core.fields():
        if of != row or "DataFrame" not in outputs:
            continue
        if kind == "end":
            yield from _of_scan(kind, f"{name}_")
        else:
            shown = name.removesuffix("_ns") if OF_SCAN.get(kind) == TIME else name
            yield Field(prefix + shown, OF_SCAN.get(kind, TEXT), meaning)


@cache
def tables() -> dict[str, tuple[Field, ...]]:
    """The columns of each kind, by its name; the files of those in a batch have `BATCH`, too."""
    return {
        "sums": SUMS,
        "stalls": (SET, *_of_scan("stall"), *CLIENT, *SERVER, SENDER, DATE),
        "connections": (SET, *_of_scan("connection"), *SERVICE, *BY_CONFIDENCE, *SAID, DATE),
        "waits": (SET, *_of_scan("wait"), *SERVER, DATE),
        COMMIT: CAPTURES,
        CHANGES: CHANGED,
    }


@cache
def written(kind: str) -> tuple[Field, ...]:
    """The columns of a file."""
    return tables()[kind] if kind == CHANGES else (*tables()[kind], BATCH)
