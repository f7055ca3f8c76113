"""Readers of published files, pictures, archives and arrays."""
