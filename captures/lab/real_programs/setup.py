"""What the programs need before they start."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from real_setup import PORT


def mosquitto(folder: Path, more: str = "") -> None:
    """Configure a broker that lets everybody in."""
    text = f"listener {PORT} 0.0.0.0\nallow_anonymous true\nuser root\n{more}"
    (folder / "mosquitto.conf").write_text(text)


def mosquitto_nodelay(folder: Path) -> None:
    """Configure one with its own switch."""
    mosquitto(folder, "set_tcp_nodelay true\n")


def nbd(folder: Path) -> None:
    """Make a disk of 8 MB to serve."""
    (folder / "disk").write_bytes(bytes(8 << 20))
    (folder / "nbd.conf").write_text(
        f"[generic]\nuser=root\ngroup=root\nport={PORT}\n[disk]\nexportname={folder}/disk\n"
    )


def ssh(folder: Path) -> None:
    """Make root a home of its own, to be mounted over the real one, and a key that opens it."""
    home = folder / "home" / ".ssh"
    home.mkdir(parents=True)
    for path in (home, home.parent):
        path.chmod(0o700)
    run(f"ssh-keygen -q -t ed25519 -f {folder}/key -N", "")
    run(f"dropbearkey -t ed25519 -f {folder}/host_key")
    shutil.copy(folder / "key.pub", home / "authorized_keys")


def run(command: str, *more: str) -> None:
    """Run a command quietly."""
    subprocess.run([*command.split(), *more], check=True, capture_output=True)
