"""Proposals of an agent: the document in its vault, its limits, and the pure decisions on it.

A proposal changes nothing. A person accepts or rejects it; `proposal_run` carries out an accepted one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from datetime import timedelta
from typing import Any, Final, Literal

import msgspec

from lifeboat_alf.common import times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.errors import GrantError
from lifeboat_core.texts.human_text import count_text, quote_argument
from lifeboat_vault.vault import Vault

DECISION = "proposals"
MADE, ACCEPTED_KIND, REJECTED_KIND, CLEARED = "proposed", "proposal_accepted", "proposal_rejected", "proposals_cleared"
"""Kinds of audit rows."""
MOST_OPEN = 10
MOST_PER_HOUR = 20
"""Proposals of one agent within an hour, also those that were decided."""
MOST_CLOSED = 100
"""Proposals that are kept after they were decided. More than an hour's, so that the limit of an hour can be judged."""
OPEN_FOR = timedelta(days=7)
LONGEST_REASON = 300
"""Characters."""
LONGEST_CLIENT = 60

LABEL: Final = "label"
RESTORE_FILE: Final = "restore_file"
RESTORE_MEMORY: Final = "restore_memory"
UNDO_EDIT: Final = "undo_edit"
OPEN: Final = "open"
ACCEPTED: Final = "accepted"
REJECTED: Final = "rejected"
EXPIRED: Final = "expired"
FAILED: Final = "failed"
Kind = Literal["label", "restore_file", "restore_memory", "undo_edit"]
ProposalState = Literal["open", "accepted", "rejected", "expired", "failed"]


class Request(msgspec.Struct, frozen=True, omit_defaults=True):
    """What an agent asks for.

    `sequence` is the one to label, or the one from which a file or a memory comes back. `edited` is the sequence that
    made the edit to undo. `label` and `reason` are the agent's own words, cleaned and bounded.
    """

    kind: Kind
    sequence: int
    path: str | None = None
    memory: str | None = None
    edited: int | None = None
    label: str | None = None
    reason: str = ""

    @property
    def subject(self) -> tuple[Any, ...]:
        """Return what makes two requests the same: everything but the reason."""
        return self.kind, self.sequence, self.path, self.memory, self.edited, self.label


class Proposal(msgspec.Struct, frozen=True, omit_defaults=True):
    """A request with its history. `session` is the id that the server gave itself, `client` the name that the client
    claims. `decided_by` is `user` or `grant`; `made_sequence` is the sequence that carrying it out made."""

    number: int
    request: Request
    made_at: str
    session: str
    client: str = ""
    state: ProposalState = "open"
    decided_at: str | None = None
    decided_by: str | None = None
    made_sequence: int | None = None
    problem: str | None = None

    @property
    def is_unfinished(self) -> bool:
        """Return whether it was accepted and nothing says that it was carried out: this goes on, or was interrupted."""
        return self.state == ACCEPTED and self.made_sequence is None

    def to_json(self) -> JsonObject:
        """Return what `proposals list` writes, without the session's id."""
        wanted = {name: getattr(self.request, name) for name in self.request.__struct_fields__}
        said = {name: getattr(self, name) for name in self.__struct_fields__ if name not in ("request", "session")}
        return {**said, **wanted}


class ProposalBook(msgspec.Struct, frozen=True, omit_defaults=True):
    """All proposals of an agent, oldest first. `next` is the number of the next one."""

    next: int = 1
    proposals: tuple[Proposal, ...] = ()

    def find(self, number: int, agent_name: str) -> Proposal:
        """Raises GrantError.UNKNOWN_PROPOSAL."""
        for one in self.proposals:
            if one.number == number:
                return one
        raise GrantError.UNKNOWN_PROPOSAL(
            f"{agent_name} has no proposal {number}", fix=f"lifeboat proposals list {quote_argument(agent_name)} --all"
        )

    @property
    def open(self) -> tuple[Proposal, ...]:
        return tuple(one for one in self.proposals if one.state == OPEN)


# Decisions ----------------------------------------------------------------------------------------------------------


def expire_old(book: ProposalBook, now: str) -> ProposalBook:
    """Return the book in which open proposals older than a week are expired."""
    limit = times.to_text(times.parse_time(now) - OPEN_FOR)
    return msgspec.structs.replace(
        book,
        proposals=tuple(
            msgspec.structs.replace(one, state=EXPIRED, decided_at=now)
            if one.state == OPEN and one.made_at < limit
            else one
            for one in book.proposals
        ),
    )


def find_same(book: ProposalBook, request: Request) -> Proposal | None:
    """Return the open proposal that asks for the same."""
    return next((one for one in book.open if one.request.subject == request.subject), None)


def add_proposal(
    book: ProposalBook, request: Request, *, now: str, session: str, client: str, agent_name: str
) -> ProposalBook:
    """Return the book with one more proposal; unchanged if an open one asks for the same.

    Raises GrantError.TOO_MANY_PROPOSALS.
    """
    book = expire_old(book, now)
    if find_same(book, request) is not None:
        return book
    fix = f"lifeboat proposals list {quote_argument(agent_name)}"
    if len(book.open) >= MOST_OPEN:
        raise GrantError.TOO_MANY_PROPOSALS(
            f"{count_text(len(book.open), 'proposal')} of {agent_name} wait for the user; accept or reject some first",
            fix=fix,
        )
    hour_ago = times.to_text(times.parse_time(now) - timedelta(hours=1))
    recent = sum(hour_ago < one.made_at <= now for one in book.proposals)
    if recent >= MOST_PER_HOUR:
        raise GrantError.TOO_MANY_PROPOSALS(
            f"{agent_name} made {count_text(recent, 'proposal')} within an hour, which is the limit", fix=fix
        )
    made = Proposal(book.next, request, now, session, client)
    return ProposalBook(book.next + 1, _without_oldest((*book.proposals, made)))


def _without_oldest(proposals: tuple[Proposal, ...]) -> tuple[Proposal, ...]:
    closed = [one.number for one in proposals if one.state != OPEN]
    dropped = set(closed[: max(0, len(closed) - MOST_CLOSED)])
    return tuple(one for one in proposals if one.number not in dropped)


def decide_proposal(
    book: ProposalBook, number: int, state: ProposalState, *, now: str, by: str, agent_name: str, **result: Any
) -> ProposalBook:
    """Return the book in which an open proposal has another state.

    Raises GrantError.UNKNOWN_PROPOSAL, GrantError.PROPOSAL_DECIDED.
    """
    book = expire_old(book, now)
    found = book.find(number, agent_name)
    if found.state != OPEN:
        raise GrantError.PROPOSAL_DECIDED(
            f"proposal {number} of {agent_name} is {found.state}",
            fix=f"lifeboat proposals show {quote_argument(agent_name)} {number}",
        )
    decided = msgspec.structs.replace(found, state=state, decided_at=now, decided_by=by, **result)
    return _replace(book, decided)


def note_outcome(book: ProposalBook, number: int, agent_name: str, **result: Any) -> ProposalBook:
    """Return the book with what came of an accepted proposal. Raises GrantError.UNKNOWN_PROPOSAL."""
    return _replace(book, msgspec.structs.replace(book.find(number, agent_name), **result))


def _replace(book: ProposalBook, changed: Proposal) -> ProposalBook:
    kept = tuple(changed if one.number == changed.number else one for one in book.proposals)
    return msgspec.structs.replace(book, proposals=_without_oldest(kept))


def find_with_words(book: ProposalBook, has_text: Callable[[str], bool]) -> list[int]:
    """Return the numbers of the proposals of which some words contain a text."""
    return [one.number for one in book.proposals if any(map(has_text, _words(one)))]


def drop_proposals(vault: Vault, numbers: Collection[int]) -> None:
    """Remove proposals, whose words contain a text that is purged."""

    def without(book: ProposalBook) -> ProposalBook:
        kept = tuple(one for one in book.proposals if one.number not in numbers)
        return msgspec.structs.replace(book, proposals=kept)

    if numbers:
        change_book(vault, without, CLEARED)


def _words(one: Proposal) -> Iterable[str]:
    return filter(None, (one.request.label, one.request.reason, one.request.path, one.client, one.problem))


# Storage ------------------------------------------------------------------------------------------------------------


def read_book(vault: Vault) -> ProposalBook:
    """Return the proposals of an agent, none if their document cannot be understood."""
    return _book_of(vault.get(DECISION))


def _book_of(value: Any) -> ProposalBook:
    try:
        return msgspec.convert(value, ProposalBook)
    except msgspec.ValidationError:
        return ProposalBook()


def change_book(vault: Vault, how: Callable[[ProposalBook], ProposalBook], kind: str) -> ProposalBook:
    """Change the proposals of an agent in one transaction and return them. Raises what `how` raises."""
    return _book_of(vault.change(DECISION, lambda value: msgspec.to_builtins(how(_book_of(value))), kind=kind))
