"""Executes the notebooks and keeps their output: `make notebooks`; a failing cell is an error."""

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode

NOTEBOOKS = Path("notebooks")
VOLATILE = ("execution", "language_info")
"""Metadata that differs from run to run or from machine to machine."""


def executed(path: Path) -> NotebookNode:
    """The notebook with the output of this run."""
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(
        notebook,
        timeout=120,
        kernel_name="python3",
        resources={"metadata": {"path": str(path.parent)}},
    ).execute()
    for part in (notebook, *notebook.cells):
        for name in VOLATILE:
            part.metadata.pop(name, None)
    return notebook


def main() -> int:
    """Writes all notebooks anew."""
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        nbformat.write(executed(path), path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
