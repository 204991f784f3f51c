"""States from which something was purged can be restored at every sequence, without it."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from lifeboat_alf.errors import SignatureError
from lifeboat_core.agents import manage_agents
from lifeboat_core.errors import RestoreError
from lifeboat_core.exchange import export_agent, import_archive
from lifeboat_core.purge import undo_folders
from lifeboat_core.restore import RestoreOptions, restore_agent, undo_restore
from lifeboat_core.restore import restore_journal as journals
from lifeboat_core.verify import samples_and_drills
from lifeboat_vault.vault import state_inventory as inventories
from support.alf.raising import raises_code
from support.core.protected import Protected
from support.core.purged_here import purge
from support.prepared_folders import PreparedFolders

LINE = "The passport number is C01X00T47."
FILE = "memory/2026-11-11.md"
CONFIG = '{"models":{"providers":{"x":{"apiKey":"sk-test-0123456789abcdefghij"}}},"note":"%s"}\n'


@pytest.fixture
def ada(prepared_folders: PreparedFolders) -> Protected:
    """Return an agent with three sequences: the second has the text, the third more."""
    return prepared_folders.restore("agent with a text at three sequences", _agent_with_three_sequences)


def _agent_with_three_sequences(folder: Path) -> Protected:
    made = Protected(folder)
    made.add()
    made.write(FILE, f"# Day\n\n## Papers\n\n{LINE}\n\n## Weather\n\nSunny.\n")
    made.capture()
    made.write("notes.txt", f"one\n{LINE}\ntwo\n")
    made.capture()
    return made


def options(at: int, to: Path | None = None) -> RestoreOptions:
    return RestoreOptions(at=at, to=to, yes=True, reindex=False)


def found_in(folder: Path) -> list[str]:
    return [str(file) for file in folder.rglob("*") if file.is_file() and b"C01X00T47" in file.read_bytes()]


@pytest.mark.parametrize("number", [0, 1, 2])
@pytest.mark.parametrize("passage", [False, True])
def test_every_sequence_restores_without_it(ada: Protected, tmp_path: Path, number: int, passage: bool) -> None:
    purge(ada, texts=["C01X00T47"], passage=passage)
    restore_agent(ada.context, ada.agent, options(number, tmp_path / "aside"))
    assert found_in(tmp_path / "aside") == []
    assert (tmp_path / "aside" / FILE).exists() == (number > 0)


def test_what_was_not_purged_comes_back_whole(ada: Protected, tmp_path: Path) -> None:
    purge(ada, texts=["C01X00T47"])
    restore_agent(ada.context, ada.agent, options(2, tmp_path / "aside"))
    assert (tmp_path / "aside" / "MEMORY.md").read_bytes() == (ada.workspace / "MEMORY.md").read_bytes()
    assert "Sunny." in (tmp_path / "aside" / FILE).read_text()


def test_a_restore_in_place_takes_the_lines_away(ada: Protected) -> None:
    purge(ada, texts=["C01X00T47"])
    restore_agent(ada.context, ada.agent, options(2))
    assert found_in(ada.workspace) == []


def test_a_drill_finds_nothing_wrong(ada: Protected) -> None:
    purge(ada, texts=["C01X00T47"])
    assert samples_and_drills.drill_vault(ada.context, ada.agent, whole=True).mismatches == []


def test_a_purge_that_this_user_never_signed_is_refused(ada: Protected) -> None:
    redaction = purge(ada, texts=["C01X00T47"])
    context = ada.context
    with context.vault(ada.agent.id) as vault:
        inventory = inventories.take_inventory(vault.state())
        forged = replace(inventory, redactions=(replace(redaction, reason="gdpr"),))
        with pytest.raises(SignatureError):
            inventories.check_signature(vault.state(), forged, context.keys().trusted)
        inventories.check_signature(vault.state(), inventory, context.keys().trusted)


def test_an_old_archive_over_the_agent_brings_nothing_back(ada: Protected, tmp_path: Path) -> None:
    export_agent(ada.context, "openclaw", ada.workspace, tmp_path / "old.alf")
    purge(ada, texts=["C01X00T47"])
    import_archive(ada.context, tmp_path / "old.alf", tmp_path / "copy", RestoreOptions(yes=True))
    assert found_in(tmp_path / "copy") == []
    assert "Sunny." in (tmp_path / "copy" / FILE).read_text()


def test_a_purged_archive_is_imported_on_another_machine(ada: Protected, tmp_path: Path) -> None:
    purge(ada, texts=["C01X00T47"])
    export_agent(ada.context, "openclaw", ada.workspace, tmp_path / "new.alf")
    other = Protected(tmp_path / "other")
    report = import_archive(
        other.context, tmp_path / "new.alf", tmp_path / "copy", RestoreOptions(yes=True, accept_unsigned=True)
    )
    assert (found_in(tmp_path / "copy"), report.agent) == ([], ada.agent.id)


def test_an_emptied_undo_folder_is_said(ada: Protected) -> None:
    restore_agent(ada.context, ada.agent, options(1))
    assert undo_folders.empty_undo_folders(ada.context, ada.agent) > 0
    assert undo_folders.list_undo_folders(ada.context, ada.agent) == []
    with raises_code(RestoreError.NOTHING_TO_UNDO, match="purge"):
        undo_restore(ada.context, ada.agent)


def test_the_undo_folder_of_a_file_whose_name_is_not_utf_8_is_emptied(ada: Protected) -> None:
    odd = Path(os.fsdecode(os.fsencode(ada.workspace) + b"/caf\xe9.md"))
    odd.write_text("one")
    ada.capture()
    restore_agent(ada.context, ada.agent, options(2))
    assert undo_folders.empty_undo_folders(ada.context, ada.agent) == 1
    assert not [*ada.workspace.parent.glob(".*lifeboat-undo-*")]


def test_the_undo_folder_that_an_earlier_release_did_not_list_is_emptied(ada: Protected) -> None:
    restore_agent(ada.context, ada.agent, options(1))
    (listed,) = journals.list_finished_journals(ada.context.home, ada.context.files)
    path = journals.locate_undo_journal(ada.context.home, listed.id)
    journals.write_document(ada.context.files, path, replace(listed, work=(), undo=()))
    assert undo_folders.empty_undo_folders(ada.context, ada.agent) == 1
    assert not [*ada.workspace.parent.glob(".*lifeboat-undo-*")]


def test_a_restore_after_that_can_be_undone(ada: Protected) -> None:
    restore_agent(ada.context, ada.agent, options(1))
    undo_folders.empty_undo_folders(ada.context, ada.agent)
    ada.clock.advance(minutes=1)
    restore_agent(ada.context, ada.agent, options(2))
    assert undo_restore(ada.context, ada.agent).kind == "undo"


def test_secrets_come_back_into_what_is_left_of_a_file(tmp_path: Path) -> None:
    ada = Protected(tmp_path, config=CONFIG % LINE)
    ada.add()
    purge(ada, texts=["C01X00T47"], passage=True)
    restored = tmp_path / "aside"
    chosen = RestoreOptions(at=0, to=restored, yes=True, reindex=False, with_credentials=True)
    restore_agent(ada.context, ada.agent, chosen)
    assert found_in(tmp_path / "aside") == []


# Chains -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def chained(tmp_path: Path) -> Protected:
    """Return a memory with three versions in ended periods, of which the middle one has the text."""
    made = Protected(tmp_path)
    made.write(FILE, "# Day\n\n## Papers\n\nThe passport lies in the drawer by the window.\n")
    made.add()
    for text in (f"{LINE} It lies in the drawer by the window.", "The passport lies in the safe by the window."):
        made.clock.advance(days=100)
        made.write(FILE, f"# Day\n\n## Papers\n\n{text}\n")
        made.capture()
    return made


def chain(ada: Protected) -> list[str]:
    """Return the ids of the versions, the oldest first."""
    return [record["id"] for record in ada.records() if "passport" in record["content"]]


def test_the_memory_is_a_chain(chained: Protected) -> None:
    assert len(chain(chained)) == 3


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("only", [False, True])
def test_of_a_chain_nothing_that_was_purged_comes_back(
    chained: Protected, tmp_path: Path, place: int, only: bool
) -> None:
    ids = chain(chained)
    purge(chained, ids[place], only=only)
    chained.capture()
    for number in (0, 1, 2):
        restore_agent(chained.context, chained.agent, options(number, tmp_path / f"aside-{number}"))
    assert found_in(tmp_path / "aside-1") == [] if place == 1 or not only else True
    assert samples_and_drills.drill_vault(chained.context, chained.agent, whole=True).mismatches == []


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("only", [False, True])
def test_a_capture_after_the_purge_of_a_chain_makes_no_sequence(chained: Protected, place: int, only: bool) -> None:
    purge(chained, chain(chained)[place], only=only)
    assert chained.capture().outcome == "unchanged"


def test_a_purged_archive_of_this_user_comes_in_leaf_by_leaf_with_its_purges(ada: Protected, tmp_path: Path) -> None:
    redaction = purge(ada, texts=["C01X00T47"])
    export_agent(ada.context, "openclaw", ada.workspace, tmp_path / "new.alf")
    with ada.context.vault(ada.agent.id) as vault:
        digest = vault.state().sequence.digest
    manage_agents.remove_agent(ada.context, ada.agent)
    import_archive(ada.context, tmp_path / "new.alf", tmp_path / "copy", RestoreOptions(yes=True))
    with ada.context.vault(ada.agent.id) as vault:
        assert (vault.state().sequence.digest, redaction.id in vault.redactions) == (digest, True)
        assert vault.verify(trusted=ada.context.keys().trusted).findings == []
