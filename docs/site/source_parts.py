"""Fills pages with parts of the source, and adds the JSON Schema to the site.

MyST turns a link to a file that is not a page into a download. The site has no folders, which
GitHub lists: only the text of a link to a folder is left. The API reference follows `__all__`.
"""

import inspect
from pathlib import Path

import nagle_scan
import parts
import schema
from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx

MARK = "<!-- every public name -->\n"
KINDS = {"Functions": "function", "Classes": "class", "Exceptions": "exception"}
MEMBERS = "   :members:\n   :inherited-members: object, BaseException\n"


def without_folders(app: Sphinx, doctree: nodes.document) -> None:
    """Leaves the text of links to folders."""
    for link in list(doctree.findall(pending_xref)):
        _, path = app.env.relfn2path(link.get("reftarget", ""), app.env.docname)
        if link.get("reftype") == "myst" and Path(path).is_dir():
            link.replace_self(link.children)


def kind(name: str) -> str:
    """The kind of a public name, as autodoc calls it."""
    thing = getattr(nagle_scan, name)
    if not inspect.isclass(thing):
        return "function"
    return "exception" if issubclass(thing, BaseException) else "class"


def reference() -> str:
    """A directive for each public name."""
    names = [name for name in nagle_scan.__all__ if not name.startswith("__")]
    sections = []
    for title, wanted in KINDS.items():
        directives = (
            f".. auto{wanted}:: nagle_scan.{name}\n{MEMBERS if wanted == 'class' else ''}\n"
            for name in names
            if kind(name) == wanted
        )
        sections.append(f"### {title}\n\n```{{eval-rst}}\n{''.join(directives)}```\n\n")
    return "".join(sections)


def with_parts(_app: Sphinx, _page: str, source: list[str]) -> None:
    """Puts each part in the place of its mark."""
    source[0] = parts.filled(source[0])
    if MARK in source[0]:
        source[0] = source[0].replace(MARK, reference())


def without_constructor(_app: Sphinx, what: str, *_: object) -> tuple[str, None] | None:
    """Omits constructors: functions and other objects make the instances."""
    return ("", None) if what == "class" else None


def with_schema(app: Sphinx, problem: Exception | None) -> None:
    """Writes the JSON Schema to the top of the site."""
    if problem is None:
        (app.outdir / schema.NAME).write_text(schema.text())


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("doctree-read", without_folders)
    app.connect("source-read", with_parts)
    app.connect("autodoc-process-signature", without_constructor)
    app.connect("build-finished", with_schema)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
