"""What sets TCP_NODELAY in programs, with the source of each: the tables of `programs.toml`."""

import tomllib
from importlib.resources import files
from typing import Any

from nagle_scan.advice.setting import Setting


def _setting(row: dict[str, Any]) -> Setting:
    """Raises `TypeError` for a field that there is not."""
    for name in ("server", "agent"):
        row[name] = tuple(row.get(name, ()))
    return Setting(**row)


with (files("nagle_scan.advice") / "programs.toml").open("rb") as _file:
    _tables = tomllib.load(_file)

SETTINGS = tuple(map(_setting, _tables["known"]))
"""Programs that a capture can point to, the likeliest first."""
UNNAMED = tuple(map(_setting, _tables["unnamed"]))
"""Programs that a capture does not reveal, for docs/settings.md only."""
