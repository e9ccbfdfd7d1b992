"""Reports: one module per output format, and what they share."""
