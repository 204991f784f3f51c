"""One module for each kind of work: `run(work)` performs it and returns the result document. The module has the name of
the operation."""
