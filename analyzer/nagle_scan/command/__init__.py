"""The command `nagle-scan`."""
