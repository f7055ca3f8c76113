"""Code that depends on Lightning's internals: steps without its loop, order of a step's end.

The bound on Lightning's minor version is for this room. `tests/training/test_insides.py` names
what to compare when Lightning moves.
"""
