"""Files below a folder, reached through no link: whoever writes there may swap them at any time."""

import os


def opened(folder: str, path: str, flags: int = 0) -> int:
    """A descriptor for reading `path`, which is relative to `folder` and without `..`.

    A pipe does not wait for its writer. Raises `OSError`, also for a link below `folder`.
    """
    # Linux: a folder on the way need not be readable.
    way = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW
    *between, name = path.split(os.sep)
    parent = os.open(folder, way)
    try:
        for one in between:
            above, parent = parent, os.open(one, way, dir_fd=parent)
            os.close(above)
        flags |= os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
        return os.open(name, flags, dir_fd=parent)
    finally:
        os.close(parent)
