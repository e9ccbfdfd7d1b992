"""What Python programs use: `scan()`, `load()`, `Scan` and what it answers."""
