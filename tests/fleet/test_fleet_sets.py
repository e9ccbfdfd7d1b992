"""Each file counts once, whatever it is called; only what is new is scanned."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from fleets import HIDDEN, answered
from nagle_scan.fleet import identity, inputs, sets
from nagle_scan.fleet.dataset import Dataset
from nagle_scan.fleet.work import Capture, Job, Known, Ledger, Secret
from nagle_scan.words.wording import printable
from web import USER, served

NOTHING = Ledger({}, {}, {})


def capture(second: int, frames: int = 1, fill: bytes = b"a", length: int = 60) -> bytes:
    """With frames of Ethernet and nothing in them."""
    header = bytes.fromhex("d4c3b2a1020004000000000000000000ffff000001000000")
    times = ((1_800_000_000 + second + n).to_bytes(4, "little") for n in range(frames))
    after = bytes(4) + length.to_bytes(4, "little") * 2 + fill * length
    return header + b"".join(time + after for time in times)


class Archive:
    """A folder, and what a dataset knows of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.known = NOTHING

    def put(self, name: str, content: bytes) -> None:
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_bytes(content)

    def captures(self, *named: str) -> list[Capture]:
        found = inputs.find([str(self.folder / name) for name in named or ("",)])
        return [one for one in identity.of_all(found) if isinstance(one, Capture)]

    def plan(self, *named: str) -> sets.Plan:
        return sets.plan(self.captures(*named), self.known)

    def run(self, *named: str) -> list[list[str]]:
        """Plans and does it all; the names in each set."""
        plan = self.plan(*named)
        self.done(plan.jobs)
        return [self.names(job) for job in plan.jobs]

    def names(self, job: Job) -> list[str]:
        return [os.path.relpath(one.url, self.folder) for one in job.captures]

    def done(self, jobs: Sequence[Job]) -> None:
        """As a dataset does: what a job replaces is gone."""
        assert len({job.id for job in jobs}) == len(jobs)
        members = dict(self.known.members)
        for job in jobs:
            if job.replaces:
                del members[job.replaces]
            members[job.id] = job.captures
        at = {one.shown: Known(one, set_id) for set_id, every in members.items() for one in every}
        contents = {one.content: set_id for set_id, every in members.items() for one in every}
        self.known = Ledger(contents, at, members)


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    return Archive(tmp_path)


def test_a_rotation_is_one_set_in_the_order_of_its_first_frames(archive: Archive) -> None:
    for number, second in enumerate((30, 10, 20)):
        archive.put(f"h1/ring.pcap{number}", capture(second))
    archive.put("h2/ring.pcap0", capture(5))
    archive.put("h1/other.pcap", capture(7))
    assert archive.run() == [
        ["h1/other.pcap"],
        ["h1/ring.pcap1", "h1/ring.pcap2", "h1/ring.pcap0"],
        ["h2/ring.pcap0"],
    ]


def test_an_empty_file_is_the_last_of_its_rotation(archive: Archive) -> None:
    archive.put("ring.pcap0", capture(0, frames=0))
    archive.put("ring.pcap1", capture(1))
    assert archive.run() == [["ring.pcap1", "ring.pcap0"]]


def test_hosts_do_not_share_a_rotation(archive: Archive) -> None:
    archive.put("ring.pcap0", capture(0))
    archive.put("ring.pcap1", capture(1))
    first, second = archive.captures()
    hosts = [first._replace(host="h1"), second._replace(host="h2")]
    assert [job.name for job in sets.plan(hosts, NOTHING).jobs] == [one.shown for one in hosts]


def test_a_content_under_two_names_counts_once(archive: Archive) -> None:
    archive.put("a.pcap", capture(0))
    archive.put("b\x1b[2J.pcap", capture(0))
    (archive.folder / "c.pcap").symlink_to("a.pcap")
    os.link(archive.folder / "a.pcap", archive.folder / "d.pcap")
    plan = archive.plan()
    assert [archive.names(job) for job in plan.jobs] == [["a.pcap"]]
    assert len(plan.notes) == 3
    assert all(note.endswith("a.pcap again: read once") for note in plan.notes)
    assert all(printable(note) == note for note in plan.notes)
    archive.done(plan.jobs)
    assert archive.plan() == sets.Plan([], [], 4, 1, [])


def test_a_thousand_copies_are_counted_not_listed(archive: Archive) -> None:
    archive.put("a.pcap", capture(0))
    for number in range(1000):
        os.link(archive.folder / "a.pcap", archive.folder / f"b{number:03d}.pcap")
    *named, more = archive.plan().notes
    assert len(named) == 3
    assert more == "997 more files with the content of another: read once"


def test_captures_without_frames_are_not_each_others_copies(archive: Archive) -> None:
    archive.put("a.pcap", capture(0, frames=0))
    archive.put("b.pcap", capture(0, frames=0))
    assert archive.run() == [["a.pcap"], ["b.pcap"]]
    assert archive.plan().known_count == 2
    archive.put("b.pcap", capture(9))
    assert archive.run() == [["b.pcap"]]
    assert len(archive.known.members) == 2


def test_only_what_is_new_is_done(archive: Archive) -> None:
    archive.put("ring.pcap0", capture(0))
    archive.put("ring.pcap1", capture(1))
    archive.run()
    archive.put("ring.pcap2", capture(2))
    archive.put("ring.pcap3", capture(3))
    archive.put("new.pcap", capture(4))
    plan = archive.plan()
    assert [archive.names(job) for job in plan.jobs] == [["new.pcap"], ["ring.pcap2", "ring.pcap3"]]
    assert plan.known_count == 2
    assert not any(job.replaces for job in plan.jobs)


def test_a_file_that_was_renamed_is_known(archive: Archive) -> None:
    archive.put("a.pcap", capture(0))
    archive.run()
    (archive.folder / "a.pcap").rename(archive.folder / "b.pcap")
    assert archive.plan().jobs == []


@pytest.mark.parametrize("frames", [1, 100, 2000])
def test_a_file_that_grew_is_done_again_with_its_set(frames: int, archive: Archive) -> None:
    archive.put("ring.pcap0", capture(0))
    archive.put("ring.pcap1", capture(1, frames))
    archive.put("other.pcap", capture(5))
    archive.run()
    (old,) = {archive.known.at[str(archive.folder / "ring.pcap0")].set}
    archive.put("ring.pcap1", capture(1, frames + 1))
    archive.put("ring.pcap2", capture(9000))
    plan = archive.plan()
    (job,) = plan.jobs
    assert archive.names(job) == ["ring.pcap0", "ring.pcap1", "ring.pcap2"]
    assert job.replaces == old != job.id
    assert (plan.known_count, plan.known_sets) == (1, 1), "what is scanned again is told once"
    archive.done([job])
    assert archive.plan() == sets.Plan([], [], 4, 2, [])


def test_what_overlaps_a_set_that_grew_is_no_part_of_it(archive: Archive) -> None:
    archive.put("ring.pcap0", capture(0))
    archive.put("ring.pcap1", capture(1))
    archive.run()
    archive.put("ring.pcap1", capture(1, frames=2))
    archive.put("ring.pcap2", capture(1, frames=2, fill=b"b"))
    jobs = archive.plan().jobs
    assert [archive.names(job) for job in jobs] == [["ring.pcap0", "ring.pcap1"], ["ring.pcap2"]]
    assert [bool(job.replaces) for job in jobs] == [True, False]


def test_a_file_that_had_no_frame_yet_grows_in_its_set(archive: Archive) -> None:
    archive.put("ring.pcap0", capture(0))
    archive.put("ring.pcap1", capture(1, frames=0))
    assert archive.run() == [["ring.pcap0", "ring.pcap1"]]
    archive.put("ring.pcap1", capture(1))
    (job,) = archive.plan().jobs
    assert archive.names(job) == ["ring.pcap0", "ring.pcap1"]
    assert job.replaces


def test_a_copy_of_a_file_that_grew_does_not_take_its_place(archive: Archive) -> None:
    """Otherwise what it was before would count beside what it is now."""
    archive.put("b.pcap", capture(0))
    archive.run()
    archive.put("b.pcap", capture(0, frames=2))
    archive.put("a.pcap", capture(0, frames=2))
    (job,) = archive.plan().jobs
    assert archive.names(job) == ["b.pcap"]
    assert job.replaces


def test_a_ring_that_began_anew_is_new_and_what_was_stays(archive: Archive) -> None:
    archive.put("ring.pcap", capture(0))
    archive.run()
    archive.put("ring.pcap", capture(500, frames=2))
    (job,) = archive.plan().jobs
    assert not job.replaces
    archive.put("ring.pcap", capture(0, frames=2, fill=b"b"))
    (job,) = archive.plan().jobs
    assert not job.replaces, "the same time, other bytes"


def test_a_tiny_ring_that_began_anew_is_new(archive: Archive) -> None:
    """It has no first bytes to compare but those of its header."""
    archive.put("ring.pcap", capture(0, length=14))
    archive.run()
    archive.put("ring.pcap", capture(500, frames=2, length=14))
    (job,) = archive.plan().jobs
    assert not job.replaces


def test_members_that_are_not_named_this_time_are_looked_for(archive: Archive) -> None:
    archive.put("ring.pcap0", capture(0))
    archive.put("ring.pcap1", capture(1))
    archive.run()
    archive.put("ring.pcap1", capture(1, frames=2))
    (job,) = archive.plan("ring.pcap1").jobs
    assert archive.names(job) == ["ring.pcap0", "ring.pcap1"]


def test_members_that_moved_are_found_by_what_they_hold(archive: Archive) -> None:
    archive.put("ring.pcap0", capture(0))
    archive.put("ring.pcap1", capture(1))
    archive.run()
    archive.put("ring.pcap1", capture(1, frames=2))
    (archive.folder / "old").mkdir()
    (archive.folder / "ring.pcap0").rename(archive.folder / "old" / "ring.pcap0")
    (job,) = archive.plan().jobs
    assert archive.names(job) == ["old/ring.pcap0", "ring.pcap1"]


@pytest.mark.parametrize("is_overwritten", [False, True])
def test_a_set_that_lost_files_keeps_its_result(is_overwritten: bool, archive: Archive) -> None:
    archive.put("ring.pcap0", capture(0))
    archive.put("ring.pcap1", capture(1))
    archive.run()
    archive.put("ring.pcap1", capture(1, frames=2))
    (archive.folder / "ring.pcap0").unlink()
    if is_overwritten:
        archive.put("ring.pcap0", capture(700))
    archive.put("new.pcap", capture(9))
    plan = archive.plan()
    (failure,) = plan.failures
    assert failure.path.endswith("ring.pcap1")
    assert failure.reason == "grew, but not all files of its set were found"
    assert failure.set in archive.known.members
    expected = [["new.pcap"], *([["ring.pcap0"]] if is_overwritten else [])]
    assert [archive.names(job) for job in plan.jobs] == expected
    assert not any(job.replaces for job in plan.jobs)


def test_names_that_are_hidden_are_known_all_the_same(
    archive: Archive, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = str(tmp_path_factory.mktemp("fleet"))
    archive.put("ring.pcap0", capture(0))
    archive.put("ring.pcap1", capture(1))
    (first,) = archive.plan().jobs
    data = Dataset(folder, HIDDEN)
    data.add(first, answered(first, HIDDEN))
    data.close()
    archive.put("ring.pcap1", capture(1, frames=2))
    found = keyed(archive)
    (job,) = sets.plan(found, Dataset(folder, HIDDEN).ledger(found)).jobs
    assert archive.names(job) == ["ring.pcap0", "ring.pcap1"]
    assert job.replaces == first.id


def keyed(archive: Archive, *named: str, host: str = "") -> list[Capture]:
    """As a run with a key finds them."""
    found = archive.captures(*named)
    return [identity.keyed(one, HIDDEN.key)._replace(host=host) for one in found]


def hidden(archive: Archive, folder: Path, *named: str, host: str = "") -> list[Capture]:
    """What is in the archive now, which `archive.known` has under names that lead nowhere."""
    data = Dataset(str(folder), HIDDEN)
    for job in archive.plan().jobs:
        captures = tuple(one._replace(host=host) for one in job.captures)
        whole = job._replace(captures=captures)
        data.add(whole, answered(whole, HIDDEN))
    data.close()
    archive.put("ring.pcap1", capture(1, frames=2))
    found = keyed(archive, *named, host=host)
    archive.known = Dataset(str(folder), HIDDEN).ledger(found)
    return found


def test_members_with_hidden_names_are_not_said_to_be_gone(
    archive: Archive, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive.put("ring.pcap0", capture(0))
    archive.put("ring.pcap1", capture(1))
    found = hidden(archive, tmp_path_factory.mktemp("fleet"), "ring.pcap1")
    (name,) = (
        one.url for every in archive.known.members.values() for one in every if one not in found
        if one.url.startswith("capture-")
    )  # fmt: skip
    elsewhere = tmp_path_factory.mktemp("here")
    (elsewhere / name).write_bytes(capture(0))
    monkeypatch.chdir(elsewhere)
    plan = sets.plan(found, archive.known)
    (failure,) = plan.failures
    assert failure.path == found[0].shown
    assert failure.reason == "grew, but not all files of its set were found"
    assert plan.jobs == [], "a file with the name that stands for another is none of them"


def test_members_that_need_a_password_are_not_said_to_be_gone(archive: Archive) -> None:
    archive.put("open/ring.pcap0", capture(0))
    archive.put("open/ring.pcap1", capture(1))
    with served(archive.folder / "open") as web:
        urls = [web.url("user", f"ring.pcap{number}", USER) for number in range(2)]
        (job,) = sets.plan(read(*urls), NOTHING).jobs
        # As a dataset has them.
        archive.done([job._replace(captures=tuple(c._replace(access=Secret()) for c in job[2]))])
        archive.put("open/ring.pcap1", capture(1, frames=2))
        plan = sets.plan(read(urls[1]), archive.known)
        (failure,) = plan.failures
        assert failure.reason == "grew, but not all files of its set were found"
        assert sets.plan(read(*urls), archive.known).failures == []


def read(*named: str) -> list[Capture]:
    return [one for one in identity.of_all(inputs.find(named)) if isinstance(one, Capture)]


@pytest.mark.parametrize("host", ["", "web-1"])
def test_a_hidden_file_that_grew_and_was_renamed_counts_once(
    host: str, archive: Archive, tmp_path_factory: pytest.TempPathFactory
) -> None:
    archive.put("ring.pcap1", capture(1))
    folder = tmp_path_factory.mktemp("fleet")
    hidden(archive, folder, host=host)
    (archive.folder / "ring.pcap1").rename(archive.folder / "done.pcap")
    found = keyed(archive, host=host)
    (job,) = sets.plan(found, Dataset(str(folder), HIDDEN).ledger(found)).jobs
    assert job.replaces


def test_a_growing_file_named_through_a_link_counts_once(
    archive: Archive,
) -> None:
    archive.put("real/live.pcap", capture(0, frames=5))
    (archive.folder / "link").symlink_to("real")
    assert archive.run("link/live.pcap") == [["link/live.pcap"]]
    archive.put("real/live.pcap", capture(0, frames=9))
    found = archive.captures("real/live.pcap")
    archive.put("real/live.pcap", capture(0, frames=11))
    (job,) = sets.plan(found, archive.known).jobs
    assert job.replaces, "it grows also between two looks"


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_a_file_with_two_names_that_grows_counts_once(
    link: Callable[[Path, Path], None], archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive.put("a.pcap", capture(0))
    link(archive.folder / "a.pcap", archive.folder / "b.pcap")
    local = identity._local

    def grown(path: str) -> object:
        told = local(path)
        with (archive.folder / "a.pcap").open("ab") as file:
            file.write(capture(5)[24:])
        return told

    monkeypatch.setattr(identity, "_local", grown)
    plan = archive.plan("", "*.pcap")
    assert [archive.names(job) for job in plan.jobs] == [["a.pcap"]]
    archive.done(plan.jobs)
    (job,) = archive.plan("b.pcap", "a.pcap").jobs
    assert job.replaces


def test_a_file_that_grew_and_was_renamed_takes_its_own_place(archive: Archive) -> None:
    archive.put("now.pcap", capture(0, frames=1500))
    archive.put("old.pcap", capture(500))
    archive.run()
    archive.put("now.pcap", capture(0, frames=3000))
    (archive.folder / "now.pcap").rename(archive.folder / "yesterday.pcap")
    archive.put("now.pcap", capture(9000))
    plan = archive.plan()
    assert sorted(archive.names(job) for job in plan.jobs) == [["now.pcap"], ["yesterday.pcap"]]
    archive.done(plan.jobs)
    assert sorted(
        os.path.basename(one.url) for every in archive.known.members.values() for one in every
    ) == ["now.pcap", "old.pcap", "yesterday.pcap"]
    assert archive.plan() == sets.Plan([], [], 3, 3, [])


def test_a_longer_capture_does_not_replace_one_that_is_there(
    archive: Archive,
) -> None:
    archive.put("short.pcap", capture(0, frames=5))
    archive.run()
    archive.put("long.pcap", capture(0, frames=9))
    assert archive.run() == [["long.pcap"]]
    assert len(archive.known.members) == 2


def test_a_file_that_grew_and_lost_its_name_counts_once(
    archive: Archive,
) -> None:
    archive.put("live.pcap", capture(0, frames=5))
    archive.run()
    archive.put("live.pcap", capture(500))
    assert archive.run() == [["live.pcap"]]
    archive.put("done.pcap", capture(0, frames=9))
    assert archive.run() == [["done.pcap"]]
    assert sorted(one.size for every in archive.known.members.values() for one in every) == [
        len(capture(500)),
        len(capture(0, frames=9)),
    ]


def test_an_older_copy_of_a_file_that_grew_is_not_read_again(archive: Archive) -> None:
    archive.put("ring.pcap", capture(0, frames=1500))
    archive.run()
    archive.put("copy.pcap", capture(0, frames=1500))
    archive.put("ring.pcap", capture(0, frames=3000))
    assert archive.run() == [["ring.pcap"]]
    for _ in range(2):
        plan = archive.plan()
        assert (plan.jobs, plan.failures, plan.known_count) == ([], [], 2)


def test_a_file_that_was_cut_short_is_known(archive: Archive) -> None:
    archive.put("ring.pcap", capture(0, frames=3000))
    archive.run()
    archive.put("ring.pcap", capture(0, frames=1500))
    assert archive.run() == []


def test_of_a_file_and_what_it_was_the_longer_is_read(archive: Archive) -> None:
    archive.put("a.pcap", capture(0, frames=1500))
    archive.put("b.pcap", capture(0, frames=3000))
    plan = archive.plan()
    assert [archive.names(job) for job in plan.jobs] == [["b.pcap"]]
    assert len(plan.notes) == 1


def test_a_file_beside_its_compressed_copy_is_read_once(archive: Archive) -> None:
    archive.put("a.pcap", capture(0))
    archive.put("a.pcap.gz", gzip.compress(capture(0)))
    archive.put("b.pcap.gz", gzip.compress(capture(0, fill=b"b")))
    plan = archive.plan()
    assert [archive.names(job) for job in plan.jobs] == [["a.pcap"], ["b.pcap.gz"]]
    assert [note for note in plan.notes if "a.pcap.gz" in note]
    archive.done(plan.jobs)
    assert archive.plan().jobs == []


def test_a_file_compressed_after_its_rotation_counts_once(archive: Archive) -> None:
    """As `tcpdump -z gzip` and logrotate do; it may have grown before that."""
    archive.put("ring.pcap0", capture(0))
    archive.put("ring.pcap1", capture(10))
    archive.run()
    (archive.folder / "ring.pcap1").unlink()
    archive.put("ring.pcap1.gz", gzip.compress(capture(10, frames=3)))
    plan = archive.plan()
    (job,) = plan.jobs
    assert archive.names(job) == ["ring.pcap0", "ring.pcap1.gz"]
    assert job.replaces
    archive.done(plan.jobs)
    assert archive.plan().jobs == []


def test_captures_with_the_same_first_frame_are_planned_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each is not compared with each."""
    compared = [0]
    grew = identity.grew

    def counted(before: Capture, now: Capture) -> bool:
        compared[0] += 1
        return grew(before, now)

    monkeypatch.setattr(identity, "grew", counted)
    many = [Capture(f"/{n}.pcap", "", 100, f"{n}", f"{n:08x}" * 2, 7) for n in range(2000)]
    first = sets.plan(many[:1000], NOTHING)
    members = {job.id: job.captures for job in first.jobs}
    contents = {one.content: name for name, every in members.items() for one in every}
    at = {one.shown: Known(one, name) for name, every in members.items() for one in every}
    assert len(sets.plan(many, Ledger(contents, at, members)).jobs) == 1000
    assert compared[0] < 4 * len(many)
