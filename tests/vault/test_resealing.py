"""A vault is sealed with another key in one step, wherever the process ends."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path

import pytest

from lifeboat_alf.seams.crash_points import CrashPoint
from lifeboat_alf.seams.file_operations import SystemFiles
from lifeboat_alf.testing.sample_states import AGENT_ID
from lifeboat_endpoint.engines.files_engine import FolderPlace
from lifeboat_endpoint.service.agent_vaults import AgentVaults
from lifeboat_vault.at_rest.data_keys import DataKeys
from lifeboat_vault.at_rest.sealer import PLAIN, Sealer
from lifeboat_vault.errors import KeyRevoked, OtherDataKey, VaultFull
from lifeboat_vault.testing.store_conformance import a_day, time_of_day
from lifeboat_vault.vault import Draft, EntryPut, Vault
from support.endpoint.sealed import AGENT, TENANT, MovingClock, data_keys, new_sealer, opened_keys
from support.failing_files import FailingFiles
from support.killing import killed_at, steps_of
from support.vault.vaults import ManualClock, commit, content_of, create

OLD, NEW = new_sealer(), new_sealer()


def made(folder: Path, sealer: Sealer = OLD) -> Vault:
    """Return a vault with bodies in rows and in files, patches, records, a label and a decision."""
    vault = Vault.create(folder, AGENT_ID, clock=ManualClock(), sealer=sealer)
    for day in range(4):
        commit(vault, a_day(day), time_of_day(day))
    commit(vault, Draft({"raw/note.md": None}, [create("a memory that moves")]), time_of_day(4))
    vault.label(1, "before the storm")
    vault.set("held", {"since": 2})
    return vault


def told(vault: Vault) -> object:
    """Return everything a vault says of its history."""
    states = [(row.number, row.digest, row.label, content_of(vault.state(row.number))) for row in vault.sequences()]
    return states, vault.get("held"), vault.seed, vault.verify(trusted=None).findings


def names(folder: Path) -> set[str]:
    return {path.name for path in (folder / "objects").iterdir()}


@pytest.mark.parametrize(("before", "after"), [(OLD, NEW), (PLAIN, NEW), (OLD, PLAIN), (OLD, OLD)])
def test_a_vault_under_another_sealer_tells_the_same(tmp_path: Path, before: Sealer, after: Sealer) -> None:
    with made(tmp_path / "vault", before) as vault:
        told_before = told(vault)
        vault.reseal(after)
        assert told(vault) == told_before and vault.key_id == after.key_id
    with Vault.open(tmp_path / "vault", sealer=after) as again:
        assert told(again) == told_before
        assert len(again.records_with_content("a memory that moves")) == 1


def test_a_vault_goes_on_under_its_new_key(tmp_path: Path) -> None:
    with made(tmp_path / "vault") as vault:
        vault.reseal(NEW)
        commit(vault, Draft({"raw/large.bin": EntryPut({"m": 1}), "raw/new.md": EntryPut({}, b"new")}), time_of_day(9))
        assert vault.verify(trusted=None).findings == [] and len(list(vault.state().entries())) == 2


def test_nothing_that_the_former_key_sealed_is_left(tmp_path: Path) -> None:
    with made(tmp_path / "vault") as vault:
        before = names(tmp_path / "vault")
        vault.reseal(NEW)
        assert before and names(tmp_path / "vault").isdisjoint(before)
    header = bytes.fromhex(OLD.key_id)
    assert not [path for path in (tmp_path / "vault").rglob("*") if path.is_file() and header in path.read_bytes()]


def test_the_audit_names_both_keys(tmp_path: Path) -> None:
    with made(tmp_path / "vault") as vault:
        vault.reseal(NEW)
        row = list(vault.audit_rows())[-1]
        assert (row.kind, row.subject, row.details["from"]) == ("reseal", NEW.key_id, OLD.key_id)
        assert row.details["damaged"] == 0 and vault.check_audit() == []


@pytest.mark.parametrize("step", [CrashPoint.REENCRYPT_BODIES_WRITTEN, CrashPoint.REENCRYPT_COMMITTED])
def test_a_kill_leaves_the_vault_under_its_former_key(tmp_path: Path, step: CrashPoint) -> None:
    with made(tmp_path / "vault") as vault:
        told_before = told(vault)
    files = names(tmp_path / "vault")
    assert killed_at(lambda: Vault.open(tmp_path / "vault", sealer=OLD).reseal(NEW), step)
    with pytest.raises(OtherDataKey):
        Vault.open(tmp_path / "vault", sealer=NEW)
    with Vault.open(tmp_path / "vault", sealer=OLD) as again:
        assert told(again) == told_before and names(tmp_path / "vault") == files
        again.reseal(NEW)
        assert told(again) == told_before


def rotation(folder: Path) -> None:
    """Rotate as an operator does: a new key, everything sealed with it, the old one destroyed."""
    keys = opened_keys(folder)
    keys.rotate()
    with opened(folder, keys) as vault:
        vault.reseal(keys.sealer(AGENT_ID))
    keys.destroy([])


def opened(folder: Path, keys: DataKeys) -> Vault:
    try:
        return Vault.open(folder / "vault", sealer=keys.sealer(AGENT_ID))
    except OtherDataKey as error:
        return Vault.open(folder / "vault", sealer=keys.sealer_of(error.key_id, AGENT_ID))


REENCRYPT = [step for step in CrashPoint if step.value.startswith("reencrypt.")]


def test_a_rotation_reaches_every_step(tmp_path: Path) -> None:
    made(tmp_path / "vault", data_keys(tmp_path).sealer(AGENT_ID)).close()
    assert [step for step in steps_of(lambda: rotation(tmp_path)) if step in REENCRYPT] == REENCRYPT


@pytest.mark.parametrize("step", REENCRYPT)
def test_a_rotation_that_is_killed_can_be_read_and_ends_at_the_next_try(tmp_path: Path, step: CrashPoint) -> None:
    with made(tmp_path / "vault", data_keys(tmp_path).sealer(AGENT_ID)) as vault:
        told_before = told(vault)
    assert killed_at(lambda: rotation(tmp_path), step)
    with opened(tmp_path, opened_keys(tmp_path)) as vault:
        assert told(vault) == told_before
    rotation(tmp_path)
    keys = opened_keys(tmp_path)
    assert keys.ids() == [keys.current()]
    with Vault.open(tmp_path / "vault", sealer=keys.sealer(AGENT_ID)) as vault:
        assert told(vault) == told_before


def test_who_has_the_vault_open_is_told_of_the_new_key(tmp_path: Path) -> None:
    with made(tmp_path / "vault") as vault, Vault.open(tmp_path / "vault", sealer=OLD) as reader:
        state = reader.state()
        vault.reseal(NEW)
        questions: list[Callable[[], object]] = [
            reader.head,
            lambda: state.entry("raw/large.bin"),
            lambda: state.body("raw/large.bin"),
            lambda: list(state.entries("raw/")),
            lambda: list(state.records("memory/partitions/2026-Q4.jsonl")),
            lambda: commit(reader, Draft({"raw/new.md": EntryPut({}, b"new")}), time_of_day(9)),
        ]
        for question in questions:
            with pytest.raises(OtherDataKey) as caught:
                question()
            assert caught.value.key_id == NEW.key_id


def test_a_vault_that_is_kept_open_is_opened_again_under_its_new_key(tmp_path: Path) -> None:
    keys = data_keys(tmp_path)
    kept = AgentVaults(FolderPlace(tmp_path, TENANT, files=SystemFiles(), clock=ManualClock()), keys)
    vault_id, _ = kept.create(AGENT_ID)
    before = kept.get(AGENT_ID, vault_id)
    keys.rotate()
    with Vault.open(tmp_path / "agents" / AGENT_ID, sealer=keys.sealer_of(before.key_id, AGENT_ID)) as vault:
        vault.reseal(keys.sealer(AGENT_ID))
    assert kept.get(AGENT_ID, vault_id).key_id == keys.current() and kept.get(AGENT_ID, vault_id).head() is None
    kept.close()


def test_a_body_that_is_damaged_keeps_nobody_from_giving_up_a_key(tmp_path: Path) -> None:
    with made(tmp_path / "vault") as vault:
        (tmp_path / "vault" / "objects" / min(names(tmp_path / "vault"))).write_bytes(b"rotten")
        before = vault.verify(trusted=None).findings
        vault.reseal(NEW)
        assert list(vault.audit_rows())[-1].details["damaged"] == 1
        assert [finding.subject for finding in vault.verify(trusted=None).findings] == [each.subject for each in before]


def test_a_key_that_is_taken_away_meanwhile_leaves_everything_as_it_was(tmp_path: Path) -> None:
    clock = MovingClock()
    keys = data_keys(tmp_path, clock=clock)
    with made(tmp_path / "vault", keys.sealer(AGENT)) as vault:
        told_before = told(vault)
        keys.rotate()
        fresh = keys.sealer(AGENT)
        (tmp_path / "endpoint.key").rename(tmp_path / "taken.key")
        clock.advance(minutes=1)
        with pytest.raises(KeyRevoked):
            vault.reseal(fresh)
        (tmp_path / "taken.key").rename(tmp_path / "endpoint.key")
        assert told(vault) == told_before


def test_a_full_disk_leaves_everything_as_it_was(tmp_path: Path) -> None:
    made(tmp_path / "vault").close()
    files = FailingFiles(errno.ENOSPC)
    with Vault.open(tmp_path / "vault", files=files, sealer=OLD) as vault:
        told_before, bodies = told(vault), names(tmp_path / "vault")
        files.nth(frozenset({"write_new"}), 2, and_after=True)
        with pytest.raises(VaultFull):
            vault.reseal(NEW)
        assert told(vault) == told_before and names(tmp_path / "vault") == bodies
