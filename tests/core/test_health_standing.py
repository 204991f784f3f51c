"""Judging: which word an agent gets, and why."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifeboat_alf.common import times
from lifeboat_core.agents.agent import Agent
from lifeboat_core.health import agent_status
from lifeboat_core.health.agent_status import WORST_FIRST, AgentStatus, AwakeTime, KeyFacts, Status, StatusFacts
from lifeboat_core.health.remote_health import RemoteFacts
from lifeboat_core.health.safety_level import SafetyJudgement, SafetyLevel

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
HOUR = 3600.0
ADA = Agent("0197fd80-0000-7000-8000-000000000001", "ada", "openclaw", Path("/srv/ada/agent"))


def ago(**parts: float) -> str:
    return times.to_text(NOW - timedelta(**parts))


WELL = StatusFacts(sequence=3, last_captured_at=ago(hours=2), last_verified_at=ago(hours=1), verified_in="local")

MOVED = RemoteFacts("stick", "id", optional=True, state="fenced", fenced={"reason": "moved", "machine": "laptop-2"})


def judged(facts: StatusFacts = WELL, *, agent: Agent = ADA, key: KeyFacts | None = None, **awake: Any) -> AgentStatus:
    return agent_status.judge_agent(facts, agent, key or KeyFacts(), NOW, AwakeTime(**awake))


def changed(**fields: Any) -> StatusFacts:
    return msgspec.structs.replace(WELL, **fields)


def paused(**fields: Any) -> Agent:
    return Agent(ADA.id, ADA.name, ADA.runtime, ADA.workspace, **{"paused": True, **fields})


def test_the_daemon_can_judge_without_anything_heavy() -> None:
    program = (
        "import sys, lifeboat_core.health.agent_status, lifeboat_daemon.notices.notice_rules\n"
        "import lifeboat_core.health.due_checks, lifeboat_core.health.sleep_ledger\n"
        "import lifeboat_daemon.notices.metrics_file\n"
        "print(*sorted(name for name in sys.modules if name.split('.')[0] in {'lifeboat_vault', 'lifeboat_keys',"
        " 'lifeboat_endpoint', 'lifeboat_formats', 'lifeboat_adapters',"
        " 'nacl', 'sqlite_utils', 'httpx', 'click', 'rich', 'tomlkit', 'psutil'}))"
    )
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert loaded.stdout.split() == []


# One word each --------------------------------------------------------------------------------------------------


def test_what_is_captured_and_verified_is_ok() -> None:
    assert (judged().state, judged().reasons, judged().fix) == ("ok", [], None)


@pytest.mark.parametrize(
    ("fields", "state"),
    [
        ({"unreadable": "the vault cannot be opened"}, "error"),
        ({"is_gone": True}, "error"),
        ({"missing": True}, "error"),
        ({"damaged": {"sequence": 3, "whole": False, "first": "SOUL.md: has other content"}}, "error"),
        ({"failed": "no space left"}, "error"),
        ({"held": {"reason": "7 memories were removed", "previous": 2}}, "held"),
        ({"remotes": (MOVED,)}, "fenced"),
        ({"last_verified_at": ago(hours=25)}, "overdue"),
        ({"pending": 1}, "waiting"),
        ({"no_room": "the vault takes 11.0 GB"}, "waiting"),
    ],
)
def test_each_fact_has_its_word_and_its_reason(fields: dict[str, Any], state: str) -> None:
    found = judged(changed(**fields))
    assert found.state == state and found.reasons
    assert len(found.reason_codes) == len(found.reasons) and all(map(str.isidentifier, found.reason_codes))
    assert judged(WELL).state == "ok"


def test_a_key_that_is_away_or_broken_has_its_word_too() -> None:
    assert judged(key=KeyFacts(state="needs_key", note="it is locked")).state == "needs_key"
    assert judged(key=KeyFacts(state="error", note="it is damaged")).state == "error"


def test_a_pause_is_one_until_it_ends() -> None:
    assert judged(agent=paused()).state == "paused"
    assert judged(agent=paused(paused_until=times.to_text(NOW + timedelta(hours=1)))).state == "paused"
    assert judged(agent=paused(paused_until=ago(hours=1))).state == "ok"


def test_who_rests_does_not_wait_but_says_what_is_not_kept() -> None:
    found = judged(changed(pending=2), agent=paused())
    assert found.state == "paused"
    assert any("2 files" in reason for reason in found.reasons)


def test_who_rests_can_still_be_overdue() -> None:
    assert judged(changed(last_verified_at=ago(days=8)), agent=paused()).state == "overdue"


def test_what_was_only_imported_is_never_overdue() -> None:
    imported = Agent(ADA.id, ADA.name, ADA.runtime, ADA.workspace, watched=False)
    found = judged(changed(last_verified_at=None, last_captured_at=ago(days=400), is_gone=True), agent=imported)
    assert found.state == "paused"


def test_people_read_that_an_agent_moved() -> None:
    found = judged(changed(remotes=(MOVED,)))
    assert found.reasons[0].startswith("the agent moved to laptop-2")
    assert agent_status.make_verdict(found.state, SafetyJudgement(SafetyLevel.PROBLEM), [found], NOW).endswith("moved")


# Overdue --------------------------------------------------------------------------------------------------------


def test_sleep_does_not_count() -> None:
    facts = changed(last_verified_at=ago(hours=60))
    assert judged(facts, seconds=20 * HOUR).state == "ok"
    assert judged(facts, seconds=25 * HOUR).state == "overdue"
    assert judged(facts, seconds=None).state == "overdue"


def test_after_seven_days_sleep_is_no_excuse() -> None:
    assert judged(changed(last_verified_at=ago(days=6.9)), seconds=HOUR).state == "ok"
    assert judged(changed(last_verified_at=ago(days=7.1)), seconds=HOUR).state == "overdue"


def test_who_just_woke_up_has_a_quarter_of_an_hour() -> None:
    facts = changed(last_verified_at=ago(days=9))
    assert judged(facts, woke_at=NOW - timedelta(minutes=14)).state == "ok"
    assert judged(facts, woke_at=NOW - timedelta(minutes=16)).state == "overdue"
    assert judged(facts, woke_at=NOW + timedelta(hours=1)).state == "overdue", "a clock that was set back"


def test_the_setting_says_how_long() -> None:
    facts = changed(last_verified_at=ago(hours=3))
    assert judged(facts, overdue_after=2 * HOUR).state == "overdue"
    assert judged(changed(last_verified_at=ago(days=10)), overdue_after=14 * 24 * HOUR).state == "ok"


def test_an_agent_that_was_never_verified_has_a_day_from_its_capture() -> None:
    assert judged(changed(last_verified_at=None, last_captured_at=ago(hours=23))).state == "ok"
    assert judged(changed(last_verified_at=None, last_captured_at=ago(hours=25))).state == "overdue"


def test_an_old_archive_that_was_taken_into_care_now_has_its_day() -> None:
    added = Agent(ADA.id, ADA.name, ADA.runtime, ADA.workspace, added_at=ago(hours=1))
    assert judged(changed(last_verified_at=None, last_captured_at=ago(days=300)), agent=added).state == "ok"


def test_a_copy_verified_in_the_future_is_not_believed() -> None:
    ahead = times.to_text(NOW + timedelta(days=300))
    found = judged(changed(last_verified_at=ahead, last_whole_at=ahead))
    assert (found.last_verified_at, found.last_whole_at, found.verified_in) == (None, None, None)


# The worst wins -------------------------------------------------------------------------------------------------

TROUBLES: dict[str, dict[str, Any]] = {
    "failed": {"failed": "no space left"},
    "damaged": {"damaged": {"sequence": 3, "whole": True, "first": "a body"}},
    "held": {"held": {"reason": "removed", "previous": 1}},
    "fenced": {"remotes": (MOVED,)},
    "overdue": {"last_verified_at": ago(days=9)},
    "pending": {"pending": 3},
    "no_room": {"no_room": "full"},
    "missing": {"missing": True},
}
sets = st.sets(st.sampled_from(sorted(TROUBLES)))


def facts_with(troubles: set[str]) -> StatusFacts:
    fields: dict[str, Any] = {}
    for name in troubles:
        fields |= TROUBLES[name]
    return changed(**fields)


@given(some=sets, more=sets, at_rest=st.booleans(), key=st.sampled_from(["ok", "needs_key", "error"]))
def test_one_more_trouble_never_makes_it_better(some: set[str], more: set[str], at_rest: bool, key: str) -> None:
    agent = paused() if at_rest else ADA
    less = judged(facts_with(some), agent=agent)
    worse = judged(facts_with(some | more), agent=agent, key=KeyFacts(state=key, note="the key"))
    assert WORST_FIRST.index(worse.state) <= WORST_FIRST.index(less.state)
    assert set(less.reasons) <= set(worse.reasons), "nothing is hidden by what is worse"


@given(some=sets)
def test_the_word_is_the_worst_of_those_that_each_trouble_gives(some: set[str]) -> None:
    alone = [judged(facts_with({name})).state for name in some]
    assert judged(facts_with(some)).state == agent_status.find_worst_state(alone)


@given(states=st.lists(st.sampled_from(WORST_FIRST), min_size=1))
def test_the_state_of_all_is_the_worst_of_any(states: list[str]) -> None:
    agents = [AgentStatus(str(number), "x", "openclaw", "/x", state=word) for number, word in enumerate(states)]
    found = agent_status.summarize_agents(agents, KeyFacts(), [], clock_trusted=True, now=NOW)
    assert all(WORST_FIRST.index(found.state) <= WORST_FIRST.index(word) for word in states) and found.state in states
    assert agent_status.summarize_agents(agents, KeyFacts(), ["config"], clock_trusted=True, now=NOW).state == "error"


def test_to_work_and_to_wait_hide_nothing_worse() -> None:
    assert agent_status.mark_at_work(judged()).state == "syncing"
    assert agent_status.mark_at_work(judged(changed(failed="x"))).state == "error"
    blocked = agent_status.mark_blocked(judged(), "waiting for process 4711 (restore)")
    assert (blocked.state, blocked.reasons) == ("waiting", ["waiting for process 4711 (restore)"])
    assert blocked.reason_codes == ["waits_for"]
    assert agent_status.mark_blocked(judged(changed(held={"reason": "x"})), "waiting").state == "held"
    assert agent_status.mark_half_watched(judged(), "too many folders").state == "ok"
    assert not agent_status.summarize_agents(
        [agent_status.mark_at_work(judged())], KeyFacts(), [], clock_trusted=True, now=NOW
    ).needs_the_user


def test_what_only_the_daemon_knows_is_added_to_what_a_command_found() -> None:
    told = agent_status.mark_at_work(
        agent_status.mark_half_watched(agent_status.mark_blocked(judged(), "waiting for process 7"), "no watches")
    )
    found = agent_status.add_daemon_facts(judged(changed(sequence=9)), told)
    assert (found.sequence, found.state, found.at_work) == (9, "waiting", True)
    assert (found.reasons, found.reason_codes) == (told.reasons, told.reason_codes)
    assert agent_status.add_daemon_facts(judged(), judged(changed(failed="an older capture"))).state == "ok"


# Plain data -----------------------------------------------------------------------------------------------------


def test_facts_and_status_travel_as_json() -> None:
    facts = facts_with({"held", "pending"})
    through = msgspec.json.decode(msgspec.json.encode(facts.to_json()))
    assert StatusFacts.from_json({**through, "from a newer release": 1}) == facts
    whole = agent_status.summarize_agents(
        [judged(facts)], KeyFacts(key_id="k", note="n"), ["p"], clock_trusted=False, now=NOW
    )
    document = msgspec.json.decode(msgspec.json.encode(whole.to_json()))
    assert Status.from_json({**document, "daemon": {}}) == whole
