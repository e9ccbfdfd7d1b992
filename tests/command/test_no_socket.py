"""No socket is ever opened: a capture is read beside production, and nobody may learn of it.

The kernel watches: a process that asks for a socket dies at once (seccomp). Where strace is
installed, it watches too.
"""

from __future__ import annotations

import ctypes
import platform
import signal
import struct
import subprocess
import sys
from pathlib import Path

import nagle_scan
import pytest
from conftest import CAPTURES, COMMAND, outputs, program
from nagle_scan.report import formats

SOCKET = {"x86_64": 41, "aarch64": 198}
"""The number of socket(2), by machine."""
SPLIT = CAPTURES / "java-split.pcap"

# struct sock_filter (linux/filter.h): load seccomp_data.nr; is it socket? kill the process; allow.
LOAD, JUMP_EQUAL, RETURN = 0x20, 0x15, 0x06
KILL_PROCESS, ALLOW = 0x80000000, 0x7FFF0000
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2


def forbid_sockets() -> None:
    """For this process and all that it starts."""
    rows = [
        struct.pack("HBBI", LOAD, 0, 0, 0),
        struct.pack("HBBI", JUMP_EQUAL, 0, 1, SOCKET[platform.machine()]),
        struct.pack("HBBI", RETURN, 0, 0, KILL_PROCESS),
        struct.pack("HBBI", RETURN, 0, 0, ALLOW),
    ]
    code = ctypes.create_string_buffer(b"".join(rows))
    program = struct.pack("HP", len(rows), ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    for call in ((PR_SET_NO_NEW_PRIVS, 1, 0), (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program)):
        if libc.prctl(*call, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "prctl")


def without_sockets(*words: str | Path) -> subprocess.CompletedProcess[str]:
    if sys.platform != "linux" or platform.machine() not in SOCKET:
        pytest.skip("seccomp is Linux', and the number of socket(2) is known for two machines")
    return program(*words, preexec_fn=forbid_sockets, timeout=120)


def test_the_watch_sees_a_socket() -> None:
    """Else the other tests could not fail."""
    for family in ("AF_INET", "AF_UNIX", "AF_NETLINK"):
        asks = f"import socket; socket.socket(socket.{family})"
        assert without_sockets(sys.executable, "-c", asks).returncode == -signal.SIGSYS
    looked_up = "import socket; socket.getaddrinfo('name.invalid', 80)"
    assert without_sockets(sys.executable, "-c", looked_up).returncode == -signal.SIGSYS


def test_the_main_job_with_every_output(tmp_path: Path) -> None:
    files = [tmp_path / f"x{suffix}" for suffix in formats.SUFFIXES]
    done = without_sockets(COMMAND, SPLIT, *outputs(*files))
    assert done.returncode == 1, done.stderr
    assert len(list(tmp_path.iterdir())) == len(formats.SUFFIXES)


@pytest.mark.parametrize(
    "options",
    [
        ("--anonymize", "--baseline", CAPTURES / "java-split-nodelay.pcap"),
        ("--names", "/etc/hosts", "--names", "127.0.0.1=here"),
        ("-f", "tcp portrange 1-65535 and net 127.0.0.0/8 or host ::1 or ether host 0:1:2:3:4:5"),
    ],
    ids=str,
)
def test_options_change_nothing(options: tuple[str | Path, ...]) -> None:
    assert without_sockets(COMMAND, SPLIT, *options).returncode == 1


@pytest.mark.parametrize(
    ("expression", "name"),
    [
        ("host name.invalid", "name.invalid"),
        ("src localhost", "localhost"),
        ("port http", "http"),
    ],
)
def test_a_name_in_a_filter_is_refused_not_looked_up(expression: str, name: str) -> None:
    done = without_sockets(COMMAND, SPLIT, "-f", expression)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert f"{name}' is a name, which is never looked up" in done.stderr
    with pytest.raises(nagle_scan.FilterError, match="never looked up"):
        nagle_scan.scan(SPLIT, filter=expression)
