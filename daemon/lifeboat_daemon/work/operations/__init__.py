"""One file for each kind of work: `run(work)` does it and returns the answer's document. The file's name is the
operation's."""
