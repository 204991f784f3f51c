"""Purges on one machine: what is removed, what stays, and what a killed process leaves."""

from __future__ import annotations

from pathlib import Path

import pytest

from lifeboat_alf.errors import PurgeError
from lifeboat_alf.seams.crash_points import CrashPoint
from lifeboat_core.agents import manage_agents
from lifeboat_core.home import crash_recovery
from lifeboat_core.purge import agent_purge, histories, purge_orders, purge_run, receipt_signing
from lifeboat_core.restore import RestoreOptions, restore_agent
from support.core import invariants
from support.core.machines import Machine
from support.core.purged import SCANNER, TEXT, bodies, everything, leaks_below, leaks_in, purge, request, same
from support.killing import killed_at

STEPS = (
    CrashPoint.PURGE_REDACTED,
    CrashPoint.PURGE_SWEPT,
    CrashPoint.PURGE_WORKSPACE_CUT,
    CrashPoint.PURGE_UNDO_EMPTIED,
    CrashPoint.PURGE_STATE_DELETED,
    CrashPoint.PURGE_RECEIPT_WRITTEN,
    CrashPoint.PURGE_NOTED,
)
ERASE_STEPS = (CrashPoint.ERASE_MARKED, CrashPoint.ERASE_VAULT_REMOVED, CrashPoint.ERASE_KEYS_DESTROYED)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """Return an agent that learned the text in a memory, put it into a file, and went on."""
    made = Machine(tmp_path / "laptop")
    made.add()
    made.write("MEMORY.md", f"{made.read('MEMORY.md')}\n## Passport\n\n{TEXT}\n")
    made.capture()
    made.write("notes/trip.txt", f"before\n{TEXT}\nafter\n")
    made.capture()
    made.write("notes/other.txt", "nothing of it\n")
    made.capture()
    return made


def passports(machine: Machine) -> list[str]:
    """Return the ids of the records with the text."""
    with machine.context.vault(machine.agent.id) as vault:
        return [record.id for record in vault.state().records() if TEXT.encode() in record.line]


def test_a_text_is_gone_at_every_sequence_and_nothing_else_changed(machine: Machine) -> None:
    with machine.context.vault(machine.agent.id) as vault:
        before = everything(vault)
    assert SCANNER.folders(machine.folder / "home")
    done = purge(machine)
    with machine.context.vault(machine.agent.id) as vault:
        assert leaks_in(vault) == []
        assert same(before, everything(vault))
        assert vault.verify(trusted=machine.context.keys().trusted).findings == []
    assert leaks_below(machine.folder / "home") == []
    assert done.applied.searched["hits"] == 0


def test_a_name_of_a_sequence_that_holds_the_text_is_found_and_taken_away(machine: Machine) -> None:
    with machine.context.vault(machine.agent.id) as vault:
        vault.label(1, f"learned {TEXT}")
        vault.label(2, "the day before the journey")
    found, _ = purge_run.preview_purge(machine.context, machine.agent, request())
    assert "the name of sequence 1" in [sight.where for sight in found.sights]
    done = purge(machine)
    with machine.context.vault(machine.agent.id) as vault:
        assert [vault.sequence(number).label for number in (1, 2)] == [None, "the day before the journey"]
    assert leaks_below(machine.folder / "home") == []
    assert done.applied.searched["hits"] == 0


def test_a_purge_makes_no_sequence_and_the_next_capture_finds_nothing_new(machine: Machine) -> None:
    with machine.context.vault(machine.agent.id) as vault:
        head = vault.head()
    purge(machine)
    assert not machine.capture().changed
    with machine.context.vault(machine.agent.id) as vault:
        assert head is not None
        assert vault.head() == head


def test_the_live_workspace_is_cut_when_that_is_asked_for(machine: Machine) -> None:
    done = purge(machine, request(workspace=True))
    assert sorted(done.applied.workspace or ()) == ["raw/openclaw/MEMORY.md", "artifacts/notes/trip.txt"][::-1]
    assert leaks_below(machine.workspace) == []
    assert machine.read("notes/trip.txt") == "before\n\nafter\n"
    assert not machine.capture().changed


def test_every_sequence_restores_without_the_text(machine: Machine, tmp_path: Path) -> None:
    purge(machine)
    for number in range(4):
        to = tmp_path / f"restored-{number}"
        restore_agent(machine.context, machine.known_agent, RestoreOptions(at=number, to=to, reindex=False))
        assert leaks_below(to) == []
        assert (to / "MEMORY.md").read_text().startswith("# Memory\n\n## Tea\n")


def test_a_record_goes_by_its_id(machine: Machine) -> None:
    (record_id,) = passports(machine)
    purge(machine, request(text=None, records=[record_id]))
    with machine.context.vault(machine.agent.id) as vault:
        assert vault.state().record(record_id) is None
        assert [gone.id for gone in vault.state().gone()] == [record_id]
        assert not any(TEXT.encode() in body for name, body in bodies(vault) if name != "artifacts/notes/trip.txt")


def test_an_id_that_nobody_knows_changes_nothing(machine: Machine) -> None:
    wanted = request(text=None, records=["01a1cd0d-dc00-7c35-bdca-66b17388b481"])
    with pytest.raises(PurgeError, match="01a1cd0d-dc00-7c35-bdca-66b17388b481"):
        purge_run.preview_purge(machine.context, machine.known_agent, wanted)
    assert list(purge_orders.list_pending_orders(machine.context)) == []


def test_a_passage_alone_leaves_the_memory_with_the_rest(machine: Machine) -> None:
    machine.write("memory/2026-11-12.md", f"# Today\n\n- tea\n- {TEXT}\n- boat\n")
    machine.capture()
    purge(machine, request(passage=True))
    with machine.context.vault(machine.agent.id) as vault:
        state = vault.state()
        assert state.body("raw/openclaw/memory/2026-11-12.md") == b"# Today\n\n- tea\n- \n- boat\n"
        assert list(state.gone()) == []
        assert leaks_in(vault) == []


def test_what_was_captured_after_the_look_goes_as_well(machine: Machine) -> None:
    wanted = request()
    found, _ = purge_run.preview_purge(machine.context, machine.known_agent, wanted)
    machine.write("late.txt", f"{TEXT}\n")
    machine.capture()
    purge_run.purge_content(machine.context, machine.known_agent, wanted, found, {})
    with machine.context.vault(machine.agent.id) as vault:
        assert leaks_in(vault) == []


def test_what_gave_way_to_another_machine_is_purged_too(machine: Machine) -> None:
    from lifeboat_core.remotes import displaced_histories

    folder = displaced_histories.set_vault_aside(machine.context, machine.agent.id)
    machine.context.create_vault(machine.agent.id).close()
    manage_agents.capture_agent(machine.context, machine.known_agent)
    purge(machine)
    with histories.open_histories(machine.context, machine.agent.id) as opened:
        assert [each.name for each in opened.open] == [histories.OWN, folder.name]
        assert [leaks_in(each.vault) for each in opened.open] == [[], []]


def test_undo_folders_go_and_undo_says_why(machine: Machine) -> None:
    machine.write("MEMORY.md", "# Memory\n")
    restore_agent(machine.context, machine.known_agent, RestoreOptions(at=2, yes=True, reindex=False))
    machine.write("notes/trip.txt", "clean\n")
    machine.write("MEMORY.md", "# Memory\n\n## Tea\n\nLikes tea.\n")
    assert purge(machine).applied.undo_folders == 1
    assert leaks_below(machine.folder) == []


def test_nothing_that_is_looked_for_is_written_down_while_looking(machine: Machine) -> None:
    wanted = request(text="a text that stands nowhere at all Kx9wTq3v")
    found, _ = purge_run.preview_purge(machine.context, machine.known_agent, wanted)
    assert not found
    assert [leak for leak in SCANNER.folders(machine.folder / "home" / "logs", machine.folder / "home" / "locks")] == []


def test_live_files_that_nobody_captures_are_named(machine: Machine) -> None:
    machine.write(".lifeboatignore", "private/\n")
    machine.write("private/mine.txt", f"one\n{TEXT}\n")
    found, _ = purge_run.preview_purge(machine.context, machine.known_agent, request())
    assert ("private/mine.txt", 2) in [(sight.where, sight.line) for sight in found.sights]
    assert all(TEXT not in str(sight.to_json()) for sight in found.sights)


def test_another_agent_that_holds_the_text_is_named(machine: Machine, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "SOUL.md").write_text("# Soul\n")
    (other / "MEMORY.md").write_text(f"# Memory\n\n{TEXT}\n")
    manage_agents.protect_workspace(machine.context, other, runtime="openclaw", name="byron")
    found, _ = purge_run.preview_purge(machine.context, machine.known_agent, request())
    assert found.elsewhere.keys() == {"byron"}


# Ended half-way -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_a_purge_that_was_ended_anywhere_is_finished_by_whoever_starts_next(machine: Machine, step: CrashPoint) -> None:
    with machine.context.vault(machine.agent.id) as vault:
        before = everything(vault)
    assert killed_at(lambda: purge(machine, request(workspace=True)), step)
    assert crash_recovery.finish_purges(machine.context)
    assert crash_recovery.finish_purges(machine.context) == []
    with machine.context.vault(machine.agent.id) as vault:
        assert leaks_in(vault) == []
        assert same(before, everything(vault))
        assert vault.check_audit() == []
    assert leaks_below(machine.folder) == []
    (receipt,) = receipt_signing.load_receipts(machine.context)
    assert receipt.is_done
    invariants.what_was_purged_is_gone(machine.context, machine.known_agent, SCANNER, machine.workspace)
    invariants.always(machine.context, machine.known_agent)


def test_a_purge_that_was_ended_before_it_began_did_nothing(machine: Machine) -> None:
    with machine.context.vault(machine.agent.id) as vault:
        before = everything(vault)
    assert killed_at(lambda: purge(machine), CrashPoint.PURGE_FOUND)
    assert crash_recovery.finish_purges(machine.context) == []
    with machine.context.vault(machine.agent.id) as vault:
        assert everything(vault) == before


# A whole agent ------------------------------------------------------------------------------------------------------


def test_a_whole_agent_leaves_its_redaction_and_a_receipt(machine: Machine) -> None:
    tree = machine.tree()
    done = purge_run.purge_agent(machine.context, machine.known_agent, "gdpr_article_17", {})
    assert manage_agents.list_agents(machine.context) == []
    assert leaks_below(machine.folder / "home") == []
    receipt = receipt_signing.find_receipt(machine.context, done.receipt)
    assert receipt.audit["scope"] == "full_agent"
    assert "record_ids" not in receipt.audit
    assert receipt.audit["partitions_affected"] == ["memory/partitions/2026-Q4.jsonl"]
    assert receipt.is_done
    assert machine.tree() == tree


@pytest.mark.parametrize("step", ERASE_STEPS[1:], ids=str)
def test_the_end_of_an_agent_that_was_cut_off_is_finished(machine: Machine, step: CrashPoint) -> None:
    agent = machine.known_agent
    assert killed_at(lambda: purge_run.purge_agent(machine.context, agent, "user_request", {}), step)
    assert crash_recovery.finish_purges(machine.context)
    assert manage_agents.list_agents(machine.context) == []
    assert not machine.context.home.vault_folder(agent.id).exists()
    invariants.what_was_purged_is_gone(machine.context, agent, SCANNER)
    (receipt,) = receipt_signing.load_receipts(machine.context)
    assert receipt.is_done


def test_second_copies_hear_of_the_end_of_an_agent_that_was_cut_off(machine: Machine, tmp_path: Path) -> None:
    """Only the destroyed vault knows which remotes have something of it."""
    (tmp_path / "stick").mkdir()
    machine.add_remote("home", (tmp_path / "stick").as_uri())
    assert machine.push().state == "ok"
    agent = machine.known_agent
    assert killed_at(
        lambda: purge_run.purge_agent(machine.context, agent, "user_request", {}), CrashPoint.ERASE_VAULT_REMOVED
    )
    crash_recovery.finish_purges(machine.context)
    (receipt,) = receipt_signing.load_receipts(machine.context)
    assert [each.state for each in receipt.vaults] == ["pending", "done"]
    agent_purge.tell_remotes_of_purged_agents(machine.context)
    assert receipt_signing.find_receipt(machine.context, receipt.id).is_done
    invariants.what_was_purged_is_gone(machine.context, agent, SCANNER, tmp_path / "stick")


def test_the_keys_of_an_erased_agent_are_destroyed(machine: Machine) -> None:
    from lifeboat_keys.errors import NoAgentKey

    machine.context.keys().agent_public(machine.agent.id)
    purge_run.purge_agent(machine.context, machine.known_agent, "user_request", {})
    with pytest.raises(NoAgentKey):
        machine.context.keys().agent_secret(machine.agent.id)
