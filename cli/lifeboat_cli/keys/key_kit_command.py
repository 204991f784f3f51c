"""`lifeboat keys export-kit`: write the recovery kit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from lifeboat_alf.errors import LifeboatError
from lifeboat_cli.keys import kit_files, passphrase_input
from lifeboat_cli.terminal.command_session import CommandSession, session_command
from lifeboat_cli.terminal.help_examples import format_examples
from lifeboat_cli.terminal.private_text_files import DASH, OUT_FILE, print_private_text, refuse_mixture
from lifeboat_core.exchange.new_file import create_file
from lifeboat_core.remotes import kit_remotes
from lifeboat_core.remotes.kit_remotes import KitAccess
from lifeboat_core.texts.human_text import quote_argument
from lifeboat_keys.recovery import recovery_kit


@click.command(
    "export-kit",
    short_help="Write a recovery kit: one page with the words and the remotes.",
    epilog=format_examples(
        "lifeboat keys export-kit -o kit.txt",
        "lifeboat keys export-kit -o kit.txt --with-access",
        "lifeboat keys export-kit --encrypt --with-access -o kit.age",
        "lifeboat keys export-kit -o - | lp",
    ),
)
@click.option(
    "-o", "--output", "target", type=OUT_FILE, required=True, help="Write the kit to this file (- for standard output)."
)
@click.option("--force", is_flag=True, help="Replace the file if it exists.")
@click.option(
    "--with-access", is_flag=True, help="Add a join line with a restore-only token for each remote that needs a token."
)
@click.option("--encrypt", is_flag=True, help="Encrypt the kit with a passphrase (age format).")
@click.option("--passphrase-stdin", is_flag=True, help="With --encrypt: read the passphrase from standard input.")
@session_command
def export_kit(
    session: CommandSession, target: Path, force: bool, with_access: bool, encrypt: bool, passphrase_stdin: bool
) -> int:
    """Write a recovery kit: one page with the 24 words, the key id, a QR code and the remotes.

    Anyone who has the kit has your key. On a new machine, `lifeboat setup --kit FILE` restores all agents. With
    --with-access the kit contains a join line for each remote. The token in the line can read and restore, but
    cannot push, purge or change data, and the operator of the remote can revoke it. Exit status 1 if a remote
    issued no such token.
    """
    refuse_mixture(session, target)
    if passphrase_stdin and not encrypt:
        raise click.UsageError("--passphrase-stdin needs --encrypt")
    if encrypt and target == DASH:
        raise click.UsageError("--encrypt needs a file for the kit, because standard output may be a terminal")
    key = passphrase_input.with_unlocked_key(session).keys().user_key()
    passphrase = kit_files.new_kit_passphrase(session, passphrase_stdin=passphrase_stdin) if encrypt else None
    made_at, accesses = session.context.now(), list[KitAccess]()

    def make_page() -> str:
        accesses.extend(kit_remotes.list_kit_accesses(session.context, with_access=with_access))
        return recovery_kit.render_kit(key, made_at[:10], [one.remote for one in accesses])

    try:
        _write_kit(session, target, make_page, passphrase, force=force)
    except BaseException:
        _revoke_all(session, accesses)
        raise
    problems = {one.remote.name: one.problem for one in accesses if one.problem is not None}
    document = {
        "path": str(target),
        "key_id": key.key_id,
        "created_at": made_at,
        "encrypted": encrypt,
        "remotes": [
            {
                "name": one.remote.name,
                "url": one.remote.url,
                "access": bool(one.remote.access),
                "token_id": one.token_id or None,
                "problem": None if one.problem is None else one.problem.message,
            }
            for one in accesses
        ],
    }
    session.output.document(document, lambda: _say_kit(session, target, accesses, encrypt=encrypt))
    for name, problem in problems.items():
        session.output.warn(f"the kit contains no access token for {name}: {problem.message}")
    return 1 if problems else 0


def _write_kit(
    session: CommandSession, target: Path, make_page: Callable[[], str], passphrase: str | None, *, force: bool
) -> None:
    """Write the page, which is made once the file can be written. Raises ExchangeError."""
    if target == DASH:
        print_private_text(make_page())
        return
    with create_file(session.context.files, target, force=force) as stream:
        page = make_page()
        stream.write(page.encode() if passphrase is None else kit_files.encrypt_kit(page, passphrase))


def _revoke_all(session: CommandSession, accesses: list[KitAccess]) -> None:
    """Revoke the tokens of a kit that was not written."""
    for one in accesses:
        if one.secret is None:
            continue
        try:
            kit_remotes.revoke_kit_access(session.context, one)
        except LifeboatError as error:
            session.output.warn(
                f"the restore-only token {one.token_id} on {one.remote.name} could not be revoked: {error.message}"
            )


def _say_kit(session: CommandSession, target: Path, accesses: list[KitAccess], *, encrypt: bool) -> None:
    say = session.output.note if target == DASH else session.output.line
    if target == DASH:
        say("Anyone who has this page has your key.")
    elif encrypt:
        session.output.line(
            f"The encrypted kit was written to {target}. Only its passphrase can decrypt it, so "
            "store the passphrase in another place.",
            style="bold",
        )
    else:
        session.output.line(f"The kit {target} contains your key. Print the kit, then delete the file.", style="bold")
    for one in accesses:
        if one.token_id:
            say(
                f"The kit contains a restore-only token for {one.remote.name}. To revoke it, run on the server: "
                f"lifeboat endpoint token revoke {one.token_id} --data DIR"
            )
    if target != DASH:
        session.output.line("To restore your agents on a new machine:")
        session.output.verbatim(f"  lifeboat setup --kit {quote_argument(str(target))}")
        session.output.line("To check the kit:")
        session.output.verbatim(f"  lifeboat keys prove --words-from {quote_argument(str(target))}")
