"""The JSON Schema of `-o result.json`, for the wheel and the site.

Rows come from the fields that the engine declares; `MEMBERS` declares all others.
"""

import json
from typing import Any, get_args

from nagle_scan import _core, compare
from nagle_scan.words import certainty

Schema = dict[str, Any]

NAME = "nagle-scan-1.schema.json"
PROMISE = (
    "What `nagle-scan -o result.json` writes. Within nagle-scan/1 members may be added and words "
    "may join an enumeration; none goes, changes its type, unit or meaning, or is left out where "
    "it was required. This file lists all members of one version, so that a validator finds "
    "misspelt ones; a reader ignores members that it does not know."
)
MEMBERS = """
document
  schema: contract  This contract.
  anonymized: text?  How addresses were replaced, if they were.
  captures: capture[]  What was read, in order.
  summary: summary
  servers: server[]  Those with exchanges; the worst come first.
  slowest: exchange[]  The slowest exchanges, taken apart; at most 20.
  version: text  Of nagle-scan.
  min_wait_ms: ms  Shorter waits are not listed.
  filter: text?  The capture filter; null if addresses are hidden.
  report: report
  hops: hop[]  Chains of relays, hop by hop.
  connections: connection[]  One by one, in the order of their numbers.
  +baseline: baseline
  +comparison: comparison
capture
  path: text  As it was given; `capture-1` if anonymized.
  packets: count
  bytes: count
  link_type: text?
  first_ns: ns  Its first frame, ns since the epoch.
  last_ns: ns
  first_frame: count  Frames are counted through all captures.
  complete: flag  Was it read to its end?
  warnings: text[]  What was lost or not used, in sentences.
summary
  connections: count
  connections_not_listed: count  They count in the totals only.
  servers_not_listed: count  They count in the totals only.
  tcp_packets: count
  affected_connections: count  Those with stalls that count; see `reading`.
  stalls: count
  stalled_ms: ms  Time lost to all stalls: the sum of their `hold_ms`.
  stalls_by_confidence: counts
  stalled_ms_by_confidence: durations
  stalls_not_listed: count  They count in the totals only.
  verdict: verdict
  not_judged: count  Connections with data that cannot be judged.
  short_holds: count  Holds shorter than `min_wait_ms`, of clean connections.
  short_holds_ms: ms
  exchanges: count
  waits_not_listed: count  Other waits that count in the totals only.
  waits_not_listed_ms: ms
  connecting: connecting?  What slow connecting took until the end of the first reply.
  +calls: calls  With --calls: what the system calls of a program say of the stalls.
connecting
  connections: count
  connect_ms: ms
  first_reply_ms: ms
  median_share: ms
calls
  side: text  Whose they are: `client`, `server`, `both`, or empty where they fit nothing.
  matched: count  Stalls whose call was found, and waits that were none.
  proven: count  Written before the ACK, and sent only then.
  refuted: count  Written when the ACK had come.
  of_other_side: count  Stalls on these connections whose sender was not traced.
  contradicted: count  Proven while TCP_NODELAY was set.
  hold_min_ms: ms
  hold_max_ms: ms
  bytes_in_trace: count
  bytes_on_wire: count
  aligned_by: text
  spread_ms: ms?  How much the time from a call to the wire varies, of what left at once.
  nodelay: text  On what stalls: `never`, `not seen`, `late`, `taken back`, `set`, or empty.
  patterns: pattern[]  Stalls that the same two calls made.
  options: option[]  Calls that set TCP_NODELAY, TCP_CORK or TCP_QUICKACK.
  note: text  Why nothing, or not all, was found.
pattern
  connection: count  One of their connections.
  sender: text
  stalls: count
  first: named_call?
  held: named_call
  calls: count  The message has so many, to the end of what was held.
  is_read_between: flag
named_call
  name: text
  bytes: count
  line: count  Of the trace.
  +file: text  Of that line, where the trace has several.
  function: text  Empty where no stack tells.
option
  name: text
  value: signed
  descriptor: signed
  others: count  How many other descriptors.
  what: text  For what the descriptor stood.
  error: text  Empty where it worked.
  line: count  Of the first such call.
  function: text
  count: count
  taken_back: flag
call  The system call that wrote a held segment.
  name: text
  bytes: count
  line: count
  +file: text
  function: text
  written_ns: ns?  By the capture's clock.
  hold_ms: ms?  Until it left.
  proof: text  `proven`, or empty.
delayed_ack
  count: count  Those that came late.
  prompt: count  Those that came promptly, of pure ACKs; 65,535 stands for that many or more.
  first_frame: count  The first that came late.
  median_ms: ms
  min_ms: ms
  max_ms: ms
  consistent_with: text
report
  +reading: text[]  How to read a verdict; of several lines, in the first.
  sentence: text  The verdict in one line.
  sentences: text[]  The answer: the verdict, then cost, fix and rest, if any.
  notices: text[]  What to know of the capture.
  advice: advice[]  What to change, the best first for each sender.
advice
  sender: text  Who holds data back.
  receiver: text
  first: text  What to find out before; may be empty.
  where: text
  what: text
  price: text
  known_by: text  What in the capture points to the settings; may be empty.
  settings: setting[]
setting
  program: text
  knob: text  The setting or call, as it is written.
  note: text
  address: text  Where that can be read.
baseline  With --baseline: that capture.
  captures: capture[]
  summary: summary
  servers: server[]
comparison  With --baseline: what became of its stalls.
  verdict: outcome
  servers: server_change[]
server_change
  addr: text
  port: count
  state: state  What became of its stalls.
  before: numbers?
  after: numbers?
  predicted_p50_ms: ms?
  latency_p50_ms: ms?
  +name: text  What `--names` calls the address.
  +was: text  The server of the baseline, where only its port pairs it with this one.
numbers
  stalls: count
  stalled_ms: ms
  exchanges: count
  latency: percentiles?
  predicted: percentiles?
"""
"""Each object and its members: `+` stands for optional, `?` for nullable, `[]` for an array."""


def record(properties: dict[str, Schema]) -> Schema:
    """An object with all of these members and no other."""
    return {
        "type": "object",
        "additionalProperties": False,
        "required": [name for name in properties if not name.startswith("+")],
        "properties": {name.removeprefix("+"): value for name, value in properties.items()},
    }


COUNT: Schema = {"type": "integer", "minimum": 0}
MS: Schema = {"type": "number"}
TEXT: Schema = {"type": "string"}
NAGLE: Schema = {"enum": ["on", "off", "unknown", "switched", "mixed"]}
KINDS: dict[str, Schema] = {
    "count": COUNT,
    "ns": {"type": "integer"},
    "signed": {"type": "integer"},
    "ms": MS,
    "text": TEXT,
    "flag": {"type": "boolean"},
    "contract": {"const": "nagle-scan/1"},
    "verdict": {"enum": list(certainty.VERDICTS)},
    "state": {"enum": list(get_args(compare.State))},
    "outcome": {"enum": list(get_args(compare.Outcome))},
    "counts": record(dict.fromkeys(certainty.CONFIDENCES, COUNT)),
    "durations": record(dict.fromkeys(certainty.CONFIDENCES, MS)),
    # The kinds of `_core.fields`.
    "integer": COUNT,
    "integer, ns since the epoch": {"type": "integer"},
    "float, ms": MS,
    "true or false": {"type": "boolean"},
    "enum": TEXT,
    "IP address": TEXT,
    "object": {"$ref": "#/$defs/end"},
}


def kind(name: str) -> Schema:
    """The schema of a kind, as `MEMBERS` and `_core.fields` name it."""
    if name.endswith("[]"):
        return {"type": "array", "items": kind(name.removesuffix("[]"))}
    if not name.endswith("?"):
        return dict(KINDS.get(name, {"$ref": f"#/$defs/{name}"}))
    one = kind(name.removesuffix("?"))
    if "type" in one:
        return {**one, "type": [one["type"], "null"]}
    return {"anyOf": [one, {"type": "null"}]}


def described(meaning: str, schema: Schema) -> Schema:
    """The schema with a description, if there is one."""
    return {"description": meaning, **schema} if meaning else schema


def objects() -> dict[str, Schema]:
    """The objects of `MEMBERS`."""
    members: dict[str, dict[str, Schema]] = {}
    meanings = {}
    for line in MEMBERS.strip().splitlines():
        head, _, meaning = line.strip().partition("  ")
        name, _, of = head.partition(": ")
        if of:
            members[[*members][-1]][name] = described(meaning, kind(of))
        else:
            members[name], meanings[name] = {}, meaning
    return {name: described(meanings[name], record(own)) for name, own in members.items()}


VALUES: dict[tuple[str, str], Schema] = {
    ("connection", "notices"): kind("text[]"),
    ("end", "nagle_frames"): {**kind("count[]"), "minItems": 2, "maxItems": 2},
    ("end", "nagle_variant_frames"): {**kind("count[]"), "minItems": 2, "maxItems": 2},
    ("end", "delayed_ack"): kind("delayed_ack"),
    ("stall", "evidence"): kind("text[]"),
    ("stall", "call"): kind("call"),
    ("hop", "called_by"): kind("text[]"),
    ("hop", "client_nagle"): NAGLE,
    ("hop", "server_nagle"): NAGLE,
    ("server", "client_nagle"): kind("sockets"),
    ("server", "server_nagle"): kind("sockets"),
    ("server", "latency"): kind("percentiles"),
    ("server", "predicted"): kind("percentiles"),
}
"""Fields that say more than their kind does."""
ALWAYS = {("stall", "evidence"), ("hop", "called_by")}
"""Arrays that are there even if they are empty."""
LISTS = {
    "stalls": "Its stalls, in the order of time; of many, the clearest.",
    "waits": "Its other waits; of many, the longest.",
}


def value(row: str, name: str, of: str, presence: str, words: list[str], meaning: str) -> Schema:
    """The schema of one field."""
    found = dict(VALUES.get((row, name)) or kind(of))
    if words:
        found["enum"] = words
    if presence == "nullable":
        found["type"] = [found["type"], "null"]
    return described(meaning, found)


def rows() -> dict[str, Schema]:
    """A schema for each kind of row."""
    found: dict[str, dict[str, Schema]] = {}
    for row, name, of, presence, words, outputs, meaning in _core.fields():
        if "JSON" in outputs:
            optional = "+" if presence == "optional" and (row, name) not in ALWAYS else ""
            made = value(row, name, of, presence, words, meaning)
            found.setdefault(row, {})[f"{optional}{name}"] = made
    for name, meaning in LISTS.items():
        items = kind(f"{name.removesuffix('s')}[]")
        found["connection"][name] = described(meaning, items)
        not_listed = described("Left out where all are listed.", COUNT)
        found["connection"][f"+{name}_not_listed"] = not_listed
    return {row: record(members) for row, members in found.items()}


def text() -> str:
    """The whole schema, as it is published."""
    parts = objects()
    made = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": NAME,
        "title": "nagle-scan/1",
        "description": PROMISE,
        **parts.pop("document"),
        "dependentRequired": {"baseline": ["comparison"], "comparison": ["baseline"]},
        "$defs": {**parts, **rows()},
    }
    return json.dumps(made, indent=1) + "\n"
