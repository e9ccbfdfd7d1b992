"""What real programs need before they start: built classes, a configuration, an empty database."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

PORT = 8080
PROGRAMS = Path(__file__).resolve().parent / "programs"
HTTPSERVER = PROGRAMS.parents[1] / "recipes" / "jdk_httpserver"


def nginx(folder: Path) -> None:
    """A configuration without the switch's value, and a file to serve."""
    text = (PROGRAMS / "nginx.conf").read_text()
    for nodelay in ("on", "off"):
        own = text.replace("PORT", str(PORT)).replace("FOLDER", str(folder))
        (folder / f"nodelay-{nodelay}.conf").write_text(own.replace("NODELAY", nodelay))
    (folder / "file").write_bytes(b"x" * 300)


def httpserver(folder: Path) -> None:
    """The recipe's server and its Apache HttpClient, compiled into FOLDER/classes."""
    maven = ("mvn", "-q", "-B", "-f", str(HTTPSERVER / "pom.xml"))
    subprocess.run([*maven, "compile", "dependency:copy-dependencies"], check=True)
    (folder / "classes").symlink_to(HTTPSERVER / "build" / "classes")
    (folder / "jars").symlink_to(HTTPSERVER / "build" / "dependency")


def go(folder: Path) -> None:
    """FOLDER/go_server."""
    source = str(PROGRAMS / "go_server.go")
    subprocess.run(["go", "build", "-o", str(folder / "go_server"), source], check=True)


def postgres(folder: Path) -> None:
    """An empty database that trusts everyone, in FOLDER/data, of the user postgres."""
    data = folder / "data"
    data.mkdir()
    for path in (folder, data):
        shutil.chown(path, "postgres")
    initdb = ("initdb", "-A", "trust", "-D", str(data))
    subprocess.run(["setpriv", "--reuid=postgres", *initdb], check=True, capture_output=True)
    with (data / "postgresql.conf").open("a") as settings:
        settings.write(
            f"listen_addresses='*'\nport={PORT}\nunix_socket_directories=''\nssl=off\nfsync=off\n"
        )
    (data / "pg_hba.conf").write_text("host all all 0.0.0.0/0 trust\n")


def mariadb(folder: Path) -> None:
    """An empty database in FOLDER/data."""
    install = ("mariadb-install-db", "--no-defaults", "--user=root", f"--datadir={folder}/data")
    subprocess.run([*install, "--skip-test-db"], check=True, capture_output=True)
