"""Make a request of an agent out of what it asks for: checked against the agent's own vault, and nothing else."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common import times
from lifeboat_alf.states.agent_state import State
from lifeboat_alf.states.entry_metas import is_file
from lifeboat_core.agents.agent import Agent
from lifeboat_core.errors import GrantError, NothingToRestore
from lifeboat_core.grants.agent_grant import OWN_EDIT_AGE, Grant
from lifeboat_core.grants.proposals import (
    LABEL,
    LONGEST_CLIENT,
    LONGEST_REASON,
    RESTORE_FILE,
    RESTORE_MEMORY,
    UNDO_EDIT,
    Request,
)
from lifeboat_core.history.sequence_timeline import check_label
from lifeboat_core.home.context import Context
from lifeboat_core.memories.memory_undo import plan_record_undo
from lifeboat_core.texts.human_text import quote_argument, snippet_text
from lifeboat_vault.vault import SequenceRow, Vault


@dataclass(frozen=True, slots=True)
class ServerSession:
    """One run of the server, as the server itself knows it: nothing in it comes from the client but `client`, the name
    that the client claims. `started_after` is the newest sequence when the server started, -1 before the first."""

    id: str
    agent: Agent
    grant_id: str
    started_at: str
    started_after: int
    client: str = ""


def begin_session(agent: Agent, grant: Grant, vault: Vault, now: str) -> ServerSession:
    """Return the session of a server that starts now."""
    head = vault.head()
    return ServerSession(str(uuid.uuid4()), agent, grant.id, now, -1 if head is None else head.number)


def clean_client_name(name: str) -> str:
    """Return the name that a client claims in one line, bounded."""
    return snippet_text(name, LONGEST_CLIENT)


def request_label(vault: Vault, agent: Agent, text: str, reason: str) -> Request:
    """Ask for a label of the newest sequence. Raises DaemonError.BAD_LABEL, GrantError.PROPOSAL_REFUSED,
    NothingToRestore."""
    head = _head(vault)
    if head.label is not None:
        raise GrantError.PROPOSAL_REFUSED(
            f"sequence {head.number} of {agent.name} has a name already, and only the user can change it",
            fix=f"lifeboat label {quote_argument(agent.name)} {head.number}",
        )
    return Request(LABEL, head.number, label=check_label(text), reason=_cleaned(reason))


def request_file(vault: Vault, agent: Agent, path: str, sequence: int, reason: str) -> Request:
    """Ask for one file of the workspace as it was in a sequence. Raises GrantError.PROPOSAL_REFUSED,
    UnknownSequence."""
    state = vault.state(vault.sequence(sequence).number)
    if find_workspace_entry(state, agent.runtime, path) is None:
        raise GrantError.PROPOSAL_REFUSED(
            f"sequence {sequence} of {agent.name} does not contain a workspace file with this path",
            fix=f"lifeboat diff {quote_argument(agent.name)} {sequence} --names-only",
        )
    return Request(RESTORE_FILE, sequence, path=path, reason=_cleaned(reason))


def find_workspace_entry(state: State, runtime: str, name: str) -> str | None:
    """Return the archive path of a file of the workspace, None if the state has none of this name."""
    for prefix in (archive_layout.raw_prefix(runtime), archive_layout.ARTIFACTS):
        entry = state.entry(f"{prefix}{name}")
        if entry is not None and is_file(entry.meta):
            return entry.path
    return None


def workspace_name(path: str, runtime: str) -> str | None:
    """Return the name in the workspace of an archive path, None for anything outside of the workspace."""
    for prefix in (archive_layout.raw_prefix(runtime), archive_layout.ARTIFACTS):
        if path.startswith(prefix):
            return path.removeprefix(prefix)
    return None


def request_memory(context: Context, agent: Agent, record_id: str, sequence: int, reason: str) -> Request:
    """Ask for one memory with the text that it had in a sequence. Raises what `plan_record_undo` raises."""
    plan = plan_record_undo(context, agent, record_id, str(sequence))
    return Request(RESTORE_MEMORY, plan.sequence, memory=plan.record_id, reason=_cleaned(reason))


def request_undo(context: Context, vault: Vault, session: ServerSession, record_id: str, reason: str) -> Request:
    """Ask to undo the last edit of a memory, which was made in this session. Raises GrantError.NOT_OWN_EDIT, and what
    `plan_record_undo` raises."""
    plan = plan_record_undo(context, session.agent, record_id)
    edited = next(row for row in vault.sequences() if row.number > plan.sequence)
    # The text before an edit of this session is that of the session's first state or a later one. An older sequence was
    # found because those in between are not kept any more, and with them what the user may have written.
    if plan.sequence < session.started_after or not _is_own_edit(edited, session):
        raise GrantError.NOT_OWN_EDIT(
            f"the memory {plan.record_id} has not been edited since this MCP session started",
            fix=f"lifeboat records show {quote_argument(session.agent.name)} {plan.record_id}",
        )
    return Request(UNDO_EDIT, plan.sequence, memory=plan.record_id, edited=edited.number, reason=_cleaned(reason))


def _is_own_edit(row: SequenceRow, session: ServerSession) -> bool:
    """Return whether a sequence is an ordinary capture of this session: no restore, no undo, and no command of the
    user, which the counts name."""
    is_capture = row.kind == "capture" and row.counts.get("by") is None
    return is_capture and row.number > session.started_after and row.recorded_at >= session.started_at


def is_covered_by_grant(request: Request, grant: Grant, vault: Vault, now: str) -> bool:
    """Return whether the grant lets the agent do this without a question: undo an own edit of the last 15 minutes."""
    if not grant.undo_own or request.kind != UNDO_EDIT or request.edited is None:
        return False
    age = times.parse_time(now) - times.parse_time(vault.sequence(request.edited).recorded_at)
    return age <= OWN_EDIT_AGE


def _head(vault: Vault) -> SequenceRow:
    head = vault.head()
    if head is None:
        raise NothingToRestore("the agent has not been captured yet", fix="lifeboat sync")
    return head


def _cleaned(reason: str) -> str:
    return snippet_text(reason, LONGEST_REASON)
