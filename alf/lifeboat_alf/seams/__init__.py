"""Test seams: file operations, the clock and named crash points, passed as parameters or hooks.

Every package above uses them. A test can cut the power, change the time or end the process at a named step without
patching anything.
"""
