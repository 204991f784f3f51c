"""Read private texts such as recovery words, and write them so that no other user can read them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from lifeboat_cli.terminal.command_session import CommandSession

DASH = Path("-")
IN_FILE = click.Path(exists=True, dir_okay=False, path_type=Path, allow_dash=True)
OUT_FILE = click.Path(dir_okay=False, path_type=Path, allow_dash=True)

_LONGEST_LINE = 65536

Write = Callable[[str], None]


def refuse_mixture(session: CommandSession, target: Path | None) -> None:
    """Raise UsageError if a text and a JSON document would both go to standard output."""
    if target == DASH and session.output.as_json:
        raise click.UsageError("with --json, standard output is used for the JSON document: give a file name")


@contextmanager
def open_destination(
    session: CommandSession, target: Path | None, *, force: bool | None = None
) -> Iterator[Write | None]:
    """Open the destination of a text: nothing, standard output, or a file that only its owner can read, written
    atomically. `force` is None if the user cannot ask to replace a file. Raises ExchangeError.FILE_EXISTS,
    ExchangeError."""
    from lifeboat_core.exchange.new_file import create_file

    if target is None:
        yield None
    elif target == DASH:
        yield lambda text: print_private_text(f"{text}\n")
    else:
        with create_file(session.context.files, target, force=force) as stream:
            yield lambda text: stream.writelines((text.encode(), b"\n"))


def print_private_text(text: str) -> None:
    """Write a text to standard output, byte for byte: a page that is read again must not be escaped."""
    sys.stdout.write(text)


def read_private_text(file: Path) -> str:
    """Return the text of a file, or of what `read_first_line` left of standard input."""
    data = sys.stdin.buffer.read() if file == DASH else file.read_bytes()
    return data.decode("utf-8-sig", errors="replace")


def read_first_line() -> str:
    """Return the next line of standard input without its end. The rest is left for `read_private_text`."""
    data = b"" if sys.stdin is None else sys.stdin.buffer.readline(_LONGEST_LINE)
    return data.decode("utf-8-sig", errors="replace").rstrip("\r\n")
