"""When an agent is captured: each cadence, and any sequence of events against the promised behaviour."""

from __future__ import annotations

from math import inf

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from lifeboat_core.agents import manage_agents
from lifeboat_core.settings import config_file
from lifeboat_daemon.schedule.cadence import (
    AFTER_INTERACTION,
    AFTER_SESSION,
    LATE,
    MANUAL,
    REQUEST,
    SCAN,
    SCHEDULED,
    CadenceSettings,
    CapturePacer,
    DueCapture,
    load_cadence_settings,
)
from support.core.protected import Protected

EVERY_CADENCE = (AFTER_INTERACTION, AFTER_SESSION, SCHEDULED, MANUAL)
BUT_MANUAL = EVERY_CADENCE[:-1]


def pacer(cadence: str = AFTER_INTERACTION, *, looked_at: float | None = 0.0) -> CapturePacer:
    """Make a pacer of an agent whose last capture was at `looked_at` and took no time; None: never captured."""
    made = CapturePacer(CadenceSettings(cadence))
    if looked_at is not None:
        made.began(looked_at)
        made.ended(looked_at, complete=True)
    return made


def capture(of: CapturePacer, at: float, *, took: float = 0.0, complete: bool = True) -> float:
    of.began(at)
    of.ended(at + took, complete=complete)
    return at + took


@pytest.mark.parametrize("cadence", EVERY_CADENCE)
def test_a_large_file_that_was_left_for_later_is_captured_when_its_turn_comes(cadence: str) -> None:
    made = pacer(cadence)
    made.began(100)
    made.ended(100, complete=True, due_in=30.0)
    due = made.due(100)
    if cadence in (AFTER_INTERACTION, AFTER_SESSION):
        assert due == DueCapture(130.0, LATE)
        assert capture(made, 130) and made.due(130) == DueCapture(3730.0, SCAN)
    else:
        assert due is None or due.reason == SCAN


def test_the_settings_of_an_agent_come_before_those_of_all(ada: Protected) -> None:
    context = ada.context
    config_file.write_config(context.home, context.files, "cadence", "after_session")
    config_file.write_config(context.home, context.files, "session.idle", "5m")
    made = manage_agents.write_setting(context, ada.agent, "session.idle", "90s")
    made = manage_agents.write_setting(context, made, "schedule", "30 7 * * *")
    assert load_cadence_settings(context.config(), made) == CadenceSettings(
        AFTER_SESSION, 2.0, 60.0, 90.0, 3600.0, "30 7 * * *"
    )
    assert load_cadence_settings(config_file.Config(), ada.agent) == CadenceSettings()


@pytest.mark.parametrize(
    ("hours", "jump", "rests"),
    [(2, 1, True), (2, 3, False), (2, -1, True), (2, -24 * 3650, False), (2, 24 * 3650, False), (None, -9999, True)],
)
def test_a_pause_is_over_in_time_and_by_a_clock_that_knows_nothing_of_it(
    ada: Protected, hours: float | None, jump: float, rests: bool
) -> None:
    paused = manage_agents.pause_agent(ada.context, ada.agent, hours=hours)
    ada.clock.jump(hours=jump)
    assert manage_agents.load_agent(ada.context, paused.id).is_paused(ada.context.now()) is rests
    assert not manage_agents.resume_agent(ada.context, paused).is_paused(ada.context.now())


# after_interaction ------------------------------------------------------------------------------------------------


def test_a_change_is_captured_when_it_was_quiet_for_two_seconds() -> None:
    ada = pacer()
    ada.changed(100)
    ada.changed(101)
    assert ada.due(101) == DueCapture(103, "change")


def test_an_agent_that_never_stops_is_captured_a_minute_after_the_first_change() -> None:
    ada = pacer()
    for tenth in range(1000):
        ada.changed(100 + tenth / 10)
    assert ada.due(200) == DueCapture(160, "change")


def test_a_change_during_a_capture_starts_the_clock_anew() -> None:
    ada = pacer()
    ada.changed(100)
    ada.began(102)
    ada.changed(102.5)
    assert ada.due(103) is None
    ada.ended(103, complete=True)
    assert ada.due(103) == DueCapture(104.5, "change")


def test_after_a_long_capture_the_agent_is_left_alone_for_as_long() -> None:
    ada = pacer()
    ada.began(100)
    ada.changed(101)
    ada.ended(120, complete=True)
    assert ada.due(120) == DueCapture(140, "change")
    capture(ada, 200, took=500)
    ada.changed(701)
    assert ada.due(701) == DueCapture(760, "change")


def test_quiet_longer_than_at_most_is_at_most() -> None:
    ada = pacer()
    ada.timing = ada.timing._replace(debounce=300.0)
    ada.changed(1000)
    assert ada.due(1000) == DueCapture(1060, "change")


def test_without_quiet_a_change_is_captured_at_once() -> None:
    ada = pacer()
    ada.timing = ada.timing._replace(debounce=0.0)
    ada.changed(1000)
    assert ada.due(1000) == DueCapture(1000, "change")


# The other cadences -----------------------------------------------------------------------------------------------


def test_a_session_ends_when_nothing_changed_for_ten_minutes() -> None:
    ada = pacer(AFTER_SESSION)
    for minute in range(20):
        ada.changed(60 * minute)
    assert ada.due(1140) == DueCapture(1140 + 600, "session")


def test_changes_alone_start_nothing_by_schedule() -> None:
    ada = pacer(SCHEDULED)
    ada.changed(100)
    assert ada.due(100) == DueCapture(3600, "scan")
    ada.wants_scan(200, "schedule")
    assert ada.due(200) == DueCapture(200, "schedule")


def test_by_hand_only_a_request_starts_a_capture() -> None:
    ada = pacer(MANUAL, looked_at=None)
    ada.changed(100)
    for reason in ("start", "wake", "overflow", "schedule"):
        ada.wants_scan(100, reason)
    assert ada.due(10**6) is None
    ada.wants_scan(200, REQUEST)
    assert ada.due(200) == DueCapture(200, REQUEST)
    capture(ada, 200, complete=False)
    assert ada.due(10**6) is None


def test_what_was_seen_by_hand_is_captured_when_the_cadence_is_another() -> None:
    ada = pacer(MANUAL)
    ada.changed(100)
    ada.timing = CadenceSettings(AFTER_INTERACTION)
    assert ada.due(500) == DueCapture(102, "change")


# What every cadence does ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cadence", BUT_MANUAL)
def test_the_workspace_is_looked_through_every_hour(cadence: str) -> None:
    ada = pacer(cadence)
    assert ada.due(10) == DueCapture(3600, "scan")
    assert ada.due(9000) == DueCapture(3600, "scan")
    ended = capture(ada, 9000, took=10)
    assert ada.due(9010) == DueCapture(ended + 3600, "scan")


@pytest.mark.parametrize("cadence", EVERY_CADENCE)
def test_before_anybody_asks_there_is_nothing_to_wait_for(cadence: str) -> None:
    assert pacer(cadence, looked_at=None).due(0) is None


@pytest.mark.parametrize("cadence", BUT_MANUAL)
@pytest.mark.parametrize("reason", ["start", "wake", "overflow", "resume"])
def test_a_scan_that_is_wanted_is_due_at_once(cadence: str, reason: str) -> None:
    ada = pacer(cadence)
    ada.wants_scan(500, reason)
    ada.wants_scan(501, "overflow")
    assert ada.due(501) == DueCapture(500, reason)


@pytest.mark.parametrize("cadence", EVERY_CADENCE)
def test_a_request_waits_for_nothing_but_the_capture_that_runs(cadence: str) -> None:
    ada = pacer(cadence)
    ada.began(100)
    ada.wants_scan(101, REQUEST)
    assert ada.due(101) is None
    ada.ended(130, complete=False)
    assert ada.due(130) == DueCapture(101, REQUEST)


def test_lost_events_without_an_end_do_not_start_captures_without_an_end() -> None:
    ada = pacer()
    starts, now = [], 1000.0
    while now < 1600:
        ada.wants_scan(now, "overflow")
        due = ada.due(now)
        assert due is not None
        if due.at <= now:
            starts.append(now)
            now = capture(ada, now, took=10)
        now += 0.5
    assert len(starts) <= 30


def test_one_capture_answers_everything_that_was_waited_for() -> None:
    ada = pacer()
    ada.changed(100)
    ada.wants_scan(100, "wake")
    ada.wants_scan(100, "schedule")
    ada.wants_scan(100, REQUEST)
    capture(ada, 101)
    assert ada.due(101) == DueCapture(101 + 3600, "scan")


def test_after_a_night_of_sleep_one_capture_is_due() -> None:
    ada = pacer()
    ada.changed(3000)
    woke = 3000 + 8 * 3600
    ada.wants_scan(woke, "wake")
    due = ada.due(woke)
    assert due is not None and due.at <= woke
    capture(ada, woke)
    assert ada.due(woke) == DueCapture(woke + 3600, "scan")


def test_two_captures_that_overlap_both_have_to_end() -> None:
    ada = pacer()
    ada.began(100)
    ada.began(101)
    ada.changed(102)
    ada.ended(103, complete=True)
    assert ada.due(103) is None
    ada.ended(104, complete=True)
    assert ada.due(104) is not None


# Captures that are not complete -----------------------------------------------------------------------------------


def test_a_capture_that_was_not_complete_is_made_again_ever_more_seldom() -> None:
    ada, now, waits = pacer(), 1000.0, []
    for _ in range(30):
        now = capture(ada, now, complete=False)
        due = ada.due(now)
        assert due is not None and due.reason == "retry"
        waits.append(due.at - now)
        now = due.at
    assert waits[:8] == [2, 2, 4, 8, 16, 32, 60, 60]
    assert waits[15:20] == [60, 120, 240, 480, 960]
    assert max(waits) == 3600


def test_while_captures_fail_changes_wait_for_the_retry_at_most_a_minute() -> None:
    ada, now = pacer(), 1000.0
    for _ in range(25):
        now = capture(ada, now + 60, complete=False)
    ada.changed(now + 1)
    assert ada.due(now + 1) == DueCapture(now + 60, "change")
    capture(ada, now + 60)
    ada.changed(now + 100)
    assert ada.due(now + 100) == DueCapture(now + 102, "change")


def test_what_changed_stays_known_over_captures_that_fail() -> None:
    ada = pacer(SCHEDULED)
    ada.changed(100)
    capture(ada, 100, complete=False)
    assert ada.due(100) == DueCapture(102, "retry")


# Any course of events ---------------------------------------------------------------------------------------------

AT_MOST, DEBOUNCE, IDLE = 20.0, 2.0, 45.0


class AnyCourse(RuleBasedStateMachine):
    """A daemon that starts due captures of a workspace with arbitrary events. The model knows since when a change is in
    no capture, and whether a capture has to be repeated."""

    @initialize(cadence=st.sampled_from(EVERY_CADENCE))
    def start(self, cadence: str) -> None:
        self.now = 1000.0
        self.pacer = CapturePacer(
            CadenceSettings(cadence, debounce=DEBOUNCE, at_most=AT_MOST, idle=IDLE, scan_interval=300.0)
        )
        self.cadence = cadence
        self.running = False
        self.uncaptured: float | None = None
        self.ran = self.slept = 0.0
        self.causes = 0
        self.to_repeat = False
        self.starts: list[tuple[float, str]] = []
        self.ended = -inf

    @rule()
    def change(self) -> None:
        self.pacer.changed(self.now)
        self.causes += 1
        if self.uncaptured is None:
            self.uncaptured, self.ran, self.slept = self.now, 0.0, 0.0

    @rule(reason=st.sampled_from(["start", "wake", "overflow", "schedule", "resume"]))
    def want_scan(self, reason: str) -> None:
        self.pacer.wants_scan(self.now, reason)
        self.causes += 1

    @rule()
    def request(self) -> None:
        self.pacer.wants_scan(self.now, REQUEST)
        self.causes += 1

    @rule(seconds=st.floats(0.0, 30.0))
    def pass_time(self, seconds: float) -> None:
        """Advance from one due time to the next, as a timer would."""
        end = self.now + seconds
        while self.now < end:
            due = self.pacer.due(self.now)
            self._advance((end if due is None else min(end, max(self.now, due.at))) - self.now)
            self._begin_what_is_due()

    @rule(hours=st.floats(0.01, 30.0))
    def sleep(self, hours: float) -> None:
        self._advance(hours * 3600)
        self.slept += hours * 3600
        self._begin_what_is_due()

    @precondition(lambda self: self.running)
    @rule(complete=st.booleans())
    def end(self, complete: bool) -> None:
        self.pacer.ended(self.now, complete=complete)
        self.running, self.ended = False, self.now
        self.to_repeat = not complete
        self.causes += not complete
        self._begin_what_is_due()

    def _advance(self, seconds: float) -> None:
        self.now += seconds
        if self.running:
            self.ran += seconds

    def _begin_what_is_due(self) -> None:
        due = self.pacer.due(self.now)
        if due is None or due.at > self.now:
            return
        assert not self.running
        assert self.causes or due.reason == "scan", "nothing asked for it"
        if due.reason == "scan":
            assert self.now - self.ended >= 300
        if due.reason != REQUEST and self.starts:
            assert self.now - self.starts[-1][0] >= DEBOUNCE, "twice within the quiet time"
        if self.cadence == MANUAL:
            assert due.reason == REQUEST
        if self.cadence == SCHEDULED:
            assert due.reason not in ("change", "session")
        self.pacer.began(self.now)
        self.starts.append((self.now, due.reason))
        self.running, self.causes = True, 0
        self.uncaptured = None

    @invariant()
    def no_change_waits_longer_than_promised(self) -> None:
        """Running captures and sleep block everything else, so their time is not counted."""
        if self.cadence != AFTER_INTERACTION or self.uncaptured is None:
            return
        assert self.now - self.uncaptured - self.ran - self.slept <= AT_MOST + 1e-6

    @invariant()
    def what_was_not_complete_is_repeated(self) -> None:
        if self.cadence != MANUAL and self.to_repeat and not self.running:
            due = self.pacer.due(self.now)
            assert due is not None and due.at <= max(self.now, self.ended + 300)


TestAnyCourse = AnyCourse.TestCase
TestAnyCourse.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
