"""Programs as packages ship them, watched from inside."""
