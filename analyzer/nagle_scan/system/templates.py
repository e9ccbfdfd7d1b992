"""The environment of all Jinja2 templates: what is put into them is escaped."""

import os
import sys
from contextlib import suppress

from jinja2 import BytecodeCache, Environment, PackageLoader, StrictUndefined
from jinja2.bccache import Bucket


class Compiled(BytecodeCache):
    """Templates, compiled where Python keeps this package's modules: half of the time of a page.

    Jinja2 compiles one again that has changed, or that another version of Python compiled.
    """

    folder = os.path.join(os.path.dirname(__file__), "__pycache__")

    def load_bytecode(self, bucket: Bucket) -> None:
        """Loads the bytecode, if it is there."""
        with suppress(OSError), open(self._path(bucket), "rb") as file:
            bucket.load_bytecode(file)

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Where this package is not to be written to, nothing is."""
        if sys.dont_write_bytecode:
            return
        part = f"{self._path(bucket)}.{os.getpid()}"
        with suppress(OSError):
            with open(part, "xb") as file:
                bucket.write_bytecode(file)
            os.replace(part, self._path(bucket))

    def _path(self, bucket: Bucket) -> str:
        return os.path.join(self.folder, f"{bucket.key}.jinja")


ENVIRONMENT = Environment(
    loader=PackageLoader("nagle_scan"),
    bytecode_cache=Compiled(),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
