"""The parts of the JSON Schema that no row declares: head, summary, servers, words, comparison."""

from typing import Any, get_args

from nagle_scan import compare
from nagle_scan.words import certainty
from nagle_scan.words.wording import PERCENTILES

Schema = dict[str, Any]

PROMISE = (
    "What `nagle-scan -o result.json` writes. Within nagle-scan/1 members may be added and words "
    "may join an enumeration; none goes, changes its type, unit or meaning, or is left out where "
    "it was required. This file lists all members of one version, so that a validator finds "
    "misspelt ones; a reader ignores members that it does not know."
)
COUNT: Schema = {"type": "integer", "minimum": 0}
TIME_NS: Schema = {"type": "integer"}
MS: Schema = {"type": "number"}
TEXT: Schema = {"type": "string"}
TEXTS: Schema = {"type": "array", "items": TEXT}
FLAG: Schema = {"type": "boolean"}
VERDICT: Schema = {"enum": list(certainty.VERDICTS)}
NAGLE: Schema = {"enum": ["on", "off", "unknown", "switched", "mixed"]}
FRAMES: Schema = {"type": "array", "items": COUNT, "minItems": 2, "maxItems": 2}
LISTS = {
    "stalls": "Its stalls, in the order of time; of many, the clearest.",
    "waits": "Its other waits; of many, the longest.",
}


def record(properties: dict[str, Schema]) -> Schema:
    """An object with all of these members and no other."""
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(properties),
        "properties": properties,
    }


def said(description: str, schema: Schema) -> Schema:
    """With what it means."""
    return {"description": description, **schema}


def nullable(schema: Schema) -> Schema:
    """It, or `null`."""
    if "type" in schema:
        return {**schema, "type": [schema["type"], "null"]}
    return {"anyOf": [schema, {"type": "null"}]}


def named(properties: dict[str, Schema]) -> Schema:
    """An object with an address, and what the user calls it, if anything."""
    made = record(properties)
    made["properties"]["name"] = said("What `--name` calls the address.", TEXT)
    return made


def part(name: str) -> Schema:
    """One of the definitions."""
    return {"$ref": f"#/$defs/{name}"}


def several(name: str) -> Schema:
    """An array of these."""
    return {"type": "array", "items": part(name)}


VALUES: dict[tuple[str, str], Schema] = {
    ("connection", "notices"): TEXTS,
    ("end", "nagle_frames"): FRAMES,
    ("end", "nagle_variant_frames"): FRAMES,
    ("end", "delayed_ack"): part("delayed_ack"),
    ("stall", "evidence"): TEXTS,
    ("hop", "called_by"): TEXTS,
    ("hop", "client_nagle"): NAGLE,
    ("hop", "server_nagle"): NAGLE,
}
"""Fields that say more than their kind does."""
ALWAYS = {("stall", "evidence"), ("hop", "called_by")}
"""Arrays that are there even if they are empty."""


def document() -> Schema:
    """The outermost object."""
    made = record(
        {
            "schema": said("This contract.", {"const": "nagle-scan/1"}),
            "anonymized": said("How addresses were replaced, if they were.", nullable(TEXT)),
            "captures": said("What was read, in order.", several("capture")),
            "summary": part("summary"),
            "servers": said("Those with exchanges; the worst come first.", several("server_row")),
            "version": said("Of nagle-scan.", TEXT),
            "min_wait_ms": said("Shorter waits are not listed.", MS),
            "filter": said("The capture filter; null if addresses are hidden.", nullable(TEXT)),
            "report": part("report"),
            "hops": said("Chains of relays, hop by hop.", several("hop")),
            "connections": said(
                "One by one, in the order of their numbers.", several("connection")
            ),
        }
    )
    made["properties"] |= {"baseline": part("baseline"), "comparison": part("comparison")}
    return {**made, "dependentRequired": {"baseline": ["comparison"], "comparison": ["baseline"]}}


def parts() -> dict[str, Schema]:
    """All that it consists of, but for rows."""
    return {**_capture_and_summary(), **_servers(), **_words(), **_compared()}


def _capture_and_summary() -> dict[str, Schema]:
    capture = {
        "path": said("As it was given; `capture-1` if anonymized.", TEXT),
        "packets": COUNT,
        "bytes": COUNT,
        "link_type": nullable(TEXT),
        "first_ns": said("Its first frame, ns since the epoch.", TIME_NS),
        "last_ns": TIME_NS,
        "first_frame": said("Frames are counted through all captures.", COUNT),
        "complete": said("Was it read to its end?", FLAG),
        "warnings": said("What was lost or not used, in sentences.", TEXTS),
    }
    connecting = {"connections": COUNT, "connect_ms": MS, "first_reply_ms": MS, "median_share": MS}
    summary = {
        "connections": COUNT,
        "connections_not_listed": said("They count in the totals only.", COUNT),
        "servers_not_listed": said("They count in the totals only.", COUNT),
        "tcp_packets": COUNT,
        "affected_connections": said("Those with stalls.", COUNT),
        "stalls": COUNT,
        "stalled_ms": said("Time lost to all stalls: the sum of their `hold_ms`.", MS),
        "stalls_by_confidence": by_confidence(COUNT),
        "stalled_ms_by_confidence": by_confidence(MS),
        "stalls_not_listed": said("They count in the totals only.", COUNT),
        "verdict": VERDICT,
        "not_judged": said("Connections with data that cannot be judged.", COUNT),
        "short_holds": said("Holds shorter than `min_wait_ms`.", COUNT),
        "short_holds_ms": MS,
        "exchanges": COUNT,
        "waits_not_listed": said("Other waits that count in the totals only.", COUNT),
        "waits_not_listed_ms": MS,
        "connecting": said(
            "What slow connecting took until the end of the first reply.",
            nullable(part("connecting")),
        ),
    }
    return {
        "capture": record(capture),
        "summary": record(summary),
        "connecting": record(connecting),
    }


def by_confidence(schema: Schema) -> Schema:
    """One for each confidence."""
    return record(dict.fromkeys(("certain", "likely", "possible"), schema))


def _servers() -> dict[str, Schema]:
    sockets = record({"on": COUNT, "off": COUNT, "unknown": COUNT, "switched": COUNT})
    row = {
        "addr": TEXT,
        "port": COUNT,
        "verdict": VERDICT,
        "connections": said("Those with exchanges.", COUNT),
        "affected_connections": COUNT,
        "exchanges": COUNT,
        "stalled_exchanges": COUNT,
        "stalls": COUNT,
        "stalled_ms": MS,
        "latency_sum_ms": said("Of all exchanges.", MS),
        "latency_stalled_ms": said("What stalls took of it.", MS),
        "latency": said("As measured.", part("percentiles")),
        "predicted": said("Without the stalls.", part("percentiles")),
        "client_nagle": said("Connections by what the clients' sockets show.", sockets),
        "server_nagle": said("The same of the server's.", sockets),
    }
    delayed = {
        "count": said("Those that came late.", COUNT),
        "prompt": said(
            "Those that came promptly, of pure ACKs; 65,535 stands for that many or more.", COUNT
        ),
        "first_frame": said("The first that came late.", COUNT),
        "median_ms": MS,
        "min_ms": MS,
        "max_ms": MS,
        "consistent_with": TEXT,
    }
    return {
        "server_row": named(row),
        "percentiles": record({f"{name}_ms": MS for name in PERCENTILES}),
        "delayed_ack": record(delayed),
    }


def _words() -> dict[str, Schema]:
    report = {
        "reading": said("How to read a verdict, and what never to conclude from it.", TEXTS),
        "sentence": said("The verdict in one line.", TEXT),
        "sentences": said("The answer: the verdict, then cost, fix and rest, if any.", TEXTS),
        "notices": said("What to know of the capture.", TEXTS),
        "advice": said("What to change, the best first for each sender.", several("advice")),
    }
    advice = {
        "sender": said("Who holds data back.", TEXT),
        "receiver": TEXT,
        "first": said("What to find out before; may be empty.", TEXT),
        "where": TEXT,
        "what": TEXT,
        "price": TEXT,
        "known_by": said("What in the capture points to the settings; may be empty.", TEXT),
        "settings": several("setting"),
    }
    setting = {
        "program": TEXT,
        "knob": said("The setting or call, as it is written.", TEXT),
        "note": TEXT,
        "address": said("Where that can be read.", TEXT),
    }
    return {"report": record(report), "advice": record(advice), "setting": record(setting)}


def _compared() -> dict[str, Schema]:
    head = {"captures": several("capture"), "summary": part("summary")}
    change = {
        "addr": TEXT,
        "port": COUNT,
        "state": said("What became of its stalls.", {"enum": list(get_args(compare.State))}),
        "before": nullable(part("numbers")),
        "after": nullable(part("numbers")),
        "predicted_p50_ms": nullable(MS),
        "latency_p50_ms": nullable(MS),
    }
    latency = nullable(part("percentiles"))
    numbers = {
        "stalls": COUNT,
        "stalled_ms": MS,
        "exchanges": COUNT,
        "latency": latency,
        "predicted": latency,
    }
    comparison = {
        "verdict": {"enum": list(get_args(compare.Outcome))},
        "servers": several("server_change"),
    }
    return {
        "baseline": said(
            "With --baseline: that capture.", record({**head, "servers": several("server_row")})
        ),
        "comparison": said("With --baseline: what became of its stalls.", record(comparison)),
        "server_change": named(change),
        "numbers": record(numbers),
    }
