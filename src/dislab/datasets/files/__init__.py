"""Readers of files: published ones, pictures, archives and arrays."""
