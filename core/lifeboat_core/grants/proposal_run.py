"""Make proposals, and accept or reject them: the operations of the server and of `lifeboat proposals`."""

from __future__ import annotations

from contextlib import suppress
from glob import escape

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_core.agents.agent import Agent
from lifeboat_core.errors import GrantError
from lifeboat_core.grants import proposals
from lifeboat_core.grants.agent_grant import Grant, check_grant
from lifeboat_core.grants.proposal_requests import ServerSession, is_covered_by_grant, workspace_name
from lifeboat_core.grants.proposals import Proposal, ProposalBook, Request
from lifeboat_core.history import differences, sequence_timeline
from lifeboat_core.history.differences import DifferenceFilter
from lifeboat_core.home.context import Context
from lifeboat_core.memories.memory_undo import plan_record_undo, undo_record
from lifeboat_core.processes.progress import Tell, tell_nobody
from lifeboat_core.restore import restore_agent
from lifeboat_core.restore.restore_options import only_this_file
from lifeboat_core.texts.human_text import quote_argument
from lifeboat_vault.vault import Vault

BY_USER, BY_GRANT = "user", "grant"


def make_proposal(context: Context, vault: Vault, session: ServerSession, grant: Grant, request: Request) -> Proposal:
    """Store a request of an agent. It is carried out at once only if the grant covers it.

    Raises GrantError.TOO_MANY_PROPOSALS, GrantError.NOT_GRANTED, GrantError.GRANT_ENDED, and what carrying it out
    raises.
    """
    agent, now = session.agent, context.now()

    def add(book: ProposalBook) -> ProposalBook:
        return proposals.add_proposal(
            book, request, now=now, session=session.id, client=session.client, agent_name=agent.name
        )

    book = proposals.change_book(vault, add, proposals.MADE)
    made = proposals.find_same(book, request)
    assert made is not None
    if is_covered_by_grant(request, grant, vault, now):
        check_grant(vault, agent.name, context.now(), grant.id)  # it may have been revoked meanwhile
        return accept_proposal(context, agent, made.number, by=BY_GRANT)
    return made


def list_proposals(context: Context, agent: Agent, *, everything: bool = False) -> list[Proposal]:
    """Return the open proposals of an agent, oldest first, or also the decided ones."""
    with context.vault(agent.id) as vault:
        book = proposals.expire_old(proposals.read_book(vault), context.now())
    return list(book.proposals if everything else book.open)


def find_proposal(context: Context, agent: Agent, number: int) -> Proposal:
    """Return one proposal. Raises GrantError.UNKNOWN_PROPOSAL."""
    with context.vault(agent.id) as vault:
        return proposals.expire_old(proposals.read_book(vault), context.now()).find(number, agent.name)


def accept_proposal(
    context: Context, agent: Agent, number: int, *, by: str = BY_USER, tell: Tell = tell_nobody
) -> Proposal:
    """Carry out an open proposal. Two accepts of the same one carry it out once.

    Raises GrantError.UNKNOWN_PROPOSAL, GrantError.PROPOSAL_DECIDED, and what carrying it out raises; then the proposal
    has the state `failed`.
    """
    request = _decide(context, agent, number, proposals.ACCEPTED, by).request
    try:
        sequence = _carry_out(context, agent, request, tell)
    except LifeboatError as error:
        _note(context, agent, number, state=proposals.FAILED, problem=error.message)
        raise
    except BaseException:
        with suppress(LifeboatError):
            _note(context, agent, number, state=proposals.FAILED, problem="it was interrupted")
        raise
    return _note(context, agent, number, made_sequence=sequence)


def reject_proposal(context: Context, agent: Agent, number: int) -> Proposal:
    """Close an open proposal without a change. Raises GrantError.UNKNOWN_PROPOSAL, GrantError.PROPOSAL_DECIDED."""
    return _decide(context, agent, number, proposals.REJECTED, BY_USER)


def _decide(context: Context, agent: Agent, number: int, state: proposals.ProposalState, by: str) -> Proposal:
    now = context.now()
    kind = proposals.ACCEPTED_KIND if state == proposals.ACCEPTED else proposals.REJECTED_KIND

    def decide(book: ProposalBook) -> ProposalBook:
        return proposals.decide_proposal(book, number, state, now=now, by=by, agent_name=agent.name)

    with context.vault(agent.id) as vault:
        return proposals.change_book(vault, decide, kind).find(number, agent.name)


def _note(context: Context, agent: Agent, number: int, **result: object) -> Proposal:
    def note(book: ProposalBook) -> ProposalBook:
        return proposals.note_outcome(book, number, agent.name, **result)

    with context.vault(agent.id) as vault:
        return proposals.change_book(vault, note, "decision").find(number, agent.name)


def _carry_out(context: Context, agent: Agent, request: Request, tell: Tell) -> int | None:
    """Do what is asked; return the newest sequence after it, or the labelled one."""
    if request.kind == proposals.LABEL:
        return _label(context, agent, request)
    if request.kind == proposals.RESTORE_FILE:
        restore_agent(context, agent, only_this_file(str(request.path), request.sequence), tell)
    else:
        _write_memory(context, agent, request)
    with context.vault(agent.id) as vault:
        head = vault.head()
    return None if head is None else head.number


def _label(context: Context, agent: Agent, request: Request) -> int:
    """Label a sequence that has no name, so that a name of the user stays."""
    entry = sequence_timeline.load_labelled_sequence(context, agent, str(request.sequence))
    if entry["label"] is not None:
        raise GrantError.PROPOSAL_REFUSED(
            f"sequence {request.sequence} of {agent.name} got a name meanwhile",
            fix=f"lifeboat label {quote_argument(agent.name)} {request.sequence}",
        )
    sequence_timeline.set_label(context, agent, str(request.sequence), request.label)
    return request.sequence


def _write_memory(context: Context, agent: Agent, request: Request) -> None:
    """Give a memory its earlier text. An undo takes back the edit that was shown, and no later one. Raises what
    `undo_record` raises, and GrantError.PROPOSAL_REFUSED."""
    record_id = str(request.memory)
    if request.kind == proposals.UNDO_EDIT and plan_record_undo(context, agent, record_id).sequence != request.sequence:
        raise GrantError.PROPOSAL_REFUSED(
            f"the memory {record_id} was edited again after sequence {request.edited}",
            fix=f"lifeboat records show {quote_argument(agent.name)} {record_id}",
        )
    undo_record(context, agent, record_id, str(request.sequence))


def preview_proposal(context: Context, agent: Agent, request: Request) -> JsonObject | None:
    """Return what accepting would change, None for a label: of a file `path`, `operation`, `diff` and `cut` as `diff`
    writes them, of a memory `memory`, and its text `now` and `then` (None for none). Raises what `plan_record_undo`
    raises."""
    if request.kind == proposals.LABEL:
        return None
    if request.memory is not None:
        plan = plan_record_undo(context, agent, request.memory, str(request.sequence))
        return {"memory": request.memory, "now": plan.present, "then": plan.former}
    with context.vault(agent.id) as vault:
        head = vault.head()
    base = str(request.sequence if head is None else head.number)
    narrow = DifferenceFilter((escape(str(request.path)),), limit=256 * 1024)
    found = differences.compare_sequences(context, agent, base, str(request.sequence), narrow)
    same = {"path": request.path, "operation": "unchanged"}
    return next((one for one in found["files"] if workspace_name(one["path"], agent.runtime) == request.path), same)
