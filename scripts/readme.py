"""Puts real output into the README: `make readme`.

What nagle-scan prints for a shipped capture, its causes and formats, and the table of its accuracy.
"""

import subprocess
from pathlib import Path

from nagle_scan.report.formats import FORMATS
from nagle_scan.words import causes

README = Path("README.md")
LINES_SHOWN = 13


def printed(*words: str) -> list[str]:
    """The lines that a command prints."""
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return done.stdout.splitlines(keepends=True)


def between(text: str, begin: str, end: str, new: str) -> str:
    """`text` with what stands between the two marks replaced."""
    before, rest = text.split(begin, 1)
    _, after = rest.split(end, 1)
    return f"{before}{begin}{new}{end}{after}"


def cause_rows() -> str:
    """What happened, by cause; stalls first."""
    rows = (f"| `{cause.name}` | {cause.happened} |\n" for cause in causes.stalls_first())
    return "".join(rows)


def with_report(readme: str, lines: list[str]) -> str:
    """The README with the first of these lines as what a scan prints."""
    begin = "$ nagle-scan captures/epoll-fd0.pcap\n"
    return between(readme, begin, "```\n", "".join(lines[:LINES_SHOWN]) + "...\n")


def with_lists(readme: str) -> str:
    """The README with the causes and the formats that there are."""
    head = "| cause | what happened |\n|---|---|\n"
    readme = between(readme, head, "\nAn application cannot see", cause_rows())
    examples = " -o ".join(format.example for format in FORMATS)
    return between(readme, "\nnagle-scan traffic.pcap -o ", "\n", examples)


def with_accuracy(readme: str, lines: list[str]) -> str:
    """The README with what `accuracy.py --markdown` prints."""
    table = "".join(line for line in lines if not line.startswith("A prediction"))
    return between(readme, "<!-- accuracy: make readme -->\n", "<!-- end -->", table)


def main() -> None:
    """Writes what the commands print now."""
    readme = README.read_text()
    readme = with_lists(readme)
    readme = with_report(readme, printed(".venv/bin/nagle-scan", "captures/epoll-fd0.pcap"))
    accuracy = printed(".venv/bin/python", "captures/lab/accuracy.py", "--markdown")
    README.write_text(with_accuracy(readme, accuracy))


if __name__ == "__main__":
    main()
