"""The JSON Schema of `-o result.json`, for the wheel and the site.

Rows come from the fields that the engine declares, other objects of the engine from its structs;
`MEMBERS` declares what Python adds.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, get_args

import stub
from nagle_scan import _core, chances, compare
from nagle_scan.words import certainty
from stub import searched

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
  +ends: ends  With captures at both ends of the same connections.
  summary: summary
  servers: server[]  Those with exchanges; the worst come first.
  slowest: exchange[]  The slowest exchanges, taken apart; at most 20.
  open: open[]  Debts that nobody had paid when their connection or the capture ended.
  version: text  Of nagle-scan.
  min_wait_ms: ms  Shorter waits are not listed.
  filter: text?  The capture filter; null if addresses are hidden.
  report: report
  hops: hop[]  Chains of relays, hop by hop.
  connections: connection[]  One by one, in the order of their numbers.
  +baseline: baseline
  +comparison: comparison
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
  +proof: proof  What shows that they are gone: `nodelay`, `one_write`, or enough `chances`.
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
STRUCTS = {
    "JsonCapture": "capture",
    "JsonSummary": "summary",
    "ConnectingSums": "connecting",
    "CallsSummary": "calls",
    "Pattern": "pattern",
    "NamedCall": "named_call",
    "OptionRow": "option",
    "Sender": "sender",
    "BothEnds": "ends",
    "OtherEnd": "other_end",
    "ClockDifference": "clock",
    "StallCall": "call",
}
"""The objects that the engine writes as it declares them, by their structs."""
TYPES = {"f64": "ms", "bool": "flag", "i64": "signed", "i32": "signed", "u32": "count"}
TYPES |= {"u64": "count", "str": "text", "String": "text", "Verdict": "verdict", **STRUCTS}
TYPES |= {"JsonByConfidence<u64>": "counts", "JsonByConfidence<f64>": "durations"}


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
    "proof": {"enum": [proof for proof in get_args(chances.Proof) if proof]},
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


def type_of(rust: str) -> str:
    """The kind of a Rust type."""
    rust = re.sub(r"&('\w+ )?|<'\w+>", "", rust)
    outer = re.fullmatch(r"(Option|Vec)<(.*)>", rust)
    return type_of(outer[2]) + {"Option": "?", "Vec": "[]"}[outer[1]] if outer else TYPES[rust]


def declared() -> Iterator[str]:
    """The objects of `STRUCTS`, written as those of `MEMBERS` are."""
    struct = r"((?:^ *///? [^\n]*\n)*)^ *#\[derive\([^\n]*Serialize\)\]\n"
    struct += r" *(?:pub struct )?(\w+)\b(.*?)^}"
    field = r"((?:^ +/// [^\n]*\n)*)((?:^ +#[^\n]*\n)*)^ +(?:pub )?(\w+): ([^\n=]*?)(?:,$| =\s)"
    files = (path.read_text() for path in sorted((stub.ENGINE / "src").rglob("*.rs")))
    found = {name: (doc, body) for file in files for doc, name, body in searched(struct, file)}
    for name, of in STRUCTS.items():
        doc, body = found[name]
        yield f"{of}  {sentence(doc)}"
        if "#[serde(flatten)]" in body:
            body = found["NamedCall"][1] + body
        for doc, attributes, member, rust in searched(field, body):
            if "flatten" not in attributes:
                kind, is_optional = type_of(rust), "skip_serializing_if" in attributes
                if "in_ms" in attributes:
                    member, kind = member.replace("_ns", "_ms"), kind.replace("signed", "ms")
                kind = kind.removesuffix("?") if is_optional else kind
                yield f"{'+' * is_optional}{member}: {kind}  {sentence(doc)}"


def sentence(doc: str) -> str:
    """A doc comment in one line."""
    return " ".join(line.strip().removeprefix("/// ") for line in doc.splitlines())


def objects() -> dict[str, Schema]:
    """The objects of `MEMBERS` and `STRUCTS`."""
    members: dict[str, dict[str, Schema]] = {}
    meanings = {}
    for line in (*MEMBERS.strip().splitlines(), *declared()):
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
    ("stall", "capture"): TEXT,
    ("stall", "other_end"): kind("other_end"),
    ("hop", "called_by"): kind("text[]"),
    ("hop", "client_nagle"): NAGLE,
    ("hop", "server_nagle"): NAGLE,
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
