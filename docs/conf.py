"""The documentation site: `make docs` writes it to docs/_build/html.

The top folder is the source, so that a link of a page goes to the same file here and on GitHub.
"""

import sys
from pathlib import Path

TOP = Path(__file__).parents[1]
sys.path[:0] = [str(TOP / "docs/site"), str(TOP / "scripts")]

project = "nagle-scan"
author = "the nagle-scan authors"
copyright = "the nagle-scan authors, MIT or Apache-2.0"
root_doc = "docs/index"
language = "en"
# `--help` stays what can be pasted.
smartquotes = False

extensions = ["myst_nb", "sphinx.ext.autodoc", "source_parts"]
include_patterns = [
    "docs/*.md",
    "notebooks/*.ipynb",
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "bench/README.md",
    "captures/README.md",
    "captures/lab/README.md",
]
exclude_patterns = [".*", "analyzer", "captures/labelled", "docs/_build", "tests"]

# The notebooks are committed without output: it is this run's.
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 120
nb_merge_streams = True
nb_render_markdown_format = "gfm"

myst_heading_anchors = 3
myst_links_external_new_tab = True

# Docstrings say `name` for code, as Markdown does.
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_inherit_docstrings = False
add_module_names = False
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_title = "nagle-scan"
html_static_path = ["site/static"]
html_css_files = ["site.css"]
# Deferred: Sphinx loads what it extends after it.
html_js_files = [("questions.js", {"defer": "defer"})]
html_extra_path = ["site/root"]
html_copy_source = False
html_show_sphinx = False
# They would be fetched, which browsers refuse for a site opened from a disk.
html_show_search_summary = False
