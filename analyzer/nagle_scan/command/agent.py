"""Questions that an assistant may ask about captures in some folders; answers hold no payload.

Texts that quote a file name or the capture stand apart from what nagle-scan says; all texts are
free of control characters.
"""

from __future__ import annotations

import contextlib
import heapq
import os
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import IO, TYPE_CHECKING, Any, Literal, TypeAlias

from nagle_scan import _core
from nagle_scan.api import captures
from nagle_scan.api.scan import Scan, scan
from nagle_scan.command import explain
from nagle_scan.errors import CaptureError, OutputError
from nagle_scan.report import every_stall, formats, json, verdicts
from nagle_scan.report.nodelay import IN_EFFECT
from nagle_scan.report.options import Options
from nagle_scan.report.view import View
from nagle_scan.system import files
from nagle_scan.words.wording import printable, shortened

MOST_ROWS = 20
"""Limit on the rows of each list."""
MOST_CAPTURES = 100
"""Limit on the list of captures."""
MOST_FILES = 500_000
"""Below the roots, captures or not: one of them may be `/`."""
MOST_CHARACTERS = 800
"""Limit on the length of each text."""
KEPT = 2
"""Scans, so that questions about one capture read it once."""

Answer = dict[str, Any]
if TYPE_CHECKING:
    Cause: TypeAlias = str
    Format: TypeAlias = str
else:
    # The client gets them with the tools.
    Cause = Literal[tuple(_core.CAUSES)]
    Format = Literal[tuple(suffix.lstrip(".") for suffix in formats.SUFFIXES)]


class Agent:
    """Answers about captures below `roots`; reports go to `reports`, if anywhere."""

    def __init__(
        self, roots: Sequence[str], reports: str | None = None, key: bytes | None = None
    ) -> None:
        self._roots = [_folder(root) for root in roots]
        self._reports = reports and os.path.abspath(reports)
        self._key = key
        self._pseudonyms: dict[str, str] = {}
        self._kept: dict[tuple[object, ...], Scan] = {}
        if reports is not None:
            files.make_folder(reports)

    def captures(self) -> Answer:
        """Paths of the captures that may be read, known by their suffix, the newest first."""
        changed_ns = self._captures()
        newest = heapq.nlargest(MOST_CAPTURES, changed_ns, changed_ns.__getitem__)
        facts = {"captures": len(changed_ns), "listed": len(newest)}
        if self._key is not None:
            paths = {self._pseudonym(path): path for path in newest}
            self._pseudonyms.update(paths)
            newest = list(paths)
        return _answer(facts, newest, MOST_CAPTURES)

    def scan(self, path: str, filter: str | None = None) -> Answer:
        """The verdict, cost and fix, who holds data back, and where the time went."""
        found = self._scan(path, filter)._result
        limits = json.LIMITS._replace(sockets=MOST_ROWS, groups=MOST_ROWS, waits=MOST_ROWS)
        view, report = View(found, limits, Options()), json.report(found, Options())
        notices = report.pop("notices")
        # The client has it from the server's instructions.
        del report["reading"]
        facts = {
            "verdict": found.verdict,
            **report,
            "packets": view.summary.packets,
            "connections": view.summary.connections,
            "exchanges": view.summary.exchanges,
            "held_by": [view.sentence_and_option(group) for group in view.shown_groups],
            "tcp_nodelay": [row._asdict() for row in view.nodelay],
            "worst_connections": [_connection(row) for row in found.core.affected(MOST_ROWS)],
            "longest_waits": [{**_wait(row), "meaning": what} for row, what in view.waits],
        }
        return _answer(facts, [*found.captures, *notices])

    def connection(self, path: str, number: int, filter: str | None = None) -> Answer:
        """One connection, by its number as tcp.stream: its stalls and their evidence."""
        found = self._scan(path, filter)
        row = found._result.row_of(number)
        stalls = found._result.core.stalls_of(number, MOST_ROWS)
        waits = found.connection(number).waits.nlargest(MOST_ROWS, "wait_ms")
        columns = ["cause", "sender", "frame_from", "frame_to", "wait_ms"]
        facts = {
            **_connection(row),
            "rtt_ms": row.rtt_ms,
            "mss": row.mss,
            "capture_point": row.capture_point,
            "client_tcp_nodelay": IN_EFFECT[row.client_nagle],
            "server_tcp_nodelay": IN_EFFECT[row.server_nagle],
            "mean_latency_ms": row.mean_latency_ms,
            "predicted_latency_ms": row.predicted_latency_ms,
            "stalls": [_stall(stall) for stall in stalls],
            "evidence_of_the_first": stalls[0].evidence if stalls else [],
            "longest_other_waits": waits[columns].astype(object).to_dict("records"),
        }
        return _answer(facts, found.captures)

    def why(self, path: str, frame: int, filter: str | None = None) -> Answer:
        """Why the wait that a frame ends counts as held or not: the terms of its probability."""
        found = self._scan(path, filter)
        return _answer({"case": str(found.why(frame)).splitlines()}, found.captures)

    def compare(self, before: str, after: str, filter: str | None = None) -> Answer:
        """The stalls of a service in one capture, and in a later one."""
        scans = [self._scan(path, filter) for path in (before, after)]
        comparison = scans[0].compare(scans[1])
        # A server with the state 'gone' would seem to be gone itself.
        table = (
            comparison.table.rename(columns={"state": "stalls_are"}).head(MOST_ROWS).astype(object)
        )
        servers = table.where(table.notna(), None).to_dict("records")
        facts = {
            "verdict": comparison.verdict,
            "sentence": comparison.sentence,
            "predictions": comparison.predictions,
            "servers": servers,
        }
        return _answer(facts, [name for one in scans for name in one.captures])

    def explain(self, cause: Cause) -> Answer:
        """The meaning of a cause of waits, how it is recognised and what to do."""
        return {"data": {"cause": cause, **explain.sections(cause)}}

    def report(self, path: str, format: Format, filter: str | None = None) -> Answer:
        """Writes a report into the folder of reports, and says where it is."""
        if self._reports is None:
            raise OutputError("no reports: the server was started without --reports")
        found = self._scan(path, filter)
        stem = os.path.basename(os.path.normpath(path))
        if self._key is not None:
            stem = self._pseudonym(self._pseudonyms.get(path, path))
        # No other report ever has this name: nothing is replaced.
        target = os.path.join(self._reports, f"{stem}-{os.urandom(4).hex()}.{format}")
        formats.write(found._result, target, formats.of(target), Options())
        return _answer({"format": format}, [target])

    def _captures(self) -> dict[str, int]:
        """Their paths, relative to a root, and when each was changed, in ns. Links are left out.

        Raises `CaptureError` for more than `MOST_FILES`.
        """
        changed_ns: dict[str, int] = {}
        folders, entries = [(root, root) for root in self._roots], 0
        while folders:
            root, folder = folders.pop()
            for entry in self._entries(folder):
                entries += 1
                if entries > MOST_FILES:
                    raise CaptureError("too many files to list: ask for a capture by its name")
                if entry.is_dir(follow_symlinks=False):
                    folders.append((root, os.path.join(folder, entry.name)))
                elif entry.is_file(follow_symlinks=False) and captures.has_capture_name(entry.name):
                    full = os.path.join(folder, entry.name)
                    path = os.path.relpath(full, root)
                    if root != self._place_of(path):
                        # An earlier root has it, and comes first when a path is resolved.
                        path = os.path.relpath(full, self._roots[0])
                    with contextlib.suppress(FileNotFoundError):
                        changed_ns[path] = entry.stat(follow_symlinks=False).st_mtime_ns
        return changed_ns

    def _place_of(self, path: str) -> str:
        """The first root that has it."""
        there = (root for root in self._roots if os.path.lexists(os.path.join(root, path)))
        return next(there, "")

    def _pseudonym(self, path: str) -> str:
        """A pseudonym that the same path and key always get."""
        digest = blake2b(os.fsencode(path), key=self._key or b"", digest_size=6)
        return f"capture-{digest.hexdigest()}"

    def _scan(self, path: str, filter: str | None) -> Scan:
        with self._opened(path) as file:
            about = os.fstat(file.fileno())
            # No program can set the time of the last change, `st_ctime`.
            state = (about.st_dev, about.st_ino, about.st_size, about.st_ctime_ns)
            found = self._kept.get((path, filter, state))
            if found is None:
                found = scan(file, filter, anonymize=self._key)
                self._kept = dict([*self._kept.items(), ((path, filter, state), found)][-KEPT:])
            return found

    def _opened(self, path: str) -> IO[bytes]:
        """It has the name that was asked for. Raises `CaptureError` for no file below a root."""
        for root in self._roots:
            try:
                real = os.path.realpath(os.path.join(root, self._pseudonyms.get(path, path)))
                if not self._has(real):
                    continue
                file = open(path, "rb", opener=lambda *_, real=real: _descriptor(real))  # noqa: SIM115
            except FileNotFoundError:
                continue
            except OSError as error:
                raise CaptureError(f"{path}: cannot read: {files.reason_of(error)}") from None
            # A link may have taken its place meanwhile.
            about = os.fstat(file.fileno())
            if stat.S_ISREG(about.st_mode) and self._has(_path_of(file.fileno())):
                return file
            file.close()
        raise CaptureError(f"{path}: no such file in the folders given with --root")

    def _entries(self, folder: str) -> Iterator[os.DirEntry[str]]:
        """Entries of a folder that is below a root once it is open: a link may have replaced it."""
        try:
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError:
            return
        try:
            if self._has(_path_of(descriptor)):
                with os.scandir(descriptor) as listed:
                    yield from listed
        finally:
            os.close(descriptor)

    def _has(self, real: str) -> bool:
        return any(os.path.commonpath([real, root]) == root for root in self._roots)


def _descriptor(path: str) -> int:
    """A descriptor for reading; a pipe does not wait for its writer. Raises `OSError`."""
    return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)


def _path_of(descriptor: int) -> str:
    """Where an open file is."""
    if sys.platform == "darwin":
        import fcntl

        return os.fsdecode(fcntl.fcntl(descriptor, fcntl.F_GETPATH, bytes(1024)).rstrip(b"\0"))
    return os.readlink(f"/proc/self/fd/{descriptor}")


def _folder(path: str) -> str:
    if not os.path.isdir(path):
        raise CaptureError(f"{path}: not a folder")
    return os.path.realpath(path)


def _connection(row: _core.ConnectionRow) -> Answer:
    return {
        "number": row.connection,
        "client": row.client,
        "server": row.server,
        "verdict": verdicts.of_connection(row),
        "exchanges": row.exchanges,
    }


def _wait(row: _core.WaitRow) -> Answer:
    return {
        "connection": row.connection,
        "cause": row.cause,
        "sender": row.sender,
        "frames": [row.frame_from, row.frame_to],
        "wait_ms": row.wait_ms,
    }


def _stall(row: _core.WaitRow) -> Answer:
    said = every_stall.said(row, "frame {}".format)
    held = {"hold_ms": row.hold_ms, "confidence": row.confidence}
    return {**_wait(row), **held, "frames": said}


def _answer(facts: Answer, quoted: Iterable[str], most: int = MOST_ROWS) -> Answer:
    """An answer in two parts: what nagle-scan says, and what it quotes from the input."""
    return {"data": _plain(facts), "quoted_from_input": _plain(list(quoted)[:most])}


def _plain(value: object) -> object:
    """A value with bounded and printable texts."""
    match value:
        case str():
            return shortened(printable(value), MOST_CHARACTERS)
        case dict():
            return {name: _plain(one) for name, one in value.items()}
        case list() | tuple():
            return [_plain(one) for one in value]
        case float():
            return round(value, 3)
    return value
