"""`lifeboat purge`: destroy something that an agent knows everywhere, with proof (ALF §3.1.11)."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from lifeboat_alf.purging.file_purge import REASONS
from lifeboat_cli import INTERRUPTED
from lifeboat_cli.purge import purge_text
from lifeboat_cli.terminal.command_session import CommandSession, ask_typed_word, can_ask, session_command
from lifeboat_cli.terminal.help_examples import format_examples
from lifeboat_cli.terminal.option_types import AGENT
from lifeboat_cli.terminal.output import wrap_question
from lifeboat_core.agents import agent as agents
from lifeboat_core.agents.agent import Agent
from lifeboat_core.errors import RestoreError
from lifeboat_core.texts import misplaced_words
from lifeboat_core.texts.safe_text import line_text
from lifeboat_daemon.control.poke_daemon import wake_daemon

if TYPE_CHECKING:
    from lifeboat_core.purge.purge_run import Owners
    from lifeboat_core.purge.purge_search import PurgeMatches, PurgeRequest

_LARGEST = 1 << 20
"""Bytes of the text to find."""


@click.command(
    short_help="Destroy a text or memory in every copy, with a receipt.",
    epilog=format_examples(
        "lifeboat purge Juniper",
        "lifeboat purge Juniper --record ID --dry-run",
        "lifeboat purge Juniper --text-stdin --workspace --yes < text",
        "lifeboat purge Juniper --text-stdin --memory --dry-run < text",
        "lifeboat purge Juniper --all --reason gdpr_article_17",
    ),
)
@click.argument("agent", type=AGENT)
@click.option(
    "--record",
    "records",
    metavar="ID",
    multiple=True,
    help="Purge this memory, given by the id of any of its versions (repeatable).",
)
@click.option(
    "--text-stdin", is_flag=True, help="Purge the text that is read from standard input, in every memory and file."
)
@click.option(
    "--text",
    metavar="T",
    help="Purge this text, in every memory and file. The text stays in your shell's history, so prefer --text-stdin.",
)
@click.option(
    "--pattern-stdin", is_flag=True, help="Purge all text that matches the regular expression read from standard input."
)
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Purge the whole agent: its history, its keys and its data on all remotes.",
)
@click.option("--passage", is_flag=True, help="Remove only the matching text, and keep the text around it (default).")
@click.option("--line", is_flag=True, help="Remove each line that contains matching text.")
@click.option(
    "--memory", is_flag=True, help="Remove every memory that contains matching text, with all versions of the memory."
)
@click.option(
    "--only", is_flag=True, help="With --record: purge only this version of the memory, not earlier or later ones."
)
@click.option("--derived", is_flag=True, help="Also purge memories that were derived only from purged memories.")
@click.option(
    "--workspace",
    is_flag=True,
    help="Also remove the text from the current files of the workspace. Without this option the text stays there, "
    "and captures leave it out.",
)
@click.option(
    "--kept-out",
    is_flag=True,
    help="Only remove text of earlier purges from the current files of the workspace; purge nothing new.",
)
@click.option(
    "--keep-print",
    is_flag=True,
    help="Store a fingerprint even of a text that could be guessed from it, so that later captures recognise the text.",
)
@click.option(
    "--let-in",
    is_flag=True,
    help="Capture again only the files that earlier purges excluded from captures; purge nothing new.",
)
@click.option(
    "--reason",
    type=click.Choice(REASONS),
    default="user_request",
    show_default=True,
    help="Reason for the purge, for the receipt.",
)
@click.option(
    "--dry-run", is_flag=True, help="Show what would be destroyed and which copies cannot be reached; destroy nothing."
)
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@session_command
def purge(session: CommandSession, /, agent: str, **flags: Any) -> int:
    """Destroy a text or a memory in the whole history on this machine, on remotes, in undo folders and in caches. This
    cannot be undone.

    Without an option the command asks for a text, which is not shown while you type, and removes only that text.
    The numbers, digests and signatures of all sequences stay valid, and all other content can still be restored
    exactly. If a key or password leaked, first revoke it at the service that issued it.
    """
    _check(flags)
    found = agents.find_agent(session.context, agent)
    if flags["everything"]:
        return _erase(session, found, flags)
    if flags["kept_out"]:
        return _cut_kept_out(session, found, flags)
    if flags["let_in"]:
        return _let_in(session, found, flags)
    return _purge(session, found, _request(session, flags), flags)


def _check(flags: dict[str, Any]) -> None:
    """Check that the options are compatible. Raises UsageError."""
    texts = [name for name in ("text_stdin", "text", "pattern_stdin") if flags[name]]
    if len(texts) > 1:
        raise click.UsageError("use only one of --text-stdin, --text and --pattern-stdin")
    wanted = bool(texts or flags["records"])
    widths = [name for name in ("passage", "line", "memory") if flags[name]]
    narrowed = [*widths, *(name for name in ("only", "derived", "workspace", "keep_print") if flags[name])]
    if flags["everything"] and (wanted or narrowed):
        raise click.UsageError("--all can only be combined with --reason, --dry-run and --yes")
    if flags["kept_out"] and (wanted or narrowed or flags["everything"]):
        raise click.UsageError("--kept-out purges nothing new, so use it only with --dry-run and --yes")
    if flags["let_in"] and (wanted or narrowed or flags["everything"] or flags["kept_out"]):
        raise click.UsageError("--let-in purges nothing new, so use it only with --dry-run")
    if len(widths) > 1:
        raise click.UsageError("use only one of --passage, --line and --memory")
    if widths and flags["records"]:
        raise click.UsageError(f"--{widths[0]} needs a text: --text-stdin, --text or --pattern-stdin")
    if flags["text"]:
        click.echo(
            (
                "warning: the text is now in your shell's history; next time use --text-stdin, or run the command "
                "without an option"
            ),
            err=True,
        )


def _request(session: CommandSession, flags: dict[str, Any]) -> PurgeRequest:
    from lifeboat_alf.purging.bounded_patterns import compile_pattern
    from lifeboat_alf.purging.purge_items import PurgeOptions
    from lifeboat_alf.purging.purge_terms import PurgeTerms
    from lifeboat_core.purge.purge_search import PurgeRequest

    text = flags["text"]
    if flags["text_stdin"] or flags["pattern_stdin"]:
        text = _from_stdin()
    elif text is None and not flags["records"]:
        text = _asked(session)
    if text is not None and not text.strip():
        raise click.UsageError("the text to purge is empty and would match everything")
    wanted = PurgeTerms()
    if text is not None:
        texts, patterns = ((), (compile_pattern(text),)) if flags["pattern_stdin"] else ((text,), ())
        wanted = PurgeTerms(texts, patterns, whole_lines=flags["line"])
    return PurgeRequest(
        record_ids=tuple(flags["records"]),
        wanted=wanted,
        options=PurgeOptions(
            only=flags["only"], passage=bool(wanted) and not flags["memory"], derived=flags["derived"]
        ),
        reason=flags["reason"],
        workspace=flags["workspace"],
        capture=not flags["dry_run"],
        keep_print=flags["keep_print"],
    )


def _from_stdin() -> str:
    """Read standard input without the line break at its end. Raises UsageError."""
    data = sys.stdin.buffer.read(_LARGEST + 1)
    if len(data) > _LARGEST:
        raise click.UsageError(f"the text to purge is longer than the limit of {_LARGEST} bytes")
    try:
        return data.decode("utf-8-sig").removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        raise click.UsageError("the text on standard input is not UTF-8") from None


def _asked(session: CommandSession) -> str:
    if not can_ask(session):
        raise click.UsageError("choose what to purge: --record ID, --text-stdin, --pattern-stdin or --all")
    return str(click.prompt("Text to purge (input is hidden)", hide_input=True, err=True))


# Records and texts --------------------------------------------------------------------------------------------------


def _purge(session: CommandSession, agent: Agent, request: PurgeRequest, flags: dict[str, Any]) -> int:
    from lifeboat_core.purge import purge_json, purge_run

    with session.output.progress(f"Searching all copies of {agent.name}") as tell:
        found, warnings = purge_run.preview_purge(session.context, agent, request, tell)
    for warning in warnings:
        session.output.warn(warning)
    document = purge_json.describe_planned_purge(agent, found)
    show = partial(purge_text.print_purge_plan, session.output, agent, found, document, workspace=request.workspace)
    if flags["dry_run"] or not found.is_purgeable:
        session.output.document(document, show)
        return 0
    if not session.output.as_json:
        show()
    if not flags["yes"]:
        _confirm(
            session,
            f"purge {len(found.plan.leaves) or len(found.labels)}",
            f"{purge_text.describe_extent(document)} would be destroyed",
        )
    owners = _owners(session, found, ask=not flags["yes"])
    with _said_when_cut_off(session), session.output.progress(f"Purging {agent.name}") as tell:
        done = purge_run.purge_content(session.context, agent, request, found, owners, tell)
    wake_daemon(session.context, agent)
    result = purge_json.describe_done_purge(agent, done)
    session.output.document(result, lambda: purge_text.print_purge_result(session.output, agent, result))
    return 1 if result["searched"].get("hits") else 0


def _confirm(session: CommandSession, phrase: str, otherwise: str) -> None:
    """Ask for a word that is not typed by accident. Raises RestoreError.CONSENT_NEEDED if no user can be asked."""
    if not can_ask(session):
        raise RestoreError.CONSENT_NEEDED(otherwise, fix="run the same command with --yes")
    ask_typed_word(session.output, phrase)


@contextmanager
def _said_when_cut_off(session: CommandSession) -> Iterator[None]:
    """Explain an interruption: Ctrl-C takes nothing back, and the next command finishes what was begun."""
    from lifeboat_core.purge import purge_orders, receipt_signing

    before = {each.id for each in receipt_signing.load_receipts(session.context)}
    try:
        yield
    except KeyboardInterrupt:
        begun = any(purge_orders.list_pending_orders(session.context))
        if not begun and {each.id for each in receipt_signing.load_receipts(session.context)} == before:
            raise
        session.output.warn("the purge was interrupted; the next command or the daemon completes it")
        session.output.note("To see the result: lifeboat receipts list")
        raise click.exceptions.Exit(INTERRUPTED) from None


def _owners(session: CommandSession, found: PurgeMatches | None, *, ask: bool) -> Owners:
    """Ask for the owner tokens of remotes where a purge would wait. They are never stored."""
    if not ask or not can_ask(session):
        return {}
    from lifeboat_core.remotes import remote_kinds, remote_registry

    asked = [] if found is None else [each.config for each in found.remotes if each.problem is None]
    if found is None:
        asked = remote_registry.list_usable_remotes(session.context)
    owners: dict[str, str] = {}
    for config in asked:
        kind = remote_kinds.find_installed_kind(config.url)
        if kind is not None and kind.waits_for_owner(config):
            question = (
                f"Second token of the remote {config.name}, for purges (press Enter to leave the decision to the owner "
                "of the remote)"
            )
            token = click.prompt(
                wrap_question(line_text(question)), default="", show_default=False, hide_input=True, err=True
            ).strip()
            misplaced_words.refuse_in_field("the token", token)
            owners |= {config.name: token} if token else {}
    return owners


# Text that was purged before -----------------------------------------------------------------------------------------


def _cut_kept_out(session: CommandSession, agent: Agent, flags: dict[str, Any]) -> int:
    from lifeboat_core.agents.locks import agent_lock
    from lifeboat_core.purge import purge_json, workspace_purge

    context = session.context
    with agent_lock(context, agent.id, "purge"), context.vault(agent.id) as vault:
        cuts = workspace_purge.plan_workspace_purge(context, agent, vault)
        document = purge_json.describe_kept_out(agent, cuts)
        if flags["dry_run"] or not cuts:
            session.output.document(document, lambda: purge_text.print_kept_out_files(session.output, agent, cuts))
            return 0
        if not session.output.as_json:
            purge_text.print_kept_out_files(session.output, agent, cuts)
        if not flags["yes"]:
            _confirm(session, "cut", "text would be removed from current files of the workspace")
        document["workspace"] = workspace_purge.purge_workspace(context, agent, vault, cuts)
    wake_daemon(context, agent)
    session.output.document(document, lambda: purge_text.print_cut_files(session.output, document))
    return 0


def _let_in(session: CommandSession, agent: Agent, flags: dict[str, Any]) -> int:
    """Let captures take files again that were left out because they may contain purged text. The user decides that they
    do not."""
    from lifeboat_core.agents.locks import agent_lock
    from lifeboat_core.purge import keep_out, purge_json

    context = session.context
    with agent_lock(context, agent.id, "purge"), context.vault(agent.id) as vault:
        left = keep_out.read_left_out_files(vault.get(keep_out.FOUND))
        if not flags["dry_run"]:
            keep_out.let_in(vault, left, as_they_are=True)
    wake_daemon(context, agent)
    document = purge_json.describe_let_in(agent, left, dry_run=flags["dry_run"])
    session.output.document(document, lambda: purge_text.print_readmitted_files(session.output, agent, document))
    return 0


# Entire agents ------------------------------------------------------------------------------------------------------


def _erase(session: CommandSession, agent: Agent, flags: dict[str, Any]) -> int:
    from lifeboat_core.purge import purge_json, purge_run

    document = purge_json.describe_agent_purge(session.context, agent)
    if flags["dry_run"]:
        session.output.document(document, lambda: purge_text.print_whole_agent(session.output, agent, document))
        return 0
    if not session.output.as_json:
        purge_text.print_whole_agent(session.output, agent, document)
    if not flags["yes"]:
        _confirm(session, f"purge {agent.name}", f"all data of {agent.name} would be destroyed")
    owners = _owners(session, None, ask=not flags["yes"])
    with _said_when_cut_off(session), session.output.progress(f"Purging {agent.name}") as tell:
        done = purge_run.purge_agent(session.context, agent, flags["reason"], owners, tell)
    wake_daemon(session.context)
    result = purge_json.describe_done_purge(agent, done)
    session.output.document(result, lambda: purge_text.print_purge_result(session.output, agent, result))
    return 0
