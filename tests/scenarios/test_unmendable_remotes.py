"""A remote lost what no machine has any more: it is asked for that ever more seldom, and gets what is new."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from lifeboat_alf.common import times
from lifeboat_cli.doctor import check_remotes as doctor_remotes
from lifeboat_core.health import status_gathering
from lifeboat_core.history import thin_history
from lifeboat_core.remotes.agent_replication import replicate_agent
from lifeboat_core.remotes.mending_pause import MendingPause
from lifeboat_core.remotes.replication_outcome import ReplicationOutcome
from lifeboat_endpoint.maintenance.endpoint_verification import EndpointVerification, verify_endpoint
from lifeboat_vault.remote.remote_contract import FileKey
from lifeboat_vault.vault import Retention
from support.endpoint.in_process_remote import InProcessRemote
from support.oracle.copies import HOME, Copies, make_copies
from support.prepared_folders import PreparedFolders

LARGE = random.Random(1).randbytes(400_000)


class Unmendable:
    """The bytes of a former film are lost at the endpoint, and no machine has them. `asked` counts how often the
    endpoint was made to read everything."""

    def __init__(self, copies: Copies, patch: pytest.MonkeyPatch) -> None:
        self.copies = copies
        self.asked = 0
        self._lost: dict[Path, bytes] = {}
        self._make()
        missing = InProcessRemote.missing

        def counted(
            remote: InProcessRemote, agent_id: str, files: Sequence[FileKey], *, read: bool = False
        ) -> list[FileKey]:
            self.asked += read
            return missing(remote, agent_id, files, read=read)

        patch.setattr(InProcessRemote, "missing", counted)

    def _make(self) -> None:
        machine = self.copies.laptop
        for content in (LARGE, LARGE[::-1], b"no film any more"):
            machine.write("film.bin", content)
            machine.clock.advance(hours=2)
            machine.capture()
            assert machine.push(HOME).state == "ok"
        machine.clock.advance(days=400)
        machine.write("MEMORY.md", "# Facts\n\n- The film is gone.\n")
        machine.capture()
        assert machine.push(HOME).state == "ok"
        for _ in range(4):
            thin_history.thin_agent(
                machine.context, machine.known_agent, Retention(0, 0, 0), whatever_remotes_need=True
            )
        bodies = [path for path in self.copies.places.data.rglob("*") if path.is_file() and "db" not in path.suffix]
        for path in (each for each in bodies if each.stat().st_size > 20_000):
            self._lost[path] = path.read_bytes()
            path.unlink()
        assert self._lost

    def bring_back(self) -> None:
        for path, content in self._lost.items():
            path.write_bytes(content)

    def verify(self) -> EndpointVerification:
        """What `lifeboat endpoint verify` finds."""
        with self.copies.places.endpoint() as endpoint:
            return verify_endpoint(endpoint, endpoint.control.tenants())

    def contact(self, *, asked: bool = False) -> ReplicationOutcome:
        """A contact as the service makes it, or as `sync` does."""
        machine = self.copies.laptop
        return replicate_agent(machine.context, machine.known_agent, machine.remote(HOME), asked=asked)

    @property
    def pause(self) -> MendingPause | None:
        return self.copies.laptop.acknowledged(HOME).mending

    def wait_for_the_pause(self) -> None:
        assert self.pause is not None
        clock = self.copies.laptop.clock
        left = times.parse_time(self.pause.again_at) - clock.now()
        clock.advance(seconds=max(left, timedelta()).total_seconds() + 1)


@pytest.fixture
def lost(prepared_folders: PreparedFolders, monkeypatch: pytest.MonkeyPatch) -> Unmendable:
    made = prepared_folders.restore("an agent with every remote", make_copies)
    made.install(monkeypatch)
    found = Unmendable(made, monkeypatch)
    assert not found.verify().ok
    assert found.contact().code == "remote_damaged"
    assert found.pause is not None and found.pause.tries == 1
    found.asked = 0
    return found


def test_while_the_pause_lasts_it_is_asked_for_nothing_and_gets_what_is_new(lost: Unmendable) -> None:
    machine = lost.copies.laptop
    machine.write("MEMORY.md", "# Facts\n\n- Another one.\n")
    machine.capture()
    for _ in range(3):
        outcome = lost.contact()
        assert (outcome.state, outcome.code) == ("error", "remote_damaged")
    assert lost.asked == 0
    assert lost.copies.kept_at(HOME)[-1] == lost.copies.kept_here()[-1]
    assert lost.pause is not None and lost.pause.tries == 1


def test_after_each_try_that_left_the_same_the_pause_is_longer(lost: Unmendable) -> None:
    for tries in range(2, 6):
        lost.wait_for_the_pause()
        assert lost.contact().code == "remote_damaged"
        assert lost.pause is not None and lost.pause.tries == tries
        before, lost.asked = lost.asked, 0
        assert before > 0
        assert lost.contact().code == "remote_damaged"
        assert lost.asked == 0


def test_status_and_doctor_say_what_is_lost_and_when_it_is_asked_for_again(lost: Unmendable) -> None:
    machine = lost.copies.laptop
    facts = status_gathering.gather_facts(machine.context, machine.known_agent)
    (home,) = (each for each in facts.remotes if each.name == HOME)
    assert home.state == "error" and "tries to repair it again after" in home.message
    assert any("tries to repair it again after" in found.result for found in doctor_remotes.check(machine.context))


def test_who_runs_sync_waits_for_no_pause(lost: Unmendable) -> None:
    assert lost.contact(asked=True).code == "remote_damaged"
    assert lost.asked > 0


def test_a_verification_of_the_endpoint_takes_back_the_pause(lost: Unmendable) -> None:
    lost.copies.laptop.clock.advance(seconds=1)
    assert not lost.verify().ok
    assert lost.contact().code == "remote_damaged"
    assert lost.asked > 0


def test_what_comes_back_takes_back_the_pause(lost: Unmendable) -> None:
    lost.bring_back()
    assert lost.verify().ok
    assert lost.contact().state == "ok"
    assert lost.pause is None
