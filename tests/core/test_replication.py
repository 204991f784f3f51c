"""Agents sent to a second copy and read back from there: by a worker, by `lifeboat sync`, by the service."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_cli import program
from lifeboat_cli.doctor import DoctorLevel
from lifeboat_cli.doctor import check_copies as copies
from lifeboat_core.agents import agent_sync, manage_agents
from lifeboat_core.errors import BadRequest, Cancelled, SecondCopyError
from lifeboat_core.health import status_gathering
from lifeboat_core.machine import power_and_network
from lifeboat_core.machine.power_and_network import MachineConditions
from lifeboat_core.remotes import (
    acknowledged_states,
    conditional_replication,
    remote_kinds,
    remote_registry,
    remote_verification,
)
from lifeboat_core.remotes.sealed.sealed_log import SealedLog
from lifeboat_core.settings import config_file
from lifeboat_daemon.work.operations import push, verify_remote
from lifeboat_daemon.work.worker_loop import RunningJob
from lifeboat_vault.errors import RemoteRefused
from lifeboat_vault.remote.remote_contract import RemoteVerification
from support.alf.raising import raises_code
from support.cli.cli_client import run
from support.core.machines import Machine, there
from support.daemon.serving import serving
from support.waiting import until


@pytest.fixture
def ada(tmp_path: Path) -> Iterator[Machine]:
    """Protected, captured, and with a folder as a second copy that has nothing yet."""
    made = Machine(tmp_path / "laptop")
    made.add(name="ada")
    (tmp_path / "stick").mkdir()
    made.add_remote("home", (tmp_path / "stick").as_uri())
    yield made


def work(ada: Machine, **parameters: Any) -> RunningJob:
    return RunningJob(ada.context, ada.known_agent, {"remote": "home", **parameters})


def synced(ada: Machine, monkeypatch: pytest.MonkeyPatch, *, ends: int = 0) -> JsonObject:
    """What `lifeboat sync` says."""
    for name in ("LIFEBOAT_HOME", "HOME"):
        monkeypatch.setenv(name, ada.context.environment[name])
    return run("sync", expect=ends)


def state(ada: Machine) -> str:
    return status_gathering.gather_agent_status(ada.context, ada.known_agent, ada.context.keys().status()).state


# The work of a worker ---------------------------------------------------------------------------------------------


def test_a_push_brings_everything_there_and_says_how_the_agent_stands(ada: Machine) -> None:
    answer = push.run(work(ada))
    assert (answer["remote"]["state"], answer["remote"]["sequence"]) == ("ok", 0)
    (remote,) = answer["facts"]["remotes"]
    assert (remote["state"], remote["sequence"], remote["pending"]) == ("ok", 0, 0)
    assert remote["verified_at"] is not None
    assert there(ada.context, ada.remote(), ada.agent.id) == ada.entries_at()


def test_a_push_tells_how_far_it_is_and_can_be_stopped_there(ada: Machine) -> None:
    told: list[tuple[str, int, int | None]] = []
    stopped = RunningJob(
        ada.context, ada.known_agent, {"remote": "home"}, lambda *said: told.append(said), lambda: bool(told)
    )
    with pytest.raises(Cancelled):
        push.run(stopped)
    text, _, total = told[0]
    assert text.startswith("home: ") and total
    assert push.run(work(ada))["remote"]["state"] == "ok"
    assert ada.acknowledged().tries == 0


def test_a_remote_that_refuses_a_new_agent_is_an_error(ada: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise RemoteRefused("no agent is taken here")

    monkeypatch.setattr(SealedLog, "register", refuse)
    remote = push.run(work(ada))["remote"]
    assert (remote["state"], remote["code"]) == ("error", RemoteRefused.code)


def test_a_push_is_for_one_remote_that_is_known(ada: Machine) -> None:
    with pytest.raises(BadRequest):
        push.run(work(ada, remote=7))
    with raises_code(SecondCopyError.UNKNOWN_REMOTE):
        push.run(work(ada, remote="office"))


def test_a_remote_is_read_back(ada: Machine) -> None:
    ada.push()
    before = ada.acknowledged().verified_at
    ada.clock.advance(hours=20)
    answer = verify_remote.run(work(ada))
    assert answer["ok"] and answer["sequence"] == 0 and answer["items"] > 0
    assert answer["facts"]["remotes"][0]["verified_at"] != before


def test_a_file_of_a_remote_that_cannot_be_used_is_an_error_of_the_agent(
    ada: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote_registry.locate_remote_file(ada.context, "home").write_text("url = 7\n")
    assert state(ada) == "error"
    (document,) = synced(ada, monkeypatch, ends=1)["agents"]
    assert document["remotes"][0]["state"] == "error"


# Conditions -------------------------------------------------------------------------------------------------------


@pytest.fixture
def distant(ada: Machine, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """The folder counts as one behind a network."""
    monkeypatch.setattr(remote_kinds, "needs_network", lambda _: True)
    return ada


def given(monkeypatch: pytest.MonkeyPatch, **found: Any) -> None:
    monkeypatch.setattr(power_and_network, "read_conditions", lambda _: MachineConditions(**{"online": True, **found}))


def test_without_a_network_nobody_is_asked_and_it_is_written_once(
    distant: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    given(monkeypatch, online=False)
    monkeypatch.setattr(conditional_replication, "replicate_agent", None)
    answer = push.run(work(distant))
    assert (answer["remote"]["state"], answer["remote"]["code"]) == ("waiting", "no_network")
    with distant.context.vault(distant.agent.id) as vault:
        rows = len(list(vault.audit_rows()))
    push.run(work(distant))
    with distant.context.vault(distant.agent.id) as vault:
        assert len(list(vault.audit_rows())) == rows


@pytest.mark.parametrize("scarce", [{"metered": True}, {"saver": True, "on_battery": True}])
def test_much_to_send_waits_for_better_conditions_and_a_little_does_not(
    distant: Machine, monkeypatch: pytest.MonkeyPatch, scarce: JsonObject
) -> None:
    given(monkeypatch, **scarce)
    config_file.write_config(distant.context.home, distant.context.files, "defer.above", "1KB")
    answer = push.run(work(distant))["remote"]
    assert (answer["state"], answer["code"], answer["sequence"]) == ("waiting", "deferred", None)
    assert state(distant) == "waiting"
    monkeypatch.setattr(conditional_replication, "replicate_agent", None)
    assert push.run(work(distant))["remote"]["message"] == answer["message"]  # and nobody is asked
    monkeypatch.undo()
    assert push.run(work(distant))["remote"]["state"] == "ok"


def test_what_somebody_asks_for_waits_for_nothing(distant: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    given(monkeypatch, metered=True, online=False)
    config_file.write_config(distant.context.home, distant.context.files, "defer.above", "1KB")
    assert push.run(work(distant, asked=True))["remote"]["state"] == "ok"


@pytest.mark.parametrize(
    ("url", "needs"),
    [
        ("file:///srv/stick", False),
        ("http://127.0.0.1:8443", False),
        ("http://[::1]:8443/v1", False),
        ("https://sync.example.com", True),
        ("https://192.0.2.7:8443", True),
    ],
)
def test_a_folder_and_a_service_on_this_machine_need_no_network(url: str, needs: bool) -> None:
    assert remote_kinds.needs_network(remote_registry.parse_remote(f'url = "{url}"'.encode(), "home")) is needs


# A copy that does not hold ----------------------------------------------------------------------------------------


class Broken:
    """A remote of which one item comes back changed, unless everything is read."""

    asked: list[int]

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked, self.is_broken = [], True
        opened = remote_verification.open_remote

        def broken(*given: Any) -> Any:
            remote = opened(*given)
            remote.verify = self._verify
            return remote

        monkeypatch.setattr(remote_verification, "open_remote", broken)
        monkeypatch.setattr("lifeboat_core.remotes.agent_replication.open_remote", broken)

    def _verify(self, agent_id: str, state: Any, *, bodies: int, chance: random.Random) -> RemoteVerification:
        self.asked.append(bodies)
        findings = (
            ["the content of raw/openclaw/SOUL.md on the remote differs from the local content"]
            if self.is_broken
            else []
        )
        return RemoteVerification(state.sequence.number, findings=findings)


def test_a_copy_that_does_not_hold_stays_an_error_until_all_of_it_held(
    ada: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada.push()
    broken = Broken(monkeypatch)
    assert not verify_remote.run(work(ada))["ok"]
    assert state(ada) == "error"
    assert push.run(work(ada))["remote"]["code"] == "remote_damaged"
    broken.is_broken = False
    assert push.run(work(ada))["remote"]["code"] == "remote_damaged"  # its pause is not over
    ada.clock.advance(minutes=2)
    assert push.run(work(ada))["remote"]["state"] == "ok"
    assert state(ada) == "ok"
    assert broken.asked == [remote_verification.BODIES, remote_verification.EVERYTHING, remote_verification.EVERYTHING]


def test_a_copy_that_is_written_to_while_it_is_read_back_is_not_damaged(
    ada: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada.push()
    broken = Broken(monkeypatch)

    def meanwhile(agent_id: str, state: Any, **_: Any) -> RemoteVerification:
        ada.write("MEMORY.md", "# Memory\n\nWritten meanwhile.\n")
        ada.capture_and_push()
        return RemoteVerification(state.sequence.number, findings=["the newest sequence on the remote is 1, not 0"])

    monkeypatch.setattr(broken, "_verify", meanwhile)
    assert verify_remote.run(work(ada))["ok"]
    assert (ada.acknowledged().state, ada.acknowledged().damaged) == ("ok", "")


# A removal that is held -------------------------------------------------------------------------------------------


def test_a_removal_that_is_held_stays_here_until_it_is_accepted(ada: Machine) -> None:
    ada.write("MEMORY.md", "# Memory\n" + "".join(f"\n## Boat {n}\n\nBoat {n} is red.\n" for n in range(8)))
    ada.capture()
    assert push.run(work(ada))["remote"]["sequence"] == 1
    ada.write("MEMORY.md", "# Memory\n")
    assert ada.capture().held
    answer = push.run(work(ada))
    assert (answer["remote"]["state"], answer["remote"]["sequence"]) == ("held", 1)
    (remote,) = answer["facts"]["remotes"]
    assert (remote["state"], remote["pending"], state(ada)) == ("held", 0, "held")
    manage_agents.accept_removals(ada.context, ada.known_agent)
    assert status_gathering.gather_facts(ada.context, ada.known_agent).remotes[0].pending == 1
    assert push.run(work(ada))["remote"]["sequence"] == 2


def test_a_rewrite_that_the_review_holds_stays_here_until_it_is_accepted(ada: Machine) -> None:
    config_file.write_config(ada.context.home, ada.context.files, "review", "hold")
    ada.write(
        "MEMORY.md", "# Memory\n" + "".join(f"\n## Boat {n}\n\nBoat {n} lies in the harbour.\n" for n in range(12))
    )
    ada.capture()
    assert push.run(work(ada))["remote"]["sequence"] == 1
    ada.write("MEMORY.md", "# Memory\n" + "".join(f"\n## Boat {n}\n\nSold.\n" for n in range(12)))
    assert ada.capture().held
    answer = push.run(work(ada))
    assert (answer["remote"]["state"], answer["remote"]["sequence"]) == ("held", 1)
    manage_agents.accept_removals(ada.context, ada.known_agent)
    assert push.run(work(ada))["remote"]["sequence"] == 2


# What is said -----------------------------------------------------------------------------------------------------


def test_the_doctor_knows_which_copy_survives_this_disk(ada: Machine) -> None:
    def found() -> tuple[DoctorLevel, str]:
        (one,) = copies.check(ada.context)
        return one.level, one.result

    assert found() == (DoctorLevel.WARNING, "no copy on a remote was ever verified")
    ada.push()
    assert found() == (DoctorLevel.OK, "the copy of the agent is verified on home")
    remote_registry.save_remote(ada.context, replace(ada.remote(), optional=True))
    assert found() == (DoctorLevel.WARNING, "the only verified copy outside this disk is on an optional remote: home")
    remote_registry.delete_remote(ada.context, "home")
    assert found() == (DoctorLevel.WARNING, "the only copy of the agent is on this disk")


def test_people_see_each_agent_at_each_second_copy(
    ada: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ada.push()
    synced(ada, monkeypatch)
    program.run_command(["status"])
    shown = capsys.readouterr().out
    assert "on home" in shown.splitlines()[0]
    assert any(line.split()[:4] == ["ada", "home", "ok", "0"] for line in shown.splitlines())
    program.run_command(["sync"])
    assert "ada: remote home has sequence 0" in capsys.readouterr().out


# By command -------------------------------------------------------------------------------------------------------


def test_sync_sends_to_every_remote_and_says_so(ada: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "other").mkdir()
    ada.add_remote("office", (tmp_path / "other").as_uri())
    (document,) = synced(ada, monkeypatch)["agents"]
    assert [(each["name"], each["state"], each["sequence"]) for each in document["remotes"]] == [
        ("home", "ok", 0),
        ("office", "ok", 0),
    ]


@pytest.mark.parametrize(("optional", "ends"), [(False, 1), (True, 0)])
def test_sync_fails_where_a_remote_that_counts_did_not_get_it(
    ada: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, optional: bool, ends: int
) -> None:
    remote_registry.save_remote(ada.context, replace(ada.remote(), optional=optional))
    (tmp_path / "stick").rename(tmp_path / "away")
    (document,) = synced(ada, monkeypatch, ends=ends)["agents"]
    assert document["state"] == "ok" and document["remotes"][0]["state"] == "waiting"


def test_sync_reads_back_what_was_not_for_a_day(ada: Machine) -> None:
    ada.push()
    ada.clock.advance(days=1)
    before = ada.acknowledged().verified_at
    agent_sync.send_to_remotes(ada.context, ada.known_agent)
    assert ada.acknowledged().verified_at != before


# By the service ---------------------------------------------------------------------------------------------------


def test_the_service_sends_what_it_captures(ada: Machine) -> None:
    with serving(ada.context) as daemon:
        until(lambda: daemon.agent()["verified_in"] == "home", "the first push")
        (ada.workspace / "MEMORY.md").write_text("# Memory\n\nThe lamp at the pier is green.\n")
        until(lambda: _number(ada) == 1, "the change to be sent")
        until(lambda: daemon.agent()["state"] == "ok", "the agent to be ok again")
    assert there(ada.context, ada.remote(), ada.agent.id) == ada.entries_at()


def _number(ada: Machine) -> int | None:
    with ada.context.vault(ada.agent.id) as vault:
        known = acknowledged_states.load_acknowledged(vault).get(ada.remote().id)
    return None if known is None else known.number
