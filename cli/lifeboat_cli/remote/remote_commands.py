"""`lifeboat remote`: remotes of your agents, on another machine or another disk."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from lifeboat_alf.common import times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_cli.remote.remote_test_command import test
from lifeboat_cli.terminal.command_session import CommandSession, ask_confirmation, can_ask, session_command
from lifeboat_cli.terminal.help_examples import format_examples
from lifeboat_cli.terminal.lazy_group import DefaultCommandGroup
from lifeboat_cli.terminal.option_types import REMOTE
from lifeboat_cli.terminal.text_table import TableFit
from lifeboat_core.agents import agent as agents
from lifeboat_core.documents.remote_documents import AgentThere, Met, Removed, SecondCopies, SecondCopy, Token
from lifeboat_core.errors import BadSetting
from lifeboat_core.home.context import Context
from lifeboat_core.remotes import remote_registry
from lifeboat_core.remotes.contract import RemoteConfig
from lifeboat_core.texts import misplaced_words
from lifeboat_core.texts.human_text import age_text, quote_argument, time_text
from lifeboat_daemon.control.poke_daemon import wake_daemon

if TYPE_CHECKING:
    from lifeboat_core.remotes.remote_probe import ProbeResult


@click.group(cls=DefaultCommandGroup, default="list")
def remote() -> None:
    """Second copies: endpoints on other machines, folders on other disks."""


remote.add_command(test)


# Adding ---------------------------------------------------------------------------------------------------------


@remote.command(
    short_help="Make a second copy known, or tell where it is now.",
    epilog=format_examples(
        "lifeboat remote add home --join-stdin < join.txt",
        "lifeboat remote add home https://boat.example.com --token-stdin < token.txt",
        "lifeboat remote add stick file:///media/ada/stick/lifeboat --optional",
    ),
)
@click.argument("name")
@click.argument("address", required=False, metavar="URL|JOIN-LINE")
@click.option("--join-stdin", is_flag=True, help="Read the join line from standard input.")
@click.option("--token-stdin", is_flag=True, help="Read the token from standard input.")
@click.option("--pin", help="The SHA-256 of the public key of the endpoint's own authority.")
@click.option("--optional", is_flag=True, help="Nobody is worried while it is away (a stick).")
@click.option("--sealed", is_flag=True, help="Encrypt everything here: whoever runs it can read nothing.")
@click.option("--plain", is_flag=True, help="A folder that is not encrypted, readable by any ALF program.")
@click.option("--dry-run", is_flag=True, help="Ask it who it is, say who could read what, and keep nothing.")
@session_command
def add(
    session: CommandSession,
    name: str,
    address: str | None,
    join_stdin: bool,
    token_stdin: bool,
    pin: str | None,
    optional: bool,
    sealed: bool,
    plain: bool,
    dry_run: bool,
) -> None:
    """Make a second copy known as NAME: an endpoint or a folder (file:///...). It is asked who it is; nothing of yours
    is sent yet. A NAME that is known already gets the new address, if the same second copy answers there."""
    from lifeboat_core.remotes import manage_remotes, remote_kinds
    from lifeboat_vault.remote.join_lines import is_join_line

    _check_options(address, join_stdin=join_stdin, token_stdin=token_stdin, sealed=sealed, plain=plain)
    if address is not None and is_join_line(address):
        session.output.warn(
            "the join line, which holds a token, stands in the history of your shell now; next time: "
            f"lifeboat remote add {quote_argument(name)} --join-stdin"
        )
    text = _one_line(session, "The join line") if join_stdin else str(address)
    token = _one_line(session, "The token") if token_stdin else None
    given = manage_remotes.parse_remote_access(text, pin=pin, token=token)
    is_sealed_by_default = remote_kinds.find_kind(given.url).is_sealed_by_default
    if plain and not is_sealed_by_default:
        raise click.UsageError("--plain is for folders: an endpoint encrypts what it keeps by itself.")
    with session.output.progress("Asking it who it is"):
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
    token_document = _describe_token(met)
    document = Met(
        **_describe_remote(config), readable=readable, token=token_document, release=met.about.release, dry_run=dry_run
    )
    session.output.document(document, lambda: _say_added(session, config, met, readable, added=not dry_run))


def _check_options(address: str | None, *, join_stdin: bool, token_stdin: bool, sealed: bool, plain: bool) -> None:
    if (address is None) != join_stdin:
        raise click.UsageError("Give an address, a join line, or --join-stdin.")
    if join_stdin and token_stdin:
        raise click.UsageError("A join line holds the token: give --join-stdin alone.")
    if sealed and plain:
        raise click.UsageError("Give --sealed or --plain, not both.")


def _say_added(session: CommandSession, config: RemoteConfig, met: ProbeResult, readable: str, *, added: bool) -> None:
    becomes = "is a second copy of your agents" if added else "answers, and would be a second copy of your agents"
    session.output.line(f"{config.name} {becomes}: {config.url}", style="bold")
    session.output.line(readable)
    for line in _about_token(met):
        session.output.line(line)
    if added:
        session.output.line("Bring everything there now:")
        session.output.verbatim("  lifeboat sync")


def _about_token(met: ProbeResult) -> Iterable[str]:
    if met.superfluous:
        yield (
            f"The token allows more than this machine needs ({', '.join(met.superfluous)}): whoever gets hold of this "
            "machine could do that there. One for push and pull is enough."
        )
    if met.expires_at is not None:
        yield f"The token ends on {time_text(met.expires_at)}."


def _one_line(session: CommandSession, what: str) -> str:
    """Read one line of standard input. Raises BadSetting, which does not repeat it."""
    if sys.stdin.isatty():
        session.output.note(f"{what}, then Enter:")
        text = sys.stdin.readline()
    else:
        text = sys.stdin.read(2 * remote_registry.LONGEST_TOKEN)
    lines = text.strip().splitlines()
    if len(lines) != 1 or len(lines[0]) > remote_registry.LONGEST_TOKEN or not lines[0].isprintable():
        raise BadSetting(f"{what.lower()} has to be one line on standard input", fix="lifeboat remote add --help")
    return misplaced_words.refuse_in_field(what.lower(), lines[0])


# Listing --------------------------------------------------------------------------------------------------------


@remote.command(
    "list",
    short_help="Every second copy, and how it stands with each agent.",
    epilog=format_examples("lifeboat remote list"),
)
@session_command
def list_remotes(session: CommandSession) -> None:
    """Every second copy: how it stands with each agent, and when it was last read back. Nobody is asked."""
    found = [_standing(session.context, one) for one in remote_registry.list_remotes(session.context)]

    def text() -> None:
        if not found:
            session.output.line("There is no second copy: your agents are on this disk only.", style="bold")
            session.output.verbatim("lifeboat remote add NAME URL")
            return
        rows = [row for one in found for row in _rows(session.context, one)]
        columns = ("second copy", "address", "agent", "state", "sequence", "verified")
        session.output.table(columns, rows, TableFit(shorten=("address", "agent")))
        for one in found:
            if one.problem:
                session.output.warn(one.problem)

    session.output.document(SecondCopies(tuple(found)), text)


def _describe_remote(config: RemoteConfig) -> JsonObject:
    return {
        "name": config.name,
        "url": config.url,
        "id": config.id or None,
        "pin": config.pin or None,
        "optional": config.optional,
        "sealed": config.sealed,
        "added_at": config.added_at or None,
    }


def _describe_token(met: ProbeResult) -> Token | None:
    return None if met.token is None else Token(tuple(sorted(met.scopes)), met.expires_at)


def _standing(context: Context, config: RemoteConfig) -> SecondCopy:
    """Return a remote with what the local vaults know of it. `verified_at` is the oldest of its agents', or None if one
    of them was never read back."""
    from lifeboat_core.remotes import remote_kinds

    problem = remote_kinds.find_problem(config)
    kind = None if problem else remote_kinds.find_kind(config.url)
    known = [] if problem else [_describe_agent(context, agent, config) for agent in agents.list_agents(context)]
    verified = [one.verified_at or "" for one in known]
    oldest = min(verified, default=None) or None
    return SecondCopy(
        **_describe_remote(config),
        kind=None if kind is None else kind.name,
        readable="" if kind is None else kind.readable_by(config),
        needs_token=kind is not None and kind.needs_token,
        has_token=remote_registry.load_token(context, config.name) is not None,
        problem=problem,
        verified_at=oldest,
        agents=tuple(known),
    )


def _describe_agent(context: Context, agent: agents.Agent, config: RemoteConfig) -> AgentThere:
    from lifeboat_core.remotes import acknowledged_states

    try:
        with context.vault(agent.id) as vault:
            found = acknowledged_states.load_acknowledged(vault).get(config.id, acknowledged_states.AcknowledgedState())
    except LifeboatError as error:
        return AgentThere(agent.id, agent.name, "error", message=error.message)
    return AgentThere(
        agent.id, agent.name, found.state, found.number, found.at, found.verified_at, found.message or None
    )


def _rows(context: Context, one: SecondCopy) -> list[tuple[str, ...]]:
    kind = ", ".join(word for word, said in (("optional", one.optional), ("sealed", one.sealed)) if said)
    name = f"{one.name} ({kind})" if kind else one.name
    if one.problem:
        return [(name, "", "", "error", "", "")]
    url = one.url or ""
    return [
        (name, url, each.name, each.state, _number(each.sequence), _age(context, each.verified_at))
        for each in one.agents
    ] or [(name, url, "", "", "", "")]


def _number(sequence: int | None) -> str:
    return "" if sequence is None else str(sequence)


def _age(context: Context, moment: str | None) -> str:
    if moment is None:
        return "never"
    return f"{age_text((context.clock.now() - times.parse_time(moment)).total_seconds())} ago"


# Changing -------------------------------------------------------------------------------------------------------


@remote.command(
    epilog=format_examples("lifeboat remote remove stick", "lifeboat remote remove home --yes --keep-token")
)
@click.argument("remote", type=REMOTE)
@click.option("--keep-token", is_flag=True, help="Do not have the token revoked there: another machine uses it, too.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@session_command
def remove(session: CommandSession, remote: str, keep_token: bool, yes: bool) -> None:
    """Send nothing there any more, and forget what it has. What it keeps stays there, and comes back with `add`."""
    from lifeboat_core.remotes import manage_remotes

    name = _name_of(session.context, remote)
    if not yes:
        question = f"Send nothing to {name} any more? What it keeps of your agents stays there."
        ask_confirmation(session, question, otherwise=f"{name} would be no second copy any more")
    revoked = False if keep_token else _revoke(session, name)
    manage_remotes.remove_remote(session.context, name)
    wake_daemon(session.context)
    stays = "What it keeps of your agents stays there, for whoever runs it to remove."

    def text() -> None:
        session.output.line(f"{name} is no second copy any more. {stays}")
        if revoked:
            session.output.line("The token of this machine counts no more there.")

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
        session.output.warn(f"the token of this machine may still count there: {error.message}")
        return False


@remote.command(epilog=format_examples("lifeboat remote token home --token-stdin < token.txt"))
@click.argument("remote", type=REMOTE)
@click.option("--token-stdin", is_flag=True, help="Read the token from standard input; asked for on a terminal.")
@session_command
def token(session: CommandSession, remote: str, token_stdin: bool) -> None:
    """Take another token for a second copy, after it was tried out. The one before counts until it is revoked there."""
    from lifeboat_core.remotes import manage_remotes

    if not token_stdin and not can_ask(session):
        raise click.UsageError("Give the token with --token-stdin.")
    config = remote_registry.find_remote(session.context, remote)
    secret = _one_line(session, "The token")
    with session.output.progress("Trying it out"):
        met = manage_remotes.give_token(session.context, config, secret)
    wake_daemon(session.context)

    def text() -> None:
        session.output.line(f"{config.name} lets this machine in with the new token.")
        for line in _about_token(met):
            session.output.line(line)

    session.output.document({"name": config.name, "token": _describe_token(met)}, text)
