"""Words, numbers and colours, the same in every report and picture."""
