"""An agent reads its own past and makes proposals only while the user lets it, and a proposal changes nothing."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from lifeboat_alf.common import times
from lifeboat_core.agents import manage_agents
from lifeboat_core.errors import DaemonError, GrantError
from lifeboat_core.grants import agent_grant, proposal_requests, proposal_run, proposals
from lifeboat_core.grants.agent_grant import Grant
from lifeboat_core.grants.proposal_requests import ServerSession
from lifeboat_core.grants.proposals import MOST_OPEN, MOST_PER_HOUR, Proposal, ProposalBook, Request
from lifeboat_core.health.status_gathering import gather_status
from lifeboat_core.history import activity_log, sequence_timeline
from lifeboat_vault.errors import UnknownSequence
from lifeboat_vault.vault import Retention
from support.alf.raising import raises_code
from support.core.protected import MEMORY, START, Protected


def granted(ada: Protected, **options: bool | int) -> tuple[Grant, ServerSession]:
    """Give a grant and begin a session under it."""
    grant = agent_grant.give_grant(ada.context, ada.agent, **options)  # type: ignore[arg-type]
    with ada.context.vault(ada.agent.id) as vault:
        return grant, proposal_requests.begin_session(ada.agent, grant, vault, ada.context.now())


def propose(ada: Protected, given: tuple[Grant, ServerSession], request: Request) -> Proposal:
    grant, session = given
    with ada.context.vault(ada.agent.id) as vault:
        return proposal_run.make_proposal(ada.context, vault, session, grant, request)


def asked_file(ada: Protected, path: str, sequence: int) -> Request:
    with ada.context.vault(ada.agent.id) as vault:
        return proposal_requests.request_file(vault, ada.agent, path, sequence, "please")


def kinds_of_log(ada: Protected) -> list[str]:
    return [one.kind for one in activity_log.list_activity(ada.context, [ada.agent], everything=False)]


# Grants -------------------------------------------------------------------------------------------------------------


def check(ada: Protected, grant_id: str | None = None) -> Grant:
    with ada.context.vault(ada.agent.id) as vault:
        return agent_grant.check_grant(vault, "ada", ada.context.now(), grant_id)


def test_without_a_grant_there_is_no_access(ada: Protected) -> None:
    with raises_code(GrantError.NOT_GRANTED) as caught:
        check(ada)
    assert caught.value.fix == "lifeboat agents grant ada"


def test_a_revoked_grant_ends_and_a_later_one_does_not_revive_it(ada: Protected) -> None:
    first, _ = granted(ada)
    assert check(ada, first.id) == first
    assert agent_grant.revoke_grant(ada.context, ada.agent)
    with raises_code(GrantError.GRANT_ENDED):
        check(ada, first.id)
    second, _ = granted(ada)
    with raises_code(GrantError.GRANT_ENDED):
        check(ada, first.id)
    assert check(ada, second.id) == second
    assert [agent_grant.revoke_grant(ada.context, ada.agent) for _ in "12"] == [True, False]


def test_an_expired_grant_ends_also_under_a_clock_that_was_set_back(ada: Protected) -> None:
    grant, _ = granted(ada, seconds=3600)
    ada.clock.advance(minutes=59)
    assert check(ada, grant.id) == grant
    ada.clock.advance(minutes=1)
    with raises_code(GrantError.GRANT_ENDED):
        check(ada, grant.id)
    ada.clock.jump(days=-30)
    with raises_code(GrantError.GRANT_ENDED):
        check(ada, grant.id)


def test_a_grant_that_cannot_be_understood_is_none(ada: Protected) -> None:
    with ada.context.vault(ada.agent.id) as vault:
        vault.set(agent_grant.DECISION, {"id": 3})
    with raises_code(GrantError.NOT_GRANTED):
        check(ada)
    assert agent_grant.revoke_grant(ada.context, ada.agent)


def test_grants_and_decisions_are_in_the_log(ada: Protected) -> None:
    given = granted(ada)
    ada.write("notes.md", "# Note\n\nchanged\n")
    ada.capture()
    one = propose(ada, given, asked_file(ada, "MEMORY.md", 0))
    proposal_run.reject_proposal(ada.context, ada.agent, one.number)
    agent_grant.revoke_grant(ada.context, ada.agent)
    assert {"granted", "proposed", "proposal_rejected", "grant_revoked"} <= set(kinds_of_log(ada))


def test_status_says_what_was_granted_and_how_many_proposals_wait(ada: Protected) -> None:
    given = granted(ada, seconds=3600)
    propose(ada, given, asked_file(ada, "MEMORY.md", 0))
    (found,) = gather_status(ada.context).agents
    assert (found.proposals, found.newest_proposal) == (1, 1)
    assert found.grant is not None and not found.grant["expired"]
    assert {"proposals", "granted"} <= set(found.reason_codes)
    assert found.state == "ok"
    ada.clock.advance(hours=2)
    said = " ".join(gather_status(ada.context).agents[0].reasons)
    assert "has expired" in said and "lifeboat agents grant ada" in said


def test_a_removed_agent_that_comes_back_has_no_grant(ada: Protected) -> None:
    granted(ada)
    manage_agents.remove_agent(ada.context, ada.agent)
    ada.add()
    with raises_code(GrantError.NOT_GRANTED):
        check(ada)


# Limits -------------------------------------------------------------------------------------------------------------


def book_of(count: int, *, now: str, state: proposals.ProposalState = "open") -> ProposalBook:
    made = tuple(
        Proposal(number, Request("label", number, label="x"), now, "s", state=state) for number in range(count)
    )
    return ProposalBook(count, made)


def add(book: ProposalBook, request: Request, now: str) -> ProposalBook:
    return proposals.add_proposal(book, request, now=now, session="s", client="c", agent_name="ada")


NOW = times.to_text(START)
LATER = times.to_text(START + timedelta(hours=2))


def test_a_flood_of_open_proposals_is_refused() -> None:
    full = book_of(MOST_OPEN, now=NOW)
    with raises_code(GrantError.TOO_MANY_PROPOSALS):
        add(full, Request("label", 99, label="one more"), LATER)
    assert add(full, Request("label", 3, label="x", reason="again"), LATER) == full


def test_a_flood_of_decided_proposals_is_refused_for_an_hour() -> None:
    busy = book_of(MOST_PER_HOUR, now=NOW, state="rejected")
    with raises_code(GrantError.TOO_MANY_PROPOSALS):
        add(busy, Request("label", 99, label="one more"), NOW)
    assert len(add(busy, Request("label", 99, label="one more"), LATER).open) == 1


def test_an_open_proposal_expires_after_a_week_and_cannot_be_accepted_then() -> None:
    book = add(ProposalBook(), Request("label", 0, label="x"), NOW)
    week = times.to_text(START + timedelta(days=7, seconds=1))
    assert [one.state for one in proposals.expire_old(book, week).proposals] == ["expired"]
    with raises_code(GrantError.PROPOSAL_DECIDED):
        proposals.decide_proposal(book, 1, "accepted", now=week, by="user", agent_name="ada")


def test_decided_proposals_are_kept_up_to_a_limit_and_open_ones_always() -> None:
    book = book_of(300, now=NOW, state="rejected")
    grown = add(book, Request("label", 1, label="new"), LATER)
    assert len(grown.proposals) == proposals.MOST_CLOSED + 1
    assert grown.proposals[-1].state == "open" and grown.next == 301


# What is asked for --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["../openclaw.json", "/etc/passwd", "MEMORY.*", "", "memory/..", "openclaw.json"])
def test_only_a_file_of_the_workspace_can_be_asked_for(tmp_path: Path, path: str) -> None:
    ada = Protected(tmp_path, config='{"gateway": {"port": 1}}')
    ada.add()
    with raises_code(GrantError.PROPOSAL_REFUSED):
        asked_file(ada, path, 0)


def test_a_sequence_that_does_not_exist_is_refused(ada: Protected) -> None:
    with pytest.raises(UnknownSequence):
        asked_file(ada, "MEMORY.md", 7)


def test_a_proposal_changes_nothing_until_it_is_accepted(ada: Protected) -> None:
    given = granted(ada)
    before = ada.read("MEMORY.md")
    ada.write("MEMORY.md", "# Memory\n\n## Tea\n\nLikes coffee.\n")
    ada.write("notes/MEMORY.md", "another file of the same name\n")
    ada.capture()
    ada.write("notes/MEMORY.md", "changed\n")
    ada.capture()
    one = propose(ada, given, asked_file(ada, "MEMORY.md", 0))
    assert "coffee" in ada.read("MEMORY.md")
    done = proposal_run.accept_proposal(ada.context, ada.agent, one.number)
    assert ada.read("MEMORY.md") == before
    assert ada.read("notes/MEMORY.md") == "changed\n"
    assert (done.state, done.decided_by) == ("accepted", "user")
    with raises_code(GrantError.PROPOSAL_DECIDED):
        proposal_run.accept_proposal(ada.context, ada.agent, one.number)


def test_a_proposal_that_cannot_be_carried_out_says_so(ada: Protected) -> None:
    given = granted(ada)
    with ada.context.vault(ada.agent.id) as vault:
        request = proposal_requests.request_label(vault, ada.agent, "before the trip", "")
    one = propose(ada, given, request)
    sequence_timeline.set_label(ada.context, ada.agent, "0", "named by the user")
    with raises_code(GrantError.PROPOSAL_REFUSED):
        proposal_run.accept_proposal(ada.context, ada.agent, one.number)
    found = proposal_run.find_proposal(ada.context, ada.agent, one.number)
    assert found.state == "failed" and "got a name meanwhile" in str(found.problem)
    assert sequence_timeline.load_labelled_sequence(ada.context, ada.agent, "0")["label"] == "named by the user"


def test_a_label_is_checked_before_it_is_proposed(ada: Protected) -> None:
    granted(ada)
    with ada.context.vault(ada.agent.id) as vault:
        with raises_code(DaemonError.BAD_LABEL):
            proposal_requests.request_label(vault, ada.agent, "a\u202eb", "")
        vault.label(0, "mine")
        with raises_code(GrantError.PROPOSAL_REFUSED):
            proposal_requests.request_label(vault, ada.agent, "theirs", "")


def test_the_reason_of_an_agent_is_one_bounded_line(ada: Protected) -> None:
    with ada.context.vault(ada.agent.id) as vault:
        request = proposal_requests.request_label(vault, ada.agent, "x", "a\nb\x1b[2J" + "c" * 5000)
    assert len(request.reason) <= proposals.LONGEST_REASON and request.reason.isprintable()


def drop_sequences(ada: Protected, *kept: int) -> None:
    """Thin until only these sequences are left."""
    ada.clock.advance(days=400)
    with ada.context.vault(ada.agent.id) as vault:
        while vault.thin(Retention(0, 0, 0), ada.clock.now(), keep=lambda number: number in kept).dropped:
            pass
        assert {row.number for row in vault.sequences()} == set(kept)


@pytest.mark.parametrize("colour", ["white", "black"])
def test_an_edit_of_the_user_is_no_own_edit_after_its_sequence_was_thinned(ada: Protected, colour: str) -> None:
    ada.write("MEMORY.md", MEMORY.replace("green", "white"))  # by the user
    ada.capture()
    _, session = granted(ada, undo_own=True)
    ada.write("MEMORY.md", MEMORY.replace("green", colour))
    ada.write("SOUL.md", "# Soul\n\nBe calm.\n")
    ada.capture()
    memory = next(str(one["id"]) for text, one in ada.memories().items() if colour in text)
    drop_sequences(ada, 0, 2)
    with ada.context.vault(ada.agent.id) as vault, raises_code(GrantError.NOT_OWN_EDIT):
        proposal_requests.request_undo(ada.context, vault, session, memory, "")


def test_a_grant_that_is_revoked_meanwhile_covers_no_undo(ada: Protected) -> None:
    grant, session = granted(ada, undo_own=True)
    ada.write("MEMORY.md", MEMORY.replace("green", "white"))
    ada.capture()
    memory = next(str(one["id"]) for text, one in ada.memories().items() if "white" in text)
    with ada.context.vault(ada.agent.id) as vault:
        request = proposal_requests.request_undo(ada.context, vault, session, memory, "")
    agent_grant.revoke_grant(ada.context, ada.agent)
    with raises_code(GrantError.GRANT_ENDED):
        propose(ada, (grant, session), request)
    assert "white" in ada.read("MEMORY.md")
    assert [one.state for one in proposal_run.list_proposals(ada.context, ada.agent)] == ["open"]
