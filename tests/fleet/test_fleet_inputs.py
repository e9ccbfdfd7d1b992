"""What is named is found: paths, folders, globs, lists and URLs; what is not is one clear line."""

from __future__ import annotations

import builtins
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import fsspec
import pytest
from conftest import CAPTURES
from nagle_scan import CaptureError
from nagle_scan.fleet import identity, inputs, remote
from nagle_scan.fleet.work import Capture, Failure, Located
from nagle_scan.words.wording import printable
from web import Web, served

CAPTURE = (CAPTURES / "epoll-fd0.pcap").read_bytes()


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Web]:
    with served(tmp_path) as server:
        yield server


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """Two captures by name, one by content, a note."""
    for name in ("a/one.pcap", "a/deep/two.pcapng.gz", "b/ring"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(CAPTURE)
    (tmp_path / "a" / "one.pcap.md5").write_text("none")
    return tmp_path


def names(found: list[Located], top: Path | str) -> list[str]:
    return [one.url.removeprefix(f"{top}/") for one in found]


@pytest.mark.parametrize(
    ("named", "expected", "left_out"),
    [
        ("", ["a/one.pcap", "a/deep/two.pcapng.gz", "b/ring"], 1),
        ("**", ["a/deep/two.pcapng.gz", "a/one.pcap", "b/ring"], 1),
        ("a/*.pcap", ["a/one.pcap"], 0),
        ("?", ["a/one.pcap", "a/deep/two.pcapng.gz", "b/ring"], 1),
        ("a/one.pcap.md5", ["a/one.pcap.md5"], 0),
    ],
)
def test_paths_folders_and_globs(
    named: str, expected: list[str], left_out: int, archive: Path
) -> None:
    notes: list[str] = []
    found = inputs.find([str(archive / named)], notes=notes)
    assert sorted(names(found, archive)) == sorted(expected)
    assert [f"{left_out} other file left out" in note for note in notes] == [True] * left_out


def test_a_path_means_the_same_wherever_the_next_run_begins(
    archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(archive / "a")
    here = ["one.pcap", "./one.pcap", "../a/*.pcap", f"file://{archive}/a/one.pcap"]
    (found,) = inputs.find(here)
    about = (archive / "a" / "one.pcap").stat()
    path = str(archive / "a" / "one.pcap")
    assert found == Located(path, size=len(CAPTURE), modified=str(about.st_mtime_ns))


def test_captures_by_name_are_not_opened(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A night's run over 200,000 known ones would read them all."""
    monkeypatch.setattr(builtins, "open", None)
    monkeypatch.setattr(os, "open", None)
    monkeypatch.setattr("nagle_scan._core.first_time_ns", None)
    assert len(inputs.find([str(archive / "a" / "*.pcap"), str(archive / "a" / "deep")])) == 2


def test_a_name_with_a_star_is_a_name(archive: Path) -> None:
    (archive / "a[1]*.pcap").write_bytes(CAPTURE)
    assert names(inputs.find([f"{archive}/a[1]*.pcap"]), archive) == ["a[1]*.pcap"]


def test_a_list(archive: Path) -> None:
    lines = f"\ufeff{archive}/b/ring\r\n# ring\n \r\n{archive}/a/*.pcap\n{archive}/gone.pcap\n"
    (archive / "list").write_bytes(lines.encode() + os.fsencode(archive) + b"/\xff.pcap\n")
    expected = ["b/ring", "a/one.pcap", "gone.pcap", "\udcff.pcap"]
    assert names(inputs.find([], str(archive / "list")), archive) == expected
    script = "from nagle_scan.fleet import inputs; print(len(inputs.find([], '-')))"
    with (archive / "list").open("rb") as file:
        told = subprocess.run(
            [sys.executable, "-c", script], stdin=file, capture_output=True, check=True
        )
    assert told.stdout == b"4\n"


def test_links_in_circles_are_not_followed_for_ever(archive: Path) -> None:
    for name in ("x", "y"):
        (archive / "a" / name).symlink_to(".")
    (archive / "a" / "b").symlink_to("../b")
    for named in ("**", "**/*.pcap", "**/a/**/*.pcap"):
        found = names(inputs.find([f"{archive}/{named}"]), archive)
        assert [name for name in found if name.endswith(".pcap")] == ["a/one.pcap"]
    assert names(inputs.find([f"{archive}/a/*/ring"]), archive) == ["a/b/ring"]


@pytest.mark.usefixtures("archive")
def test_folders_of_a_web_server(web: Web) -> None:
    notes: list[str] = []
    found = inputs.find([web.url("ranges")], notes=notes)
    assert sorted(names(found, web.url("ranges")[:-1])) == ["a/deep/two.pcapng.gz", "a/one.pcap"]
    assert len(notes) == 1
    found = inputs.find([web.url("ranges", "a/*.pcap")])
    assert names(found, web.url("ranges")[:-1]) == ["a/one.pcap"]


def test_globs_of_a_file_system_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = fsspec.filesystem("memory")
    forgotten: list[bool] = []
    monkeypatch.setattr(memory, "invalidate_cache", lambda: forgotten.append(True))
    memory.pipe({"/fleet/h1/a.pcap": CAPTURE, "/fleet/h2/b.pcap": CAPTURE, "/fleet/c.txt": b""})
    try:
        expected = ["memory://fleet/h1/a.pcap", "memory://fleet/h2/b.pcap"]
        for named in ("memory://fleet/**/*.pcap", "memory://fleet", "memory://fleet/"):
            assert [one.url.replace(":///", "://") for one in inputs.find([named])] == expected
        assert len(forgotten) == 3, "s3fs keeps its listings: a second run would see no new file"
    finally:
        memory.rm("/fleet", recursive=True)


@pytest.mark.parametrize(
    ("named", "says"),
    [
        ("{here}/gone.pcap", "{here}/gone.pcap: cannot read: no such file or directory"),
        ("{here}/*.cap", "{here}/*.cap: no file matches"),
        ("{here}/*.txt", "{here}/*.txt: no capture matches"),
        ("{here}/empty", "{here}/empty: a folder without captures"),
        ("{here}/a\0b", "{here}/a\0b: cannot read: embedded null byte"),
        ("gopher://host/a", "gopher://host/a: gopher:// is no known kind of URL"),
        ("s3://KEY:sec/ret@bucket/a", f"s3://bucket/a: {remote.S3_KEYS}"),
        ("memory://gone/a.pcap", "memory://gone/a.pcap: cannot read: no such file or directory"),
        ("http://{web}/403/a", "http://{web}/403/a: cannot read: HTTP 403: forbidden"),
        ("http://u:pw@{web}/user/a", "http://{web}/user/a: cannot read: HTTP 401: unauthorized"),
        ("http://127.0.0.1:1/a", "http://127.0.0.1:1/a: cannot read: connect call failed*"),
    ],
)
def test_what_cannot_be_is_one_line(named: str, says: str, web: Web, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "a.txt").write_text("none")
    at = {"here": str(tmp_path), "web": f"127.0.0.1:{web.server_port}"}
    with pytest.raises(CaptureError) as told:
        inputs.find([named.format(**at)])
    expected = says.format(**at)
    if expected.endswith("*") and "failed" in expected:
        assert str(told.value).startswith(expected[:-1])
    else:
        assert str(told.value) == expected


@pytest.mark.parametrize("content", [None, "", "# nothing\n"])
def test_a_list_that_names_nothing(content: str | None, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "list").write_text(content)
    why = "cannot read: no such file" if content is None else "a list without names"
    with pytest.raises(CaptureError, match=f"list: {why}"):
        inputs.find([], str(tmp_path / "list"))


@pytest.mark.parametrize("scheme", ["s3", "sftp", "http"])
def test_a_package_that_is_not_there_is_named(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: str) -> None:
        raise ImportError("No module named 'x'")

    monkeypatch.setattr(fsspec, "get_filesystem_class", missing)
    package = remote.PACKAGES[scheme]
    with pytest.raises(CaptureError) as told:
        inputs.find([f"{scheme}://place/a.pcap"])
    needs = f"{scheme}:// needs {package}: pip install {package}"
    assert str(told.value) == f"{scheme}://place/a.pcap: {needs}"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("s3://bucket/a@b:c.pcap", "s3://bucket/a@b:c.pcap"),
        ("s3://KEY:sec/re+t@bucket/a@b.pcap", "s3://bucket/a@b.pcap"),
        ("http://user:p@ss@host:80/a", "http://host:80/a"),
        ("http://host:8080/a@b", "http://host:8080/a@b"),
        ("http://[::1]:80/a@b", "http://[::1]:80/a@b"),
        ("HTTPS://host/a?X-Sig=1#x", "https://host/a"),
        ("sftp://anna@host/a?b", "sftp://anna@host/a?b"),
        ("ssh://anna:pw@host:22/a", "ssh://host:22/a"),
    ],
)
def test_nothing_secret_is_shown(url: str, shown: str) -> None:
    assert remote.shown(url) == shown
    assert remote.shown(shown) == shown


@pytest.mark.parametrize(
    "error",
    [
        OSError("cannot open http://anna:pass%20word@host/a?sig=abc"),
        ValueError("user anna"),
        FileNotFoundError("http://anna:pass%20word@host/a?sig=abc"),
        RuntimeError(""),
    ],
)
def test_an_error_of_a_file_system_tells_nothing_secret(error: Exception) -> None:
    told = remote.reason(error, "http://anna:pass%20word@host/a?sig=abc").lower()
    assert told
    assert not [word for word in ("anna", "pass", "sig=", "abc") if word in told]


def as_nobody(ask: Callable[[], str]) -> str:
    """What a user without any rights is told."""
    if os.geteuid() != 0:
        return ask()
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
        try:
            told = ask()
        except BaseException as error:
            told = str(error)
        os.write(write_end, told.encode())
        os._exit(0)
    os.close(write_end)
    os.waitpid(child, 0)
    with open(read_end) as file:
        return file.read()


@pytest.fixture
def closed() -> Iterator[Path]:
    """A folder that everybody reaches; in it a file and a folder that nobody may read."""
    with tempfile.TemporaryDirectory() as name:
        top = Path(name)
        top.chmod(0o755)
        for path in ("secret.pcap", "open/a.pcap", "secret/b.pcap"):
            (top / path).parent.mkdir(exist_ok=True)
            (top / path).write_bytes(CAPTURE)
        (top / "open").chmod(0o755)
        (top / "open" / "a.pcap").chmod(0o644)
        (top / "secret.pcap").chmod(0)
        (top / "secret").chmod(0)
        yield top
        (top / "secret").chmod(0o700)


@pytest.mark.parametrize("name", ["secret.pcap", "secret", "secret/b.pcap"])
def test_what_is_named_and_may_not_be_read(name: str, closed: Path) -> None:
    def ask() -> str:
        with pytest.raises(CaptureError) as told:
            inputs.find([str(closed / name)])
        return str(told.value)

    assert as_nobody(ask) == f"{closed / name}: cannot read: permission denied"


@pytest.mark.parametrize("named", ["", "**", "**/*.pcap", "*"])
def test_what_may_not_be_read_among_others_is_its_own_failure(named: str, closed: Path) -> None:
    def ask() -> str:
        every = list(identity.of_all(inputs.find([str(closed / named)])))
        failures = [one for one in every if isinstance(one, Failure)]
        assert {one.reason for one in failures} == {"permission denied"}
        read = [one.url for one in every if isinstance(one, Capture)]
        return " ".join(sorted([one.path for one in failures] + read))

    names = ["open/a.pcap", "secret", "secret.pcap"]
    assert as_nobody(ask) == " ".join(str(closed / name) for name in names)


@pytest.mark.parametrize("named", ["secret/*.pcap", "secret/deep/*.pcap", "sec*/deep/*.pcap"])
def test_a_glob_below_an_unreadable_folder_says_so(named: str, closed: Path) -> None:
    def ask() -> str:
        (failure,) = identity.of_all(inputs.find([str(closed / named)]))
        assert isinstance(failure, Failure)
        return f"{failure.path}: {failure.reason}"

    folder = (closed / named).parent if "sec*" not in named else closed / "secret" / "deep"
    assert as_nobody(ask) == f"{folder}: permission denied"


HOSTILE = [b"new\nline.pcap", b"\x1b]0;title\x07\x1b[2J.pcap", b"\xff\xfe.pcap", b"'\"`$(x).pcap"]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_is_a_name(name: bytes, tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/" + name
    Path(os.fsdecode(path)).write_bytes(CAPTURE)
    notes: list[str] = []
    for named in (str(tmp_path), f"{tmp_path}/*.pcap", os.fsdecode(path)):
        (found,) = inputs.find([named], notes=notes)
        result = identity.of(found)
        if name.startswith(b"\xff"):
            assert isinstance(result, Failure)
            assert result.reason == f"{os.fsdecode(path)!a}: the name is not UTF-8"
            result.path.encode()
        else:
            assert isinstance(result, Capture)
            assert os.fsencode(result.url) == path
    assert all(printable(note) == note for note in notes)
