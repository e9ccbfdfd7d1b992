"""What Python programs use: `scan()`, `Scan` and what it answers."""
