"""URLs that fsspec opens, and what may be said of them: never a password, key or signature."""

from __future__ import annotations

import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import IO, Any
from urllib.parse import unquote

from nagle_scan.errors import CaptureError
from nagle_scan.system import files

SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
NO_PORT = re.compile(r":(?!\d*$)[^\]]*$")
HTTP, S3 = ("http", "https"), ("s3", "s3a")
PACKAGES = {"http": "aiohttp", "https": "aiohttp", "ssh": "paramiko", "sftp": "paramiko"}
PACKAGES |= {"s3": "s3fs", "s3a": "s3fs"}
"""Packages that fsspec needs, by scheme."""
VERSIONS = ("ETag", "etag", "LastModified", "last_modified", "Last-Modified", "updated", "mtime")
"""Names that file systems give the version of a file, the best first."""
WRITTEN = ("LastModified", "last_modified", "updated", "mtime")
"""Names that stores give the time at which a file was written."""
NO_PASSWORD = "a URL with a password or key: keep it in the environment"
CONNECT_S, READ_S = 30.0, 60.0
"""A server that is silent for longer is lost. fsspec would end every transfer after 5 min."""
REASONS = {
    FileNotFoundError: "no such file or directory",
    PermissionError: "permission denied",
    TimeoutError: "no answer in time",
}


def is_url(name: str) -> bool:
    """Does it begin with a scheme?"""
    return SCHEME.match(name) is not None


def scheme(url: str) -> str:
    """The scheme of a URL, in small letters."""
    return url.partition("://")[0].lower()


def shown(url: str) -> str:
    """The URL without a query, which may hold a signature. Raises `CaptureError` for a password."""
    kind, rest = scheme(url), url.partition("://")[2]
    user, _, host = re.split("[/?#]", rest)[0].rpartition("@")
    # A password may have a slash; a bucket has no port.
    hides = ":" in user or NO_PORT.search(host) or (kind in S3 and (user or ":" in host))
    if hides or (kind in HTTP and user):
        raise CaptureError(f"{kind}://: {NO_PASSWORD}")
    # In the name of an object, a question mark is a letter.
    return re.split("[?#]", url)[0] if kind in HTTP else url


def opened(url: str) -> tuple[Any, str]:
    """Its file system, and its path there. Raises `CaptureError`."""
    import fsspec

    kind, url_shown = scheme(url), shown(url)
    try:
        fsspec.get_filesystem_class(kind)
        found: tuple[Any, str] = fsspec.core.url_to_fs(url, **_options(kind))
    except ImportError as error:
        package = PACKAGES.get(kind)
        needs = f"{kind}:// needs {package}: pip install {package}"
        raise CaptureError(f"{url_shown}: {needs if package else error}") from None
    except ValueError:
        raise CaptureError(f"{url_shown}: {kind}:// is no known kind of URL") from None
    except Exception as error:
        # A file system may connect here, and raise what it likes.
        raise CaptureError(f"{url_shown}: cannot read: {reason(error, url)}") from None
    return found


def _options(kind: str) -> dict[str, Any]:
    if kind not in HTTP:
        return {}
    from aiohttp import ClientTimeout

    timeout = ClientTimeout(total=None, sock_connect=CONNECT_S, sock_read=READ_S)
    return {
        # Bytes as stored: a server may call a packed capture an encoding of another.
        "headers": {"Accept-Encoding": "identity"},
        "client_kwargs": {"auto_decompress": False, "timeout": timeout},
    }


def version(about: Mapping[str, Any]) -> str:
    """The version in what a file system says of a file: changes with it; empty if unknown."""
    return next((str(about[name]) for name in VERSIONS if about.get(name)), "")


def part(url: str, begin: int, end: int) -> bytes:
    """Some bytes of a file. Raises what its file system raises."""
    fs, path = opened(url)
    if begin == end:
        return b""
    try:
        with fs.open(path, "rb", block_size=end - begin, cache_type="none", size=end) as file:
            file.seek(begin)
            content: bytes = file.read(end - begin)
    except ValueError:
        raise OSError("the server sends whole files only, or does not tell their size") from None
    if len(content) < end - begin:
        raise EOFError(f"ends {end - begin - len(content):,} bytes too early")
    return content


def copy(url: str, to: IO[bytes], size: int) -> None:
    """The first `size` bytes of a file: what came later is left to the next run."""
    fs, path = opened(url)
    try:
        fs.get_file(path, f"/dev/fd/{to.fileno()}")
    except Exception:
        # A connection that broke stays broken: the next attempt gets another.
        fs.clear_instance_cache()
        raise
    if (missing := size - to.seek(0, 2)) > 0:
        raise EOFError(f"ends {missing:,} of {size:,} bytes too early")
    to.truncate(size)
    to.seek(0)


def reason(error: BaseException, url: str = "") -> str:
    """Why a file system failed, in a few words without anything secret."""
    if isinstance(error, FileNotFoundError) and error.__cause__ is not None:
        # fsspec says so of every answer to HTTP but the right one.
        return reason(error.__cause__, url)
    status = getattr(error, "status", None)
    if isinstance(status, int) and status in set(HTTPStatus):
        return f"HTTP {status}: {HTTPStatus(status).phrase.lower()}"
    for kind, why in REASONS.items():
        if isinstance(error, kind):
            return why
    text = files.reason_of(error) if isinstance(error, OSError) else str(error)
    line = text.strip().partition("\n")[0]
    words = re.split("[?#&=]", url)[1:] if scheme(url) in HTTP else []
    secrets = {secret.lower() for word in words if word for secret in (word, unquote(word))}
    # A server may lead to a URL with secrets of its own.
    if not line or "://" in line or any(secret in line.lower() for secret in secrets):
        return type(error).__name__
    return line
