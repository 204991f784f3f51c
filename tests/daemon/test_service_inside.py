"""The service, event by event: what happens while other work runs. It runs inside the test, on a clock of its own (see
`inside`)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import cast

import pytest

from lifeboat_alf.common import times
from lifeboat_alf.seams.file_operations import StrPath
from lifeboat_core.errors import Cancelled
from lifeboat_core.settings import config_file
from lifeboat_daemon.service import daemon_lock, daemon_process
from lifeboat_daemon.service.daemon_service import UPGRADED
from lifeboat_daemon.service.event_log import EventLog
from lifeboat_daemon.units import systemd_notify
from lifeboat_daemon.watch.agent_watcher import RESCAN
from support.daemon.inside import BASE, BUSY, CRASH, FAILED, HANG, NONSENSE, OK, Inside, QuickFiles

HOUR, DAY = 3600.0, 86400.0


@pytest.fixture
def inside() -> Iterator[Inside]:
    found = Inside()
    yield found
    found.close()


@pytest.fixture
def before() -> Iterator[Inside]:
    """Make a service that has not started."""
    found = Inside(start=False)
    yield found
    found.close()


# An agent that is removed during work -------------------------------------------------------------------------------


def test_an_agent_that_goes_while_it_is_captured_leaves_nothing(inside: Inside) -> None:
    ada = inside.add()
    inside.passes(20)
    inside.place(ada).takes = 5.0
    inside.change(ada)
    inside.passes(3)
    assert [job.operation for job in inside.world.doing] == ["capture"]
    inside.remove(ada)
    inside.passes(1)
    inside.events.clear()
    inside.passes(60)
    assert not [name for name in inside.timers if ada.id in name]
    assert ada.id not in inside.world.followed
    assert not [event for event in inside.events if event["event"] == "agent"]
    assert not inside.service.parts.notes.told.keys() & {ada.id}


def test_an_agent_that_goes_before_it_was_looked_up_is_neither_watched_nor_captured(inside: Inside) -> None:
    inside.world.takes["standing"] = 10.0
    ada = inside.add()
    inside.passes(2)
    inside.remove(ada)
    inside.passes(120)
    assert ada.id not in inside.world.followed
    assert inside.place(ada).captures == 0


def test_the_verification_of_an_agent_that_goes_is_ended(inside: Inside) -> None:
    ada = inside.add()
    inside.passes(2)
    inside.world.outcomes["verify"] = [HANG]
    inside.passes(60)
    assert [job.operation for job in inside.world.doing] == ["verify"]
    inside.remove(ada)
    inside.passes(30)
    assert inside.world.doing == []
    assert inside.service.parts.notes.verify_failed == {}


# Two jobs of one agent ----------------------------------------------------------------------------------------------


def test_an_agent_is_at_work_until_the_last_of_its_work_has_ended(inside: Inside) -> None:
    ada = inside.add()
    inside.passes(20)
    inside.world.takes["verify"] = 10.0
    inside.place(ada).takes = 10.0
    verified = inside.ask("verify", agent=ada.id)
    inside.passes(1)
    inside.change(ada)
    inside.passes(12)
    assert verified.done() and [job.operation for job in inside.world.doing] == ["capture"]
    assert inside.state(ada) == "syncing"
    assert inside.answer("daemon")["agents"][0]["at_work"] == "capture"
    inside.passes(20)
    assert inside.state(ada) == "ok"


def test_one_capture_that_many_asked_for_counts_and_is_told_once(inside: Inside) -> None:
    ada = inside.add()
    inside.passes(20)
    inside.place(ada).takes = 5.0
    before = inside.answer("daemon")["agents"][0]["captures"]
    first = inside.ask("sync", agents=[ada.id])
    inside.passes(1)
    inside.change(ada)
    inside.events.clear()
    others = [inside.ask("sync", agents=[ada.id]) for _ in range(5)]
    inside.passes(15)
    assert first.done() and all(each.result()["agents"][0]["sequence"] == 1 for each in others)
    assert sum(event["event"] == "capture" for event in inside.events) == 1
    assert inside.answer("daemon")["agents"][0]["captures"] == before + 2


def test_a_capture_that_somebody_waits_for_goes_before_a_long_verification_that_nobody_asked_for(
    inside: Inside,
) -> None:
    ada = inside.add()
    inside.passes(300)
    inside.world.takes["verify"] = 3 * HOUR
    inside.place(ada).verified_at = times.to_text(BASE - timedelta(days=40))
    inside.change(ada)
    inside.passes(300)
    assert [job.operation for job in inside.world.doing] == ["verify"]
    synced = inside.ask("sync", agents=[ada.id])
    inside.passes(30)
    assert synced.done()
    asked = inside.ask("verify", agent=ada.id, whole=True)
    inside.passes(1)
    synced = inside.ask("sync", agents=[ada.id])
    inside.passes(30)
    assert not synced.done() and not asked.done()
    inside.passes(3 * HOUR)
    assert synced.done() and asked.done()


# The key ------------------------------------------------------------------------------------------------------------


def looks_at_the_key(inside: Inside) -> int:
    return sum(job.operation == "key" for job in inside.world.done)


def test_a_key_that_cannot_be_used_is_looked_at_less_and_less_often(inside: Inside) -> None:
    ada = inside.add()
    inside.passes(20)
    inside.world.key = "needs_key"
    inside.answer("reload")
    inside.passes(20)
    assert inside.state(ada) == "needs_key"
    before = looks_at_the_key(inside)
    inside.passes(HOUR)
    assert 4 <= looks_at_the_key(inside) - before <= 7
    before = looks_at_the_key(inside)
    inside.passes(6 * HOUR)
    assert 11 <= looks_at_the_key(inside) - before <= 13


def test_whoever_asks_how_things_stand_has_a_key_that_could_not_be_used_looked_at(before: Inside) -> None:
    before.world.key = "error"
    before.start()
    ada = before.add()
    before.passes(HOUR)
    before.world.key = "ok"
    found = looks_at_the_key(before)
    before.answer("status")
    before.passes(5)
    assert looks_at_the_key(before) == found + 1 and before.state(ada) == "ok"
    before.answer("status")
    before.passes(HOUR)
    assert looks_at_the_key(before) == found + 1


def test_a_key_that_is_never_told_of_holds_up_no_status_and_no_capture(before: Inside) -> None:
    before.world.outcomes["key"] = [HANG]
    before.start()
    ada = before.add()
    before.place(ada).kept = 0
    before.passes(1)
    asked = before.ask("status")
    before.passes(4)
    assert "has not answered" in asked.result()["key"]["note"]
    assert before.place(ada).captures == 1
    before.passes(120)
    assert before.log.count("key_look_failed") == 1
    assert before.answer("status")["key"]["note"] == ""


# Failures -----------------------------------------------------------------------------------------------------------


def test_an_answer_that_makes_no_sense_is_a_failure_that_status_shows(inside: Inside) -> None:
    ada = inside.add()
    inside.passes(20)
    inside.place(ada).outcomes = [NONSENSE] * 3
    inside.change(ada)
    inside.passes(3)
    assert inside.state(ada) == "error"
    assert len(inside.log.mistakes) >= 1
    inside.log.mistakes.clear()
    inside.passes(60)
    assert inside.state(ada) == "ok"
    inside.log.mistakes.clear()


def test_an_agent_that_rests_and_could_not_be_looked_up_is_looked_up_again(inside: Inside) -> None:
    inside.world.outcomes["standing"] = [CRASH]
    ada = inside.add(paused=True)
    inside.passes(2)
    assert inside.state(ada) == "error"
    inside.passes(130)
    assert inside.state(ada) == "paused"


def test_an_agent_whose_looking_up_failed_for_once_is_in_error_for_a_minute_at_most(inside: Inside) -> None:
    ada = inside.add()
    inside.passes(20)
    inside.world.outcomes["standing"] = [CRASH]
    inside.answer("reload", agent=ada.id)
    inside.passes(5)
    assert inside.state(ada) == "error"
    inside.passes(70)
    assert inside.state(ada) == "ok"


def test_a_file_of_one_agent_that_cannot_be_read_leaves_the_others_in_care(before: Inside) -> None:
    inside = before
    ada, bea = inside.add("Ada", tell=False), inside.add("Bea", tell=False)
    inside.context.home.agent_file(bea.id).write_text("name = ")
    (inside.context.home.state_folder / f"{bea.id}.good.toml").unlink(missing_ok=True)
    inside.start()
    assert [watched.id for watched in inside.service.fleet] == [ada.id]
    assert inside.answer("status")["problems"] != []
    inside.context.home.agent_file(bea.id).unlink()
    inside.save(bea)
    inside.passes(5)
    assert {watched.id for watched in inside.service.fleet} == {ada.id, bea.id}
    assert inside.answer("status")["problems"] == []


def test_a_good_state_after_an_old_trouble_is_told_at_once(inside: Inside) -> None:
    ada = inside.add()
    inside.passes(20)
    inside.place(ada).outcomes = [FAILED] * 12
    inside.change(ada)
    inside.passes(8 * 60)
    assert [one["kind"] for one in inside.world.notices] == ["error"]
    inside.passes(8 * 60)
    assert inside.state(ada) == "ok"
    inside.passes(5 * 60)
    assert [one["kind"] for one in inside.world.notices] == ["error", "ok"]


def test_what_the_end_of_the_service_kept_from_being_told_the_next_one_tells(inside: Inside) -> None:
    ada = inside.add()
    inside.passes(20)
    inside.place(ada).outcomes = [FAILED] * 12
    inside.world.outcomes["notify"] = [HANG]
    inside.change(ada)
    inside.passes(100)
    assert inside.log.count("notice") == 1 and not inside.world.notices
    inside.stop()
    inside.start(15)
    assert [one["kind"] for one in inside.world.notices] == ["error"]
    assert inside.service.parts.notes.untold == []


# The clock ----------------------------------------------------------------------------------------------------------


def test_a_pause_that_is_over_because_the_clock_was_set_ends_at_once(inside: Inside) -> None:
    until = times.to_text(BASE + timedelta(days=2))
    ada = inside.add()
    inside.passes(20)
    inside.save(replace(ada, paused=True, paused_until=until, paused_at=inside.context.now()))
    inside.passes(5)
    inside.change(ada)
    inside.passes(120)
    assert inside.place(ada).kept == 0
    inside.clock.jumped = 3 * DAY
    inside.passes(120)
    assert inside.place(ada).kept == 1


# Start and end ------------------------------------------------------------------------------------------------------


def test_a_recovery_that_takes_long_keeps_no_sign_of_life_and_no_stop_waiting(before: Inside) -> None:
    inside = before
    inside.world.takes["recover"] = HOUR
    inside.start()
    inside.passes(600)
    assert inside.service.ticks >= 9
    assert inside.stop() == "stopped"
    assert inside.clock.monotonic() < 1000 + 700


def test_nothing_is_captured_before_what_a_crash_interrupted_is_finished(before: Inside) -> None:
    inside = before
    inside.world.takes["recover"] = 100.0
    ada = inside.add(tell=False)
    inside.start()
    asked = inside.ask("sync", agents=[ada.id])
    inside.ask("reload")
    inside.service.reload()
    inside.passes(50)
    assert [job.operation for job in inside.world.doing + inside.world.done] == ["recover"]
    inside.passes(60)
    assert asked.result()["agents"][0]["sequence"] == 0


def test_whoever_asks_while_the_service_ends_before_it_has_begun_is_told_so(before: Inside) -> None:
    inside = before
    inside.world.takes["recover"] = 100.0
    ada = inside.add(tell=False)
    inside.start()
    asked = inside.ask("sync", agents=[ada.id])
    inside.passes(1)
    inside.stop()
    with pytest.raises(Cancelled):
        asked.result()


def test_a_service_that_has_to_stop_does_not_begin_anew_as_another_release(inside: Inside) -> None:
    found_out = inside.service.parts.workers.on_upgrade
    assert found_out is not None and inside.ended is not None
    inside.service.stop()
    found_out("2.0.0")
    assert inside.run(inside.ended) == "stopped"


def test_a_service_of_another_release_ends_so_that_the_other_begins(inside: Inside) -> None:
    ada = inside.add()
    inside.passes(100)
    inside.world.release = "2.0.0"
    asked = inside.ask("sync", agents=[ada.id])
    inside.passes(60)
    assert inside.ended is not None and inside.ended.result() == UPGRADED
    assert asked.done()


def test_the_end_of_the_service_is_no_failure_of_an_agent(inside: Inside) -> None:
    ada, bea = inside.add("Ada"), inside.add("Bea")
    inside.passes(20)
    for each in (ada, bea):
        inside.place(each).takes = 300.0
    asked = inside.ask("sync", agents=[ada.id, bea.id])
    further = inside.ask("sync", agents=[ada.id], full=True)
    inside.passes(1)
    inside.events.clear()
    inside.stop()
    inside.passes(1)
    assert asked.done() and further.done()
    failed = {event["agent"]["failed"] for event in inside.events if event["event"] == "agent"}
    assert failed <= {None}
    assert inside.log.count("capture_failed") == 0


def test_a_worker_that_cannot_be_ended_does_not_keep_the_service_from_ending(inside: Inside) -> None:
    ada = inside.add()
    inside.passes(20)
    inside.world.immortal = True
    inside.place(ada).outcomes = [HANG]
    inside.change(ada)
    inside.passes(5)
    began = inside.clock.monotonic()
    inside.stop()
    assert inside.clock.monotonic() - began < 60
    inside.world.immortal = False
    inside.give_up()


def test_a_capture_under_way_is_seen_through_at_the_end(inside: Inside) -> None:
    ada = inside.add()
    inside.passes(20)
    inside.place(ada).takes = 20.0
    inside.change(ada)
    inside.passes(4)
    inside.stop()
    assert inside.place(ada).kept == 1


# Waiting ------------------------------------------------------------------------------------------------------------


def test_captures_that_hang_do_not_keep_the_others_waiting_for_ever(inside: Inside) -> None:
    ada, bea, cleo = (inside.add(name) for name in ("Ada", "Bea", "Cleo"))
    inside.passes(60)
    for each in (ada, bea):
        inside.place(each).outcomes = [HANG]
        inside.change(each)
    inside.passes(10)
    inside.change(cleo)
    inside.passes(HOUR)
    assert inside.place(cleo).kept == 1
    assert {inside.state(each) for each in (ada, bea)} == {"syncing"}


def test_who_waits_for_a_command_is_waiting_and_goes_on_after_it(inside: Inside) -> None:
    ada = inside.add()
    inside.passes(20)
    inside.place(ada).outcomes = [BUSY] * 3
    inside.change(ada)
    inside.passes(3.2)
    assert inside.state(ada) == "waiting"
    inside.passes(60)
    assert (inside.state(ada), inside.place(ada).kept) == ("ok", 1)


def test_a_mistake_in_a_timer_is_in_the_log_and_ends_nothing(inside: Inside) -> None:
    ada = inside.add()
    inside.passes(20)

    def mistaken() -> None:
        raise ZeroDivisionError

    inside.service.parts.timers.at("mistake", 1.0, mistaken)
    inside.passes(5)
    assert [type(each) for each in inside.log.mistakes] == [ZeroDivisionError]
    inside.log.mistakes.clear()
    inside.change(ada, RESCAN)
    inside.passes(10)
    assert inside.place(ada).kept == 1


def test_somebody_who_goes_away_does_not_end_what_was_asked_for(inside: Inside) -> None:
    ada = inside.add()
    inside.passes(20)
    inside.place(ada).takes = 5.0
    inside.change(ada)
    asked = inside.ask("sync", agents=[ada.id])
    inside.passes(1)
    asked.cancel()
    inside.passes(0.1)
    assert asked.cancelled()
    assert [watched.at_work for watched in inside.service.fleet] == ["capture"]
    inside.passes(60)
    assert (inside.state(ada), inside.place(ada).kept) == (OK, 1)
    assert asyncio.all_tasks(inside.loop) <= {inside.ended}


# Notices and metrics ------------------------------------------------------------------------------------------------


def test_no_sign_of_life_is_given_before_it_is_known_how_the_agents_stand(before: Inside) -> None:
    before.add(tell=False)
    config_file.write_config(before.context.home, before.context.files, "ping.url", "https://example.com/ping")
    before.world.takes["standing"] = 30.0
    before.start(25.0)
    assert "ping" not in [job.operation for job in before.world.done + before.world.doing]
    before.passes(120.0)
    assert [job.parameters for job in before.world.done if job.operation == "ping"] == [{"ok": True}]


def test_trouble_and_its_end_are_pinged_when_people_are_told(before: Inside) -> None:
    ada = before.add()
    config_file.write_config(before.context.home, before.context.files, "ping.url", "https://example.com/ping")
    before.start(120.0)
    before.place(ada).outcomes = [FAILED] * 20
    before.change(ada)
    before.passes(200.0)
    before.place(ada).outcomes = []
    before.passes(200.0)
    pings = [job.parameters["ok"] for job in before.world.done if job.operation == "ping"]
    assert pings == [True, False, True]


def test_a_service_that_waits_for_another_shows_that_it_lives(before: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    class Enough(Exception):
        pass

    told: list[str] = []

    def alive() -> bool:
        told.append("alive")
        if len(told) == 3:
            raise Enough
        return True

    monkeypatch.setattr(daemon_lock, "_PATIENCE", 0.01)
    monkeypatch.setattr(systemd_notify, "notify_watchdog", alive)
    with daemon_lock.hold_daemon_lock(before.context, "1.0.0"), pytest.raises(Enough):
        daemon_process.run_daemon(before.context, cast(EventLog, before.log), wait=True)
    assert before.log.count("waiting") == 1


def test_a_release_that_cannot_be_started_ends_the_service_with_an_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(daemon_process, "run_daemon", lambda *_, **__: UPGRADED)
    monkeypatch.setattr(daemon_process, "disable_core_dumps", lambda: True)  # It cannot be undone in this process.
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    assert daemon_process.main([]) == 1
    assert "cannot be started" in capsys.readouterr().err


# Many agents --------------------------------------------------------------------------------------------------------


def test_a_look_at_the_clock_reads_no_file_for_each_agent(before: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(20):
        before.add(f"Agent {number}", tell=False)
    before.start()
    before.passes(300)
    opened: list[StrPath] = []
    opening = QuickFiles.open_regular

    def noted(files: QuickFiles, path: StrPath) -> int:
        opened.append(path)
        return opening(files, path)

    monkeypatch.setattr(QuickFiles, "open_regular", noted)
    before.service.tick()
    assert len(opened) < 10


def test_each_look_at_the_clock_is_told_to_who_shows_ages(before: Inside) -> None:
    before.start()
    before.events.clear()
    before.passes(300)
    ticks = [event for event in before.events if event["event"] == "tick"]
    assert 4 <= len(ticks) <= 6
    assert len({event["time"] for event in ticks}) == len(ticks)
