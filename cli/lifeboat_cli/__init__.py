"""The command line. Each group of commands has a package; `main` is the program `lifeboat`.

Standard output contains the result only: one JSON document with `--json`, text for people otherwise. Progress,
questions and warnings go to standard error.

Exit status: 0 done, 1 failed, 2 wrong usage, 3 refused by a guard.
"""

from __future__ import annotations

import signal
import sys

INTERRUPTED = 130
"""The exit status after Ctrl-C."""


def main(arguments: list[str] | None = None) -> None:
    """Run a command and end the process with its exit status.

    This package imports nothing else before `main`: while the program is imported, and while Python exits, Ctrl-C ends
    the process at once, without a traceback.
    """
    handler = signal.getsignal(signal.SIGINT)
    is_usual = handler is signal.default_int_handler  # otherwise it is ignored, as in a background job
    if is_usual:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from lifeboat_cli import program

    status = INTERRUPTED
    try:
        if is_usual:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        status = program.run_program(sys.argv[1:] if arguments is None else arguments)
    except KeyboardInterrupt:
        pass
    finally:
        if is_usual and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(status)


__all__ = ["INTERRUPTED", "main"]
