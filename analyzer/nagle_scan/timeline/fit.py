"""Lines of text in pictures: how wide they are, and what fits."""

from functools import lru_cache

from matplotlib.font_manager import FontProperties, findfont, get_font

POINTS_PER_INCH = 72.0
EM_PX = 100.0
"""The size at which characters are measured."""
LINEAR_UNITS = 65536
"""FreeType's for such widths: so many make a pixel."""
HINTED = 0.96
"""Hinting aligns letters to pixels, which makes a line a little longer."""


def text_width_pt(text: str, size_pt: float, bold: bool = False) -> float:
    """The width of a line of text, in points."""
    return size_pt * sum(_width_em(character, bold) for character in text)


@lru_cache(maxsize=4096)
def _width_em(character: str, bold: bool) -> float:
    """The width of a character, as a share of the text's size.

    Not hinted, as browsers place it; hinting a whole line takes matplotlib longer than drawing it.
    """
    font = get_font(findfont(FontProperties(weight="bold" if bold else "normal")))
    font.set_size(EM_PX, POINTS_PER_INCH)
    glyph = font.load_glyph(font.get_char_index(ord(character)))
    return float(glyph.linearHoriAdvance) / LINEAR_UNITS / EM_PX


def wrapped(text: str, width_pt: float, size_pt: float, bold: bool = False) -> list[str]:
    """`text` in lines no wider than `width_pt`; words too long are cut."""
    width_pt *= HINTED
    lines: list[str] = []
    line = ""
    for word in text.split(" "):
        longer = f"{line} {word}".strip()
        if not line or text_width_pt(longer, size_pt, bold) <= width_pt:
            line = longer
        else:
            lines.append(line)
            line = word
    return [shortened(one, width_pt, size_pt, bold) for one in [*lines, line] if one]


def shortened(text: str, width_pt: float, size_pt: float, bold: bool = False) -> str:
    """`text` with its middle left out where it is too wide."""
    if text_width_pt(text, size_pt, bold) <= width_pt:
        return text
    keep = len(text) - 1
    while keep > 2:
        keep -= 1
        short = text[: (keep + 1) // 2] + "…" + text[len(text) - keep // 2 :]
        if text_width_pt(short, size_pt, bold) <= width_pt:
            return short
    return "…"
