"""Code that depends on Lightning's internals: steps without its loop, and the end of a step.

Checkpoints are saved at the end of a step. The bound on Lightning's minor version is due to this
package; `tests/training/test_insides.py` lists what to compare after a Lightning release.
"""
