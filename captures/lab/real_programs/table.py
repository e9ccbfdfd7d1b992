"""Which program runs on which path, and who is refused TCP_NODELAY."""

from __future__ import annotations

from dataclasses import dataclass, replace

from cases import LOOPBACK, Extra
from net import Access, Net

from real_programs.programs import Program, all_of_them

W20 = Net(rtt_ms=20)
PATHS = {"w20": W20, "l1": Net(rtt_ms=1), "lo": LOOPBACK}
TROUBLES = {
    "w20jitter": replace(W20, jitter_ms=3),
    "w20loss": replace(W20, loss=0.01),
    "w20rate": replace(W20, access=Access(kbit=(2000, 2000), queue_bytes=(60_000, 60_000))),
}
HOW = {"": "shipped", "server": "server-refused", "client": "client-refused"}
SUBSCRIBER = "-subscriber"  # of a fan-out: captures that hold one client's connection only


@dataclass(frozen=True)
class ProgramCase:
    """A program on a path."""

    id: str
    program: Program
    net: Net
    refused: str = ""  # the side that is refused TCP_NODELAY

    @property
    def extras(self) -> tuple[Extra, ...]:
        """Of a fan-out, what a filter on one subscriber would have captured."""
        points = self.net.points() if self.program.listeners else ()
        return tuple(Extra(f"{point}{SUBSCRIBER}", point) for point in points)


def all_cases() -> list[ProgramCase]:
    """Each program on each path; fan-outs and pages on troubled ones, too."""
    cases = []
    for name, program in all_of_them().items():
        troubles = TROUBLES if program.listeners or name.endswith("pages") else {}
        for path, net in (PATHS | troubles).items():
            for refused in ("", *program.refused):
                if path in PATHS or refused != "client":
                    id = f"{name}-{HOW[refused]}-{path}"
                    cases.append(ProgramCase(id, program, net, refused))
    return cases
