"""One file per plot."""
