"""Draws the pictures of README and docs into docs/: `make pictures`."""

import ast
from pathlib import Path

import nagle_scan
import numpy as np
from nagle_scan import _core, timeline
from nagle_scan.timeline import picture
from nagle_scan.timeline.graph import Axis, Graph, drawing
from nagle_scan.timeline.shapes import Path as Line
from nagle_scan.timeline.shapes import Text
from nagle_scan.words import colours
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parents[1]
LADDER = (ROOT / "captures/jdk-httpserver.pcap", ROOT / "docs/ladder.svg")
DENSITIES = (ROOT / "captures/epoll-fd0.pcap", ROOT / "docs/sure.svg")
GROUND = "background:#fff;color:#1a1a1a;"
"""An image in a README does not know the page around it, so it brings its own."""
WIDTH_PT = 500.0
LEAST = 1e-5
"""The least density shown."""
OCTAVES = 9.2
"""`PAUSES` in analyzer/src/judge/model/density.rs."""


def ladder() -> str:
    """The ladder of the clearest stall."""
    return framed(timeline.svg("ladder", nagle_scan.scan(LADDER[0])._result))


def densities() -> str:
    """When a held segment leaves, and when a program writes: what the likelihood ratio compares."""
    graph = _densities(nagle_scan.scan(DENSITIES[0]))
    return framed(picture.rendered(drawing(graph, WIDTH_PT)))


def framed(picture: str) -> str:
    """With a ground of its own."""
    return picture.replace('style="', f'style="{GROUND}', 1) + "\n"


def _densities(scan: nagle_scan.Scan) -> Graph:
    stalls = scan.stalls
    ack_ms = float((stalls["wait_ms"] - stalls["release_ms"]).median())
    after_ms = np.geomspace(0.003, 2000, 120)
    released, wrote = kernel(after_ms), 1 / (OCTAVES * (ack_ms + after_ms))
    seen = [point for point in zip(after_ms, released, strict=True) if point[1] > LEAST]
    at = float(stalls["release_ms"].median())
    here = float(kernel(np.array([at]))[0]), 1 / (OCTAVES * (ack_ms + at))
    rug = [[(release_ms, 2e-5), (release_ms, 5e-5)] for release_ms in stalls["release_ms"]]
    ticks = [(at, f"{at:g} ms" if at < 1000 else "1 s") for at in (0.01, 0.1, 1, 10, 100, 1000)]
    return Graph(
        "Held until the ACK, or written then?",
        "Two densities of the time from an ACK to the next small segment",
        f"A kernel releases within some 0.1 ms; a program writes at any time. The {len(stalls)} "
        f"held segments of {DENSITIES[0].name} left within {stalls['release_ms'].max():.3f} ms.",
        245.0,
        Axis(after_ms[0], after_ms[-1], ticks, "from the ACK to the next small segment", True),
        Axis(LEAST, 60, [(10.0**n, f"{10.0**n:g}") for n in range(-4, 2)], "density per ms", True),
        [
            Line([seen], stroke=colours.HELD, width_pt=2),
            Line([[*zip(after_ms, wrote, strict=True)]], stroke=colours.ACK, width_pt=2),
            Line(rug, stroke=colours.INK, width_pt=0.6),
            Line([[(at, here[0]), (at, here[1])]], stroke=colours.INK),
            Text(at * 0.87, 0.1, f"{here[0] / here[1]:,.0f} times", anchor="end"),
            Text(at * 0.87, 0.04, "as likely", anchor="end"),
            Text(0.09, 9, "released by the kernel, as the ACK arrived", colour=colours.HELD),
            Text(2, 4.5e-3, "written by the program then", colour=colours.ACK),
            Text(at, 8e-5, f"the {len(stalls)} held segments", anchor="middle"),
        ],
    )


def kernel(after_ms: NDArray[np.float64]) -> NDArray[np.float64]:
    """Density of a release at the sender's own host, before anything is learnt."""
    known = {name: ast.literal_eval(value) for name, value, *_ in _core.thresholds()}
    (median, deviation), late_ms = known["KERNEL_MS"], known["KERNEL_LATE"]
    off = np.log(after_ms / median) / deviation
    core = np.exp(-off * off / 2) / (after_ms * deviation * np.sqrt(2 * np.pi))
    late = sum(part * np.exp(-after_ms / mean_ms) / mean_ms for part, mean_ms in late_ms)
    return (1 - sum(part for part, _ in late_ms)) * core + late


if __name__ == "__main__":
    LADDER[1].write_text(ladder())
    DENSITIES[1].write_text(densities())
