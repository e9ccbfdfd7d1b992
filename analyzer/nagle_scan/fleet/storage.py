"""Where the files of a table are: a folder of this machine, or an object store."""

from __future__ import annotations

import os
from typing import Any

from nagle_scan.errors import OutputError
from nagle_scan.fleet import remote
from nagle_scan.fleet.remote import is_url
from nagle_scan.system import files

LOG = "_delta_log"
STORES = tuple(f"{scheme}://" for scheme in ("s3", "s3a", "gs", "az", "abfs", "abfss"))


def check(path: str) -> None:
    """Raises `OutputError` for what cannot hold a table, holds something else, or a link."""
    if is_url(path):
        if not path.startswith(STORES):
            raise OutputError(f"{remote.shown(path)}: results go to a folder, s3://, gs://, az://")
        # Raises for a package that is missing.
        remote.opened(path)
        return
    try:
        there = os.listdir(path)
    except FileNotFoundError:
        return
    except OSError as error:
        raise OutputError(f"{path}: cannot write: {files.reason_of(error)}") from None
    if there and LOG not in there:
        raise OutputError(f"{path}: holds something else: name a new folder")
    for at, folders, names in os.walk(path):
        for name in (*folders, *names):
            if os.path.islink(found := os.path.join(at, name)):
                raise OutputError(f"{found}: a link, which may lead elsewhere: remove it")


def sizes(path: str) -> dict[str, int]:
    """Of all files below it, by name."""
    if is_url(path):
        fs, top = remote.opened(path)
        fs.invalidate_cache()
        listed = fs.find(top, detail=True)
        return {name[len(top) + 1 :]: about["size"] for name, about in listed.items()}
    found = (os.path.join(at, name) for at, _, names in os.walk(path) for name in names)
    return {os.path.relpath(one, path): os.path.getsize(one) for one in found}


def content(path: str, name: str) -> bytes:
    """Of a file."""
    if is_url(path):
        fs, top = remote.opened(path)
        read: bytes = fs.cat_file(f"{top}/{name}")
        return read
    with open(f"{path}/{name}", "rb") as file:
        return file.read()


def put(path: str, name: str, content: Any) -> None:  # noqa: ANN401
    """A new file, synced with its folders. Raises `OutputError`, and `OSError` of a disk."""
    if is_url(path):
        fs, top = remote.opened(path)
        try:
            fs.pipe_file(f"{top}/{name}", bytes(content))
        except Exception as error:
            raise OutputError(f"{path}: {remote.reason(error)}") from None
        return
    os.makedirs(os.path.dirname(f"{path}/{name}"), exist_ok=True)
    with open(f"{path}/{name}", "wb") as file:
        file.write(content)
    sync(path, name)


def sync(path: str, name: str) -> None:
    """A file, and the folders on the way to it."""
    while not is_url(path):
        descriptor = os.open(f"{path}/{name}", os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        if not name:
            return
        name = os.path.dirname(name)
