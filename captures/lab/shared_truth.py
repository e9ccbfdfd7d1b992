"""Truth of captures outside the repository, as folders NAME/truth.json beside NAME/NAME.pcap.

Their schema names connections by the addresses of both ends, this lab's by number.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from truths import SIDES, Row

CAUSES = {"app_think": "sender_app", "rto": "retransmission"}
RELEASES = {"pure_ack": "ack", "piggyback": "data"}


def read(folder: Path) -> Iterator[tuple[Path, Row]]:
    """The captures of a folder, and the truth of each; none without such a folder.

    Truths of traces name no file.
    """
    for file in sorted(folder.glob("*/truth.json")):
        truth: Row = json.loads(file.read_text())
        if "file" in truth:
            yield file.with_name(truth["file"]), truth


def of_result(truth: Row, result: Row) -> Row:
    """A truth in this lab's schema, with the connection numbers and sides of a result."""
    numbered = {
        frozenset(ends(found)): (found["connection"], found) for found in result["connections"]
    }
    rows: dict[str, Any] = {"connections": [], "stalls": [], "short_holds": [], "other_waits": []}
    for connection in truth["connections"]:
        if (known := numbered.get(frozenset((connection["client"], connection["server"])))) is None:
            continue
        number, found = known
        is_same = ends(found)[0] == connection["client"]
        sides = dict(zip(SIDES, SIDES if is_same else reversed(SIDES), strict=True))
        off = {sides[side]: connection[f"nodelay_{side}"] for side in SIDES}
        options = {side: {"nagle": "off" if off[side] else "on"} for side in SIDES}
        rows["connections"].append({"connection": number, **options})
        for stall in connection["stalls"]:
            sender = sides[stall["direction"].partition("-")[0]]
            release = RELEASES[stall["release"]]
            rows["stalls"].append(
                {**stall, "connection": number, "sender": sender, "release": release}
            )
        for gap in connection.get("other_gaps", []):
            if (cause := CAUSES.get(gap["cause"])) is not None:
                by = sides[gap["direction"].partition("-")[0]]
                place = {"connection": number, "by": by, "from_rel": gap["rel_seq"]}
                rows["other_waits"].append({**place, "cause": cause})
    return {"name": truth["case"], "point": truth["capture_point"], **rows}


def ends(connection: Row) -> tuple[str, ...]:
    """Client and server of a connection in a result, as a truth names them."""
    return tuple(f"{connection[side]['addr']}:{connection[side]['port']}" for side in SIDES)
