"""The command line. One module per group of commands; `main` is the program `lifeboat`.

Standard output carries the result only: one JSON document with `--json`, people's text otherwise. Progress,
questions and warnings go to standard error. Exit status: 0 done, 1 failed, 2 wrong usage, 3 refused by a guard.
"""

from __future__ import annotations

from lifeboat_cli.program import main

__all__ = ["main"]
