"""`lifeboat receipts`: the proof of purges: what was purged where, what is left to do, and whether a receipt is
valid."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import ArchiveError, BadJson, LifeboatError
from lifeboat_cli.purge import purge_receipt_text as texts
from lifeboat_cli.terminal.command_session import CommandSession, can_ask, is_json_wanted, session_command
from lifeboat_cli.terminal.help_examples import format_examples
from lifeboat_cli.terminal.option_types import AGENT, REMOTE, NameOption
from lifeboat_cli.terminal.output import CommandOutput
from lifeboat_cli.terminal.pager import pager_option
from lifeboat_cli.terminal.text_table import TableFit
from lifeboat_core.errors import BadSetting, DaemonError, ExchangeError
from lifeboat_core.home.context import Context
from lifeboat_core.home.lifeboat_home import Home
from lifeboat_core.purge import purged_agent_files, receipt_signing, receipt_store
from lifeboat_core.purge.receipt_checking import RECEIPT as RECEIPT_SUBJECT
from lifeboat_core.purge.receipt_findings import ReceiptFinding, report_wrong
from lifeboat_core.texts import misplaced_words
from lifeboat_core.texts.human_text import quote_argument
from lifeboat_vault.errors import RemoteDenied

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lifeboat_alf.redaction.redactions import Redaction
    from lifeboat_core.agents.agent import Agent

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
NEW_FILE = click.Path(dir_okay=False, path_type=Path)
LARGEST = 64 << 20
"""Bytes of a receipt that is read from a file."""
DOES_NOT_HOLD = 3
UNTRUSTED = 4
"""The exit status for a complete receipt that is signed with a key unknown to this home."""


def _receipts(ctx: click.Context) -> Iterable[str]:
    return [receipt.id for receipt in receipt_store.load_receipts(Context.open())]


RECEIPT = NameOption("receipt", _receipts)


@click.group("receipts")
def purge_receipts() -> None:
    """Show, check and export receipts of purges."""


# Reading --------------------------------------------------------------------------------------------------------------


@purge_receipts.command("list", epilog=format_examples("lifeboat receipts list", "lifeboat receipts list Juniper"))
@click.argument("agent", type=AGENT, required=False)
@pager_option
@session_command
def list_receipts(session: CommandSession, agent: str | None) -> None:
    """List all purges, with the copies that have not applied them."""
    context = session.context
    wanted = None if agent is None else _agent_id(context, agent)
    found = [each for each in receipt_signing.load_receipts(context) if wanted in (None, each.agent_id)]
    damaged = [] if wanted is not None else list(receipt_signing.list_damaged_receipts(context))
    names = texts.collect_agent_names(context)

    def text() -> None:
        for receipt_id, why in damaged:
            session.output.warn(f"the receipt {receipt_id} cannot be read: {why}")
        if not found:
            session.output.line("No purge was made yet.")
            return
        columns = ("receipt", "agent", "asked for", "what", "state")
        fit = TableFit(shorten=("agent", "what", "state"), least={"state": 20, "asked for": 16})
        with session.output.pager():
            session.output.table(columns, (texts.make_receipt_row(each, names) for each in found), fit)

    listed = [texts.summarize_receipt(each, names) for each in found]
    broken = [{"id": receipt_id, "message": why} for receipt_id, why in damaged]
    session.output.document({"receipts": listed, "damaged": broken}, text)


@purge_receipts.command(
    short_help="Show one purge and its state in each copy.",
    epilog=format_examples("lifeboat receipts show ID", "lifeboat receipts show ID --audit"),
)
@click.argument("receipt_id", metavar="ID", type=RECEIPT)
@click.option(
    "--audit",
    is_flag=True,
    help="Show details for an auditor: the audit record, the hashes and the positions in the audit logs.",
)
@session_command
def show(session: CommandSession, receipt_id: str, audit: bool) -> int:
    """Show one purge: what was destroyed in which copy, which remotes applied the purge, and what cannot be reached.

    Purged content is never shown. ID is the id of the receipt or the beginning of the id. Exits with 3 if the
    receipt is not valid.
    """
    context = session.context
    receipt = receipt_signing.find_receipt(context, receipt_id)
    document = receipt.to_json()
    found = receipt_signing.verify_receipt(context, document)
    holds = not receipt_signing.has_wrong_finding(found)
    judged: JsonObject = {"holds": holds, "findings": [each.to_json() for each in found]}
    if audit:
        view = {**texts.make_audit_view(receipt), **judged}
        session.output.document(view, lambda: texts.print_audit(session.output, receipt, found))
    else:
        names = texts.collect_agent_names(context)
        session.output.document(
            {"receipt": document, **judged}, lambda: texts.print_receipt(session.output, receipt, names, found)
        )
    return 0 if holds else DOES_NOT_HOLD


@purge_receipts.command(
    short_help="Check the receipt in a file, on any machine.",
    epilog=format_examples("lifeboat receipts verify receipt.json"),
)
@click.argument("file", type=FILE)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def verify(file: Path, as_json: bool) -> int:
    """Check the receipt in a file without network access.

    If this machine has no home of Lifeboat, only the receipt itself is checked. Otherwise its keys, the audit log
    of the vault and the list of purges are checked too. Exits with 3 if the receipt is not valid, and with 4 if it
    is valid but signed with a key that this home does not know.
    """
    output = CommandOutput(as_json=as_json or is_json_wanted())
    context = Context.open() if Home.locate(os.environ).exists() else None
    found = _findings(context, file)
    holds = not receipt_signing.has_wrong_finding(found)
    proven = holds and all(each.level is receipt_signing.ReceiptLevel.HOLDS for each in found)
    document = {"holds": holds, "proven": proven, "findings": [each.to_json() for each in found]}
    output.document(document, lambda: texts.print_receipt_findings(output, found))
    if not holds:
        return DOES_NOT_HOLD
    return UNTRUSTED if any(each.unknown_key for each in found) else 0


# Acting ---------------------------------------------------------------------------------------------------------------


@purge_receipts.command(
    short_help="Apply a waiting purge on a remote immediately.",
    epilog=format_examples(
        "lifeboat receipts confirm ID --remote home",
        "lifeboat receipts confirm ID --remote home --token-stdin < purge-token.txt",
    ),
)
@click.argument("receipt_id", metavar="ID", type=RECEIPT)
@click.option("--remote", type=REMOTE, required=True, help="Remote on which the purge waits.")
@click.option(
    "--token-stdin", is_flag=True, help="Read the second token from standard input (default: ask for the token)."
)
@session_command
def confirm(session: CommandSession, receipt_id: str, remote: str, token_stdin: bool) -> None:
    """Apply a waiting purge on a remote immediately.

    This needs the second token of the remote, which has the scope `purge`. The owner of the remote has this token.
    The token is not stored.
    """
    from lifeboat_core.remotes import remote_registry
    from lifeboat_core.remotes.redactions import purge_exchange

    context = session.context
    receipt = receipt_signing.find_receipt(context, receipt_id)
    agent, redaction = _redaction(context, receipt)
    config = remote_registry.find_remote(context, remote)
    token = _token(session, token_stdin)
    with session.output.progress(f"Applying the purge on {config.name}"):
        try:
            purge_exchange.send_redaction(context, agent, config, redaction, owner=token)
        except RemoteDenied as error:  # The typed token, not the one that this machine stores.
            again = f"lifeboat receipts confirm {receipt.id} --remote {quote_argument(config.name)}"
            raise RemoteDenied(f"{error.message}; use a token with the scope `purge`", fix=again) from None
    note = receipt_signing.find_receipt(context, receipt.id).vault(config.id)
    state = texts.encode_vault_note(note) if note is not None else None

    def text() -> None:
        if note is not None:
            session.output.line(f"{note.name}: {texts.describe_vault_note(note)}")

    session.output.document({"id": receipt.id, "vault": state}, text)


@purge_receipts.command(
    short_help="Write a receipt to a file, as a proof for other people.",
    epilog=format_examples("lifeboat receipts export ID -o receipt.json"),
)
@click.argument("receipt_id", metavar="ID", type=RECEIPT)
@click.option("-o", "--output", "file", type=NEW_FILE, required=True, help="Write the receipt to this new file.")
@session_command
def export(session: CommandSession, receipt_id: str, file: Path) -> None:
    """Write a receipt to a file, as a proof for other people. The file contains ids, names of remotes and hashes, but
    no purged content.
    """
    context = session.context
    receipt = receipt_signing.find_receipt(context, receipt_id)
    data = json_codec.encode_pretty(receipt.to_json()) + b"\n"
    try:
        context.files.write_new(file.absolute(), data, mode=0o600)
    except FileExistsError:
        raise ExchangeError.FILE_EXISTS(f"the file {file} exists already") from None
    text = (
        f"{file} contains the receipt in its state of {receipt.changed_at}. To check the receipt on any machine: "
        f"lifeboat receipts verify {file}"
    )
    session.output.document({"id": receipt.id, "path": str(file)}, lambda: session.output.line(text))


# Helpers --------------------------------------------------------------------------------------------------------------


def _agent_id(context: Context, named: str) -> str:
    """Return the id of an agent by its name, even if it was purged entirely."""
    from lifeboat_core.agents import agent as agents

    try:
        return agents.find_agent(context, named).id
    except LifeboatError:
        gone = [
            one.agent.id
            for one in purged_agent_files.list_purged_agents(context)
            if named.casefold() in (one.name.casefold(), one.agent.id)
        ]
        known = [each.agent_id for each in receipt_signing.load_receipts(context) if each.agent_id == named]
        if found := [*gone, *known]:
            return found[0]
        raise


def _redaction(context: Context, receipt: receipt_signing.PurgeReceipt) -> tuple[Agent, Redaction]:
    """Return the redaction to send, and its agent. Raises DaemonError.UNKNOWN_RECEIPT, UnknownAgent, VaultError."""
    from lifeboat_core.agents import agent as agents

    gone = purged_agent_files.find_purged_agent(context, receipt.agent_id)
    if gone is not None:
        return gone.agent, gone.redaction
    agent = agents.find_agent(context, receipt.agent_id)
    with context.vault(agent.id) as vault:
        for row in vault.redaction_rows():
            if row.redaction.id == receipt.id:
                return agent, row.redaction
    raise DaemonError.UNKNOWN_RECEIPT(f"the audit log of the vault contains no record of purge {receipt.id}")


def _token(session: CommandSession, from_stdin: bool) -> str:
    """Return a token that is typed without echo or read from a line of standard input. Raises BadSetting, which does
    not repeat it."""
    from lifeboat_core.remotes.remote_registry import LONGEST_TOKEN

    if from_stdin:
        text = sys.stdin.read(2 * LONGEST_TOKEN)
    elif can_ask(session):
        text = click.prompt(
            "Second token of the remote, with the scope `purge` (input is hidden)", hide_input=True, err=True
        )
    else:
        raise click.UsageError("Give the second token with --token-stdin.")
    token = text.strip()
    if not token or len(token) > LONGEST_TOKEN or not token.isprintable():
        raise BadSetting("standard input must contain the token on one line", fix="lifeboat receipts confirm --help")
    return misplaced_words.refuse_in_field("the token", token)


def _findings(context: Context | None, file: Path) -> list[ReceiptFinding]:
    """Check a receipt. A file that is not strict JSON is invalid. Raises ArchiveError.TOO_LARGE, OSError."""
    if file.stat().st_size > LARGEST:
        raise ArchiveError.TOO_LARGE(f"{file} is too large to be a receipt")
    try:
        document = json_codec.decode_strict(file.read_bytes(), entry=file.name)
    except BadJson as error:
        return [report_wrong(RECEIPT_SUBJECT, error.message)]
    return receipt_signing.verify_receipt(context, document, may_be_foreign=True)
