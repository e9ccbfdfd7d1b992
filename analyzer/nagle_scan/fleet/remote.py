"""URLs that fsspec opens, and what may be said of them: never a password, key or signature."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

from nagle_scan.errors import CaptureError, OutputError
from nagle_scan.fleet.work import Secret
from nagle_scan.system import files

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
HTTP = ("http", "https")
SSH = ("ssh", "sftp")
S3 = ("s3", "s3a")
LOCAL = ("file", "local")
PACKAGES = (
    dict.fromkeys(HTTP, "aiohttp") | dict.fromkeys(SSH, "paramiko") | dict.fromkeys(S3, "s3fs")
)
"""What fsspec needs for them."""
VERSIONS = ("ETag", "etag", "LastModified", "last_modified", "Last-Modified", "updated", "mtime")
"""What file systems call the version of a file, the best first."""
USER = re.compile(r"[^/]*@|[^/@:\[]*:(?!\d*(/|$))[^@]*@")
"""User and password; an unquoted slash in a password is none that ends it. Not `host:80/a@b`."""
S3_USER = re.compile(r"[^/]*@|[^/@:]*:[^@]*@")
"""A bucket has no port, and secret keys have slashes."""
S3_KEYS = "keys are read from the environment (AWS_ACCESS_KEY_ID), not from URLs"
CONNECT_S = 30.0
READ_S = 60.0
"""A server that says nothing for so long is lost. fsspec would end every transfer after 5 min."""


class Remote(NamedTuple):
    """A place in a file system."""

    fs: AbstractFileSystem
    path: str
    prefix: Secret | None
    """What makes a URL of a path of this file system; `None` if only fsspec knows."""

    def url_of(self, path: str) -> Secret:
        """Of another path there."""
        if self.prefix is None:
            return Secret(self.fs.unstrip_protocol(path))
        return Secret(self.prefix + path)


class _Parts(NamedTuple):
    scheme: str
    user: str
    """With its password; without `@`."""
    place: str
    query: str
    """With `?`."""


def is_url(name: str) -> bool:
    """Has it a scheme?"""
    return SCHEME.match(name) is not None


def local_path(name: str) -> str | None:
    """Of a path or a `file://` URL; `None` for other URLs."""
    if not is_url(name):
        return name
    parts = _parts(name)
    return unquote(parts.place) if parts.scheme in LOCAL else None


def shown(url: str) -> str:
    """The URL without password, key, or query, which may hold a signature."""
    parts = _parts(url)
    keeps_user = parts.user and ":" not in parts.user and parts.scheme not in HTTP
    return f"{parts.scheme}://{parts.user + '@' if keeps_user else ''}{parts.place}"


def access(url: str) -> Secret:
    """The URL, if `shown` leaves something out of it."""
    return Secret("" if shown(url) == url else url)


def remote(url: str) -> Remote:
    """Its file system. Raises `CaptureError` for a scheme or a package that is not there."""
    import fsspec

    parts = _parts(url)
    if parts.scheme in S3 and parts.user:
        raise CaptureError(f"{shown(url)}: {S3_KEYS}")
    try:
        fsspec.get_filesystem_class(parts.scheme)
        fs, path = fsspec.core.url_to_fs(url, **_options(parts.scheme))
    except ImportError as error:
        package = PACKAGES.get(parts.scheme)
        needs = f"{parts.scheme}:// needs {package}: pip install {package}"
        raise CaptureError(f"{shown(url)}: {needs if package else error}") from None
    except ValueError:
        raise CaptureError(f"{shown(url)}: {parts.scheme}:// is no known kind of URL") from None
    except Exception as error:
        # A file system may connect here, and raise what it likes.
        raise CaptureError(f"{shown(url)}: cannot read: {reason(error, url)}") from None
    whole = url if path.endswith("/") else url.rstrip("/")
    prefix = Secret(whole.removesuffix(path)) if whole.endswith(path) else None
    return Remote(fs, path, prefix)


def version(about: Mapping[str, Any]) -> str:
    """Of a file that a file system describes: changes when the file does; empty if unknown."""
    return next((str(about[name]) for name in VERSIONS if about.get(name)), "")


def put(path: str, content: bytes) -> None:
    """Writes a page into a folder that is there, or a store. Raises `OutputError`."""
    if not is_url(path):
        files.replace(path, content)
        return
    try:
        place = remote(path)
        # Else a browser saves it, instead of showing it.
        kind = {"ContentType": "text/html"} if path.startswith("s3") else {}
        place.fs.pipe_file(place.path, content, **kind)
    except CaptureError as error:
        raise OutputError(str(error)) from None
    except Exception as error:
        # A file system raises what it likes.
        raise OutputError(f"{shown(path)}: cannot write: {reason(error, path)}") from None


def reason(error: BaseException, url: str) -> str:
    """Why a file system failed, in a few words without anything secret."""
    if isinstance(error, FileNotFoundError) and error.__cause__ is not None:
        # fsspec says so of every answer to HTTP but the right one.
        return reason(error.__cause__, url)
    status = getattr(error, "status", None)
    if isinstance(status, int) and status in set(HTTPStatus):
        return f"HTTP {status}: {HTTPStatus(status).phrase.lower()}"
    if isinstance(error, FileNotFoundError):
        return "no such file or directory"
    if isinstance(error, PermissionError):
        return "permission denied"
    if isinstance(error, TimeoutError):
        return "no answer in time"
    text = files.reason_of(error) if isinstance(error, OSError) else str(error)
    line = text.strip().partition("\n")[0]
    # A server may lead to a URL with secrets of its own.
    if not line or "://" in line or any(secret in line.lower() for secret in _secrets(url)):
        return type(error).__name__
    return line


def _parts(url: str) -> _Parts:
    scheme, _, rest = url.partition("://")
    scheme = scheme.lower()
    user = (S3_USER if scheme in S3 else USER).match(rest)
    place = rest[user.end() :] if user else rest
    # In the name of an object, a question mark is a letter.
    ends = re.search("[?#]", place) if scheme in HTTP else None
    cut = ends.start() if ends else len(place)
    return _Parts(scheme, user[0][:-1] if user else "", place[:cut], place[cut:])


def _secrets(url: str) -> Iterator[str]:
    """What nobody is to see, in small letters; an error may tell it decoded."""
    parts = _parts(url)
    words = [*re.split(":", parts.user, maxsplit=1), *re.split("[?#&=]", parts.query)]
    for word in filter(None, words):
        yield from {word.lower(), unquote(word).lower()}


def _options(scheme: str) -> dict[str, Any]:
    if scheme not in HTTP:
        return {}
    from aiohttp import ClientTimeout

    return {
        # As stored: a server may call a packed capture an encoding of another.
        "headers": {"Accept-Encoding": "identity"},
        "client_kwargs": {
            "auto_decompress": False,
            "timeout": ClientTimeout(total=None, sock_connect=CONNECT_S, sock_read=READ_S),
        },
    }
