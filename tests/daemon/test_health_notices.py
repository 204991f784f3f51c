"""Notices: never the same twice, and none is lost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifeboat_alf.common import times
from lifeboat_core.health.agent_status import NEEDS_THE_USER, WORST_FIRST, AgentStatus, KeyFacts, Status
from lifeboat_daemon.notices import notice_rules
from lifeboat_daemon.notices.notice_rules import LASTS, NOT_AGAIN_FOR, NoticeState, UserNotice

START = datetime(2026, 11, 20, 12, tzinfo=UTC)
DAY = 86400.0
SECRETS = ("/srv/ada", "SOUL.md", "hunter2")
HELD = {"reason": "SOUL.md and 7 memories were removed", "previous": 4}


def agent(state: str = "ok", **fields: Any) -> AgentStatus:
    """Make an agent whose facts and reasons are full of names that must not appear in a notice."""
    found = AgentStatus("0197fd80-0000-7000-8000-000000000001", "ada", "openclaw", "/srv/ada/agent", state=state)
    reasons = ["/srv/ada/agent is not there", "SOUL.md: hunter2"]
    return replace(found, reasons=reasons, held=HELD, failed="/srv/ada/x: hunter2", **fields)


class Person:
    """A user who receives notices. The daemon decides when it was asked to look again, and at each change."""

    def __init__(self) -> None:
        self.now = START
        self.told = NoticeState()
        self.heard: list[tuple[float, UserNotice]] = []
        self.again: float | None = None

    @property
    def kinds(self) -> list[str]:
        return [notice.kind for _, notice in self.heard]

    def look(self, state: str, verified_at: datetime | None) -> None:
        verified = None if verified_at is None else times.to_text(verified_at)
        found = notice_rules.decide_agent_notices(agent(state, last_verified_at=verified), self.told, self.now)
        assert NoticeState.from_json(found.told.to_json()) == found.told
        self.told, self.again = found.told, found.look_again
        self.heard += [((self.now - START).total_seconds(), notice) for notice in found.notices]

    def stays(
        self, state: str, seconds: float, verified_at: Callable[[datetime], datetime | None] | None = None
    ) -> None:
        """Put an agent into a state for some time."""
        verified = verified_at or (lambda now: now)
        end = self.now + timedelta(seconds=seconds)
        self.look(state, verified(self.now))
        while self.again is not None and self.now + timedelta(seconds=self.again) < end:
            assert self.again > 0
            self.now += timedelta(seconds=max(self.again, 0.001))
            self.look(state, verified(self.now))
        self.now = end


def test_a_new_proposal_is_told_once_and_without_its_words() -> None:
    told, heard = NoticeState(), []
    for newest in (0, 1, 1, 3, 3):
        found = notice_rules.decide_agent_notices(agent(proposals=1, newest_proposal=newest), told, START)
        told = NoticeState.from_json(found.told.to_json())
        heard.append([(one.kind, one.fix) for one in found.notices])
    said = [("proposal", "lifeboat proposals list ada")]
    assert heard == [[], said, [], said, []]


def _digests(*steps: tuple[float, int]) -> list[str]:
    """Return the texts of the digests: each step waits for hours, and then has this number of unreviewed changes."""
    told, now, heard = NoticeState(), START, []
    for hours, unreviewed in steps:
        now += timedelta(hours=hours)
        found = notice_rules.decide_agent_notices(agent(unreviewed=unreviewed), told, now)
        told = NoticeState.from_json(found.told.to_json())
        assert (found.look_again is not None) is bool(unreviewed)
        heard += [one.text for one in found.notices if one.kind == "digest"]
    return heard


def test_unreviewed_changes_are_counted_once_a_day() -> None:
    assert _digests((0, 2), (1, 5), (22, 6)) == []
    assert _digests((0, 2), (24, 5), (1, 7), (22, 8)) == ["5 changes of memories since you last looked"]
    assert len(_digests((0, 2), (24, 5), (24, 7))) == 2


def test_the_same_number_is_not_told_again_and_a_look_begins_a_new_day() -> None:
    assert len(_digests((0, 2), (24, 2), (24, 2))) == 1
    assert _digests((0, 2), (23, 0), (2, 1), (23, 1)) == []


def test_a_clock_that_was_set_back_delays_a_digest_by_a_day_at_most() -> None:
    assert len(_digests((100, 2), (-50, 2), (24, 2))) == 1


def test_a_digest_names_the_command_and_needs_nobody() -> None:
    told = NoticeState(digest_at=times.to_text(START - timedelta(days=1)))
    (notice,) = notice_rules.decide_agent_notices(agent(unreviewed=1), told, START).notices
    assert (notice.kind, notice.fix, notice.is_urgent) == ("digest", "lifeboat review ada", False)
    assert notice.text == "1 change of a memory since you last looked"


def test_a_trouble_that_lasts_is_told_once_and_so_is_its_end() -> None:
    person = Person()
    person.stays("error", 3600)
    person.stays("ok", 3600)
    person.stays("ok", 10 * DAY)
    assert person.kinds == ["error", "ok"]
    assert person.heard[0][0] == LASTS


@pytest.mark.parametrize("state", sorted(set(WORST_FIRST) - NEEDS_THE_USER))
def test_to_work_to_wait_and_to_rest_are_no_news(state: str) -> None:
    person = Person()
    person.stays(state, 40 * DAY)
    person.stays("ok", DAY)
    assert person.kinds == []


@pytest.mark.parametrize("state", sorted(NEEDS_THE_USER))
def test_everything_that_needs_the_user_is_told(state: str) -> None:
    person = Person()
    person.stays(state, 3600)
    assert person.kinds == [state]


def test_what_passes_within_a_minute_is_not_told() -> None:
    person = Person()
    for _ in range(50):
        person.stays("error", LASTS - 1)
        person.stays("ok", 300)
    assert person.kinds == []


def test_what_comes_and_goes_is_told_once_an_hour() -> None:
    person = Person()
    for _ in range(30):
        person.stays("error", 120)
        person.stays("ok", 120)
    errors = [at for at, notice in person.heard if notice.kind == "error"]
    assert 1 <= len(errors) <= 3
    assert all(later - earlier >= NOT_AGAIN_FOR for earlier, later in pairwise(errors))


def test_a_trouble_that_becomes_another_is_told_as_that() -> None:
    person = Person()
    person.stays("overdue", 3600)
    person.stays("needs_key", 3600)
    person.stays("held", 3600)
    assert person.kinds == ["overdue", "needs_key", "held"]


def test_while_it_lasts_it_is_said_again_after_1_3_7_14_and_30_days() -> None:
    person = Person()
    person.stays("error", 100 * DAY)
    assert person.kinds == ["error", *["age"] * 5]
    assert [round(at / DAY) for at, notice in person.heard if notice.kind == "age"] == [1, 3, 7, 14, 30]


def test_the_age_of_the_last_verified_copy_counts_and_what_the_state_said_is_not_said_again() -> None:
    person = Person()
    person.stays("overdue", 5.5 * DAY, lambda _: START - timedelta(days=2))
    assert person.kinds == ["overdue", "age", "age"], "the day that had passed belongs to the first notice"
    said = [notice.text for _, notice in person.heard if notice.kind == "age"]
    assert said == ["the last verified copy is 3 days old", "the last verified copy is 7 days old"]


def test_after_all_was_well_ages_begin_anew() -> None:
    person = Person()
    person.stays("error", 4 * DAY)
    person.stays("ok", 2 * DAY)
    person.stays("error", 2 * DAY)
    assert person.kinds == ["error", "age", "age", "ok", "error", "age"]


def test_a_daemon_that_starts_again_says_nothing_twice() -> None:
    person = Person()
    person.stays("error", 3600)
    kept = person.told.to_json()
    person.told = NoticeState.from_json(kept)
    person.stays("error", 3600)
    assert person.kinds == ["error"]


def test_notes_that_cannot_be_read_cost_a_notice_said_twice() -> None:
    assert NoticeState.from_json({"said_at": 7}) == NoticeState() == NoticeState.from_json(None)


def test_a_clock_that_was_set_back_silences_nothing() -> None:
    person = Person()
    person.stays("error", 3600)
    person.stays("ok", 3600)
    person.now -= timedelta(days=3650)
    person.stays("error", 3600)
    assert person.kinds == ["error", "ok", "error"]


lives = st.lists(st.tuples(st.sampled_from(WORST_FIRST), st.floats(1, 20 * DAY)), min_size=1, max_size=12)


@given(lives)
def test_never_twice_and_in_the_end_always(life: list[tuple[str, float]]) -> None:
    person = Person()
    for state, seconds in life:
        person.stays(state, seconds)
    last = life[-1][0] if life[-1][0] in NEEDS_THE_USER else "ok"
    person.stays(life[-1][0], 2 * NOT_AGAIN_FOR)
    states = [notice.kind for _, notice in person.heard if notice.kind != "age"]
    assert (states or ["ok"])[-1] == last, "what is so now was told, or never anything else"
    assert all(one != other for one, other in zip(["ok", *states], states, strict=False)), "no state twice in a row"
    for kind in set(states):
        moments = [at for at, notice in person.heard if notice.kind == kind]
        assert all(later - earlier >= NOT_AGAIN_FOR - 0.01 for earlier, later in pairwise(moments))


@given(st.lists(st.floats(1, 3 * DAY), min_size=1, max_size=60))
def test_however_often_one_looks_nothing_is_said_more_often(pauses: list[float]) -> None:
    often, seldom = Person(), Person()
    for pause in pauses:
        often.stays("error", pause, lambda _: START - timedelta(hours=30))
    seldom.stays("error", sum(pauses), lambda _: START - timedelta(hours=30))
    assert often.kinds == seldom.kinds


# Words ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fields", [{"missing": True}, {"damaged": {"first": "SOUL.md: hunter2"}}, {}])
@pytest.mark.parametrize("state", sorted(NEEDS_THE_USER))
def test_no_notice_names_a_file_or_holds_content(state: str, fields: dict[str, Any]) -> None:
    told = NoticeState()
    heard: list[UserNotice] = []
    for seconds in (0, 61, 2 * DAY):
        found = notice_rules.decide_agent_notices(agent(state, **fields), told, START + timedelta(seconds=seconds))
        told, heard = found.told, [*heard, *found.notices]
    assert [notice.kind for notice in heard] == [state, "age"]
    for notice in heard:
        said = f"{notice.to_json()}"
        assert "ada" in notice.title and not [secret for secret in SECRETS if secret in said]
        assert UserNotice.from_json(notice.to_json()) == notice


def test_a_configuration_that_cannot_be_used_is_told_once() -> None:
    broken = Status("error", "", [], KeyFacts(), ["config.toml: hunter2"], True)
    first = notice_rules.decide_home_notices(broken, NoticeState(), START)
    second = notice_rules.decide_home_notices(broken, first.told, START + timedelta(seconds=61))
    third = notice_rules.decide_home_notices(broken, second.told, START + timedelta(seconds=200))
    assert (first.notices, third.notices) == ([], [])
    (notice,) = second.notices
    assert "configuration" in notice.text and "hunter2" not in str(notice.to_json())


def test_what_is_so_of_several_agents_is_said_in_one_notice() -> None:
    def news(name: str, state: str) -> list[UserNotice]:
        told = notice_rules.decide_agent_notices(replace(agent(state), id=name, name=name), NoticeState(), START).told
        return notice_rules.decide_agent_notices(
            replace(agent(state), id=name, name=name), told, START + timedelta(seconds=61)
        ).notices

    locked = [*news("ada", "needs_key"), *news("bea", "needs_key"), *news("cyd", "held"), *news("dan", "needs_key")]
    three, one = notice_rules.merge_notices(locked)
    assert three.title == "ada and 2 more: needs your key" and three.subjects == ("ada", "bea", "dan")
    assert "bea" in three.text and three.fix == "lifeboat status"
    assert one.names == ("cyd",)


def test_new_agents_are_offered_without_saying_where_they_are() -> None:
    found = [{"runtime": "openclaw", "native_id": "main", "name": "Ada", "workspace": "/srv/ada/secret"}]
    notice = notice_rules.make_offers_notice(found)
    assert notice is not None and notice.fix == "lifeboat agents discover" and "/home" not in str(notice.to_json())
    assert not notice.is_urgent
    assert "2 agents" in (notice_rules.make_offers_notice(found * 2) or notice).text
    assert notice_rules.make_offers_notice([]) is None
