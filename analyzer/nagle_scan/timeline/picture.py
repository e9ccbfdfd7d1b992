"""A picture as inline SVG for a page: self-contained, accessible, light or dark.

matplotlib's SVG is made for files. Inline, its style sheet would apply to the whole page, its ids
would clash with those of other pictures, and black text would vanish on a dark background.
"""

from __future__ import annotations

import hashlib
import io
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from nagle_scan.timeline import fit, style
from nagle_scan.words import colours

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from nagle_scan.result import Result

DEFAULT_WIDTH_IN = 7.2
SVG = "http://www.w3.org/2000/svg"
XLINK = "http://www.w3.org/1999/xlink"

ElementTree.register_namespace("", SVG)
ElementTree.register_namespace("xlink", XLINK)

_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_DIGITS = re.compile(r"(\.\d\d)\d+")
_FONT = re.compile(r"(font: [^;]*?\d+(?:\.\d+)?px) [^;]+")


def svg(
    draw: Callable[..., Axes],
    scan: Result,
    *args: int,
    width_in: float = DEFAULT_WIDTH_IN,
    dark: bool = False,
) -> str:
    """The picture `draw(scan, *args)` as an `<svg>` element.

    Text and axes take the colour of the text around them (`currentColor`), the rest stands out
    from light and dark alike; `dark` takes brighter shades. `<title>` and `<desc>` say the finding
    in words. The same picture gives the same text, byte for byte.
    """
    target = io.BytesIO()
    with style.settings():
        ax = draw(scan, *args, width_in=width_in)
        figure = ax.get_figure(root=True)
        assert figure is not None
        _lay_out(figure)
        figure.savefig(target, format="svg", transparent=True, metadata={"Date": None})
    root = ElementTree.fromstring(target.getvalue())
    title, _, description = str(ax.get_label()).partition("\n")
    _strip(root)
    _shorten(root)
    _recolour(root, colours.ON_DARK if dark else {})
    _own_ids(root)
    _frame(root, title, description)
    return ElementTree.tostring(root, encoding="unicode")


def _lay_out(figure: Figure) -> None:
    """Once: matplotlib would draw the whole picture twice."""
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)
        figure.set_layout_engine(None)


def _strip(root: ElementTree.Element) -> None:
    """Takes out metadata, the style sheet and empty groups."""
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in (f"{{{SVG}}}metadata", f"{{{SVG}}}style"):
                parent.remove(child)
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in (f"{{{SVG}}}g", f"{{{SVG}}}defs") and not len(child):
                parent.remove(child)


def _shorten(root: ElementTree.Element) -> None:
    """Two decimals are enough, and indentation is not needed."""
    for element in root.iter():
        if "d" in element.attrib:
            short = _DIGITS.sub(r"\1", element.attrib["d"])
            element.set("d", " ".join(short.split()))
        if element.text is not None and not element.text.strip():
            element.text = None
        element.tail = None


def _recolour(root: ElementTree.Element, shades: dict[str, str]) -> None:
    """Text takes the page's colour and font."""
    for element in root.iter():
        look = element.get("style")
        if not look:
            continue
        look = _FONT.sub(r"\1 sans-serif", look)
        for kind in ("fill", "stroke"):
            faint = f"{kind}: currentColor; {kind}-opacity: 0.72"
            look = look.replace(f"{kind}: {colours.FAINT}", faint)
            look = look.replace(f"{kind}: {colours.INK}", f"{kind}: currentColor")
        for shade, brighter in shades.items():
            look = look.replace(shade, brighter)
        element.set("style", look)


def _own_ids(root: ElementTree.Element) -> None:
    """Keeps only ids that are referred to, under names unique to this picture."""
    # In the order of the document: matplotlib makes some names from addresses in memory.
    used = dict.fromkeys(_references(root))
    names = {name: f"{number}" for number, name in enumerate(used)}
    _rename(root, names)
    prefix = "ns" + hashlib.sha256(ElementTree.tostring(root)).hexdigest()[:12]
    _rename(root, {number: f"{prefix}-{number}" for number in names.values()})
    root.set("aria-labelledby", f"{prefix}-title {prefix}-desc")


def _rename(root: ElementTree.Element, names: dict[str, str]) -> None:
    for element in root.iter():
        name = element.attrib.pop("id", None)
        if name in names:
            element.set("id", names[name])
        for attribute, value in list(element.attrib.items()):
            if attribute == f"{{{XLINK}}}href":
                element.set(attribute, "#" + names[value[1:]])
            elif "url(#" in value:
                element.set(attribute, _REFERENCE.sub(lambda m: f"url(#{names[m[1]]})", value))


def _references(root: ElementTree.Element) -> Iterator[str]:
    for element in root.iter():
        for attribute, value in element.attrib.items():
            if attribute == f"{{{XLINK}}}href":
                yield value[1:]
            else:
                yield from _REFERENCE.findall(value)


def _frame(root: ElementTree.Element, title: str, description: str) -> None:
    """The outermost element: its size in a page, and what a screen reader says."""
    labels = root.get("aria-labelledby", "").split()
    spoken = zip(("title", "desc"), labels, (title, description), strict=True)
    for place, (tag, name, text) in enumerate(spoken):
        element = ElementTree.Element(f"{{{SVG}}}{tag}", {"id": name})
        element.text = text
        root.insert(place, element)
    width, height = (float(root.get("viewBox", "").split()[place]) for place in (2, 3))
    root.set("role", "img")
    root.set("width", f"{width / fit.POINTS_PER_INCH * 96:.0f}")
    root.set("height", f"{height / fit.POINTS_PER_INCH * 96:.0f}")
    root.set("style", "max-width:100%;height:auto;stroke-linejoin:round;stroke-linecap:butt")
