"""The machine: files, terminal, signals."""
