"""Links of pages to parts of the source: to a file, its copy; to a folder, which the site has not.

MyST links a file that is no page as a download. A link to a folder, which GitHub lists, is its text.
"""

from pathlib import Path

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment


def without_folders(app: Sphinx, doctree: nodes.document) -> None:
    """Leaves the text of links to folders."""
    env: BuildEnvironment = app.env
    for link in list(doctree.findall(pending_xref)):
        _, path = env.relfn2path(link.get("reftarget", ""), env.docname)
        if link.get("reftype") == "myst" and Path(path).is_dir():
            link.replace_self(link.children)


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("doctree-read", without_folders)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
