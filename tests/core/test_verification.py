"""The restore drill."""

from __future__ import annotations

import os
import random
import sqlite3
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from lifeboat_alf.seams.file_operations import StrPath, SystemFiles
from lifeboat_cli.demo.demo_workspace import FAKE_KEY
from lifeboat_cli.demo.tree_comparison import find_files_holding, list_differences, read_tree
from lifeboat_core.agents import agent as agents
from lifeboat_core.agents.agent import Agent
from lifeboat_core.errors import NothingToRestore
from lifeboat_core.health import status_gathering
from lifeboat_core.health.agent_status import StatusFacts
from lifeboat_core.home.context import Context
from lifeboat_core.machine import power_and_network
from lifeboat_core.machine.power_and_network import MachineConditions
from lifeboat_core.verify import samples_and_drills
from lifeboat_daemon.work.operations import verify as verify_operation
from lifeboat_daemon.work.worker_loop import RunningJob
from support.core import invariants
from support.core.harbour import Harbour, harbour_after_a_day
from support.core.protected import Protected
from support.prepared_folders import PreparedFolders

NOBODY = "0197fd80-0000-7000-8000-00000000000f"


@pytest.fixture
def ada(prepared_folders: PreparedFolders) -> Harbour:
    return prepared_folders.restore("ada after a day", harbour_after_a_day)


def test_a_whole_copy_is_verified_and_remembered(ada: Harbour) -> None:
    assert samples_and_drills.measure_verified_age(ada.context, ada.agent) is None
    found = samples_and_drills.drill_vault(ada.context, ada.agent, whole=True)
    assert found.mismatches == []
    assert found.files > 10
    assert found.compared_live > 10
    assert found.to_json().keys() >= {"agent", "sequence", "files", "mismatches"}
    seconds = samples_and_drills.measure_verified_age(ada.context, ada.agent)
    assert seconds is not None
    assert seconds < 60
    later = replace(ada.context, clock=invariants.Stopped(ada.context.clock.now() + timedelta(hours=2)))
    assert 7100 < (samples_and_drills.measure_verified_age(later, ada.agent) or 0) < 7300


def test_nothing_is_left_behind_and_nothing_in_the_workspace_is_written(ada: Harbour) -> None:
    samples_and_drills.drill_vault(ada.context, ada.agent)
    assert os.listdir(ada.context.home.restore_folder / "tmp") == []
    assert list_differences(ada.trees[ada.head], read_tree(ada.workspace)) == []
    assert find_files_holding(ada.context.home.folder, FAKE_KEY.encode()) == []


def test_an_older_sequence_can_be_tried_and_does_not_become_the_last_verified(ada: Harbour) -> None:
    samples_and_drills.drill_vault(ada.context, ada.agent)
    assert samples_and_drills.drill_vault(ada.context, ada.agent, 0).sequence == 0
    found = samples_and_drills.find_last_verified(ada.context, ada.agent)
    assert found is not None
    assert found[0] == ada.head


def test_a_changed_meta_in_the_vault_is_found(ada: Harbour) -> None:
    database = ada.context.home.vault_folder(ada.agent.id) / "vault.db"
    with sqlite3.connect(database) as connection:
        changed = connection.execute(
            "update entry set meta = json_set(meta, '$.executable', json('true')) where path like '%SOUL.md'"
        )
        assert changed.rowcount == 1
    connection.close()
    found = samples_and_drills.drill_vault(ada.context, ada.agent)
    assert found.mismatches
    assert samples_and_drills.find_last_verified(ada.context, ada.agent) is None


class Flipping(SystemFiles):
    """A disk that loses a bit of a file that is written in a drill."""

    def __init__(self) -> None:
        self.fired = False

    def write_new(self, path: StrPath, data: bytes, *, mode: int = 0o666, sync: bool = True) -> None:
        if os.fspath(path).endswith("workspace/SOUL.md"):
            self.fired = True
            data = bytes([data[0] ^ 1]) + data[1:]
        super().write_new(path, data, mode=mode, sync=sync)


def test_what_does_not_come_back_from_the_disk_is_named(ada: Harbour) -> None:
    files = Flipping()
    found = samples_and_drills.drill_vault(replace(ada.context, files=files), ada.agent)
    assert files.fired
    assert found.mismatches == ["SOUL.md: has other content"]


def test_a_live_file_that_differs_under_the_same_time_is_named(ada: Harbour) -> None:
    soul = ada.workspace / "SOUL.md"
    status = soul.stat()
    data = bytearray(soul.read_bytes())
    data[0] ^= 1
    soul.write_bytes(data)
    os.utime(soul, ns=(status.st_atime_ns, status.st_mtime_ns))
    found = samples_and_drills.drill_vault(ada.context, ada.agent)
    assert [each for each in found.mismatches if each.startswith("SOUL.md")]


def test_a_lost_workspace_does_not_matter(ada: Harbour) -> None:
    ada.workspace.rename(ada.workspace.with_name("gone"))
    found = samples_and_drills.drill_vault(ada.context, ada.agent)
    assert found.mismatches == []
    assert found.compared_live == 0


# Samples --------------------------------------------------------------------------------------------------------


def damage(ada: Harbour, statement: str) -> int:
    """Change the vault's tables behind its back; how many rows."""
    connection = sqlite3.connect(ada.context.home.vault_folder(ada.agent.id) / "vault.db")
    with connection:
        changed = connection.execute(statement).rowcount
    connection.close()
    return changed


def other_bytes(ada: Harbour, table: str) -> int:
    """Every body of a table's objects loses a bit; digests and leaves stay."""
    flipped = "unhex(hex(substr(body, 1, length(body) - 1)) || hex(char(35)))"
    if sqlite3.sqlite_version_info < (3, 41):
        flipped = "cast(substr(body, 1, length(body) - 1) || '#' as blob)"
    return damage(
        ada, f"update object set body = {flipped} where body is not null and id in (select object from {table})"
    )


def test_a_sample_reads_some_of_everything_back_and_makes_a_verified_copy(ada: Harbour) -> None:
    found = samples_and_drills.sample_vault(ada.context, ada.agent)
    assert (found.mismatches, found.sequence, found.signed, found.hurried) == ([], ada.head, True, False)
    assert found.files > 10 and found.records > 1 and found.bytes > 1000
    assert found.to_json().keys() >= {"agent", "sequence", "files", "records", "mismatches"}
    last = samples_and_drills.find_last_verified(ada.context, ada.agent)
    assert last is not None and last[0] == ada.head


def test_a_sample_takes_no_more_than_it_was_given(ada: Harbour) -> None:
    few = samples_and_drills.sample_vault(ada.context, ada.agent, bodies=3)
    assert (few.files, few.records, few.hurried) == (3, 3, False)
    hurried = samples_and_drills.sample_vault(ada.context, ada.agent, seconds=0.0)
    assert (hurried.files, hurried.records, hurried.hurried) == (1, 1, True)
    assert hurried.ok, "the digest and the signature cover everything, in any time"


def test_each_sample_reads_others(ada: Harbour) -> None:
    sizes = {
        samples_and_drills.sample_vault(ada.context, ada.agent, bodies=2, chance=random.Random(seed)).bytes
        for seed in range(8)
    }
    assert len(sizes) > 1


def test_a_sample_writes_nothing_but_that_it_was_made(ada: Harbour) -> None:
    samples_and_drills.sample_vault(ada.context, ada.agent)
    assert not (ada.context.home.restore_folder / "tmp").exists()
    assert list_differences(ada.trees[ada.head], read_tree(ada.workspace)) == []


@pytest.mark.parametrize("table", ["entry", "record"])
def test_a_sample_finds_bodies_that_changed(ada: Harbour, table: str) -> None:
    assert other_bytes(ada, table) > 3
    found = samples_and_drills.sample_vault(ada.context, ada.agent)
    assert found.mismatches
    assert samples_and_drills.find_last_verified(ada.context, ada.agent) is None
    assert status_gathering.gather_facts(ada.context, ada.agent).damaged == {
        "sequence": ada.head,
        "whole": False,
        "first": found.mismatches[0],
    }


@pytest.mark.parametrize(
    "statement",
    [
        "update entry set meta = json_set(meta, '$.executable', json('true')) where path like '%SOUL.md'",
        "delete from record where id = (select min(id) from record where last is null)",
        "update sequence set signature = null",
        "update sequence set time = '2020-01-01T00:00:00.000Z'",
    ],
)
def test_a_sample_of_one_body_finds_whatever_else_changed(ada: Harbour, statement: str) -> None:
    """No bodies are needed for what the digest and the signature cover."""
    assert damage(ada, statement) >= 1
    assert samples_and_drills.sample_vault(ada.context, ada.agent, bodies=1).mismatches


def test_only_a_drill_takes_back_what_was_found_and_only_of_as_much(ada: Harbour) -> None:
    database = ada.context.home.vault_folder(ada.agent.id) / "vault.db"
    good = database.read_bytes()
    other_bytes(ada, "entry")
    samples_and_drills.sample_vault(ada.context, ada.agent)
    assert samples_and_drills.drill_vault(ada.context, ada.agent, whole=True).mismatches
    with ada.context.vault(ada.agent.id) as vault:
        found = vault.get(status_gathering.DAMAGED)
    assert found["whole"] is True
    database.write_bytes(good)
    for leftover in ("vault.db-wal", "vault.db-shm"):
        database.with_name(leftover).unlink(missing_ok=True)
    with ada.context.vault(ada.agent.id) as vault:
        vault.set(status_gathering.DAMAGED, {"sequence": ada.head, "whole": False, "first": "x"})
    assert samples_and_drills.sample_vault(ada.context, ada.agent).ok
    facts = status_gathering.gather_facts(ada.context, ada.agent)
    assert facts.damaged is not None and facts.last_verified_at is None, "a sample may have missed what was found"
    assert samples_and_drills.drill_vault(ada.context, ada.agent, 0).ok
    assert status_gathering.gather_facts(ada.context, ada.agent).damaged is not None, (
        "an older sequence says nothing of a newer one"
    )
    assert samples_and_drills.drill_vault(ada.context, ada.agent).ok
    facts = status_gathering.gather_facts(ada.context, ada.agent)
    assert facts.damaged is None and facts.last_verified_at is not None


def test_only_a_whole_verification_counts_as_one(ada: Harbour) -> None:
    samples_and_drills.sample_vault(ada.context, ada.agent)
    samples_and_drills.drill_vault(ada.context, ada.agent)
    assert status_gathering.gather_facts(ada.context, ada.agent).last_whole_at is None
    samples_and_drills.drill_vault(ada.context, ada.agent, whole=True)
    facts = status_gathering.gather_facts(ada.context, ada.agent)
    assert facts.last_whole_at is not None and facts.last_verified_at is not None and facts.verified_in == "local"


def test_of_nothing_there_is_no_sample(tmp_path: Path) -> None:
    protected = Protected(tmp_path)
    agent = agents.save_agent(protected.context, Agent(NOBODY, "nobody", "openclaw", protected.workspace))
    protected.context.create_vault(NOBODY).close()
    with pytest.raises(NothingToRestore):
        samples_and_drills.sample_vault(protected.context, agent)


# The work of a worker -------------------------------------------------------------------------------------------


def worked(ada: Harbour, context: Context | None = None, **parameters: bool) -> dict[str, Any]:
    return verify_operation.run(RunningJob(context or ada.context, ada.agent, dict(parameters)))


def test_the_work_says_how_it_verified_and_what_is_so_now(ada: Harbour) -> None:
    sampled, drilled, whole = worked(ada, sample=True), worked(ada), worked(ada, whole=True)
    assert [answer["how"] for answer in (sampled, drilled, whole)] == ["sample", "drill", "whole"]
    assert all(answer["ok"] and answer["deferred"] is None for answer in (sampled, drilled, whole))
    assert sampled["facts"]["last_whole_at"] is None
    assert StatusFacts.from_json(whole["facts"]) == status_gathering.gather_facts(ada.context, ada.agent)
    assert whole["facts"]["last_whole_at"] is not None and drilled["compared_live"] > 10


def test_the_work_says_that_a_copy_does_not_hold(ada: Harbour) -> None:
    other_bytes(ada, "entry")
    answer = worked(ada, sample=True)
    assert answer["ok"] is False and answer["facts"]["damaged"] is not None


def on(monkeypatch: pytest.MonkeyPatch, found: MachineConditions) -> None:
    monkeypatch.setattr(power_and_network, "read_conditions", lambda context: found)


def in_days(ada: Harbour, days: float) -> Context:
    return replace(ada.context, clock=invariants.Stopped(ada.context.clock.now() + timedelta(days=days)))


@pytest.mark.parametrize("found", [MachineConditions(saver=True), MachineConditions(on_battery=True)])
def test_what_nobody_asked_for_waits_for_the_mains_two_weeks_at_most(
    ada: Harbour, monkeypatch: pytest.MonkeyPatch, found: MachineConditions
) -> None:
    on(monkeypatch, found)
    answer = worked(ada, in_days(ada, 31), whole=True, unasked=True)
    assert (answer["how"], "battery" in answer["deferred"], answer["facts"]["last_whole_at"]) == (None, True, None)
    assert worked(ada, in_days(ada, 45), whole=True, unasked=True)["how"] == "whole"


def test_what_somebody_asked_for_is_done_at_once(ada: Harbour, monkeypatch: pytest.MonkeyPatch) -> None:
    on(monkeypatch, MachineConditions(saver=True, on_battery=True))
    assert worked(ada, whole=True)["how"] == "whole"
    assert worked(ada, sample=True, unasked=True)["how"] == "sample"


@pytest.mark.parametrize("found", [MachineConditions(), MachineConditions(on_battery=False, saver=False)])
def test_on_the_mains_and_where_nobody_knows_nothing_waits(
    ada: Harbour, monkeypatch: pytest.MonkeyPatch, found: MachineConditions
) -> None:
    on(monkeypatch, found)
    assert worked(ada, in_days(ada, 31), whole=True, unasked=True)["how"] == "whole"
