"""Puts real output into the README: `make readme`.

What nagle-scan prints for a shipped capture, its formats, and how accurate it is; the whole table
of accuracy goes into docs/sure.md.
"""

import subprocess
from pathlib import Path

from nagle_scan.report.formats import FORMATS

README = Path("README.md")
FULL = Path("docs/sure.md")
LINES_SHOWN = 8
DISTURBED = Path("captures/lab/metamorphic.txt")
ACCURACY = ("recall", "precision", "wrong cause", "TCP_NODELAY verdicts wrong")
"""The rows of the accuracy that the README shows."""


def printed(*words: str) -> list[str]:
    """The lines that a command prints."""
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return done.stdout.splitlines(keepends=True)


def between(text: str, begin: str, end: str, new: str) -> str:
    """`text` with what stands between the two marks replaced."""
    before, rest = text.split(begin, 1)
    _, after = rest.split(end, 1)
    return f"{before}{begin}{new}{end}{after}"


def with_report(readme: str, lines: list[str]) -> str:
    """The README with the first of these lines as what a scan prints."""
    begin = "$ nagle-scan captures/epoll-fd0.pcap\n"
    return between(readme, begin, "```\n", "".join(lines[:LINES_SHOWN]) + "...\n")


def with_formats(readme: str) -> str:
    """The README with the formats."""
    rows = (f"| `-o {format.example}` | {format.about} |" for format in FORMATS)
    return between(readme, "| option | writes |\n|---|---|\n", "\n\n", "\n".join(rows))


def with_accuracy(page: str, lines: list[str]) -> str:
    """The page with these lines of `accuracy.py --markdown`."""
    table = "".join(line for line in lines if not line.startswith("A prediction"))
    return between(page, "<!-- accuracy: make readme -->\n", "<!-- end -->", table)


def with_poor(page: str) -> str:
    """The page with the numbers of metamorphic.txt."""
    lines = [
        "| capture | true and found | new false | of these `certain` | wrongly clean |"
        " wrong on `TCP_NODELAY` |\n|---|---:|---:|---:|---:|---:|\n"
    ]
    for line in DISTURBED.read_text().splitlines()[1:]:
        name, _, true, found, false, certain, _, clean, _, nodelay, _ = line.rsplit(maxsplit=10)
        share = f"{int(found) / int(true):.1%} of {int(true):,}"
        lines.append(f"| {name} | {share} | {false} | {certain} | {clean} | {nodelay} |\n")
    return between(page, "<!-- poor: make readme -->\n", "<!-- end -->", "".join(lines))


def headlines(lines: list[str]) -> list[str]:
    """What `accuracy.py --markdown` prints, up to its heading, and the rows of `ACCURACY`."""
    shown = tuple(f"| {row} |" for row in ACCURACY)
    head = lines.index("|---|---:|---:|\n") + 1
    return [*lines[:head], *(line for line in lines if line.startswith(shown)), "\n"]


def main() -> None:
    """Writes what the commands print now."""
    readme = with_formats(README.read_text())
    readme = with_report(readme, printed(".venv/bin/nagle-scan", "captures/epoll-fd0.pcap"))
    accuracy = printed(".venv/bin/python", "captures/lab/accuracy.py", "--markdown")
    README.write_text(with_accuracy(readme, headlines(accuracy)))
    FULL.write_text(with_poor(with_accuracy(FULL.read_text(), accuracy)))


if __name__ == "__main__":
    main()
