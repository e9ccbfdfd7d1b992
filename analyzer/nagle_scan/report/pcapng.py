"""pcapng files of frames with comments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nagle_scan import _core, files


def write(
    path: str,
    about: str,
    frames: Sequence[_core.FrameRow],
    comments: Mapping[int, Sequence[str]],
) -> None:
    """Writes `frames`, each with the `comments` on its number; `about` is the file's comment.

    Raises `OutputError`, also for a comment longer than 65,535 bytes.
    """
    with files.whole(path) as name:
        _core.write_pcapng(name, about, frames, comments)
