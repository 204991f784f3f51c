"""Read and write recovery kits as files: plain text, or one encrypted file in the age format.

A passphrase is typed without echo or read from standard input, never given as an option.
"""

from __future__ import annotations

import io
import os
import stat
import sys
from pathlib import Path

import click

from lifeboat_cli.terminal.command_session import CommandSession
from lifeboat_cli.terminal.private_text_files import DASH, read_first_line
from lifeboat_cli.terminal.word_screen import has_terminal
from lifeboat_core.errors import WordsError
from lifeboat_core.texts.human_text import quote_argument
from lifeboat_core.texts.misplaced_words import refuse_in_field
from lifeboat_keys.age_format import age_encryption

_LARGEST_KIT = 1 << 20


def read_kit_file(session: CommandSession, file: Path, *, passphrase_stdin: bool = False) -> str:
    """Return the text of a kit. An encrypted one is recognised by its content, and its passphrase is asked for.

    Raises WordsError.NOBODY_TO_ASK if that cannot be asked, AgeError for a wrong passphrase or a changed file.
    """
    passphrase = read_first_line() if passphrase_stdin else None
    readable_by_others = False
    if file == DASH:
        data = sys.stdin.buffer.read(_LARGEST_KIT)
    else:
        with file.open("rb") as source:
            data, found = source.read(_LARGEST_KIT), os.fstat(source.fileno())
        readable_by_others = os.name == "posix" and stat.S_ISREG(found.st_mode) and bool(found.st_mode & 0o044)
    sealed = io.BytesIO(data)
    if not age_encryption.is_age(sealed):
        if readable_by_others:
            session.output.warn(
                f"other users can read the recovery kit {file}, and anyone who has the kit has your key; to protect "
                f"it: chmod 600 {quote_argument(str(file))}"
            )
        return data.decode("utf-8-sig", errors="replace")
    if passphrase is None:
        passphrase = _ask_kit_passphrase(session)
    plain = io.BytesIO()
    age_encryption.decrypt_file(sealed, plain, passphrase=passphrase)
    return plain.getvalue().decode("utf-8-sig", errors="replace")


def _ask_kit_passphrase(session: CommandSession) -> str:
    if not has_terminal(session.output):
        raise WordsError.NOBODY_TO_ASK(
            "the kit is encrypted, but the passphrase cannot be asked for, because there is no terminal",
            fix="add --passphrase-stdin",
        )
    return str(click.prompt("Passphrase of the kit", hide_input=True, err=True))


def new_kit_passphrase(session: CommandSession, *, passphrase_stdin: bool) -> str:
    """Return the passphrase for a new kit, typed twice or from standard input. Raises AgeError.WRONG_PASSPHRASE (too
    short), WordsError."""
    if passphrase_stdin:
        passphrase = read_first_line()
    elif has_terminal(session.output):
        question = f"Passphrase for the kit (at least {age_encryption.PASSPHRASE_LENGTH} characters)"
        passphrase = str(click.prompt(question, hide_input=True, confirmation_prompt=True, err=True))
    else:
        raise WordsError.NOBODY_TO_ASK(
            "the passphrase for the kit cannot be asked for, because there is no terminal", fix="add --passphrase-stdin"
        )
    age_encryption.check_recipients([], passphrase)
    return refuse_in_field("the passphrase", passphrase)


def encrypt_kit(page: str, passphrase: str) -> bytes:
    """Return a page as an age file that the passphrase opens."""
    sealed = io.BytesIO()
    with age_encryption.encrypt_stream_with_passphrase(sealed, passphrase) as stream:
        stream.write(page.encode())
    return sealed.getvalue()
