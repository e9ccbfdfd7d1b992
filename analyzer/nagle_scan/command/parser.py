"""The parser of all commands: help as wide as the terminal, errors in one line."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Any, NoReturn

from nagle_scan.command.gate import EXIT_UNUSABLE
from nagle_scan.words.wording import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class Parser(argparse.ArgumentParser):
    """Reports errors in one line without control characters, and the option probably meant."""

    def __init__(self, **given: Any) -> None:  # noqa: ANN401
        # Adding an option must not break a script.
        super().__init__(formatter_class=HelpFormatter, allow_abbrev=False, **given)

    def parse_args(  # type: ignore[override]
        self, args: Sequence[str], namespace: argparse.Namespace | None = None
    ) -> argparse.Namespace:
        """Takes captures before, between and after options; after `--` nothing is an option.

        An unknown option is reported before what is missing because of it.
        """
        before = args[: args.index("--")] if "--" in args else args
        named = [word.partition("=")[0] for word in before if word[:2] == "--"]
        self._refuse(name for name in named if name not in self._option_string_actions)
        # argparse forgets the `--`: './-q' is the same file, and no option.
        after = [word if word in ("-", "--") else _as_path(word) for word in args[len(before) :]]
        options, unknown = self.parse_known_intermixed_args([*before, *after], namespace)
        self._refuse(unknown)
        return options

    def _refuse(self, unknown: Iterable[str]) -> None:
        for word in unknown:
            self.error(f"unknown option {word}{did_you_mean(word, self._option_string_actions)}")

    def error(self, message: str) -> NoReturn:
        """Exits with the status of unusable input."""
        hint = f"see {self.prog} --help"
        self.exit(EXIT_UNUSABLE, f"nagle-scan: {printable(message)} ({hint})\n")


def of_command(name: str, description: str, examples: str, exit_status: str) -> Parser:
    """The parser of a command of its own (`nagle-scan NAME`), without options."""
    return Parser(
        prog=f"nagle-scan {name}",
        description=description,
        epilog=epilog(examples, exit_status),
    )


def epilog(examples: str, exit_status: str) -> str:
    """The text below the options."""
    shown = "".join(f"  {line}\n" for line in examples.splitlines())
    return f"example:\n{shown}\nexit status: {exit_status}"


def _as_path(word: str) -> str:
    return os.path.join(".", word) if word.startswith("-") else word


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The nearest of the known words, as the end of a message; empty if none is near."""
    import difflib

    near = difflib.get_close_matches(word, list(known), 1)
    return f": did you mean {near[0]}?" if near else ""


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Help as wide as the terminal. argparse would import shutil and three decompressors."""

    def __init__(self, prog: str) -> None:
        try:
            columns = os.get_terminal_size().columns
        except OSError:
            columns = 80
        super().__init__(prog, width=columns - 2)
