"""Turns what programs/write_log.c noted into logs like peer.c's, one for each side of each leg."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

LINE = 64  # as in write_log.c
SIDES = ("client", "server")
Log = list[str]


def convert(noted: Path, folder: Path, ports: set[int]) -> None:
    """Write PORT.client.log and PORT.server.log for each leg."""
    logs: dict[tuple[int, str], Log] = {(p, side): [] for p in ports for side in SIDES}
    written: dict[tuple[int, int], int] = defaultdict(int)
    options: dict[tuple[int, int], tuple[str, ...]] = {}
    for line in sorted(read(noted), key=lambda words: int(words[0])):
        time, local, remote, length = map(int, line[:4])
        side = "server" if local in ports else "client"
        port, client = (local, remote) if side == "server" else (remote, local)
        if port not in ports:
            continue
        log, pair = logs[port, side], (local, remote)
        if pair not in options:
            log.append(f"{time} {client} open {port}")
        if options.get(pair) != tuple(line[4:]):
            options[pair] = tuple(line[4:])
            log.append(f"{time} {client} option nodelay {line[4]}")
            log.append(f"{time} {client} option cork {line[5]}")
        log.append(f"{time} {client} write {written[pair]} {length}")
        written[pair] += length
    for (port, side), log in logs.items():
        (folder / f"{port}.{side}.log").write_text("".join(f"{line}\n" for line in log))


def read(noted: Path) -> list[list[str]]:
    """The words of each line."""
    data = noted.read_bytes()
    count = int.from_bytes(data[:8], "little")
    lines = (data[at : at + LINE] for at in range(LINE, (count + 1) * LINE, LINE))
    return [line.decode().split() for line in lines]
