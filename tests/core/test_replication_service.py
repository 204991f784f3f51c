"""The service and second copies, moment by moment: what is sent when, what waits, and what nobody is asked. Within the
test, on a clock of its own (see `inside`)."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifeboat_core.agents.agent import Agent
from lifeboat_core.machine import power_and_network
from lifeboat_core.remotes import retry_backoff
from lifeboat_daemon.service import returned_folders
from support.daemon.inside import HANG, Inside, Remote

MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0
UNREACHABLE = {"state": "waiting", "message": "nobody answers", "code": "remote_unreachable"}
DENIED = {"state": "error", "message": "the token does not count", "code": "remote_denied"}
ERASED = {"state": "error", "message": "the whole agent was purged", "code": "agent_erased"}
DAMAGED = {"state": "error", "message": "its copy does not hold", "code": "remote_damaged"}
FENCED = {"state": "fenced", "message": "the agent moved to laptop-2", "code": "moved"}


@pytest.fixture
def inside() -> Iterator[Inside]:
    found = Inside()
    yield found
    found.close()


def protected(inside: Inside, *remotes: str) -> tuple[Agent, list[Remote]]:
    """An agent, captured and sent to all remotes."""
    ada = inside.add()
    inside.passes(10)
    made = [inside.add_remote(name) for name in remotes]
    inside.passes(30)
    assert [remote.has.get(ada.id) for remote in made] == [0] * len(made)
    for remote in made:
        remote.pushes.clear()
    return ada, made


def captured(inside: Inside, agent: Agent) -> int:
    """A change that was captured; its sequence."""
    inside.change(agent)
    inside.passes(10)
    assert inside.place(agent).kept == inside.place(agent).version
    return inside.place(agent).version


def moments(remote: Remote) -> list[float]:
    return [moment for moment, _, _ in remote.pushes]


# What is sent, and when -------------------------------------------------------------------------------------------


def test_a_remote_that_was_added_gets_what_there_is(inside: Inside) -> None:
    ada = inside.add()
    inside.passes(10)
    server = inside.add_remote("server")
    inside.passes(10)
    assert server.has == {ada.id: 0}


def test_every_capture_goes_to_every_remote(inside: Inside) -> None:
    ada, remotes = protected(inside, "server", "stick")
    number = captured(inside, ada)
    inside.passes(20)
    assert [remote.has[ada.id] for remote in remotes] == [number, number]
    assert all(len(remote.pushes) == 1 for remote in remotes)


def test_while_nothing_changes_nobody_is_asked(inside: Inside) -> None:
    _, (server,) = protected(inside, "server")
    inside.passes(12 * HOUR)
    assert server.pushes == [] and server.reads == []


def test_what_is_captured_while_a_push_runs_goes_with_one_that_follows(inside: Inside) -> None:
    ada, (server,) = protected(inside, "server")
    server.takes = 5 * MINUTE
    captured(inside, ada)
    for _ in range(3):
        captured(inside, ada)
    inside.passes(15 * MINUTE)
    assert len(server.pushes) == 2 and server.has[ada.id] == 4


def test_a_capture_does_not_wait_for_a_push(inside: Inside) -> None:
    ada, (server,) = protected(inside, "server")
    server.takes = HOUR
    captured(inside, ada)
    assert captured(inside, ada) == 2 and server.has[ada.id] == 0
    inside.passes(2 * HOUR + MINUTE)


def test_a_remote_that_answers_nobody_delays_neither_another_one_nor_captures(inside: Inside) -> None:
    ada, (dead, alive) = protected(inside, "dead", "alive")
    ben = inside.add("Ben")
    dead.answers = [{"state": HANG}] * 4
    for _ in range(3):
        captured(inside, ada)
        captured(inside, ben)
        inside.passes(20 * MINUTE)
    assert alive.has == {ada.id: 3, ben.id: 3}
    assert dead.has[ada.id] == 0


def test_an_agent_that_was_only_imported_is_sent_nowhere_unasked(inside: Inside) -> None:
    ada = inside.add(watched=False)
    inside.place(ada).kept = 3
    server = inside.add_remote("server")
    inside.passes(HOUR)
    assert server.pushes == []


def test_after_a_restart_what_was_not_sent_goes(inside: Inside) -> None:
    ada, (server,) = protected(inside, "server")
    server.answers = [dict(UNREACHABLE)]
    captured(inside, ada)
    inside.stop()
    inside.start()
    inside.passes(MINUTE / 2)
    assert server.has[ada.id] == 1


# What fails -------------------------------------------------------------------------------------------------------


def test_a_failure_is_tried_again_after_a_minute_then_twice_as_long_up_to_an_hour(inside: Inside) -> None:
    ada, (server,) = protected(inside, "server")
    server.answers = [dict(UNREACHABLE)] * 12
    captured(inside, ada)
    inside.passes(8 * HOUR)
    found = moments(server)
    pauses = [later - earlier for earlier, later in pairwise(found)]
    wanted = [min(MINUTE * 2**number, HOUR) for number in range(len(pauses))]
    assert len(pauses) >= 8
    assert all(want <= pause <= 1.26 * want + 2 for want, pause in zip(wanted, pauses, strict=True))
    inside.passes(6 * HOUR)
    assert server.has[ada.id] == 1


def test_what_is_captured_while_a_remote_is_away_hurries_nobody(inside: Inside) -> None:
    ada, (server,) = protected(inside, "server")
    server.answers = [dict(UNREACHABLE)] * 3
    captured(inside, ada)
    for _ in range(3):
        captured(inside, ada)
    assert len(server.pushes) == 1
    inside.passes(HOUR)
    assert server.has[ada.id] == 4


def test_a_success_takes_back_the_pause(inside: Inside) -> None:
    ada, (server,) = protected(inside, "server")
    server.answers = [dict(UNREACHABLE)] * 4
    captured(inside, ada)
    inside.passes(HOUR)
    server.answers = [dict(UNREACHABLE)]
    captured(inside, ada)
    server.pushes.clear()
    inside.passes(2 * MINUTE)
    assert server.has[ada.id] == 2


def test_a_remote_that_asks_to_wait_is_given_the_time(inside: Inside) -> None:
    ada, (server,) = protected(inside, "server")
    server.answers = [{"state": "waiting", "message": "busy", "code": "remote_busy", "retry_after": 1800.0}]
    captured(inside, ada)
    inside.passes(25 * MINUTE)
    assert len(server.pushes) == 1
    inside.passes(10 * MINUTE)
    assert server.has[ada.id] == 1


@pytest.mark.parametrize("answer", [DENIED, FENCED])
def test_what_only_a_person_can_mend_is_tried_once_a_day(inside: Inside, answer: dict[str, str]) -> None:
    ada, (server,) = protected(inside, "server")
    server.answers = [dict(answer)] * 9
    captured(inside, ada)
    captured(inside, ada)
    inside.passes(20 * HOUR)
    assert len(server.pushes) == 1
    inside.passes(5 * HOUR)
    assert len(server.pushes) == 2
    assert inside.state(ada) == answer["state"]


def test_a_copy_that_does_not_hold_is_spoken_to_ever_more_seldom_up_to_once_a_day(inside: Inside) -> None:
    ada, (server,) = protected(inside, "server")
    server.answers = [dict(DAMAGED)] * 40
    captured(inside, ada)
    inside.passes(4 * DAY)
    pauses = [after - before for before, after in pairwise(moments(server))]
    assert pauses[0] < 3 * MINUTE and all(pause < 1.25 * DAY + MINUTE for pause in pauses)
    assert all(after > 1.2 * before for before, after in pairwise(pauses) if after < 20 * HOUR)
    assert pauses[-1] > 20 * HOUR


def test_a_copy_that_does_not_hold_gets_what_is_captured_within_an_hour_and_a_half(inside: Inside) -> None:
    ada, (server,) = protected(inside, "server")
    server.answers = [dict(DAMAGED)] * 40
    captured(inside, ada)
    inside.passes(3 * DAY)
    before = len(server.pushes)
    captured(inside, ada)
    inside.passes(1.5 * HOUR)
    assert len(server.pushes) > before


def test_a_copy_that_does_not_hold_is_read_back_ever_more_seldom(inside: Inside) -> None:
    _, (server,) = protected(inside, "server")
    server.holds = False
    inside.passes(DAY)
    begun = len(server.reads)
    assert begun
    inside.passes(6 * DAY)
    pauses = [after - before for (before, _), (after, _) in pairwise(server.reads)]
    assert len(server.reads) < 18 and pauses[-1] > 12 * HOUR


def test_a_reload_tries_again_what_a_person_mended(inside: Inside) -> None:
    ada, (server,) = protected(inside, "server")
    server.answers = [dict(DENIED)]
    captured(inside, ada)
    inside.answer("reload")
    inside.passes(10)
    assert server.has[ada.id] == 1 and inside.state(ada) == "ok"


def test_after_sleep_nobody_waits_for_the_end_of_a_pause(inside: Inside) -> None:
    ada, (server,) = protected(inside, "server")
    server.answers = [dict(UNREACHABLE)] * 7
    captured(inside, ada)
    inside.passes(2 * HOUR)
    server.answers = []
    before = len(server.pushes)
    inside.clock.slept += 10 * MINUTE
    inside.passes(90)
    assert len(server.pushes) == before + 1 and server.has[ada.id] == 1


def test_a_network_that_is_back_is_used_within_a_minute(inside: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    ada, (server,) = protected(inside, "server")
    monkeypatch.setattr(power_and_network, "is_online", lambda: False)
    server.answers = [
        {"state": "waiting", "message": "this machine has no network connection", "code": "no_network"}
    ] * 7
    captured(inside, ada)
    inside.passes(2 * HOUR)
    server.answers = []
    monkeypatch.setattr(power_and_network, "is_online", lambda: True)
    inside.passes(70)
    assert server.has[ada.id] == 1


def test_a_stick_that_is_back_gets_what_it_missed_within_two_minutes(
    inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, (stick,) = protected(inside, "stick")
    there = {"stick": False}
    monkeypatch.setattr(
        returned_folders, "look_for_folders", lambda context, names, tell: tell({name: there[name] for name in names})
    )
    stick.answers = [UNREACHABLE] * 9
    captured(inside, ada)
    inside.passes(6 * HOUR)
    stick.answers = []
    there["stick"] = True
    inside.passes(2 * MINUTE)
    assert stick.has[ada.id] == 1


def test_a_folder_that_is_there_and_fails_all_the_same_hurries_nobody(
    inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, (stick,) = protected(inside, "stick")
    monkeypatch.setattr(
        returned_folders, "look_for_folders", lambda context, names, tell: tell(dict.fromkeys(names, True))
    )
    stick.answers = [UNREACHABLE] * 20
    captured(inside, ada)
    inside.passes(HOUR)
    assert len(stick.pushes) < 8


def test_a_worker_that_dies_of_a_push_is_no_end(inside: Inside) -> None:
    ada, (server,) = protected(inside, "server")
    server.answers = [{"state": HANG}]
    captured(inside, ada)
    (job,) = inside.world.doing
    assert job.operation == "push"
    inside.answer("cancel", agent=ada.id)
    inside.passes(MINUTE)
    assert inside.world.doing == []
    inside.passes(2 * HOUR)
    assert server.has[ada.id] == 1


def test_an_agent_that_goes_while_it_is_sent_leaves_nothing(inside: Inside) -> None:
    ada, (server,) = protected(inside, "server")
    server.answers = [{"state": HANG}]
    captured(inside, ada)
    inside.remove(ada)
    inside.passes(MINUTE)
    assert inside.world.doing == []
    assert not [name for name in inside.timers if ada.id in name]


@given(failures=st.integers(0, 10_000), seed=st.integers())
def test_a_pause_is_between_a_minute_and_an_hour_and_a_quarter(failures: int, seed: int) -> None:
    found = retry_backoff.compute_pause(failures, random.Random(seed))
    assert MINUTE <= found <= 1.25 * HOUR
    assert retry_backoff.compute_pause(failures + 1, random.Random(seed)) >= found


# What somebody asks for -------------------------------------------------------------------------------------------


def test_who_asks_gets_an_answer_of_every_remote(inside: Inside) -> None:
    ada, (server, stick) = protected(inside, "server", "stick")
    stick.optional = True
    stick.answers = [dict(UNREACHABLE)]
    inside.place(ada).version += 1
    (document,) = inside.answer("sync", agents=[ada.id])["agents"]
    first, second = document["remotes"]
    assert (first["name"], first["state"], first["sequence"]) == ("server", "ok", 1)
    assert (second["name"], second["state"], second["optional"]) == ("stick", "waiting", True)
    assert (second["message"], second["sequence"]) == ("nobody answers", 0)
    assert all(asked for _, _, asked in server.pushes + stick.pushes)


def test_who_asks_waits_for_no_pause(inside: Inside) -> None:
    ada, (server,) = protected(inside, "server")
    server.answers = [dict(DENIED)]
    captured(inside, ada)
    inside.answer("sync", agents=[ada.id])
    assert server.has[ada.id] == 1


def test_who_asks_while_a_push_runs_has_what_was_captured_last(inside: Inside) -> None:
    ada, (server,) = protected(inside, "server")
    server.takes = MINUTE
    captured(inside, ada)
    inside.place(ada).version += 1
    (document,) = inside.answer("sync", agents=[ada.id])["agents"]
    assert document["remotes"][0]["sequence"] == 2
    assert len(server.pushes) == 2


def test_who_asks_while_nobody_answers_has_the_answer_that_others_wait_for(inside: Inside) -> None:
    ada, (server,) = protected(inside, "server")
    server.takes = 4 * MINUTE
    server.answers = [dict(UNREACHABLE)]
    captured(inside, ada)
    (document,) = inside.answer("sync", agents=[ada.id])["agents"]
    assert document["remotes"][0]["state"] == "waiting"
    assert len(server.pushes) == 1


# How it is said ---------------------------------------------------------------------------------------------------


def test_a_push_is_an_event_and_a_job_of_its_remote(inside: Inside) -> None:
    ada, (server,) = protected(inside, "server")
    server.takes = MINUTE
    inside.events.clear()
    captured(inside, ada)
    (job,) = inside.answer("jobs")["jobs"]
    assert (job["operation"], job["agent"], job["remote"]) == ("push", ada.id, "server")
    assert inside.state(ada) == "syncing"
    inside.passes(MINUTE)
    (told,) = [event for event in inside.events if event["event"] == "push"]
    assert (told["agent"], told["remote"]["name"], told["remote"]["state"]) == (ada.id, "server", "ok")


def test_what_cannot_be_sent_is_said_once_it_was_tried_again(inside: Inside) -> None:
    ada, (server,) = protected(inside, "server")
    server.answers = [dict(UNREACHABLE)] * 2
    captured(inside, ada)
    assert inside.state(ada) == "ok"
    inside.passes(1.5 * MINUTE)
    assert inside.state(ada) == "waiting"
    inside.passes(3 * MINUTE)
    assert inside.state(ada) == "ok"


def test_a_removal_that_is_held_is_not_sent_until_it_is_accepted(inside: Inside) -> None:
    ada, (server,) = protected(inside, "server")
    inside.place(ada).held = 0
    captured(inside, ada)
    inside.passes(3 * HOUR)
    assert server.pushes == [] and server.has[ada.id] == 0
    inside.place(ada).held = None
    inside.answer("reload", agent=ada.id)
    inside.passes(10)
    assert server.has[ada.id] == 1


# Reading back -----------------------------------------------------------------------------------------------------


def test_every_remote_is_read_back_once_a_day_before_the_day_is_over(inside: Inside) -> None:
    ada, (server, stick) = protected(inside, "server", "stick")
    inside.passes(2 * DAY)
    for remote in (server, stick):
        assert remote.pushes == []
        assert len(remote.reads) == 2
    assert inside.state(ada) == "ok"


def test_a_remote_that_cannot_be_read_back_is_tried_again_an_hour_later(inside: Inside) -> None:
    _, (server,) = protected(inside, "server")
    inside.world.takes["verify_remote"] = 2 * HOUR  # longer than it may
    inside.passes(DAY + HOUR)
    first = len(server.reads)
    assert first >= 1
    inside.world.takes["verify_remote"] = 1.0
    inside.passes(3 * HOUR)
    assert len(server.reads) == first + 1


def test_what_runs_for_a_remote_is_ended_with_the_service(inside: Inside) -> None:
    ada, (server,) = protected(inside, "server")
    server.answers = [{"state": HANG}]
    captured(inside, ada)
    assert inside.world.doing
    assert inside.stop() == "stopped"
    assert inside.world.doing == []


# Purges -----------------------------------------------------------------------------------------------------------


def purged(inside: Inside, agent: Agent, remote: Remote) -> None:
    """Something was purged here, and whoever did it told the daemon to look."""
    remote.purges[agent.id] = None
    inside.answer("reload", agent=agent.id)


def test_a_purge_is_told_though_nothing_else_is_to_be_sent_and_asked_about_when_its_wait_is_over(
    inside: Inside,
) -> None:
    ada, (server,) = protected(inside, "server")
    began = inside.clock.since_boot()
    purged(inside, ada, server)
    inside.passes(2 * DAY)
    assert [round((moment - began) / DAY, 1) for moment in moments(server)] == [0.0, 1.0]
    assert server.purges == {}


def test_a_machine_that_may_not_write_tells_of_purges_all_the_same(inside: Inside) -> None:
    ada, (server,) = protected(inside, "server")
    server.answers = [FENCED] * 5
    captured(inside, ada)
    inside.passes(MINUTE)
    purged(inside, ada, server)
    inside.passes(10 * MINUTE)
    assert server.purges[ada.id] is not None


def test_a_remote_that_is_away_is_not_asked_about_purges_all_the_time(inside: Inside) -> None:
    ada, (server,) = protected(inside, "server")
    server.answers = [UNREACHABLE] * 100
    purged(inside, ada, server)
    inside.passes(HOUR)
    assert 1 <= len(server.pushes) < 40


def test_people_are_told_of_an_agent_that_was_purged_on_another_machine(inside: Inside) -> None:
    ada, (server,) = protected(inside, "server")
    server.answers = [ERASED]
    captured(inside, ada)
    inside.passes(MINUTE)
    assert "Lifeboat: Ada was purged" in [notice["title"] for notice in inside.world.notices]
