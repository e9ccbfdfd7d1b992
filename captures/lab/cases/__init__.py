"""The matrix: what client and server do, over which network, and what is captured besides.

Every case is captured at all points of its network; an Extra is one more capture of the same run.
"""

from cases.case import COUNTRY, FIRST_PORT, LOOPBACK, WIRE, Case, Extra
from cases.conversations import conversations, protocols
from cases.field import joined, radio, siblings
from cases.hard import hard_cases
from cases.paths import formats, paths, receivers
from cases.patterns import basic, look_alikes, pieces_and_think, sizes
from cases.troubles import troubles
from cases.varied import random_cases, varied

__all__ = ["COUNTRY", "FIRST_PORT", "LOOPBACK", "WIRE", "Case", "Extra", "all_cases"]


def all_cases(seed: int = 1) -> list[Case]:
    """Every case that run.py knows; the seed draws the hard ones."""
    groups = (
        basic,
        pieces_and_think,
        paths,
        sizes,
        look_alikes,
        conversations,
        protocols,
        varied,
        random_cases,
        formats,
        receivers,
        siblings,
        joined,
    )
    cases = [case for group in groups for case in group()]
    cases += hard_cases(seed) + troubles(seed) + radio(seed)
    assert len({c.id for c in cases}) == len(cases), "case ids must differ"
    return cases
