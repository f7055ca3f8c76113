"""From names and settings to classes and objects, and back to plain data."""
