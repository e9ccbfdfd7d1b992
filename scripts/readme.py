"""Puts real output into the README and the pages of docs: `make readme`.

The output of commands, the formats, and the accuracy.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import shown
from nagle_scan.report.formats import FORMATS

README = Path("README.md")
PAGES = sorted(Path("docs").glob("*.md"))
FULL = Path("docs/report.md")
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


def with_formats(readme: str) -> str:
    """The README with the formats."""
    rows = (f"| `-o {format.example}` | {format.about} |" for format in FORMATS)
    return between(readme, "| option | writes |\n|---|---|\n", "\n\n", "\n".join(rows))


def with_accuracy(page: str, lines: list[str]) -> str:
    """The page with these lines of `accuracy.py --markdown`."""
    table = "".join(line for line in lines if not line.startswith("A prediction"))
    return between(page, "<!-- accuracy: make readme -->\n", "<!-- end -->", table)


def with_poor(page: str) -> str:
    """The page, with the numbers of metamorphic.txt."""
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
    """The head of the table that `accuracy.py --markdown` prints, and its rows of `ACCURACY`."""
    shown = tuple(f"| {row} |" for row in ACCURACY)
    head = lines.index("|---|---:|---:|\n") + 1
    return [*lines[:head], *(line for line in lines if line.startswith(shown)), "\n"]


def with_output(page: str) -> str:
    """The page, with the present output of its commands."""
    with tempfile.TemporaryDirectory() as folder:
        shown.laid_out(Path(folder))
        environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
        return shown.filled(page, Path(folder), environment)


def main() -> None:
    """Writes the README and the pages."""
    accuracy = printed(".venv/bin/python", "captures/lab/accuracy.py", "--markdown")
    README.write_text(with_accuracy(with_formats(README.read_text()), headlines(accuracy)))
    for page in (README, *PAGES):
        page.write_text(with_output(page.read_text()))
    FULL.write_text(with_poor(with_accuracy(FULL.read_text(), accuracy)))


if __name__ == "__main__":
    main()
