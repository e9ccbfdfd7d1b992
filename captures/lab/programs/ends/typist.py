"""Types lines with pauses, for programs that read standard input: typist.py SEED COUNT LINE...

SIZE in a line becomes a few words of some length.
"""

from __future__ import annotations

import sys
import time

from talk import Talk


def main() -> None:
    """Type them, some right after each other."""
    seed, count, *lines = sys.argv[1:]
    talk = Talk(seed)
    time.sleep(0.5)
    for _ in range(int(count)):
        for _ in range(talk.random.randint(1, 3)):
            print(talk.random.choice(lines).replace("SIZE", talk.text()), flush=True)
        time.sleep(talk.pause_s())
    time.sleep(0.3)


main()
