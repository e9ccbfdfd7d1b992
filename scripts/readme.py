"""Puts real output into the README: `make readme`; `--check` only compares.

What nagle-scan prints for a shipped capture, its causes and formats, and the table of its accuracy.
"""

import subprocess
import sys
from pathlib import Path

from nagle_scan import causes
from nagle_scan.report.formats import FORMATS

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


def updated(readme: str) -> str:
    """The README with what the commands print now."""
    report = printed(".venv/bin/nagle-scan", "captures/epoll-fd0.pcap")[:LINES_SHOWN]
    begin = "$ nagle-scan captures/epoll-fd0.pcap\n"
    readme = between(readme, begin, "```\n", "".join(report) + "...\n")
    head = "| cause | what happened |\n|---|---|\n"
    readme = between(readme, head, "\nAn application cannot see", cause_rows())
    examples = " -o ".join(format.example for format in FORMATS)
    readme = between(readme, "\nnagle-scan traffic.pcap -o ", "\n", examples)
    accuracy = printed(".venv/bin/python", "captures/lab/accuracy.py", "--markdown")
    table = "".join(line for line in accuracy if not line.startswith("A prediction"))
    return between(readme, "<!-- accuracy: make readme -->\n", "<!-- end -->", table)


def main() -> int:
    """Exit status 1 if `--check` finds the README stale."""
    readme = README.read_text()
    if "--check" in sys.argv:
        return int(readme != updated(readme))
    README.write_text(updated(readme))
    return 0


if __name__ == "__main__":
    sys.exit(main())
