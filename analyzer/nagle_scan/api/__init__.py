"""The Python interface: `scan()`, `Scan` and the objects of its answers."""
