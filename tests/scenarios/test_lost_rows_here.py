"""The vault of a machine loses rows of its database: a verification finds that, and a remote gives them back."""

from __future__ import annotations

import io
import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from lifeboat_alf.common.doctor_checks import DoctorLevel
from lifeboat_alf.seams.crash_points import CrashPoint
from lifeboat_alf.snapshot import write_snapshot
from lifeboat_cli.doctor import check_agents as doctor_agents
from lifeboat_core.health import status_gathering
from lifeboat_core.health.agent_status import ERROR
from lifeboat_core.remotes import remote_registry
from lifeboat_core.remotes.state_with_large_files import StateWithLargeFiles
from lifeboat_core.verify import samples_and_drills
from lifeboat_core.verify.samples_and_drills import Drill
from lifeboat_daemon.work.operations import verify as operation
from lifeboat_daemon.work.worker_loop import RunningJob
from lifeboat_vault.errors import UnknownAtRemote, VaultDamaged
from lifeboat_vault.remote.remote_contract import RemoteBundle
from lifeboat_vault.vault import Vault
from support.cli import cli_client
from support.core import purged
from support.core.replication_life import HOME, STICK
from support.endpoint.in_process_remote import InProcessRemote
from support.endpoint.row_damage import (
    HARMS,
    Harm,
    change_metas,
    delete_buckets,
    delete_every_record,
    delete_every_row,
    delete_objects,
    delete_records,
    move_records,
)
from support.killing import killed_at
from support.oracle.copies import PLAIN, REMOTES, Copies, make_copies
from support.prepared_folders import PreparedFolders
from support.vault.vaults import content_of

PHRASE = "The lamp was lit 2 times."
LARGE = random.Random(3).randbytes(120_000)
"""More than `artifacts.threshold`."""


def life_everywhere(folder: Path) -> Copies:
    """Every remote has sequences 0 to 4; memories come, change and go."""
    copies = make_copies(folder)
    machine = copies.laptop
    with pytest.MonkeyPatch.context() as patch:
        copies.install(patch)
        for number in range(5):
            facts = "".join(f"- Fact {each} of {number}.\n" for each in range(number))
            if number:
                machine.write("MEMORY.md", f"# Facts\n\n{facts}")
                machine.write(f"memory/2026-11-1{number}.md", f"# Day {number}\n\nThe lamp was lit {number} times.\n")
                machine.clock.advance(hours=2)
                machine.capture()
            for remote in REMOTES:
                assert machine.push(remote).state == "ok"
    return copies


@pytest.fixture
def copies(prepared_folders: PreparedFolders, monkeypatch: pytest.MonkeyPatch) -> Copies:
    made = prepared_folders.restore("an agent that every remote has", life_everywhere)
    made.install(monkeypatch)
    return made


def keep_only(copies: Copies, *names: str) -> None:
    """Forget the addresses of all other remotes."""
    for name in REMOTES:
        if name not in names:
            remote_registry.delete_remote(copies.laptop.context, name)


def harm(copies: Copies, *harms: Harm) -> None:
    folder = copies.laptop.context.home.vault_folder(copies.laptop.agent.id)
    with closing(sqlite3.connect(folder / "vault.db")) as connection, connection:
        for each in harms:
            each(connection, random.Random(1))


def verified(copies: Copies, *, whole: bool = True) -> Drill:
    """What `lifeboat verify` does."""
    return samples_and_drills.drill_vault(copies.laptop.context, copies.laptop.known_agent, whole=whole)


def verified_by_the_service(copies: Copies) -> dict[str, Any]:
    """What the service does every day."""
    return operation.run(RunningJob(copies.laptop.context, copies.laptop.known_agent, {"sample": True}))


def history(copies: Copies) -> dict[int, Any]:
    with copies.laptop.context.vault(copies.laptop.agent.id) as vault:
        return {row.number: content_of(vault.state(row.number)) for row in vault.sequences()}


def damage(copies: Copies) -> tuple[list[int], list[int]]:
    with copies.laptop.context.vault(copies.laptop.agent.id) as vault:
        return vault.damage(), vault.damaged_states()


def errors_of_doctor(copies: Copies) -> list[str]:
    found = doctor_agents.check(copies.laptop.context)
    return [f"{each.result} {each.fix}" for each in found if each.level is DoctorLevel.ERROR]


def is_damaged(copies: Copies) -> bool:
    """Whether `status_gathering` and `lifeboat doctor` say that the copy does not hold."""
    found = status_gathering.gather_facts(copies.laptop.context, copies.laptop.known_agent).damaged
    (agent,) = status_gathering.gather_status(copies.laptop.context).agents
    named = "lost or changed" in " ".join(errors_of_doctor(copies))
    assert (found is not None) == (agent.state == ERROR) == named, (found, agent.state, errors_of_doctor(copies))
    return named


def is_as(copies: Copies, before: dict[int, Any]) -> bool:
    """Whether the vault has every sequence as it was, is whole, and takes and sends what comes next."""
    assert history(copies) == before
    assert damage(copies) == ([], [])
    assert not is_damaged(copies)
    copies.laptop.write("MEMORY.md", "# Facts\n\n- Fact 0 of 5.\n- Another one.\n")
    copies.laptop.clock.advance(hours=2)
    copies.laptop.capture()
    with copies.laptop.context.vault(copies.laptop.agent.id) as vault:
        assert vault.verify(trusted=None).findings == []
    return True


@pytest.mark.parametrize("number", range(len(HARMS)), ids=[each.__name__ for each in HARMS])
def test_rows_that_the_vault_lost_come_back_from_a_remote(copies: Copies, number: int) -> None:
    before = history(copies)
    keep_only(copies, REMOTES[number % len(REMOTES)])
    harm(copies, HARMS[number])
    found = verified(copies)
    assert found.mismatches == []
    assert found.healed
    assert is_as(copies, before)


@pytest.mark.parametrize("remote", REMOTES)
def test_any_kind_of_remote_gives_everything_back(copies: Copies, remote: str) -> None:
    before = history(copies)
    keep_only(copies, remote)
    harm(copies, delete_every_row)
    found = verified(copies, whole=False)
    assert found.mismatches == []
    assert any(each.endswith(f" from {remote}") for each in found.healed)
    assert is_as(copies, before)
    assert copies.laptop.push(remote).state == "ok"


@pytest.mark.parametrize("remote", REMOTES)
def test_a_large_file_comes_back_with_its_row(copies: Copies, remote: str) -> None:
    machine = copies.laptop
    machine.write("chart.bin", LARGE)
    machine.clock.advance(hours=2)
    assert machine.capture_and_push(remote).state == "ok"
    before = history(copies)
    keep_only(copies, remote)
    (machine.workspace / "chart.bin").unlink()
    harm(copies, delete_every_row)
    found = verified(copies)
    assert (found.mismatches, found.absent) == ([], [])
    assert history(copies) == before
    assert machine.body("artifacts/chart.bin") == LARGE


def test_the_daily_verification_puts_rows_back(copies: Copies) -> None:
    before = history(copies)
    harm(copies, delete_every_record)
    answer = verified_by_the_service(copies)
    assert answer["ok"]
    assert any("repaired " in each for each in answer["healed"])
    assert is_as(copies, before)


def test_a_remote_that_is_away_gives_the_rows_back_when_it_is_there_again(copies: Copies) -> None:
    before = history(copies)
    keep_only(copies, HOME)
    harm(copies, delete_every_record)
    copies.places.away.add(HOME)
    answer = verified_by_the_service(copies)
    assert not answer["ok"]
    assert "no reachable remote" in answer["mismatches"][0]
    assert any(each.startswith("damaged data could not be requested from home") for each in answer["mismatches"])
    assert is_damaged(copies)
    copies.places.away.clear()
    assert verified_by_the_service(copies)["ok"]
    assert is_as(copies, before)


def test_old_sequences_that_a_whole_verification_found_damaged_are_mended_by_the_daily_one(copies: Copies) -> None:
    before = history(copies)
    keep_only(copies, HOME)
    harm(copies, lambda connection, _: connection.execute("delete from record where last is not null") and None)
    copies.places.away.add(HOME)
    assert not verified(copies).ok
    copies.places.away.clear()
    assert verified_by_the_service(copies)["ok"]
    assert is_as(copies, before)


def test_what_one_remote_cannot_give_another_gives(copies: Copies) -> None:
    before = history(copies)
    keep_only(copies, HOME, STICK)
    copies.places.away.add(HOME)
    harm(copies, delete_records)
    found = verified(copies)
    assert found.mismatches == []
    assert is_as(copies, before)


# What no remote has ---------------------------------------------------------------------------------------------------


def test_what_no_remote_has_is_named_until_it_is_gone(
    copies: Copies, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("HOME", "LIFEBOAT_HOME"):
        monkeypatch.setenv(name, copies.laptop.context.environment[name])
    keep_only(copies)
    harm(copies, delete_every_record)
    document = cli_client.run("verify", "ada", expect=1)
    assert document["mismatches"][0].startswith("sequences 0, 1, 2, 3 and 4: rows or bytes were lost or changed")
    assert is_damaged(copies)
    assert not verified_by_the_service(copies)["ok"]
    assert cli_client.run("verify", "ada", expect=1)["mismatches"][0] == document["mismatches"][0]


@pytest.mark.parametrize("lose", [delete_every_record, delete_every_row, move_records, change_metas])
def test_after_a_loss_that_no_remote_mends_the_next_capture_is_whole(copies: Copies, lose: Harm) -> None:
    machine = copies.laptop
    keep_only(copies)
    harm(copies, lose)
    assert not verified(copies).ok
    machine.clock.advance(hours=2)
    machine.write("memory/2026-11-16.md", "# Day 6\n\nAnd one more.\n")
    machine.capture()
    with machine.context.vault(machine.agent.id) as vault:
        assert vault.verify(trusted=None, whole=False).findings == []
    for file in machine.workspace.rglob("*.md"):
        name = file.relative_to(machine.workspace).as_posix()
        assert machine.body(f"raw/openclaw/{name}") == file.read_bytes()


def delete_items(connection: sqlite3.Connection, chance: random.Random) -> None:
    for table in ("entry", "record", "object"):
        connection.execute(f"delete from {table}")


@pytest.mark.parametrize("lose", [delete_every_record, delete_items])
def test_after_a_kill_in_the_middle_of_giving_up_a_capture_is_whole(copies: Copies, lose: Harm) -> None:
    """What the scan cache says is captured must be in the rows that the next capture builds on."""
    machine = copies.laptop
    keep_only(copies)
    harm(copies, lose)
    assert killed_at(lambda: verified(copies), CrashPoint.MEND_GIVEN_UP)
    for day in (16, 17):
        machine.clock.advance(hours=2)
        machine.write(f"memory/2026-11-{day}.md", "# Day\n\nAnd one more.\n")
        machine.capture()
        verified(copies)
    for file in machine.workspace.rglob("*.md"):
        name = file.relative_to(machine.workspace).as_posix()
        assert machine.body(f"raw/openclaw/{name}") == file.read_bytes()
    with machine.context.vault(machine.agent.id) as vault:
        assert vault.verify(trusted=None, whole=False).findings == []


def test_nothing_is_captured_on_top_of_hashes_that_were_lost(copies: Copies) -> None:
    machine = copies.laptop
    keep_only(copies)
    harm(copies, delete_buckets)
    machine.write("memory/2026-11-16.md", "# Day\n\nAnd one more.\n")
    with pytest.raises(VaultDamaged, match="hashes"):
        machine.capture()
    assert verified(copies).ok
    machine.capture()
    assert verified(copies).ok
    assert b"one more" in machine.body("raw/openclaw/memory/2026-11-16.md")


# Remotes that are believed nothing ------------------------------------------------------------------------------------


class HostileRemote:
    """Gives states of a copy of the vault in which somebody changed rows under the signed digest."""

    def __init__(self, copies: Copies, folder: Path, *statements: str) -> None:
        source = copies.laptop.context.home.vault_folder(copies.laptop.agent.id)
        self.folder = Path(shutil.copytree(source, folder / "planted"))
        with closing(sqlite3.connect(self.folder / "vault.db")) as connection, connection:
            for statement in statements:
                assert connection.execute(statement).rowcount

    def snapshot(self, remote: InProcessRemote, agent_id: str, number: int | None = None) -> RemoteBundle:
        file = io.BytesIO()
        with Vault.open(self.folder) as vault:
            write_snapshot(vault.state(number), file, keys=None)
        assert number is not None
        size = file.tell()
        file.seek(0)
        return RemoteBundle("snapshot", number, None, file, size)


@pytest.mark.parametrize(
    "statement",
    [
        "update record set position = position + 40 where first = 3",
        "update record set last = null where last = 4",
        "update object set salt = randomblob(16) where id in (select object from record)",
        "update entry set meta = '{\"x\":1}' where path like 'raw/%'",
        "delete from entry where path like 'raw/%'",
        "update object set body = cast(replace(cast(body as text), 'lamp', 'evil') as blob)",
    ],
)
def test_rows_of_a_hostile_remote_do_not_come_in(
    copies: Copies, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, statement: str
) -> None:
    before = history(copies)
    keep_only(copies, HOME)
    hostile = HostileRemote(copies, tmp_path, statement)
    harm(copies, delete_every_row)
    with monkeypatch.context() as patch:
        patch.setattr(InProcessRemote, "snapshot", lambda *given: hostile.snapshot(*given))
        found = verified(copies)
    assert not found.ok
    assert is_damaged(copies)
    assert 4 in damage(copies)[1]
    with copies.laptop.context.vault(copies.laptop.agent.id) as vault:
        assert not any(b"evil" in record.line for record in vault.state(4).records())
    assert verified(copies).ok
    assert is_as(copies, before)


def test_a_history_under_another_digest_is_not_fetched(copies: Copies, monkeypatch: pytest.MonkeyPatch) -> None:
    keep_only(copies, HOME)
    harm(copies, delete_every_record)
    sequences = InProcessRemote.sequences
    monkeypatch.setattr(
        InProcessRemote, "sequences", lambda *given: [row for row in sequences(*given) if row.number not in (3, 4)]
    )
    assert not verified(copies).ok
    assert {*damage(copies)[1]} <= {3, 4}


# Purges ---------------------------------------------------------------------------------------------------------------


def purge_phrase(copies: Copies) -> None:
    purged.purge(copies.laptop, purged.request(text=PHRASE, passage=True, workspace=True))


def has_phrase(copies: Copies) -> bool:
    with copies.laptop.context.vault(copies.laptop.agent.id) as vault:
        return any(PHRASE.encode() in body for _, body in purged.bodies(vault))


@pytest.mark.parametrize("remote", REMOTES)
def test_what_was_purged_does_not_come_back_with_the_rows(copies: Copies, remote: str) -> None:
    keep_only(copies, remote)
    assert has_phrase(copies)
    purge_phrase(copies)  # the remote has not heard of it
    before = history(copies)
    harm(copies, delete_every_row)
    assert verified(copies).mismatches == []
    assert not has_phrase(copies)
    assert is_as(copies, before)


def test_what_is_purged_while_the_rows_are_fetched_does_not_come_back(
    copies: Copies, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_only(copies, HOME)
    harm(copies, move_records)
    fetch, is_done = StateWithLargeFiles.fetch, []

    def fetch_and_purge(state: StateWithLargeFiles) -> list[str]:
        if not is_done:
            is_done.append(True)
            purge_phrase(copies)
        return fetch(state)

    monkeypatch.setattr(StateWithLargeFiles, "fetch", fetch_and_purge)
    verified(copies)
    assert is_done
    assert verified(copies).mismatches == []
    assert not has_phrase(copies)


# Meanwhile ------------------------------------------------------------------------------------------------------------


def test_captures_and_restores_go_on_while_a_remote_is_asked(copies: Copies, monkeypatch: pytest.MonkeyPatch) -> None:
    keep_only(copies, HOME)
    harm(copies, move_records)
    snapshot, reports = InProcessRemote.snapshot, []

    def work_and_give(remote: InProcessRemote, agent_id: str, number: int | None = None) -> RemoteBundle:
        if not reports:
            copies.laptop.write("memory/2026-11-15.md", "# Day 5\n\nWritten meanwhile.\n")
            reports.append(copies.laptop.capture())
            copies.restored_here(0)
        return snapshot(remote, agent_id, number)

    monkeypatch.setattr(InProcessRemote, "snapshot", work_and_give)
    verified(copies)
    assert [each.sequence for each in reports] == [5]
    assert copies.laptop.body("raw/openclaw/memory/2026-11-15.md") == b"# Day 5\n\nWritten meanwhile.\n"


@pytest.mark.parametrize("nth", [1, 2])
@pytest.mark.parametrize("step", [CrashPoint.MEND_ROWS_WRITTEN, CrashPoint.MEND_COMMITTED])
@pytest.mark.parametrize("work", [verified, verified_by_the_service])
def test_a_verification_that_is_killed_while_rows_come_back_is_made_again(
    copies: Copies, step: CrashPoint, nth: int, work: Callable[[Copies], Any]
) -> None:
    before = history(copies)
    harm(copies, delete_records, change_metas, delete_objects)
    assert killed_at(lambda: work(copies), step, nth) or nth > 1
    assert verified(copies).mismatches == []
    assert is_as(copies, before)


# Large files that some remotes do not have ----------------------------------------------------------------------------


def lose_with_large_file(copies: Copies, monkeypatch: pytest.MonkeyPatch, *remotes: str) -> None:
    """Lose all rows of a vault with a large file. These remotes have it; the endpoint has lost its bytes."""
    machine = copies.laptop
    machine.write("chart.bin", LARGE)
    machine.clock.advance(hours=2)
    machine.capture()
    for remote in remotes:
        assert machine.push(remote).state == "ok"
    keep_only(copies, *remotes)
    (machine.workspace / "chart.bin").unlink()
    harm(copies, delete_items)
    monkeypatch.setattr(InProcessRemote, "object", _has_no_file)


def _has_no_file(remote: InProcessRemote, agent_id: str, sha256: str) -> bytes:
    raise UnknownAtRemote("there is no such file")


def test_bytes_that_no_remote_has_are_named_as_lost(copies: Copies, monkeypatch: pytest.MonkeyPatch) -> None:
    lose_with_large_file(copies, monkeypatch, HOME)
    found = verified(copies)
    assert any("chart.bin" in each for each in found.mismatches)
    assert status_gathering.gather_facts(copies.laptop.context, copies.laptop.known_agent).damaged is not None


@pytest.mark.parametrize("other", [STICK, PLAIN])
def test_bytes_that_one_remote_lacks_come_from_another(
    copies: Copies, monkeypatch: pytest.MonkeyPatch, other: str
) -> None:
    lose_with_large_file(copies, monkeypatch, HOME, other)
    assert verified(copies).mismatches == []
    assert copies.laptop.body("artifacts/chart.bin") == LARGE
