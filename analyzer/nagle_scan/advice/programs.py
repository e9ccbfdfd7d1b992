"""Settings that turn on TCP_NODELAY in programs, one a line of `programs.json`.

A line has the fields of `Setting`: the usual name, the setting or call as it is written, where this
was read, a note on when it is not needed, the end that holds data (`role`), and what points to it
in a capture. JSON is read in half a millisecond, which counts: every report of a stall needs it.
"""

import json
from pathlib import Path
from typing import Any

from nagle_scan.advice.setting import Setting


def _setting(row: dict[str, Any]) -> Setting:
    """Raises `TypeError` for a field that there is not."""
    for name in ("server", "agent"):
        row[name] = tuple(row.get(name, ()))
    return Setting(**row)


_tables = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))

SETTINGS = tuple(map(_setting, _tables["known"]))
"""Programs that a capture can point to: HTTP servers and clients, databases, brokers and others.

The first that match are shown, so the likeliest come first.
"""
UNNAMED = tuple(map(_setting, _tables["unnamed"]))
"""Programs that a capture does not reveal, for docs/settings.md only."""
