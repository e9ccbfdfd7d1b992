"""`--names 10.0.0.5=payments`: words for addresses, for whoever reads reports."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import nagle_scan
import pytest
from conftest import Run, outputs, write_evidence
from conversation import Conversation, interleaved, stalled, write
from nagle_scan import NagleScanError
from nagle_scan.api import names
from nagle_scan.api.names import Label, without_addresses
from nagle_scan.report.formats import SUFFIXES

CLIENT, SERVER = "10.0.0.1", "10.0.0.2"
NAMES = {CLIENT: "front-end", SERVER: "payments"}
PICTURES = (".png", ".zip")
UNNAMED = (".csv", ".parquet", ".lua")


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    # Sequence numbers differ: else it would be one connection, captured twice.
    other = Conversation(("10.0.0.3", 41000), isn={"client": 7_000, "server": 9_000}, now_ms=0.4)
    return write(tmp_path / "a.pcap", interleaved(stalled(), stalled(other)))


def given(names: dict[str, str]) -> list[str]:
    return [word for addr, name in names.items() for word in ("--names", f"{addr}={name}")]


def test_outputs_say_the_name_or_help_says_which_do_not(
    capture: Path, run: Run, tmp_path: Path
) -> None:
    """Readers know their services, not their addresses."""
    help_text = " ".join(run("--help").stdout.decode().split())
    assert ".json has both, .csv keeps the address" in help_text
    files = [tmp_path / f"x{suffix}" for suffix in SUFFIXES if suffix not in PICTURES]
    report = run(capture, "--exit-zero", *given(NAMES), *outputs(*files)).stdout.decode()
    assert "payments:8000" in report
    assert "front-end:" in report
    assert SERVER not in report
    assert "10.0.0.3:41000" in report
    for file in files:
        text = file.read_bytes()
        assert (b"payments" in text) == (file.suffix not in UNNAMED), file
        keeps = file.suffix in {".json", ".jsonl", ".csv", ".md", ".pcapng"}
        assert keeps or SERVER.encode() not in text, file


def test_tables_and_filters_keep_the_addresses(capture: Path, tmp_path: Path) -> None:
    scan = nagle_scan.scan(capture, names=NAMES)
    assert set(scan.connections["server_addr"]) == {SERVER}
    assert set(scan.servers["addr"]) == {SERVER}
    scan.write(tmp_path / "x.csv")
    rows = list(csv.DictReader((tmp_path / "x.csv").open()))
    assert {row["server_addr"] for row in rows} == {SERVER}
    scan.write(tmp_path / "x.md")
    assert f"ip.addr == {SERVER} && " in (tmp_path / "x.md").read_text()


def test_a_comparison_pairs_addresses_and_says_names(capture: Path, run: Run) -> None:
    report = run(capture, "--baseline", capture, *given(NAMES)).stdout.decode()
    before_and_after = report.partition("STALLS REMAIN")[2].partition("STALLS ")[0]
    assert "payments:8000" in before_and_after


def test_wireshark_resolves_them_in_the_evidence(capture: Path, tmp_path: Path) -> None:
    scan = nagle_scan.scan(capture, names=NAMES | {"10.9.9.9": "not-in-it"})
    write_evidence(scan, tmp_path / "x.pcapng")
    content = (tmp_path / "x.pcapng").read_bytes()
    assert b"payments\0" in content
    assert b"not-in-it" not in content
    assert nagle_scan.scan(tmp_path / "x.pcapng")._result.core.summary().stalls


def test_a_file_of_names_is_one_of_hosts(capture: Path, run: Run, tmp_path: Path) -> None:
    hosts = tmp_path / "hosts"
    hosts.write_text(
        f"# ours\n\n{SERVER}\tpayments pay.example.org # primary\n{SERVER} second\n"
        f"fe80::1%lo0 localhost\n{CLIENT} from-file\n"
    )
    inventory = tmp_path / "inventory.csv"
    inventory.write_text(INVENTORY)
    assert b"payments:8000" in run(capture, "--names", inventory).stdout
    done = run(capture, "--names", hosts, "--names", f"{CLIENT}=front-end")
    assert b"payments:8000" in done.stdout
    assert b"second" not in done.stdout
    assert b"front-end:" in done.stdout
    assert b"from-file" not in done.stdout


INVENTORY = (
    "address,service,owner,pod,rack\n"
    f"{SERVER},payments,Team Zahlungen,,7\n"
    f"{SERVER}:8443,admin,,,\n[FE80::1]:80,shop,,pod-7\n10.0.0.9,,who-knows\n"
)


def test_an_inventory_names_services_owners_and_pods(tmp_path: Path) -> None:
    """A company has them in a spreadsheet, or a script writes them, port by port."""
    path = tmp_path / "inventory.CSV"
    path.write_text(f"\ufeff{INVENTORY}")
    assert names.labels(str(path)) == {
        SERVER: Label("payments", "Team Zahlungen"),
        f"{SERVER}:8443": Label("admin"),
        "[fe80::1]:80": Label("shop", "", "pod-7"),
        "10.0.0.9": Label("", "who-knows"),
    }
    assert names.read(str(path)) == {SERVER: "payments"}


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("hosts", "10.0.0.2\n", "line 1: '' is no name: "),
        ("hosts", "\n10.0.0.300 a\n", "line 2: '10.0.0.300' is no IP address"),
        ("hosts", "\udcff\udcfe\0", "line 1: "),
        ("x.csv", "service\na\n", "line 1: no column 'address' (address, service, owner, pod)"),
        ("x.csv", "", "line 1: no column 'address'"),
        ("x.csv", "address,service\n10.0.0.2,a\n10.0.0.2:99999,b\n", "line 3: 99999 is no port"),
        ("x.csv", "address,service\n10.0.0.2,<b>\n", "line 2: '<b>' is no name: "),
        ("x.csv", "address,service\n10.0.0.2\n", "line 2: '' is no name: "),
        ("x.csv", "address,owner\n10.0.0.2,a\x1b[31m\n", "line 2: owner is longer than 100"),
        ("x.csv", f"address,pod\n10.0.0.2,{'a' * 101}\n", "line 2: pod is longer than 100"),
        ("x.csv", f"address\n{'a' * 200_000}\n", "field larger than field limit"),
    ],
    ids=lambda text: text[:20],
)
def test_a_file_that_cannot_be_used(name: str, content: str, reason: str, tmp_path: Path) -> None:
    """It says where, in one line without what would control a terminal."""
    path = tmp_path / name
    path.write_bytes(os.fsencode(content))
    with pytest.raises(NagleScanError) as refusal:
        names.labels(str(path))
    assert str(refusal.value).startswith(f"{path}: {reason}")
    assert str(refusal.value).isprintable()


SPELLED = "ip-10-0-0-5 host_192_168_1_7 domU-12-31-39-00-A1-B2 sw1231.3900.a1b2 fe80::1"
SPELLED += " 2001-db8-0-0-0-0-0-5 i6-2001-db8--5 nic-123139a0c1b2 12:31:39:00:a1:b2"
SPELLED += " 20010db8000000000000000000000005"
"""Names that tell an address."""
OTHERS = "payments db-1-2-3 web-7d4b9c6f5-abcde v1.2.3 a--b cafe-ad-bed-1 x64"


@pytest.mark.parametrize("name", SPELLED.split())
def test_a_name_that_spells_a_hidden_address_is_not_shown(name: str) -> None:
    assert without_addresses({"10.0.0.5": name}) == {}
    assert Label("payments", name, name).without_addresses == Label("payments")


@pytest.mark.parametrize("name", OTHERS.split())
def test_other_names_are_shown(name: str) -> None:
    assert without_addresses({"10.0.0.5": name}) == {"10.0.0.5": name}
