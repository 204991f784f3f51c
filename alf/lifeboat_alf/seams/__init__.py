"""The seams: file operations, the clock and the named steps, as parameters and hooks from the first day.

They lie at the bottom of the house because every package above uses them; a test can cut the power, jump the time
or end the process at a named step without patching anything.
"""
