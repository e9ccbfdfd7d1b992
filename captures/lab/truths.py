"""The truth of captures: FOLDER/truth.jsonl has a line for each capture FOLDER/CASE/NAME."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

Row = dict[str, Any]  # a capture's truth, or a row of one of its tables
FILE = "truth.jsonl"
SIDES = ("client", "server")
Place = tuple[int, str, int]  # connection, sender, stream offset
KINDS = ("stalls", "short_holds", "other_waits")  # its tables


def read(folder: Path) -> list[Row]:
    """The truths of all captures, by case and name; none without such a file."""
    file = folder / FILE
    return [json.loads(line) for line in file.open()] if file.exists() else []


def of_case(folder: Path, case: str) -> list[Row]:
    """The truths of the captures of one case."""
    return [truth for truth in read(folder) if truth["case"] == case]


def replace(folder: Path, case: str, rows: list[Row]) -> None:
    """Write the truth of one case in place of what was known of it."""
    others = [truth for truth in read(folder) if truth["case"] != case]
    ordered = sorted(others + rows, key=lambda truth: (truth["case"], f"{short_name(truth)}."))
    (folder / FILE).write_text("".join(f"{json.dumps(truth)}\n" for truth in ordered))


def capture(folder: Path, truth: Row) -> Path:
    """The file that it is the truth of."""
    return folder / str(truth["case"]) / str(truth["capture"])


def short_name(truth: Row) -> str:
    """The capture's name without its case."""
    return str(truth["name"]).partition("/")[2]


def place(row: Row, connection: int | None = None) -> Place:
    """Connection, sender and stream offset of a row of a truth, or of a result's connection."""
    sender, offset = ("sender", "rel_seq") if "sender" in row else ("by", "from_rel")
    return row["connection"] if connection is None else connection, row[sender], row[offset]
