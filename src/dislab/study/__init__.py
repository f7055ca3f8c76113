"""Studies: many runs from one file, and what their scores say together."""
