"""The command `nagle-scan mcp`: a server of the Model Context Protocol, for assistants."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING, Annotated, Any

from nagle_scan import _core
from nagle_scan.api import keys
from nagle_scan.command import arguments, values
from nagle_scan.command.agent import Agent, Answer
from nagle_scan.command.gate import EXIT_PASSED
from nagle_scan.command.parser import of_command
from nagle_scan.errors import CaptureError, NagleScanError, UnknownConnectionError
from nagle_scan.system import files
from nagle_scan.words.reading import READING
from nagle_scan.words.wording import printable, shortened

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from mcp.server import MCPServer

EXTRA = "pip install mcp"
TOOLS = ("captures", "scan", "connection", "why", "compare", "explain", "report")
ARGUMENTS = {
    "path": "capture, as the tool captures lists it: relative to a root",
    "before": "capture from before the change, as the tool captures lists it",
    "after": "capture from after the change",
    "filter": "only packets that match this BPF expression: 'tcp port 8080'; times come first: "
    "'time >= 1795247365.5 and time < 1795247366 and (tcp port 8080)'",
    "number": "number of the connection, as Wireshark's tcp.stream",
    "frame": "number of the frame that ended the wait",
    "cause": "cause of waits, as the tool scan names it",
    "format": "suffix of the report's file, which selects its format",
}
"""A description of each argument of the tools."""
MOST_OF_AN_ERROR = 500
DESCRIPTION = f"""\
Lets an assistant ask about captures (Model Context Protocol, on standard input and output):
{", ".join(TOOLS)}. It reads files in the folders
given and writes nothing but the reports asked for. Needs {EXTRA}. To scan a
file named mcp, write ./mcp.
"""
EXAMPLES = """\
nagle-scan mcp --root captures/
nagle-scan mcp --root /var/captures --reports reports --anonymize
"""
EXIT_STATUS = """\
0 the client ended the connection, 2 unusable call, 130 interrupted
"""


FOLDER: Mapping[str, Any] = {"metavar": "DIR", "type": values.utf8}
OPTIONS: Mapping[str, tuple[Mapping[str, Any], str]] = {
    "--root": (
        {"action": "append", "required": True, **FOLDER},
        "folder whose captures may be read (may be repeated)",
    ),
    "--reports": (
        FOLDER,
        "folder for reports that are asked for, made if missing (default: none are written)",
    ),
}
"""Options of this command alone, in the form of `arguments.OPTIONS`."""


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    made = of_command("mcp", DESCRIPTION, EXAMPLES, EXIT_STATUS)
    arguments.add(made, "--root --reports --anonymize -V", OPTIONS)
    return made


def run(words: Sequence[str]) -> int:
    """Serves until the client ends it. Raises `NagleScanError`."""
    options = parser().parse_args(words)
    if not hasattr(os, "O_NOFOLLOW"):
        raise CaptureError("mcp: needs Linux or macOS: links out of a folder are not followed")
    if files.missing(["mcp"]):
        raise CaptureError(f"mcp: needs the package mcp: {EXTRA}")
    key = None
    if options.anonymize:
        key = keys.find() or keys.random()
    server(Agent(options.root, options.reports, key)).run("stdio")
    return EXIT_PASSED


def server(agent: Agent) -> MCPServer:
    """The server: its tools are the questions of `agent`."""
    from mcp.server import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
    from mcp.types import ToolAnnotations

    class Server(MCPServer):
        async def call_tool(self, name: str, arguments: Answer, context: Any = None) -> Any:  # noqa: ANN401
            """Says in one line what is wrong: the SDK takes four, or ignores it."""
            said = _unknown(agent, name, arguments)
            try:
                if not said:
                    return await super().call_tool(name, arguments, context)
            except ToolError as error:
                said = str(error)
            raise ToolError(_shown(said))

    made = Server(
        "nagle-scan",
        instructions="\n".join(READING),
        version=_core.VERSION,
        log_level="ERROR",
    )
    for name in TOOLS:
        only_reads = ToolAnnotations(
            read_only_hint=name != "report", destructive_hint=False, open_world_hint=False
        )
        made.tool(annotations=only_reads)(_tool(getattr(agent, name)))
    return made


def _unknown(agent: Agent, name: str, given: Answer) -> str:
    """A complaint about a tool or an argument that does not exist; empty if all do."""
    if name not in TOOLS:
        return f"no such tool: {name!r}; there are {', '.join(TOOLS)}"
    known = signature(getattr(agent, name)).parameters
    unknown = ", ".join(repr(one) for one in given if one not in known)
    return unknown and f"no such argument: {unknown}; there are {', '.join(known) or 'none'}"


def _shown(said: str) -> str:
    return shortened(printable(said), MOST_OF_AN_ERROR)


def _tool(ask: Callable[..., Answer]) -> Callable[..., Answer]:
    """The tool; errors are one line, without a traceback."""
    from mcp.server.mcpserver.exceptions import ToolError
    from pydantic import Field

    @wraps(ask)
    def asked(*words: object, **named: object) -> Answer:
        try:
            return ask(*words, **named)
        except (KeyboardInterrupt, SystemExit):
            raise
        except (NagleScanError, UnknownConnectionError, ValueError, ImportError) as error:
            raise ToolError(str(error)) from None
        except BaseException as error:  # A panic in the engine is not an `Exception`.
            raise ToolError(f"a bug in nagle-scan: {type(error).__name__}") from None

    # A signature with types as objects: the SDK would look for their names here.
    meant = signature(ask, eval_str=True)
    named = [
        one.replace(annotation=Annotated[one.annotation, Field(description=ARGUMENTS[name])])
        for name, one in meant.parameters.items()
    ]
    asked.__signature__ = meant.replace(parameters=named)  # type: ignore[attr-defined]
    asked.__annotations__ = {one.name: one.annotation for one in named}
    asked.__annotations__["return"] = meant.return_annotation
    return asked
