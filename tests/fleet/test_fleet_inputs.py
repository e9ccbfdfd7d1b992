"""Paths, folders, globs, lists and URLs are found; a name that is not gets one clear line."""

from __future__ import annotations

import builtins
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import fsspec
import pytest
from conftest import CAPTURES
from nagle_scan import CaptureError
from nagle_scan.fleet import inputs, remote
from nagle_scan.fleet.work import Failure, File
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


def names(found: inputs.Found, top: Path | str) -> list[str]:
    return [path.removeprefix(f"{top}/") for path in found.files]


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
    found = inputs.find([str(archive / named)])
    assert sorted(names(found, archive)) == sorted(expected)
    assert [f"{left_out} other file left out" in note for note in found.notes] == [True] * left_out


def test_a_path_means_the_same_wherever_the_next_run_begins(
    archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(archive / "a")
    here = ["one.pcap", "./one.pcap", "../a/*.pcap", f"file://{archive}/a/one.pcap"]
    (found,) = inputs.find(here).files.values()
    about = (archive / "a" / "one.pcap").stat()
    path = str(archive / "a" / "one.pcap")
    assert found == File(path, inputs.host(), len(CAPTURE), str(about.st_mtime_ns))


def test_captures_by_name_are_not_opened(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A night's run over 200,000 known ones would read them all."""
    monkeypatch.setattr(builtins, "open", None)
    monkeypatch.setattr(os, "open", None)
    monkeypatch.setattr("nagle_scan._core.first_time_ns", None)
    named = [str(archive / "a" / "*.pcap"), str(archive / "a" / "deep")]
    assert len(inputs.find(named).files) == 2


def test_a_name_with_a_star_is_a_name(archive: Path) -> None:
    (archive / "a[1]*.pcap").write_bytes(CAPTURE)
    assert names(inputs.find([f"{archive}/a[1]*.pcap"]), archive) == ["a[1]*.pcap"]


def test_a_list(archive: Path) -> None:
    lines = f"\ufeff{archive}/b/ring\r\n# ring\n \r\n{archive}/a/*.pcap\n{archive}/gone.pcap\n"
    (archive / "list").write_bytes(lines.encode() + os.fsencode(archive) + b"/\xff.pcap\n")
    expected = ["b/ring", "a/one.pcap", "gone.pcap", "\udcff.pcap"]
    found = inputs.find([], inputs.names_in(str(archive / "list")))
    assert names(found, archive) == expected
    for content, why in ((None, "cannot read: no such file"), ("# no\n", "a list without names")):
        if content is not None:
            (archive / "list2").write_text(content)
        with pytest.raises(CaptureError, match=f"list2: {why}"):
            inputs.names_in(str(archive / "list2"))


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
    found = inputs.find([web.url("ranges")])
    assert sorted(names(found, web.url("ranges")[:-1])) == ["a/deep/two.pcapng.gz", "a/one.pcap"]
    assert len(found.notes) == 1
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
            found = inputs.find([named]).files
            assert [path.replace(":///", "://") for path in found] == expected
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
        ("s3://KEY:sec/ret@bucket/a", f"s3://: {remote.NO_PASSWORD}"),
        ("memory://gone/a.pcap", "memory://gone/a.pcap: cannot read: no such file or directory"),
        ("http://{web}/403/a", "http://{web}/403/a: cannot read: HTTP 403: forbidden"),
        ("http://u:pw@{web}/user/a", f"http://: {remote.NO_PASSWORD}"),
        ("http://127.0.0.1:1/a", "http://127.0.0.1:1/a: cannot read: connect call failed ..."),
    ],
)
def test_what_cannot_be_is_one_line(named: str, says: str, web: Web, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "a.txt").write_text("none")
    at = {"here": str(tmp_path), "web": f"127.0.0.1:{web.server_port}"}
    with pytest.raises(CaptureError) as refusal:
        inputs.find([named.format(**at)])
    expected, is_begin, _ = says.format(**at).partition(" ...")
    said = str(refusal.value)
    assert said == expected or (is_begin and said.startswith(expected))


@pytest.mark.parametrize("scheme", ["s3", "sftp", "http"])
def test_a_package_that_is_not_there_is_named(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: str) -> None:
        raise ImportError("No module named 'x'")

    monkeypatch.setattr(fsspec, "get_filesystem_class", missing)
    package = remote.PACKAGES[scheme]
    with pytest.raises(CaptureError) as refusal:
        inputs.find([f"{scheme}://place/a.pcap"])
    needs = f"{scheme}:// needs {package}: pip install {package}"
    assert str(refusal.value) == f"{scheme}://place/a.pcap: {needs}"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("s3://bucket/a@b:c.pcap", "s3://bucket/a@b:c.pcap"),
        ("s3://KEY:sec/re+t@bucket/a@b.pcap", None),
        ("s3://KEY@bucket/a", None),
        ("http://user:p@ss@host:80/a", None),
        ("http://user:p/ss@host:80/a", None),
        ("http://token@host/a", None),
        ("ssh://anna:pw@host:22/a", None),
        ("http://host:8080/a@b", "http://host:8080/a@b"),
        ("http://[::1]:80/a@b", "http://[::1]:80/a@b"),
        ("HTTPS://host/a?X-Sig=1#x", "HTTPS://host/a"),
        ("sftp://anna@host/a?b", "sftp://anna@host/a?b"),
    ],
)
def test_a_password_is_refused_and_no_signature_shown(url: str, shown: str | None) -> None:
    if shown is None:
        with pytest.raises(
            CaptureError, match="a URL with a password or key: keep it in"
        ) as refusal:
            inputs.find([url])
        assert not [
            word for word in ("sec", "pw", "ss@", "token", "KEY") if word in str(refusal.value)
        ]
    else:
        assert remote.shown(url) == shown


def test_a_signed_url_opens_and_its_signature_is_never_shown(web: Web, tmp_path: Path) -> None:
    (tmp_path / "a.pcap").write_bytes(CAPTURE)
    url = web.url("ranges", "a.pcap?sig=pass-word")
    (found,) = inputs.dated(inputs.find([url]).files.values())
    assert isinstance(found, File)
    assert "pass-word" not in repr(found)
    with inputs.readable(found) as path:
        assert Path(path).read_bytes() == CAPTURE
    for error in (
        ValueError("sig=pass-word"),
        OSError("http://x/?sig=pass-word"),
        RuntimeError(""),
    ):
        refusal = remote.reason(error, url)
        assert refusal
        assert "pass-word" not in refusal


def test_half_of_a_remote_capture_never_passes_for_one(
    web: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor does a copy stay on the disk."""
    copies = tmp_path / "copies"
    copies.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(copies))
    whole = CAPTURE + CAPTURE[24:] * 5
    (tmp_path / "a.pcap").write_bytes(whole)
    (found,) = inputs.dated(inputs.find([web.url("ranges", "a.pcap")]).files.values())
    assert isinstance(found, File)
    with inputs.readable(found) as path:
        assert Path(path).read_bytes() == whole
    (whole_only,) = inputs.dated([found._replace(path=web.url("whole", "a.pcap"))])
    assert isinstance(whole_only, File)
    assert whole_only.first_ns == found.first_ns, "of a server that sends no parts"
    for how in ("drops", "404"):
        cut = found._replace(path=web.url(how, "a.pcap"))
        with pytest.raises(CaptureError, match="cannot copy: "), inputs.readable(cut):
            pass
    assert list(copies.iterdir()) == []


def test_a_ring_that_goes_round_while_it_is_read_is_not_the_old_capture(tmp_path: Path) -> None:
    path = tmp_path / "ring.pcap"
    for content in (CAPTURE, CAPTURE[:24]):
        path.write_bytes(content)
        (found,) = inputs.dated([inputs.of_path(str(path))])
        assert isinstance(found, File)
        with pytest.raises(CaptureError, match="changed while it was read"), inputs.readable(found):
            path.write_bytes((CAPTURES / "jdk-httpserver-nodelay.pcap").read_bytes() * 9)
    path.write_bytes(CAPTURE)
    (found,) = inputs.dated([inputs.of_path(str(path))])
    assert isinstance(found, File)
    with inputs.readable(found):
        path.write_bytes(CAPTURE + CAPTURE[24:])


def as_nobody(ask: Callable[[], str]) -> str:
    """The answer to a user without any rights."""
    if os.geteuid() != 0:
        return ask()
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
        try:
            refusal = ask()
        except BaseException as error:
            refusal = str(error)
        os.write(write_end, refusal.encode())
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
        with pytest.raises(CaptureError) as refusal:
            inputs.find([str(closed / name)])
        return str(refusal.value)

    assert as_nobody(ask) == f"{closed / name}: cannot read: permission denied"


@pytest.mark.parametrize("named", ["", "**", "**/*.pcap", "*", "secret/*.pcap"])
def test_what_may_not_be_read_among_others_is_its_own_failure(named: str, closed: Path) -> None:
    def ask() -> str:
        found = inputs.find([str(closed / named)])
        every = inputs.dated(found.files.values())
        failures = [one for one in (*found.failures, *every) if isinstance(one, Failure)]
        assert {one.reason for one in failures} == {"permission denied"}
        read = [one.path for one in every if isinstance(one, File)]
        return " ".join(sorted([one.file.path for one in failures] + read))

    names = ["secret"] if "/*" in named[2:] and "**" not in named else NAMES
    assert as_nobody(ask) == " ".join(str(closed / name) for name in names)


NAMES = ["open/a.pcap", "secret", "secret.pcap"]
HOSTILE = [b"new\nline.pcap", b"\x1b]0;title\x07\x1b[2J.pcap", b"\xff\xfe.pcap", b"'\"`$(x).pcap"]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_is_a_name(name: bytes, tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/" + name
    Path(os.fsdecode(path)).write_bytes(CAPTURE)
    for named in (str(tmp_path), f"{tmp_path}/*.pcap", os.fsdecode(path)):
        found = inputs.find([named])
        (result,) = inputs.dated(found.files.values())
        if name.startswith(b"\xff"):
            assert isinstance(result, Failure)
            assert result.reason == f"{os.fsdecode(path)!a}: the name is not UTF-8"
        else:
            assert isinstance(result, File)
            assert os.fsencode(result.path) == path
        assert all(printable(note) == note for note in found.notes)


def test_a_pipe_or_folder_is_a_failure_of_its_own(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    names = [str(tmp_path / "gone"), str(CAPTURES / "epoll-fd0.pcap"), str(tmp_path / "pipe")]
    gone, read, pipe = inputs.dated(map(inputs.of_path, names))
    assert gone == Failure(File(names[0], inputs.host()), "no such file or directory")
    assert isinstance(read, File)
    assert isinstance(pipe, Failure)
    assert pipe.reason == "a folder, pipe or device, which a fleet does not read"
