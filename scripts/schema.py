"""The JSON Schema of `-o result.json`, for the wheel and the site.

Rows come from the fields that the engine declares, the rest stands in scripts/schema_head.py.
"""

import json
from typing import Any

import schema_head as head
from nagle_scan import _core

Schema = dict[str, Any]

NAME = "nagle-scan-1.schema.json"
KINDS: dict[str, Schema] = {
    "integer": {"type": "integer", "minimum": 0},
    "integer, ns since the epoch": {"type": "integer"},
    "float, ms": {"type": "number"},
    "true or false": {"type": "boolean"},
    "enum": {"type": "string"},
    "text": {"type": "string"},
    "IP address": {"type": "string"},
    "object": {"$ref": "#/$defs/end"},
}
"""By what `_core.fields` calls them."""


def value(row: str, name: str, kind: str, presence: str, words: list[str], meaning: str) -> Schema:
    """What one field may be."""
    found = dict(head.VALUES.get((row, name)) or KINDS[kind])
    if words:
        found["enum"] = words
    if presence == "nullable":
        found["type"] = [found["type"], "null"]
    return {"description": meaning, **found}


def rows() -> dict[str, Schema]:
    """A schema for each kind of row."""
    found: dict[str, Schema] = {}
    for row, name, kind, presence, words, outputs, meaning in _core.fields():
        if "JSON" not in outputs:
            continue
        made = found.setdefault(row, head.record({}))
        made["properties"][name] = value(row, name, kind, presence, words, meaning)
        if presence != "optional" or (row, name) in head.ALWAYS:
            made["required"].append(name)
    for name in ("stalls", "waits"):
        items = {"type": "array", "items": {"$ref": f"#/$defs/{name.removesuffix('s')}"}}
        found["connection"]["properties"][name] = {"description": head.LISTS[name], **items}
        found["connection"]["required"].append(name)
        not_listed = head.said("Left out where all are listed.", head.COUNT)
        found["connection"]["properties"][f"{name}_not_listed"] = not_listed
    return found


def text() -> str:
    """The whole schema, as it is published."""
    made = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": NAME,
        "title": "nagle-scan/1",
        "description": head.PROMISE,
        **head.document(),
        "$defs": {**head.parts(), **rows()},
    }
    return json.dumps(made, indent=1) + "\n"
