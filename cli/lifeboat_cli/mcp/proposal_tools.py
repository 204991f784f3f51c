"""The tools that ask the user for something. None of them changes anything, unless the grant covers it."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import msgspec
from msgspec import Meta

from lifeboat_cli.mcp.quotation import QuotedItem, quote_items
from lifeboat_cli.mcp.reading_tools import Sequence, Words
from lifeboat_cli.mcp.server_access import ServerAccess
from lifeboat_core.errors import GrantError
from lifeboat_core.grants import proposal_requests, proposals
from lifeboat_core.grants.proposal_run import make_proposal
from lifeboat_core.grants.proposals import LONGEST_REASON, Proposal, Request
from lifeboat_core.history.sequence_timeline import LONGEST
from lifeboat_daemon.control.poke_daemon import wake_daemon

Reason = Annotated[str, Meta(max_length=LONGEST_REASON, description="why, for the user")]
MemoryId = Annotated[str, Meta(min_length=36, max_length=36)]


class LabelArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Propose a name for the newest sequence, so that it is kept. The user decides."""

    label: Annotated[str, Meta(min_length=1, max_length=LONGEST)]
    reason: Reason = ""


def propose_label(access: ServerAccess, asked: LabelArguments) -> str:
    return _propose(access, proposal_requests.request_label(access.vault, access.agent, asked.label, asked.reason))


class RestoreFileArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Propose to restore one file of your workspace as it was in a sequence. The user decides."""

    path: Words
    sequence: Sequence
    reason: Reason = ""


def propose_restore_file(access: ServerAccess, asked: RestoreFileArguments) -> str:
    request = proposal_requests.request_file(access.vault, access.agent, asked.path, asked.sequence, asked.reason)
    return _propose(access, request)


class RestoreMemoryArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Propose to restore one memory as it was in a sequence. The user decides."""

    id: MemoryId
    sequence: Sequence
    reason: Reason = ""


def propose_restore_memory(access: ServerAccess, asked: RestoreMemoryArguments) -> str:
    request = proposal_requests.request_memory(access.context, access.agent, asked.id, asked.sequence, asked.reason)
    return _propose(access, request)


class UndoArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Propose to undo your last edit of a memory, if you made it in this session. The user decides."""

    id: MemoryId
    reason: Reason = ""


def propose_undo(access: ServerAccess, asked: UndoArguments) -> str:
    request = proposal_requests.request_undo(access.context, access.vault, access.session, asked.id, asked.reason)
    return _propose(access, request)


class ListArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """List your latest proposals and what became of them."""


def list_own_proposals(access: ServerAccess, asked: ListArguments) -> str:
    book = proposals.expire_old(proposals.read_book(access.vault), access.context.now())
    items = [_item(one) for one in reversed(book.proposals)]
    return quote_items(f"{len(book.open)} of {len(items)} proposals are open.", items, access.hide)


def _item(one: Proposal) -> QuotedItem:
    asked = one.request
    said = {
        "number": one.number,
        "kind": asked.kind,
        "state": one.state,
        "made_at": one.made_at,
        "sequence": asked.sequence,
        "path": asked.path,
        "memory": asked.memory,
        "label": asked.label,
    }
    return QuotedItem("proposal", said, asked.reason)


def _without_secrets(access: ServerAccess, request: Request) -> Request:
    """Return the request with masked secrets in the agent's words: they are stored and shown as they are. Raises
    GrantError.PROPOSAL_REFUSED for a label, which would be another one."""
    if request.label is not None and access.hide(request.label) != request.label:
        raise GrantError.PROPOSAL_REFUSED("the label contains text that looks like a secret")
    return msgspec.structs.replace(request, reason=access.hide(request.reason))


def _propose(access: ServerAccess, request: Request) -> str:
    session = replace(access.session, client=access.hide(access.session.client))
    made = make_proposal(access.context, access.vault, session, access.grant, _without_secrets(access, request))
    wake_daemon(access.context, access.agent)  # so that it reports the proposal to the user
    if made.state == proposals.ACCEPTED:
        return f"Done under the user's grant (proposal {made.number}, sequence {made.made_sequence})."
    return (
        f"Proposal {made.number} waits for the user. Nothing has changed yet. Tell the user: to decide, run "
        f"`lifeboat proposals`."
    )
