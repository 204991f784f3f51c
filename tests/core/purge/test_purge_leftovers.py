"""What a home has outside the histories besides caches: copies, scratch folders, damaged orders and notes."""

from __future__ import annotations

import contextlib
import shutil
import unittest.mock
from dataclasses import replace
from pathlib import Path

import pytest

from lifeboat_alf.common import ids
from lifeboat_alf.errors import RedactionInvalid
from lifeboat_alf.redaction.redactions import (
    RECORDS,
    WHOLE_AGENT,
    ByteEdit,
    LeafReplacement,
    Redaction,
    decode_redaction,
)
from lifeboat_alf.states import merkle
from lifeboat_cli import doctor
from lifeboat_cli.doctor import check_purges as doctor_of_purges
from lifeboat_core.home import crash_recovery
from lifeboat_core.purge import agent_purge, local_redaction, purge_folders, purge_orders, purge_run, purged_agent_files
from lifeboat_core.purge.purge_orders import PurgeOrder
from lifeboat_core.purge.purged_agent_files import PurgedAgent
from lifeboat_core.remotes.redactions.purge_exchange import exchange_purges
from lifeboat_core.remotes.remote_kinds import open_remote
from lifeboat_core.remotes.sealed.sealed_log import SealedLog
from lifeboat_core.restore import RestoreOptions, restore_agent
from lifeboat_keys.signed import redaction_signatures
from support.core.machines import Machine
from support.core.purged import TEXT, leaks_below, purge, request

NOBODY = 4_194_304
"""A number that no process has."""


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    made = Machine(tmp_path / "laptop")
    made.write("notes/trip.txt", f"before\n{TEXT}\nafter\n")
    made.add()
    return made


def vault_of(machine: Machine) -> Path:
    return machine.context.home.vault_folder(machine.agent.id)


def copied_by_a_new_layout(machine: Machine) -> None:
    """Copies of the vault, of a displaced one, and of one that was removed under another name."""
    kept = machine.context.home.backups_folder / "1-20261101T000000Z" / "vault"
    for name in (machine.agent.id, f".aside-{machine.agent.id}-1", f".removed-{ids.make_id(machine.context.now())}"):
        (kept / name).mkdir(parents=True)
        shutil.copy(vault_of(machine) / "vault.db", kept / name / "vault.db")


def left_by_a_drill(machine: Machine) -> None:
    """Leave the copy of everything that a killed process had."""
    folder = machine.context.home.restore_folder / "tmp" / f"20261112T120000-verify-0a0a0a0a-{NOBODY}"
    shutil.copytree(vault_of(machine), folder / "vault")


@pytest.mark.parametrize("leave", [copied_by_a_new_layout, left_by_a_drill])
def test_nothing_is_left_in_what_lay_beside_the_vault(machine: Machine, leave) -> None:  # type: ignore[no-untyped-def]
    leave(machine)
    assert purge(machine, request(workspace=True)).applied.searched["hits"] == 0
    assert leaks_below(machine.folder) == []


@pytest.mark.parametrize("leave", [copied_by_a_new_layout, left_by_a_drill])
def test_nothing_of_a_whole_agent_is_left_beside_its_vault(machine: Machine, leave) -> None:  # type: ignore[no-untyped-def]
    leave(machine)
    purge_run.purge_agent(machine.context, machine.known_agent, "user_request", {})
    assert leaks_below(machine.folder / "home") == []


def test_copies_of_other_agents_stay(machine: Machine, tmp_path: Path) -> None:
    other = Machine(tmp_path / "other")
    other.add()
    kept = (
        machine.context.home.backups_folder
        / "1-20261101T000000Z"
        / "vault"
        / f".removed-{ids.make_id(other.context.now())}"
    )
    shutil.copytree(vault_of(other), kept)
    purge(machine, request(workspace=True))
    assert (kept / "vault.db").exists()


def test_copied_keys_and_descriptions_of_a_whole_agent_go(machine: Machine) -> None:
    home, agent_id = machine.context.home, machine.agent.id
    machine.context.keys().agent_public(agent_id)
    kept = home.backups_folder / "1-20261101T000000Z"
    for name in (f"keys/agents/{agent_id}.json", f"agents/{agent_id}.toml"):
        (kept / name).parent.mkdir(parents=True)
        shutil.copy(home.folder / name, kept / name)
    purge_run.purge_agent(machine.context, machine.known_agent, "user_request", {})
    assert [path for path in home.folder.rglob(f"*{agent_id}*") if path.parent.name in ("agents", "keys")] == []


# Ended half-way ---------------------------------------------------------------------------------------------------


def whole(machine: Machine) -> Redaction:
    now = machine.context.now()
    made = Redaction(ids.make_id(now), machine.agent.id, WHOLE_AGENT, "user_request", now, "ada")
    return redaction_signatures.sign_redaction(made, machine.context.keys().device)


def begun(machine: Machine) -> PurgedAgent:
    """Kill the purge of an agent right after its order was written; it had been restored before."""
    restore_agent(machine.context, machine.known_agent, RestoreOptions(at=0, yes=True, reindex=False))
    agent = machine.known_agent
    made = PurgedAgent(whole(machine), agent.name, agent.runtime, agent.workspace)
    purged_agent_files.write_purged_agent(machine.context, made)
    purge_orders.write_order(machine.context, PurgeOrder(made.redaction))
    return made


def test_undo_folders_of_a_whole_agent_go_whenever_it_was_cut_off(machine: Machine) -> None:
    machine.write("notes/trip.txt", f"another\n{TEXT}\n")
    machine.capture()
    begun(machine)
    machine.write("notes/trip.txt", "clean\n")
    assert leaks_below(machine.folder / "openclaw")  # the undo folder, beside the workspace
    assert crash_recovery.finish_purges(machine.context)
    assert leaks_below(machine.folder) == []


def test_a_damaged_note_of_an_erased_agent_keeps_nothing_from_being_destroyed(machine: Machine) -> None:
    made = begun(machine)
    (purge_folders.locate_purged_agents(machine.context) / f"{made.redaction.agent_id}.json").write_bytes(b"{")
    (said,) = crash_recovery.finish_purges(machine.context)
    assert "finished now" in said
    assert leaks_below(machine.folder / "home") == []


@pytest.mark.parametrize("data", [b"", b"[]", b"\xff\0", b'{"redaction": {}, "workspace": false}'])
def test_a_damaged_order_is_named_and_in_nobodys_way(machine: Machine, data: bytes) -> None:
    purge_folders.locate_purge_orders(machine.context).mkdir()
    order = purge_folders.locate_purge_orders(machine.context) / f"{ids.make_id(machine.context.now())}.json"
    order.write_bytes(data)
    (said,) = crash_recovery.finish_purges(machine.context)
    assert str(order) in said
    assert [one.fix for one in doctor_of_purges.check(machine.context) if one.level is doctor.DoctorLevel.ERROR] == [
        f"rm {order}"
    ]


@pytest.mark.parametrize("data", [b"", b"[]", b'{"redaction": {}, "workspace": "", "vaults": []}'])
def test_a_damaged_note_of_an_erased_agent_is_named_and_in_nobodys_way(machine: Machine, data: bytes) -> None:
    purge_folders.locate_purged_agents(machine.context).mkdir()
    (purge_folders.locate_purged_agents(machine.context) / f"{ids.make_id(machine.context.now())}.json").write_bytes(
        data
    )
    agent_purge.tell_remotes_of_purged_agents(machine.context)
    assert list(purged_agent_files.list_purged_agents(machine.context)) == []
    assert any(one.level is doctor.DoctorLevel.ERROR for one in doctor_of_purges.check(machine.context))


# Orders that nobody can carry out -----------------------------------------------------------------------------------


def impossible(machine: Machine) -> Redaction:
    """Return a signed redaction whose edits do not belong to the bytes that they name."""
    with machine.context.vault(machine.agent.id) as vault:
        entry = vault.state().entry("raw/openclaw/SOUL.md")
    assert entry is not None
    leaves = {entry.leaf.digest: LeafReplacement(merkle.new_leaf(b"else"), (ByteEdit(0, 3, b"x"),))}
    made = replace(whole(machine), scope=RECORDS, leaves=leaves, signature=None)
    return redaction_signatures.sign_redaction(made, machine.context.keys().device)


def test_an_order_that_nobody_can_carry_out_is_not_tried_for_ever(machine: Machine) -> None:
    with pytest.raises(RedactionInvalid):
        local_redaction.apply_redaction(machine.context, machine.known_agent, impossible(machine))
    assert crash_recovery.finish_purges(machine.context) == []


def test_an_order_that_nobody_can_carry_out_is_dropped_by_whoever_finds_it(machine: Machine) -> None:
    purge_orders.write_order(machine.context, PurgeOrder(impossible(machine)))
    (said,) = crash_recovery.finish_purges(machine.context)
    assert "not possible" in said
    assert crash_recovery.finish_purges(machine.context) == []


def test_a_remote_that_lists_what_nobody_can_apply_gets_what_was_captured_all_the_same(machine: Machine) -> None:
    order = impossible(machine).to_json()
    machine.add_remote("stick", (machine.folder / "stick").as_uri())
    machine.push("stick")
    with (
        machine.context.vault(machine.agent.id) as vault,
        unittest.mock.patch.object(SealedLog, "redactions", lambda self, agent_id: [order]),
    ):
        with contextlib.closing(open_remote(machine.context, machine.remote("stick"))) as remote:
            made = exchange_purges(machine.context, machine.known_agent, machine.remote("stick"), vault, remote)
        assert (made.learnt, len(made.doubts), len(vault.redactions)) == ((), 1, 0)


# Ids that are paths -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["../../../openclaw/openclaw", "/tmp/x", "", "x", "01A1CD0D-DC00-7C35-BDCA-66B17388B481"]
)
def test_an_order_whose_id_is_a_path_is_refused_whoever_signed_it(machine: Machine, name: str) -> None:
    """Files are named by the id, so one machine of a user could overwrite files of another."""
    made = replace(whole(machine), id=name)
    signed = redaction_signatures.sign_redaction(made, machine.context.keys().device)
    with pytest.raises(RedactionInvalid):
        decode_redaction(signed.to_json())
