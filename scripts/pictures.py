"""Draws the pictures of README and docs into docs/: `make pictures`."""

import ast
from pathlib import Path

import nagle_scan
import numpy as np
from matplotlib.axes import Axes
from nagle_scan import _core, timeline
from nagle_scan.timeline import style
from nagle_scan.words import colours
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parents[1]
LADDER = (ROOT / "captures/jdk-httpserver.pcap", ROOT / "docs/ladder.svg")
DENSITIES = (ROOT / "captures/epoll-fd0.pcap", ROOT / "docs/sure.svg")
GROUND = "background:#fff;color:#1a1a1a;"
"""An image in a README does not know the page around it, so it brings its own."""
OCTAVES = 9.2
"""`PAUSES` in analyzer/src/judge/model/density.rs."""


def ladder() -> str:
    """The ladder of the clearest stall."""
    return framed(timeline.svg(timeline.ladder, nagle_scan.scan(LADDER[0])))


def densities() -> str:
    """When a held segment leaves, and when a program writes: what the likelihood ratio compares."""
    return framed(timeline.svg(_densities, nagle_scan.scan(DENSITIES[0])))


def framed(picture: str) -> str:
    """With a ground of its own."""
    return picture.replace('style="', f'style="{GROUND}', 1) + "\n"


def _densities(scan: nagle_scan.Scan, width_in: float) -> Axes:
    ax = style.axes(None, width_in, 3.4)
    stalls = scan.stalls
    ack_ms = float((stalls["wait_ms"] - stalls["release_ms"]).median())
    after_ms = np.geomspace(0.003, 2000, 120)
    released, wrote = kernel(after_ms), 1 / (OCTAVES * (ack_ms + after_ms))
    ax.loglog(after_ms, released, color=colours.HELD, linewidth=2)
    ax.loglog(after_ms, wrote, color=colours.ACK, linewidth=2)
    rug = np.full(len(stalls), 3e-5)
    ax.plot(stalls["release_ms"], rug, "|", color=colours.INK, markersize=9, markeredgewidth=0.6)
    at = float(stalls["release_ms"].median())
    here = float(kernel(np.array([at]))[0]), 1 / (OCTAVES * (ack_ms + at))
    ax.annotate("", (at, here[0]), (at, here[1]), arrowprops={"arrowstyle": "<->"})
    size = style.TEXT_PT
    style.text(ax, at * 0.87, 0.1, f"{here[0] / here[1]:,.0f} times", size, "right")
    style.text(ax, at * 0.87, 0.04, "as likely", size, "right")
    style.text(ax, 0.09, 9, "released by the kernel, as the ACK arrived", size, color=colours.HELD)
    style.text(ax, 2, 4.5e-3, "written by the program then", size, color=colours.ACK)
    style.text(ax, at, 8e-5, f"the {len(stalls)} held segments", size, "center")
    ax.set_xlim(after_ms[0], after_ms[-1])
    ax.set_ylim(1e-5, 60)
    ticks = [0.01, 0.1, 1, 10, 100, 1000]
    ax.set_xticks(ticks, [f"{tick:g} ms" if tick < 1000 else "1 s" for tick in ticks])
    ax.minorticks_off()
    ax.set_xlabel("from the ACK to the next small segment")
    ax.set_ylabel("density per ms")
    style.plain(ax, "Held until the ACK, or written then?")
    ax.set_label(
        "Two densities of the time from an ACK to the next small segment\nA kernel releases within "
        f"some 0.1 ms; a program writes at any time. The {len(stalls)} held segments of "
        f"{DENSITIES[0].name} left within {stalls['release_ms'].max():.3f} ms."
    )
    return ax


def kernel(after_ms: NDArray[np.float64]) -> NDArray[np.float64]:
    """Density of a release at the sender's own host, before anything is learnt."""
    known = {name: ast.literal_eval(value) for name, value, *_ in _core.thresholds()}
    (median, deviation), softirq, jiffy = (
        known[name] for name in ("KERNEL_MS", "SOFTIRQ", "JIFFY")
    )
    off = np.log(after_ms / median) / deviation
    core = np.exp(-off * off / 2) / (after_ms * deviation * np.sqrt(2 * np.pi))
    late = softirq * np.exp(-after_ms / 0.1) / 0.1 + jiffy * np.exp(-after_ms / 1.5) / 1.5
    return (1 - softirq - jiffy) * core + late


if __name__ == "__main__":
    LADDER[1].write_text(ladder())
    DENSITIES[1].write_text(densities())
