"""What second copies make of how an agent stands, and where the verdict says that the copies are."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifeboat_alf.common import times
from lifeboat_core.agents.agent import Agent
from lifeboat_core.health import agent_status, due_checks, remote_health
from lifeboat_core.health.agent_status import WORST_FIRST, AgentStatus, AwakeTime, KeyFacts, StatusFacts
from lifeboat_core.health.remote_health import RemoteFacts
from lifeboat_daemon.notices import notice_rules

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
DAY = 86400.0


def ago(**parts: float) -> str:
    return times.to_text(NOW - timedelta(**parts))


ADA = Agent("0197fd80-0000-7000-8000-000000000001", "ada", "openclaw", Path("/srv/ada"), added_at=ago(days=100))
SERVER = RemoteFacts(
    "home-server", "one", state="ok", sequence=3, verified_at=ago(hours=2), verified_sequence=3, added_at=ago(days=50)
)
STICK = msgspec.structs.replace(SERVER, name="stick", id="two", optional=True)
BEHIND = {"state": "waiting", "pending": 2}


def of(remote: RemoteFacts, **fields: Any) -> RemoteFacts:
    return msgspec.structs.replace(remote, **fields)


def judged(*remotes: RemoteFacts, agent: Agent = ADA, **fields: Any) -> AgentStatus:
    known = {
        "sequence": 3,
        "last_captured_at": ago(hours=1),
        "last_verified_at": ago(minutes=5),
        "verified_in": "local",
        "verified_sequence": 3,
    }
    facts = StatusFacts(**{**known, **fields}, remotes=remotes)
    return agent_status.judge_agent(facts, agent, KeyFacts(), NOW, AwakeTime())


def verdict(*agents: AgentStatus) -> str:
    key = KeyFacts(proven_at=ago(days=9))
    return agent_status.summarize_agents(list(agents), key, [], clock_trusted=True, now=NOW).verdict


def test_of_a_second_copy_without_room_no_sync_is_promised() -> None:
    full = of(SERVER, state="waiting", code=remote_health.FULL, tries=2, message="2.0 MB of 2.1 MB are taken")
    assert judged(full).fix == "free space on home-server, or ask its operator for a larger quota"
    assert judged(full, pending=1).fix == "lifeboat sync ada"


def test_of_a_purge_that_waits_for_its_owner_no_sync_is_promised() -> None:
    waits = of(SERVER, state="waiting", code=remote_health.PURGE, purges=1, purges_wait_until=ago(hours=-20))
    assert judged(waits).fix == "lifeboat receipts list"
    assert judged(of(waits, **BEHIND)).fix == judged(waits, of(STICK, **BEHIND)).fix == "lifeboat sync ada"


# Which copy counts ------------------------------------------------------------------------------------------------


def test_ok_means_a_verified_copy_off_this_machine() -> None:
    found = judged(SERVER)
    assert (found.state, found.reasons) == ("ok", [])
    assert (found.last_verified_at, found.verified_in) == (SERVER.verified_at, "home-server")
    assert verdict(found) == "last verified 2 hours ago on home-server: ok"


def test_the_remote_that_was_read_back_last_counts() -> None:
    found = judged(SERVER, of(SERVER, name="office", verified_at=ago(minutes=30)))
    assert found.verified_in == "office"


def test_a_copy_that_was_never_read_back_is_none() -> None:
    found = judged(of(SERVER, verified_at=None, added_at=ago(hours=1)))
    assert (found.state, found.reasons) == ("waiting", ["the copy on home-server has not been verified yet"])
    assert verdict(found) == "last verified 5 minutes ago, on this disk; not verified on home-server: waiting"


def test_an_optional_copy_is_none_to_rely_on() -> None:
    found = judged(STICK)
    assert (found.state, found.verified_in) == ("ok", "local")
    assert verdict(found) == "last verified 5 minutes ago, on this disk; on stick 2 hours ago: ok"


def test_each_remote_of_an_agent_is_named_with_its_age_or_as_not_verified() -> None:
    unread = of(STICK, name="nas", verified_at=None)
    said = "last verified 5 minutes ago, on this disk; on stick 2 hours ago; not verified on nas: ok"
    assert verdict(judged(STICK, unread)) == said


def test_a_verdict_never_ends_with_ok_while_something_is_missing() -> None:
    unproven = agent_status.summarize_agents([judged(SERVER)], KeyFacts(), [], clock_trusted=True, now=NOW)
    assert unproven.verdict == "last verified 2 hours ago on home-server: 1 step left to be fully safe"
    behind = judged(of(SERVER, verified_sequence=2), verified_sequence=2)
    assert verdict(behind) == "last verified 2 hours ago on home-server: 1 step left to be fully safe"


def test_a_vault_that_could_not_be_opened_is_named_and_nothing_is_said_of_its_copies() -> None:
    shut = judged(sequence=None, unreadable="vault.db is missing", vault_opened=False, last_verified_at=None)
    assert (shut.state, shut.reasons[0]) == ("error", "the vault could not be opened: vault.db is missing")
    assert shut.fix == "lifeboat doctor"
    assert verdict(shut) == "the vault of ada could not be opened: error"
    assert verdict(shut, judged(SERVER)) == (
        "the vault of ada could not be opened; last verified 2 hours ago on home-server: error"
    )


def test_without_a_remote_the_copy_is_on_this_disk_only() -> None:
    assert verdict(judged()) == "last verified 5 minutes ago, on this disk only: 1 step left to be fully safe"


def test_agents_without_a_second_copy_are_counted() -> None:
    said = verdict(judged(SERVER), judged(), judged())
    assert said == "last verified 2 hours ago on home-server, 2 agents on this disk only: 1 step left to be fully safe"


def test_a_copy_verified_in_the_future_is_not_believed() -> None:
    assert judged(of(SERVER, verified_at=ago(days=-30), added_at=ago(hours=1))).state == "waiting"


# Waiting ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "state"),
    [
        ({"pending_since": ago(minutes=5)}, "ok"),
        ({"pending_since": ago(minutes=5), "tries": 1}, "ok"),
        ({"pending_since": ago(minutes=5), "tries": 2}, "waiting"),
        ({"pending_since": ago(minutes=16)}, "waiting"),
        ({"pending_since": ago(minutes=5), "code": "deferred", "message": "the network is metered"}, "waiting"),
        ({"pending_since": ago(days=900), "added_at": ago(minutes=5)}, "ok"),
    ],
)
def test_what_is_on_its_way_is_said_only_when_it_is_late(fields: dict[str, Any], state: str) -> None:
    assert judged(of(SERVER, **BEHIND, **fields)).state == state


def test_what_waits_is_said_with_the_words_of_the_remote() -> None:
    found = judged(of(SERVER, **BEHIND, tries=2, message="nobody answers", pending_since=ago(hours=1)))
    assert found.reasons == ["home-server does not have 2 sequences yet: nobody answers"]
    assert found.fix == "lifeboat sync ada"


def test_nobody_waits_for_what_is_optional() -> None:
    assert judged(SERVER, of(STICK, **BEHIND, tries=9, pending_since=ago(days=60))).state == "ok"


def test_what_was_only_imported_waits_for_nothing() -> None:
    imported = Agent(ADA.id, ADA.name, ADA.runtime, ADA.workspace, watched=False)
    assert judged(RemoteFacts("home-server", pending=3), agent=imported).state == "paused"


# Overdue ----------------------------------------------------------------------------------------------------------


def test_a_copy_that_was_not_read_back_for_a_day_is_overdue() -> None:
    found = judged(of(SERVER, verified_at=ago(hours=25)))
    assert (found.state, found.fix) == ("overdue", "lifeboat sync ada")
    assert found.reasons == ["there has been no verified copy outside of this disk for 25 hours"]


def test_a_copy_that_got_nothing_for_a_day_is_overdue_however_often_it_is_read_back() -> None:
    assert judged(of(SERVER, **BEHIND, pending_since=ago(hours=25))).state == "overdue"


def test_one_good_copy_is_enough() -> None:
    late = of(SERVER, name="office", verified_at=ago(days=9))
    assert judged(SERVER, late).state == "ok"


def test_an_optional_copy_makes_nobody_overdue() -> None:
    assert judged(SERVER, of(STICK, verified_at=ago(days=90))).state == "ok"
    assert judged(of(STICK, verified_at=ago(days=90))).state == "ok"


def test_a_remote_that_was_just_added_has_its_day() -> None:
    new = RemoteFacts("home-server", added_at=ago(hours=23), pending=4, pending_since=ago(days=80))
    assert judged(new).state == "waiting"
    assert judged(of(new, added_at=ago(hours=25))).state == "overdue"


# What needs a person ----------------------------------------------------------------------------------------------

DENIED = of(SERVER, state="error", message="the token does not count", code="remote_denied")
MOVED = of(SERVER, state="fenced", fenced={"reason": "moved", "machine": "laptop-2"}, message="moved")
FOREIGN = of(SERVER, state="fenced", fenced={"reason": "foreign", "machine": ""}, message="somebody else wrote there")


def test_a_remote_that_refuses_is_an_error_with_its_name() -> None:
    found = judged(DENIED)
    assert (found.state, found.reasons[0]) == ("error", "home-server: the token does not count")
    assert found.fix == "lifeboat doctor --remote home-server"
    assert judged(of(DENIED, code=remote_health.FORGOT)).fix == "lifeboat remote remove home-server"


def test_what_an_optional_remote_refuses_is_said_and_is_no_state() -> None:
    found = judged(SERVER, of(DENIED, name="stick", optional=True))
    assert (found.state, found.reasons) == ("ok", ["stick (optional remote): the token does not count"])


@pytest.mark.parametrize(
    ("remote", "words"), [(MOVED, "the agent moved to laptop-2"), (FOREIGN, "home-server: somebody else wrote there")]
)
def test_whoever_writes_elsewhere_is_named(remote: RemoteFacts, words: str) -> None:
    for each in (remote, of(remote, optional=True)):
        found = judged(each)
        assert found.state == "fenced" and found.reasons[0].startswith(words)
        assert found.fix == "lifeboat agents adopt ada"


def test_who_writes_elsewhere_is_named_once_for_all_remotes() -> None:
    found = judged(MOVED, of(MOVED, name="stick", optional=True))
    assert [reason for reason in found.reasons if reason.startswith("the agent moved")] == found.reasons[:1]


@pytest.mark.parametrize("remote", [DENIED, FOREIGN, of(SERVER, verified_at=ago(days=3), message="at /srv/x")])
def test_people_are_told_without_what_the_remote_said(remote: RemoteFacts) -> None:
    told = notice_rules.decide_agent_notices(judged(remote), notice_rules.NoticeState(), NOW).told
    (news,) = notice_rules.decide_agent_notices(judged(remote), told, NOW + timedelta(minutes=2)).notices
    assert news.text and news.fix and remote.message not in f"{news.title} {news.text} {news.fix}"


def test_a_refusal_names_the_second_copy() -> None:
    told = notice_rules.decide_agent_notices(judged(DENIED), notice_rules.NoticeState(), NOW).told
    (news,) = notice_rules.decide_agent_notices(judged(DENIED), told, NOW + timedelta(minutes=2)).notices
    assert "home-server refuses the requests of this machine" in news.text


# In general -------------------------------------------------------------------------------------------------------

remotes = st.lists(
    st.sampled_from([SERVER, DENIED, MOVED, of(SERVER, verified_at=None), of(SERVER, **BEHIND, tries=3)]), max_size=3
)


@given(some=remotes, more=remotes)
def test_optional_copies_change_the_state_only_where_another_machine_writes(
    some: list[RemoteFacts], more: list[RemoteFacts]
) -> None:
    optional = [of(each, optional=True) for each in more]
    less, all_of_them = judged(*some), judged(*some, *optional)
    if any(each.state == "fenced" for each in optional):
        assert WORST_FIRST.index(all_of_them.state) <= WORST_FIRST.index(less.state)
    else:
        assert all_of_them.state == less.state
        assert all_of_them.last_verified_at == less.last_verified_at


@given(found=remotes)
def test_second_copies_travel_as_json(found: list[RemoteFacts]) -> None:
    status = judged(*found)
    assert AgentStatus.from_json(msgspec.json.decode(msgspec.json.encode(status.to_json()))) == status


@pytest.mark.parametrize(
    ("optional", "state", "failed"),
    [
        (False, "ok", False),
        (False, "held", False),
        (False, "waiting", True),
        (False, "error", True),
        (True, "error", False),
    ],
)
def test_only_a_copy_that_counts_fails_a_sync(optional: bool, state: str, failed: bool) -> None:
    assert remote_health.has_failed(remote_health.make_sync_entry("x", 1, state, optional=optional)) is failed


@given(ids=st.lists(st.text(), min_size=2, max_size=2))
def test_every_copy_has_its_own_moment_within_the_last_fifth_of_the_interval(ids: list[str]) -> None:
    share = due_checks.compute_share(*ids)
    assert 0 <= share <= 1 and share == due_checks.compute_share(*ids)
    assert not due_checks.is_remote_due(ago(hours=19), DAY, NOW, share=share)
    assert due_checks.is_remote_due(ago(hours=23), DAY, NOW, share=share)
