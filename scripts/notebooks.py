"""Takes the output out of the notebooks, as they are committed: `make notebooks`.

The site executes them: each run shows what this version prints.
"""

import sys
from pathlib import Path

import nbformat
from nbformat import NotebookNode

NOTEBOOKS = Path("notebooks")
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def bare(path: Path) -> str:
    """The notebook without output, counts, and what differs from machine to machine."""
    notebook = nbformat.read(path, as_version=4)
    notebook.metadata = NotebookNode(kernelspec=KERNEL)
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"
        cell.metadata = NotebookNode()
        if cell.cell_type == "code":
            cell.outputs = []
            cell.execution_count = None
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    return nbformat.writes(notebook) + "\n"


def main() -> int:
    """Strips all notebooks."""
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        path.write_text(bare(path))
    return 0


if __name__ == "__main__":
    sys.exit(main())
