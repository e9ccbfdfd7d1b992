"""The machine: files, terminal, signals, threads."""
