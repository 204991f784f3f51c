"""Options of commands that read or write files that can be encrypted as a whole."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_cli.terminal.output import CommandOutput
from lifeboat_core.texts.human_text import count_text
from lifeboat_core.texts.misplaced_words import refuse_in_field

if TYPE_CHECKING:
    from lifeboat_core.exchange import Archive, ArchiveEncryption

Command = TypeVar("Command", bound=Callable[..., Any])

passphrase_option = click.option(
    "--passphrase-stdin", is_flag=True, help="Read the passphrase of an encrypted file from standard input."
)
_recipient_option = click.option(
    "--recipient",
    "recipients",
    metavar="AGE1...",
    multiple=True,
    help="Also encrypt for this age public key (repeatable).",
)


def add_export_options(command: Command) -> Command:
    encrypt = click.option(
        "--encrypt", is_flag=True, help="Encrypt the whole file, including memories, for your own key."
    )
    use_passphrase = click.option(
        "--passphrase-stdin",
        is_flag=True,
        help="Encrypt with a passphrase read from standard input, instead of for your key.",
    )
    return encrypt(_recipient_option(use_passphrase(command)))


def add_rewrite_options(command: Command) -> Command:
    """Add the options of a command that makes a file from others. An encrypted file stays encrypted without
    `--plain`."""
    encrypt = click.option(
        "--encrypt/--plain",
        default=None,
        help="Encrypt the new file, or leave it in plain text (default: same as the source).",
    )
    return encrypt(_recipient_option(passphrase_option(command)))


def passphrase_from_stdin(wanted: bool) -> str | None:
    """Return one line of standard input, prompting on a terminal, or None if it is not wanted."""
    if not wanted:
        return None
    if sys.stdin is None:
        raise click.UsageError("--passphrase-stdin needs a passphrase on standard input")
    if sys.stdin.isatty():
        return str(click.prompt("Passphrase", hide_input=True, err=True))
    try:
        return sys.stdin.readline().rstrip("\r\n")
    except UnicodeDecodeError:
        raise click.UsageError("the passphrase on standard input is not UTF-8 text") from None


def choose_export_encryption(
    encrypt: bool, recipients: tuple[str, ...], passphrase: str | None
) -> ArchiveEncryption | None:
    if not encrypt and (recipients or passphrase is not None):
        raise click.UsageError("use --recipient and --passphrase-stdin only together with --encrypt")
    return _encryption(recipients, _new(passphrase)) if encrypt else None


def choose_rewrite_encryption(
    encrypt: bool | None,
    recipients: tuple[str, ...],
    passphrase: str | None,
    sources: Sequence[Archive],
    output: CommandOutput,
) -> ArchiveEncryption | None:
    """Return how to encrypt a file that is made from others. A passphrase that opened all of them also encrypts the
    result."""
    sealed = [source for source in sources if source.is_encrypted]
    if not (encrypt if encrypt is not None else sealed):
        if recipients:
            raise click.UsageError("--recipient needs --encrypt")
        return None
    if any(source.recipients > 1 for source in sealed) and not recipients:
        output.warn(
            "the source file was encrypted for several keys, but the new file is encrypted for your key only; to "
            "add the other keys, use --recipient"
        )
    by_key = any(source.key_id is not None for source in sealed)
    return _encryption(recipients, None if by_key else passphrase if sealed else _new(passphrase))


def _new(passphrase: str | None) -> str | None:
    """Return a new passphrase, typed by the user. Raises WordsError.WORDS_MISPLACED."""
    return None if passphrase is None else refuse_in_field("the passphrase", passphrase)


def _encryption(recipients: tuple[str, ...], passphrase: str | None) -> ArchiveEncryption:
    from lifeboat_core.exchange import ArchiveEncryption

    if recipients and passphrase is not None:
        raise click.UsageError(
            "Use either --recipient or --passphrase-stdin: a file is encrypted either for keys or with a passphrase."
        )
    return ArchiveEncryption(recipients, passphrase)


def describe_encryption(encryption: JsonObject | None) -> str:
    """Describe for people who can decrypt a file. `encryption` is as in reports."""
    if encryption is None:
        return "none"
    if encryption["key_id"] is None:
        return "with a passphrase; no key opens it"
    others = encryption["recipients"] - 1
    beside = f" and for {count_text(others, 'other key')}" if others else ""
    return f"for your key {encryption['key_id']}{beside}"
