"""Pauses and messages for all of these clients and servers, drawn from a seed."""

from __future__ import annotations

import random

PAUSES_MS = ((0.0, 0.0), (0.3, 3.0), (5.0, 30.0), (35.0, 120.0))


class Talk:
    """The pauses and sizes of one program."""

    def __init__(self, seed: str) -> None:
        self.random = random.Random(seed)

    def pause_s(self) -> float:
        """How long to do nothing now."""
        return self.random.uniform(*self.random.choice(PAUSES_MS)) / 1000

    def text(self, longest: int = 300) -> str:
        """Something to say."""
        return "x" * self.random.randint(4, longest)
