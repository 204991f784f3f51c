"""`lifeboat remote`: remotes of your agents, on another machine or another disk."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_cli.remote.remote_listing import describe_config, list_remotes, show_remote
from lifeboat_cli.remote.remote_test_command import test
from lifeboat_cli.terminal.command_session import CommandSession, ask_confirmation, can_ask, session_command
from lifeboat_cli.terminal.fixable_usage_error import FixableUsageError
from lifeboat_cli.terminal.help_examples import format_examples
from lifeboat_cli.terminal.lazy_group import DefaultCommandGroup
from lifeboat_cli.terminal.option_types import REMOTE
from lifeboat_core.agents.agent import list_agents
from lifeboat_core.documents.remote_documents import Met, Removed, Token
from lifeboat_core.errors import BadSetting
from lifeboat_core.home.context import Context
from lifeboat_core.remotes import remote_registry
from lifeboat_core.remotes.contract import RemoteConfig, RemoteKind
from lifeboat_core.texts import misplaced_words
from lifeboat_core.texts.human_text import quote_argument, time_text
from lifeboat_core.texts.safe_text import line_text
from lifeboat_daemon.control.poke_daemon import wake_daemon

if TYPE_CHECKING:
    from lifeboat_core.remotes.remote_probe import ProbeResult

_STDIN = "-"
"""The address for which the join line is read from standard input."""


@click.group(cls=DefaultCommandGroup, default="list")
def remote() -> None:
    """Manage remotes: copies of your agents on endpoints (servers on other machines) and in folders on other disks."""


remote.add_command(list_remotes)
remote.add_command(show_remote)
remote.add_command(test)


# Adding ---------------------------------------------------------------------------------------------------------


@remote.command(
    short_help="Add a remote, or change its address.",
    epilog=format_examples(
        "lifeboat remote add home",
        "lifeboat remote add home - < join.txt",
        "lifeboat remote add home https://boat.example.com --token-stdin < token.txt",
        "lifeboat remote add stick file:///media/ada/stick/lifeboat --optional",
        "lifeboat remote add nas sftp://ada@nas.example.com/srv/backup/lifeboat",
        "lifeboat remote add bucket s3://ada-backup/lifeboat --region eu-central-1 --credentials-stdin < keys.txt",
        "lifeboat remote add cloud webdav+https://cloud.example.com/remote.php/dav/files/ada/Lifeboat",
    ),
)
@click.argument("name")
@click.argument("address", required=False, metavar="[URL|-]")
@click.option(
    "--join-stdin", is_flag=True, help="Read the join line from standard input (the same as - instead of URL)."
)
@click.option("--token-stdin", is_flag=True, help="Read the token from standard input, or ask for it on a terminal.")
@click.option(
    "--endpoint",
    metavar="URL",
    help="URL of the object store. Needed for a store that is not the cloud provider's own service.",
)
@click.option("--region", metavar="REGION", help="Region of an s3:// bucket.  [default: us-east-1]")
@click.option(
    "--credentials-stdin",
    is_flag=True,
    help="Read the credentials of a bucket or a WebDAV server from standard input.",
)
@click.option(
    "--pin",
    help="SHA-256 of the public key of the endpoint's certificate authority. Needed only if the endpoint signs its own "
    "certificate.",
)
@click.option(
    "--optional",
    is_flag=True,
    help="The remote is not always connected, like a USB stick: do not report it as overdue.",
)
@click.option(
    "--sealed",
    is_flag=True,
    help="Encrypt all data on this machine, so that the operator of the remote can read nothing.",
)
@click.option(
    "--plain",
    is_flag=True,
    help="Do not encrypt the data in this folder, so that any program that knows the Agent Life Format can read it.",
)
@click.option("--dry-run", is_flag=True, help="Contact the remote and show who could read which data; save nothing.")
@session_command
def add(
    session: CommandSession,
    name: str,
    address: str | None,
    join_stdin: bool,
    token_stdin: bool,
    endpoint: str | None,
    region: str | None,
    credentials_stdin: bool,
    pin: str | None,
    optional: bool,
    sealed: bool,
    plain: bool,
    dry_run: bool,
) -> None:
    """Add a remote. URL is the join line or the https:// address of an endpoint, the file:/// address of a folder,
    the address of a bucket (s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or az://ACCOUNT/CONTAINER/PREFIX), the
    webdav+https:// address of a folder on a WebDAV server, or the address of a folder on an SFTP server:
    sftp://[USER@]HOST[:PORT]/PATH. Without URL, the command asks for the join line and does not show your input.
    With - it reads the join line from standard input.

    Lifeboat asks the remote for its identity and sends no data of your agents yet. If a remote with this NAME
    exists and the new URL leads to the same remote, the command changes the URL of the remote.
    """
    from lifeboat_core.remotes import manage_remotes, mistyped_addresses, remote_kinds

    _check_options(address, join_stdin=join_stdin, token_stdin=token_stdin, sealed=sealed, plain=plain)
    if credentials_stdin and (token_stdin or join_stdin or address in (None, _STDIN)):
        raise click.UsageError(
            "--credentials-stdin needs the URL of a bucket or a WebDAV server, and cannot be used with a token or a "
            "join line."
        )
    _warn_of_history(session, name, address)
    text = _read_address(session, name, address, join_stdin=join_stdin)
    mistyped_addresses.refuse_mistyped_address(name, text)
    token = _read_secret(session, "The token") if token_stdin else None
    given = manage_remotes.parse_remote_access(text, pin=pin, token=token)
    kind = remote_kinds.find_kind(given.url)
    options = {name: value for name, value in (("endpoint", endpoint), ("region", region)) if value is not None}
    given = replace(given, url=kind.add_options(given.url, options))
    before = {one.name: one for one in remote_registry.list_remotes(session.context)}.get(name)
    if credentials_stdin or (kind.needs_credentials and before is None and token is None):
        _refuse_silent_terminal(session, kind, name, given.url, is_given=credentials_stdin)
        given = replace(given, token=kind.read_credentials(given.url, _read_credentials(kind)))
    # A known remote stays as it is kept.
    is_sealed_by_default = kind.is_sealed_by_default if before is None else before.sealed
    if plain and not kind.is_sealed_by_default:
        raise click.UsageError(
            "--plain can only be used for folders and buckets, because an endpoint always encrypts its data."
        )
    with session.output.progress("Contacting the remote"):
        config, met = manage_remotes.add_remote(
            session.context,
            name,
            given,
            optional=optional,
            sealed=sealed or (is_sealed_by_default and not plain),
            save=not dry_run,
        )
    if not dry_run:
        wake_daemon(session.context)
    readable = remote_kinds.find_kind(config.url).readable_by(config)
    facts: JsonObject = {"readable": readable, "token": _describe_token(met), "release": met.about.release}
    document = Met(**describe_config(config), **facts, dry_run=dry_run)
    if before == config and given.token is None:
        known = f"The remote {config.name} has this address already. Nothing was changed."
        session.output.document(document, lambda: session.output.line(known))
    else:
        session.output.document(document, lambda: _say_added(session, config, met, readable, added=not dry_run))


def _warn_of_history(session: CommandSession, name: str, address: str | None) -> None:
    """Warn of a join line among the words of the command, which the shell keeps."""
    from lifeboat_vault.remote.join_lines import is_join_line

    if address is not None and is_join_line(address):
        session.output.warn(
            "the join line contains a token, and is now in the history of your shell. Next time run `lifeboat "
            f"remote add {quote_argument(name)}`, which asks for the join line"
        )


def _check_options(address: str | None, *, join_stdin: bool, token_stdin: bool, sealed: bool, plain: bool) -> None:
    if join_stdin and address is not None:
        raise click.UsageError("Give either URL or --join-stdin, not both.")
    if token_stdin and (join_stdin or address in (None, _STDIN)):
        raise click.UsageError(
            "--token-stdin needs a URL without a token, because a join line already contains the token."
        )
    if sealed and plain:
        raise click.UsageError("Give --sealed or --plain, not both.")


def _read_address(session: CommandSession, name: str, address: str | None, *, join_stdin: bool) -> str:
    """Return the given URL or join line, or the one that the user enters. Raises FixableUsageError where the user
    cannot be asked."""
    if join_stdin or address == _STDIN:
        return _read_secret(session, "The join line")
    if address is not None:
        return address
    if not can_ask(session):
        raise FixableUsageError(
            "Give the URL or the join line: the command cannot ask for it, because there is no terminal.",
            fix=f"lifeboat remote add {quote_argument(name)} - < FILE",
        )
    return _ask_secret("The join line")


def _say_added(session: CommandSession, config: RemoteConfig, met: ProbeResult, readable: str, *, added: bool) -> None:
    from lifeboat_core.remotes import remote_kinds

    done = "Added the remote" if added else "The remote is reachable, but was not added:"
    session.output.line(f"{done} {config.name}: {config.url}", style="bold")
    session.output.line(readable)
    for line in (*remote_kinds.find_kind(config.url).describe_store(config), *_about_token(met)):
        session.output.line(line)
    if not added:
        return
    if list_agents(session.context):
        session.output.line(
            "The first push sends the newest sequence of each agent. Earlier sequences stay on this machine only."
        )
        session.output.line("To push your agents to the remote now:")
        session.output.verbatim("  lifeboat sync")
    else:
        session.output.line("To list the agents on the remote:")
        session.output.verbatim(f"  lifeboat agents list --remote {quote_argument(config.name)}")


def _about_token(met: ProbeResult) -> Iterable[str]:
    if met.superfluous:
        yield (
            f"The token permits more than this machine needs: {', '.join(met.superfluous)}. An intruder on this "
            "machine could use these permissions. A token with push and pull is enough."
        )
    if met.expires_at is not None:
        yield f"The token expires on {time_text(met.expires_at)}."


def _read_secret(session: CommandSession, what: str) -> str:
    """Read one line of standard input; on a terminal without echo. Raises BadSetting, which does not repeat it."""
    if sys.stdin.isatty():
        return _ask_secret(what)
    lines = sys.stdin.read(2 * remote_registry.LONGEST_TOKEN).strip().splitlines()
    return _check_secret(what, lines)


def _refuse_silent_terminal(session: CommandSession, kind: RemoteKind, name: str, url: str, *, is_given: bool) -> None:
    """Raise FixableUsageError if credentials are needed, and neither given nor can be asked for."""
    if is_given or can_ask(session):
        return
    wanted = " and ".join(each.what.lower() for each in kind.credential_questions)
    raise FixableUsageError(
        f"Give {wanted} with --credentials-stdin: the command cannot ask for them, because there is no terminal.",
        fix=f"lifeboat remote add {quote_argument(name)} {quote_argument(url)} --credentials-stdin < FILE",
    )


def _read_credentials(kind: RemoteKind) -> str:
    """Read the credentials of a remote; on a terminal one line for each question, secrets without echo. Raises
    BadSetting, which does not repeat them."""
    if sys.stdin.isatty():
        return "\n".join(_ask_line(each.what, is_hidden=each.is_hidden) for each in kind.credential_questions)
    return misplaced_words.refuse_in_field("the credentials", sys.stdin.read(2 * remote_registry.LONGEST_TOKEN))


def _ask_secret(what: str) -> str:
    return _ask_line(what, is_hidden=True)


def _ask_line(what: str, *, is_hidden: bool) -> str:
    asked = f"{what} (input is hidden)" if is_hidden else what
    text = click.prompt(line_text(asked), hide_input=is_hidden, default="", show_default=False, err=True)
    return _check_secret(what, str(text).strip().splitlines())


def _check_secret(what: str, lines: Sequence[str]) -> str:
    help_command = f"{click.get_current_context().command_path} --help"
    if not lines:
        raise BadSetting(f"{what.lower()} must not be empty", fix=help_command)
    if len(lines) > 1 or len(lines[0]) > remote_registry.LONGEST_TOKEN or not lines[0].isprintable():
        raise BadSetting(
            f"{what.lower()} must be one line of printable text",
            fix=help_command,
        )
    return misplaced_words.refuse_in_field(what.lower(), lines[0])


def _describe_token(met: ProbeResult) -> Token | None:
    return None if met.token is None else Token(tuple(sorted(met.scopes)), met.expires_at)


# Changing -------------------------------------------------------------------------------------------------------


@remote.command(
    short_help="Remove a remote, and revoke the token of this machine.",
    epilog=format_examples("lifeboat remote remove stick", "lifeboat remote remove home --yes --keep-token"),
)
@click.argument("remote", type=REMOTE)
@click.option(
    "--keep-token", is_flag=True, help="Do not revoke the token, for example because another machine uses it too."
)
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@session_command
def remove(session: CommandSession, remote: str, keep_token: bool, yes: bool) -> None:
    """Remove a remote: stop pushing to it, revoke this machine's token and delete the settings of the remote.

    The data on the remote stays there. To use the remote again, run `lifeboat remote add`.
    """
    from lifeboat_core.remotes import manage_remotes

    name = _name_of(session.context, remote)
    if not yes:
        question = f"Remove the remote {name}? The copies of your agents on the remote stay there."
        ask_confirmation(session, question, otherwise=f"the remote {name} would be removed")
    revoked = False if keep_token else _revoke(session, name)
    manage_remotes.remove_remote(session.context, name)
    wake_daemon(session.context)

    def text() -> None:
        session.output.line(f"The remote {name} was removed. The copies of your agents on the remote stay there.")
        if revoked:
            session.output.line("The token of this machine was revoked on the remote.")

    session.output.document(Removed(name, token_revoked=revoked), text)


def _name_of(context: Context, text: str) -> str:
    """Return the name of a remote, even if its file is invalid. Raises SecondCopyError.UNKNOWN_REMOTE."""
    same = [name for name in remote_registry.list_remote_names(context) if name.casefold() == text.casefold()]
    return same[0] if same else remote_registry.find_remote(context, text).name


def _revoke(session: CommandSession, name: str) -> bool:
    """Revoke this machine's token at a remote. Return whether that succeeded. An unreachable remote can still be
    removed."""
    from lifeboat_core.remotes import remote_probe

    try:
        config = remote_registry.find_remote(session.context, name)
        token = remote_registry.load_token(session.context, name)
        return token is not None and remote_probe.revoke_token(
            session.context, remote_probe.RemoteCandidate(config, token)
        )
    except LifeboatError as error:
        session.output.warn(f"the token of this machine could not be revoked on the remote: {error.message}")
        return False


@remote.command(
    short_help="Replace the access token of a remote.",
    epilog=format_examples("lifeboat remote token home", "lifeboat remote token home --token-stdin < token.txt"),
)
@click.argument("remote", type=REMOTE)
@click.option("--token-stdin", is_flag=True, help="Read the token from standard input. [default: ask for the token]")
@session_command
def token(session: CommandSession, remote: str, token_stdin: bool) -> None:
    """Replace the access token of a remote.

    The command tests the new token and stores it if it works. The old token stays valid until the operator of the
    remote revokes it. On a terminal the command asks for the token and does not show your input.
    """
    from lifeboat_core.remotes import manage_remotes, remote_kinds

    if not token_stdin and not can_ask(session):
        raise FixableUsageError(
            "Give the token with --token-stdin: the command cannot ask for it, because there is no terminal.",
            fix=f"lifeboat remote token {quote_argument(remote)} --token-stdin < FILE",
        )
    config = remote_registry.find_remote(session.context, remote)
    kind = remote_kinds.find_kind(config.url)
    if kind.has_credentials:
        secret = kind.read_credentials(config.url, _read_credentials(kind))
    else:
        secret = _read_secret(session, "The token")
    with session.output.progress("Testing the token"):
        met = manage_remotes.give_token(session.context, config, secret)
    wake_daemon(session.context)

    def text() -> None:
        session.output.line(f"The new token was accepted by {config.name} and stored.")
        for line in _about_token(met):
            session.output.line(line)

    session.output.document({"name": config.name, "token": _describe_token(met)}, text)
