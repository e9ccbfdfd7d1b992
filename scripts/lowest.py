"""Tries nagle-scan with the packages that are installed: `make lowest` has uv install the lowest.

lowest.py FOLDER: files go there.
"""

import sys
from pathlib import Path

import nagle_scan
from nagle_scan.report.formats import FORMATS

scan = nagle_scan.scan("captures/epoll-fd0.pcap")
assert scan.verdict == "stalls"
assert len(scan.stalls) == scan.summary.stalls == 100
for format in FORMATS:
    file = Path(sys.argv[1], format.example)
    scan.write(file)
    assert file.stat().st_size > 100, format.name
assert len(scan.findings) == 1
assert "svg" in scan._repr_html_()
assert scan.latency("client") is not None
connection = scan.connection(1)
for draw in (connection.ladder, connection.sequence, connection.timeline):
    assert draw()._repr_png_()
assert len(connection.packets()) == len(connection.segments())
