"""Writes what is installed beside the package, into a folder or the wheel: man pages, completions,
JSON Schema.

argparse-manpage and shtab make the first two from the parser.
"""

import argparse
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType

import schema
import shtab
import stub
from argparse_manpage.manpage import Manpage
from nagle_scan import _core
from nagle_scan.command import arguments, fleet, mcp

# maturin installs what is in `data` relative to the prefix.
SHARE = Path(__file__).parents[1] / "analyzer/installed/data/share"
COMPLETIONS = {
    "bash": "bash-completion/completions/nagle-scan",
    "zsh": "zsh/site-functions/_nagle-scan",
    "fish": "fish/vendor_completions.d/nagle-scan.fish",
}
MAN = "man/man1/nagle-scan.1"
FLEET_MAN = "man/man1/nagle-scan-fleet.1"
MCP_MAN = "man/man1/nagle-scan-mcp.1"


def parser() -> argparse.ArgumentParser:
    """The parser, with hints where a completion offers files or causes."""
    made = arguments.parser()
    for action in made._actions:
        if action.metavar == "FILE" or action.dest == "capture":
            action.complete = shtab.FILE  # type: ignore[attr-defined]
        if action.dest == "explain":
            action.choices = _core.CAUSES
    return made


def man() -> dict[str, str]:
    """The man pages of the command, `nagle-scan fleet` and `nagle-scan mcp`."""
    formats = ("FORMATS OF -o, BY SUFFIX", _verbatim(arguments.file_formats()))
    about = "find Nagle and delayed-ACK stalls in packet captures"
    many = "the same in thousands of captures, into tables and a page"
    questions = "answer questions of an assistant about captures"
    return {
        MAN: _page(parser(), about, (formats, *_ends(arguments))),
        FLEET_MAN: _page(fleet.parser(), many, _ends(fleet)),
        MCP_MAN: _page(mcp.parser(), questions, _ends(mcp)),
    }


def _page(made: argparse.ArgumentParser, about: str, sections: Iterable[tuple[str, str]]) -> str:
    """A man page, without a date."""
    made.man_short_description = about  # type: ignore[attr-defined]
    made.epilog = None
    page = Manpage(made)
    page.date, page.manual = "", "User Commands"
    page.prog = page.prog.replace(" ", "-")
    return f"{page}\n" + "".join(f".SH {head}\n{text}" for head, text in sections)


def _ends(module: ModuleType) -> Iterator[tuple[str, str]]:
    yield "EXAMPLES", _verbatim(module.EXAMPLES)
    yield "EXIT STATUS", _escaped(module.EXIT_STATUS)


def _verbatim(text: str) -> str:
    return f".nf\n{_escaped(text.rstrip())}\n.fi\n"


def _escaped(text: str) -> str:
    escaped = text.replace("\\", r"\e").replace("-", r"\-").replace("'", r"\(aq")
    return re.sub(r"^\.", r"\&.", escaped, flags=re.MULTILINE)


def pages() -> dict[str, str]:
    """Path and content of each file."""
    made = {path: shtab.complete(parser(), shell=shell) for shell, path in COMPLETIONS.items()}
    return made | man() | {f"nagle-scan/{schema.NAME}": schema.text()}


def write(share: Path) -> None:
    """Writes the files."""
    for name, content in pages().items():
        path = share / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


if __name__ == "__main__":
    write(Path(sys.argv[1]) if sys.argv[1:] else SHARE)
    stub.write()
