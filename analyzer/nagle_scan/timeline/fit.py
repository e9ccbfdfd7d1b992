"""Lines of text in pictures: how wide they are, and what fits."""


def _by_character(widths: str) -> dict[str, float]:
    """The widths of the printable ASCII characters, two digits each."""
    ems = [int(widths[at : at + 2]) / 100 for at in range(0, len(widths), 2)]
    return {chr(ord(" ") + at): em for at, em in enumerate(ems)} | {"\xa0": ems[0]}


WIDTHS_EM = _by_character(
    "3240468464957827393950843236323464646464646464646464343484848453996869707763587775292966568675"
    "796079696361736899696169393439845050616355636235636328285828976361636341523963598259595264346484"
)
BOLD_WIDTHS_EM = _by_character(
    "3546528470998731464652843842383770707070707070707070404084848458997776738368688284373777649984"
    "857385777268817799777273463746845050677259726844727134346734997169727249604871659265655871377184"
)
"""In DejaVu Sans, which is wide among the fonts that browsers and matplotlib use, as a multiple of
the text's size."""
OTHER_WIDTH = 1.0
"""The width of any other character."""


def text_width_pt(text: str, size_pt: float, bold: bool = False) -> float:
    """The width of a line of text, in points."""
    widths_em = BOLD_WIDTHS_EM if bold else WIDTHS_EM
    return size_pt * sum([widths_em.get(character, OTHER_WIDTH) for character in text])


def wrapped(text: str, width_pt: float, size_pt: float, bold: bool = False) -> list[str]:
    """`text` in lines no wider than `width_pt`; words too long are cut."""
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
