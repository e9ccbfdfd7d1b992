"""Writes `_core.pyi`, the types of the engine's module, from the Rust that declares them.

A class is a `#[pyclass]` or a `row!` of `analyzer/src/python`. The fields that `output/fields`
declares for a row behind its `and` are its attributes too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

ENGINE = Path(__file__).parents[1] / "analyzer"
HEAD = '''"""The Rust engine. Durations in ms, times in ns since the epoch, frames from 1."""

# scripts/stub.py writes this file before the engine is built.

from collections.abc import Callable, Mapping, Sequence
from typing import Any, final

from nagle_scan.result.options import ScanOptions

VERSION: str
CAUSES: tuple[str, ...]
LEDGER: tuple[list[str], ...]
PARTS: list[str]
'''
TYPES = {"bool": "bool", "f64": "float", "PyBytes": "bytes", "PyBackedBytes": "bytes"}
TYPES["PyOptions"] = "ScanOptions"
TYPES |= {"()": "None", "": "None", "PyDict": "dict[str, Any]", "PyAny": "Callable[..., Any]"}
TYPES |= dict.fromkeys(("str", "String", "IpAddr"), "str")
TYPES |= dict.fromkeys(("u8", "u16", "u32", "u64", "usize", "i32", "i64"), "int")
SHOWN = {"integer": "int", "time": "int", "duration": "float", "maybe_duration": "float | None"}
SHOWN |= {"flag": "bool", "category": "str", "text": "str", "address": "str"}
"""Types of fields by how their row shows them; other fields are in JSON only."""
ROW = r"^row(?:_with_fields)?! {\n(?: {4}[/#][^\n]*\n)* {4}(\w+\([^{]*?\))"
ROW += r"(?:\s+and \((.*?)\))?(?: with)? {(.*?)^}"
"""A row of `output/row.rs`: how it begins, the rows whose fields it has, and its own values."""
PARAMETERS = {"list": "Sequence", "dict": "Mapping"}
"""A function that needs one of these takes whatever is like it."""


def searched(pattern: str, text: str) -> list[tuple[str, ...]]:
    """The groups of all matches; `^` and `$` are those of lines."""
    found = re.finditer(pattern, text, re.DOTALL | re.MULTILINE)
    return [match.groups(default="") for match in found]


def split(text: str) -> list[str]:
    """The parts between commas outside of brackets."""
    parts, depth = [""], 0
    for sign in text:
        depth += (sign in "<([") - (sign in ">)]")
        if sign == "," and not depth:
            parts.append("")
        else:
            parts[-1] += sign
    return [part.strip() for part in parts if part.strip()]


class Engine:
    """The declarations in the engine's sources."""

    def __init__(self, source: Path = ENGINE / "src") -> None:
        def read(room: str) -> list[str]:
            return [path.read_text() for path in sorted((source / room).rglob("*.rs"))]

        self.files, self.fields = read("python"), read("output/fields")
        everything = "".join([*self.files, *read("frames")])
        aliases = searched(r"^(?:pub )?type (\w+)(?:<[^>]*?(\w+)>)? =\s(.*?);", everything)
        self.aliases = {name: (parameter, meant) for name, parameter, meant in aliases}
        named = searched(r'name = "(\w+)"\)\]\npub struct (\w+)', everything)
        self.names = {rust: name for name, rust in named}

    def stub(self) -> str:
        """The text of the stub."""
        parts = [HEAD]
        for file in self.files:
            for name, base in searched(r"^create_exception!\(\w+, (\w+), (?:Py)?(\w+),", file):
                parts.append(f"class {name}({base}): ...\n")
        for make in (self.classes, self.functions):
            parts += [part for file in self.files for part in make(file)]
        return "\n".join(parts)

    def classes(self, file: str) -> Iterator[str]:
        """The classes of a file, with their attributes and methods."""
        struct = r"^#\[pyclass\([^\n]*\)\]\npub struct (\w+)"
        for name, declared, of, values in searched(f"{struct}|{ROW}", file):
            attributes = searched(r"^ {8}(\w+): ([^=]+?) =\s", values)
            members = [f"{field}: {self.type(kind)}\n" for field, kind in attributes]
            for row in split(of):
                value, is_type = searched(r"(\w+)(::)?", row)[0]
                kinds = searched(rf"\b{value}: &?(?:\w+::)?(\w+)", declared)
                members += self.fields_of(value if is_type else kinds[0][0])
            name = name or declared.partition("(")[0]
            for (own,) in searched(rf"^#\[pymethods\]\nimpl {name} {{\n(.*?)^}}", file):
                members += self.methods(own)
            # A field that two rows declare is one attribute.
            lines = "".join(dict.fromkeys(members)).splitlines()
            indented = "".join(f"    {line}\n" for line in lines)
            yield f"@final\nclass {self.names.get(name, name)}:\n{indented}"

    def fields_of(self, row: str, prefix: str = "") -> Iterator[str]:
        """The declared fields of a row that are attributes in Python."""
        found = rf"^impl Row for &?{row}\b(.*?)(?:^impl Row for|\Z)"
        file, shown = next((file, own) for file in self.fields for (own,) in searched(found, file))
        named = searched(r'(\w+)(?:: Field)? =\s+field!\(\s*"(\w+)"(.*?);\n', file)
        constants = {constant: (name, changes) for constant, name, changes in named}
        calls = searched(r"to\.(\w+)\(\s*(\w+)(.*?)\|\w+\|(?: row\.(\w+))?", shown)
        for way, field, changes, call in calls:
            name, more = constants.get(field, ("".join(changes.split('"')[1:2]), ""))
            changes += more
            if ".except(Python)" in changes or re.search(r"only\((?!Python)", changes):
                continue
            if way == "nested":
                part = searched(rf"fn {call}\(.*?\) -> (\w+)", file)[0][0]
                yield from self.fields_of(part, f"{name}_")
            elif way in SHOWN:
                yield f"{prefix}{name}: {SHOWN[way]}\n"

    def methods(self, body: str) -> Iterator[str]:
        """The methods and properties of a class."""
        method = r"((?: {4}#\[[^\n]*\n)*) {4}fn (\w+)(?:<'\w+>)?\((.*?)\)(?: -> ([^{]*?))? \{\n"
        for attributes, name, parameters, result in searched(method, body):
            if "#[new]" not in attributes:
                of = "@property\n" * ("#[getter]" in attributes)
                yield of + self.function(name, "self, ", parameters, result, attributes)

    def functions(self, file: str) -> Iterator[str]:
        """The functions of a file."""
        head = r'^#\[pyfunction(?:\(name = "(\w+)"\))?\]\n(.*?)^fn (\w+)(?:<.*?>)?'
        for name, attributes, own, parameters, result in searched(
            head + r"\((.*?)\)(?: -> ([^{]*?))? \{\n", file
        ):
            yield self.function(name or own, "", parameters, result, attributes)

    def function(self, name: str, first: str, parameters: str, result: str, attributes: str) -> str:
        """A function or method."""
        defaults = {own: value.title() for own, value in searched(r"(\w+)=(\w+)", attributes)}
        made = []
        for parameter in split(parameters):
            own, _, kind = parameter.partition(": ")
            if kind and not kind.startswith("Python<"):
                of = self.type(kind)
                for exact, like in PARAMETERS.items():
                    of = re.sub(rf"\b{exact}\[", f"{like}[", of)
                made.append(f"{own}: {of}" + (f" = {defaults[own]}" if own in defaults else ""))
        given = f"{first}{', '.join(made)}".removesuffix(", ")
        return f"def {name}({given}) -> {self.type(result)}: ...\n"

    def type(self, rust: str) -> str:
        """The Python type of a Rust type."""
        rust = re.sub(r"&|'\w+,? ?", "", " ".join(rust.split())).removesuffix(",").replace("<>", "")
        if rust in TYPES or rust in self.names:
            return TYPES.get(rust) or self.names[rust]
        if rust.startswith("("):
            return f"tuple[{self.types(split(rust[1:-1]))}]"
        if rust.startswith("["):
            of = rust[1:-1].partition("; ")[0]
            return "bytes" if of == "u8" else f"list[{self.type(of)}]"
        outer, _, inner = rust.partition("<")
        inner = inner.removesuffix(">")
        if outer in self.aliases:
            parameter, meant = self.aliases[outer]
            return self.type(re.sub(rf"\b{parameter}\b", inner, meant) if parameter else meant)
        if outer == "Option":
            return f"{self.type(inner)} | None"
        named = {"Vec": "list", "HashMap": "dict", "BTreeMap": "dict"}
        if outer in named:
            return f"{named[outer]}[{self.types(split(inner))}]"
        return self.type(inner) if outer in ("PyResult", "Bound", "Py") else outer

    def types(self, rust: Iterable[str]) -> str:
        """The Python types of Rust types."""
        return ", ".join(map(self.type, rust))


def write() -> None:
    """Writes the stub beside the package's modules."""
    (ENGINE / "nagle_scan/_core.pyi").write_text(Engine().stub())


if __name__ == "__main__":
    write()
