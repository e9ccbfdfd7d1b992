"""Chains of relays in the lab: logs of others' programs, legs cut out, what is shipped."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from cases.chain_matrix import all_chains
from cases.chain_programs import all_real
from chain_accuracy import CUT, WHOLE, group
from chain_truth import renumbered
from conftest import CAPTURES
from logs import Peer, read_log
from packets import ACK, Options, Packet
from ship import chosen
from truth import states
from write_log import LINE, convert

CHAINS = CAPTURES / "chains"
CLIENT, BACK, SERVER, RELAY = 40_000, 40_001, 8100, 8101
MS = 1_000_000
REST = "0 80 1 10 65000 1448"  # what the kernel had of each write


def noted(*lines: str) -> bytes:
    """A file as write_log.c leaves it, with room for more."""
    rows = [f"{line} 0 {REST}".encode().ljust(LINE, b"\0") for line in lines]
    return len(rows).to_bytes(8, "little").ljust(LINE, b"\0") + b"".join(rows) + bytes(3 * LINE)


def test_what_programs_wrote_becomes_a_log_of_each_leg(tmp_path: Path) -> None:
    (tmp_path / "noted").write_bytes(
        noted(
            f"10 11 {CLIENT} {RELAY} 80 1",
            f"30 31 {SERVER} {BACK} 90 0",
            f"20 21 {BACK} {SERVER} 80 1",  # another process, noted late
            f"31 32 {SERVER} {BACK} 12 0",
            "40 41 50000 53 12 0",  # of no leg
        )
    )
    convert(tmp_path / "noted", tmp_path, {SERVER, RELAY})
    client = read_log(tmp_path / "8101.client.log")[CLIENT]
    server = read_log(tmp_path / "8100.server.log")[BACK]
    assert (client.server_port, client.nagle, client.writes) == (RELAY, "off", [(10, 0, 80)])
    assert (server.nagle, server.writes) == ("on", [(30, 0, 90), (31, 90, 12)])
    assert read_log(tmp_path / "8100.client.log")[BACK].writes == [(20, 0, 80)]
    assert not read_log(tmp_path / "8101.server.log")[CLIENT].writes


def packet(stream: int) -> Packet:
    return Packet(1, 0, stream, CLIENT, SERVER, 0, 0, 0, ACK, 0, Options(536, None, False))


def test_a_leg_alone_has_the_stream_numbers_of_its_own_capture() -> None:
    second, fourth = frozenset((1, 2)), frozenset((3, 4))
    alone = renumbered({fourth: [packet(3), packet(3)], second: [packet(1)]})
    assert [p.stream for p in alone[second]] == [0]
    assert [p.stream for p in alone[fourth]] == [1, 1]


def test_what_the_kernel_says_after_the_release_is_not_the_wait() -> None:
    held, sending = (12, 1, 10, 65536, 90, 1448), (0, 1, 10, 65536, 12, 1448)
    peer = Peer(infos=[(1 * MS, held), (41 * MS, sending)])
    assert states(peer, 0, 42 * MS, released=40 * MS) == [("nagle", 42.0)]


def test_every_case_has_its_name_and_one_to_five_relays() -> None:
    names = [case.id for case in all_chains()] + [case.id for case in all_real()]
    assert len(set(names)) == len(names)
    hops = {len(chain.hops) for case in all_chains() for chain in case.chains}
    assert hops == {2, 3, 4, 5, 6, 7}


def truth(ports: list[int], legs: int, relays: int) -> dict[str, Any]:
    return {
        "relays": relays,
        "legs": legs,
        "connections": [{"server": {"port": port}} for port in ports],
    }


def test_a_capture_that_lacks_a_leg_is_judged_apart() -> None:
    assert group(truth([8100, 8101], legs=2, relays=1)) == WHOLE
    assert group(truth([8101], legs=2, relays=1)) == CUT
    assert group(truth([8200], legs=2, relays=0)) == WHOLE


def test_of_a_chain_one_whole_capture_and_one_leg_are_shipped(tmp_path: Path) -> None:
    for name, ports in (("a", [8100, 8101]), ("b", [8101]), ("a--leg-8100", [8100])):
        facts = truth(ports, legs=2, relays=1) | {"case": "x"}
        facts |= {"leg": ports[0]} if "leg" in name else {}
        (tmp_path / f"{name}.truth.json").write_text(json.dumps(facts))
    names = [file.name.split(".")[0] for file in chosen(sorted(tmp_path.iterdir()))]
    assert names == ["a", "a--leg-8100"]


def test_the_shipped_chains_have_their_truth_and_are_small() -> None:
    captures = sorted(CHAINS.glob("*/*.pcap.gz"))
    truths = {
        file.parent / json.loads(file.read_text())["capture"]
        for file in CHAINS.glob("*/*.truth.json")
    }
    assert captures
    assert set(captures) == truths
    assert sum(file.stat().st_size for file in CHAINS.glob("*/*")) < 1_000_000
