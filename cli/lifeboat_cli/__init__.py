"""The command line. Each group of commands has a package; `main` is the program `lifeboat`.

Standard output contains the result only: one JSON document with `--json`, text for people otherwise. Progress,
questions and warnings go to standard error.

Exit status: 0 done, 1 failed, 2 wrong usage, 3 refused by a guard.
"""

from __future__ import annotations

from lifeboat_cli.program import main

__all__ = ["main"]
