"""The activity log: what was done with agents, from their vaults and their receipts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lifeboat_alf.purging.purge_items import PurgeOptions
from lifeboat_alf.purging.purge_terms import PurgeTerms
from lifeboat_core import exchange
from lifeboat_core.agents import manage_agents
from lifeboat_core.health.status_gathering import DAMAGED
from lifeboat_core.history import activity_log, thin_history
from lifeboat_core.history.activity_log import ActivityEntry
from lifeboat_core.purge import purge_run
from lifeboat_core.purge.purge_search import PurgeRequest
from lifeboat_core.restore import RestoreOptions, restore_agent, undo_restore
from lifeboat_vault.retention import thin_sequences
from support.core.protected import Protected
from support.core.zeroclaw_protected import ProtectedClaw


@pytest.fixture
def ada(tmp_path: Path) -> Protected:
    made = Protected(tmp_path)
    made.add()
    made.write("MEMORY.md", "# Memory\n\nSoup.\n")
    made.capture()
    return made


def told(ada: Protected, limit: int | None = None) -> list[ActivityEntry]:
    return activity_log.list_activity(ada.context, manage_agents.list_agents(ada.context), everything=True, limit=limit)


def kinds(ada: Protected) -> list[str]:
    return [each.kind for each in told(ada)]


def restored(ada: Protected, at: int = 0) -> None:
    ada.clock.advance(minutes=1)
    restore_agent(ada.context, ada.agent, RestoreOptions(at=at, yes=True))


def test_captures_stand_newest_first(ada: Protected) -> None:
    found = [each for each in told(ada) if each.kind == "capture"]
    assert found[0].sequence == 1 and found[0].text.startswith("sequence 1: ")


def test_an_edit_of_a_memory_is_told_as_one(tmp_path: Path) -> None:
    ada = ProtectedClaw(tmp_path)
    ada.install.remember("tea", "Likes green tea")
    ada.add()
    ada.install.execute("UPDATE memories SET content = 'Likes black tea' WHERE key = 'tea'")
    ada.capture()
    found = activity_log.list_activity(ada.context, manage_agents.list_agents(ada.context), everything=True)
    assert next(each.text for each in found if each.sequence == 1) == "sequence 1: 1 memory updated"


def test_a_purge_stands_with_its_receipt_and_none_of_its_content(ada: Protected) -> None:
    request = PurgeRequest((), PurgeTerms(texts=("Soup.",)), PurgeOptions())
    found, _ = purge_run.preview_purge(ada.context, ada.agent, request)
    done = purge_run.purge_content(ada.context, ada.agent, request, found, {})
    assert next(each.text for each in told(ada) if each.kind == "purge") == f"purged 1 memory, receipt {done.receipt}"


def test_an_agent_that_was_purged_whole_stands_there_too(ada: Protected) -> None:
    done = purge_run.purge_agent(ada.context, ada.agent, "user_request", {})
    assert [(each.kind, each.text) for each in told(ada)] == [
        ("purge", f"purged the whole agent, receipt {done.receipt}")
    ]


def test_a_restore_stands_with_its_receipt_and_outcomes(ada: Protected) -> None:
    restored(ada)
    entry = next(each for each in told(ada) if each.receipt)
    assert entry.kind == "restore" and entry.details["outcomes"]["accepted"] >= 1
    assert (ada.context.home.restore_folder / "receipts" / f"{entry.receipt}.json").is_file()


def test_what_was_taken_back_stands_as_undo(ada: Protected) -> None:
    restored(ada)
    ada.clock.advance(minutes=1)
    undo_restore(ada.context, ada.agent)
    entry = next(each for each in told(ada) if each.receipt)
    assert entry.kind == "undo" and entry.details["outcomes"] == {"accepted": 1}


def test_book_keeping_of_the_vault_is_not_told(ada: Protected) -> None:
    assert {"secrets", "links", "decision"}.isdisjoint(kinds(ada))


def test_what_the_user_accepts_is_told_once(tmp_path: Path) -> None:
    ada = Protected(tmp_path)
    ada.write("MEMORY.md", "# Memory\n\n" + "".join(f"## Rope {number}\n\nNumber {number}.\n\n" for number in range(8)))
    ada.add()
    ada.write("MEMORY.md", "# Memory\n")
    assert ada.capture().held is not None
    manage_agents.accept_removals(ada.context, ada.agent)
    assert kinds(ada).count("accepted") == 1


def test_no_content_stands_in_the_log(ada: Protected) -> None:
    restored(ada)
    assert "Soup" not in json.dumps([each.to_json() for each in told(ada)])


def test_a_pin_and_a_name_tell_their_sequence(ada: Protected) -> None:
    with ada.context.vault(ada.agent.id) as vault:
        vault.pin(1, "user")
        vault.label(0, "first")
        vault.label(0, None)
        vault.unpin(1, "user")
    assert [(each.kind, each.sequence, each.text) for each in told(ada)[:4]] == [
        ("unpin", 1, "sequence 1 was unpinned and may be thinned"),
        ("label", 0, "sequence 0 is no longer named"),
        ("label", 0, "sequence 0 was named"),
        ("pin", 1, "sequence 1 was pinned and is never thinned"),
    ]


def test_damage_and_its_repair_are_told_apart(ada: Protected) -> None:
    with ada.context.vault(ada.agent.id) as vault:
        vault.set(DAMAGED, {"sequence": 0, "whole": False, "first": "MEMORY.md: has other content"}, kind="damaged")
        vault.set(DAMAGED, None, kind="damaged")
    assert [(each.kind, each.text) for each in told(ada)[:2]] == [
        ("damaged", "the damage that a verification found is repaired"),
        ("damaged", "a verification found damaged data"),
    ]


@pytest.mark.parametrize(
    ("dropped", "text"), [([0], "sequence 0 was thinned"), ([0, 2, 4], "3 sequences thinned, from 0 to 4")]
)
def test_thinned_sequences_are_named(
    ada: Protected, monkeypatch: pytest.MonkeyPatch, dropped: list[int], text: str
) -> None:
    for number in range(2, 7):
        ada.write("MEMORY.md", f"# Memory\n\nSoup {number}.\n")
        ada.capture()
    monkeypatch.setattr(thin_sequences, "sequences_to_drop", lambda *_: dropped)
    thin_history.thin_agent(ada.context, ada.agent)
    assert [each.text for each in told(ada) if each.kind == "thin"] == [text]


def test_a_limit_gives_the_newest(ada: Protected) -> None:
    assert told(ada, 1) == told(ada)[:1]


@pytest.mark.parametrize("rubbish", [b"", b"{", b"[]", b'{"agent": 1}', b"\xff"])
def test_a_damaged_receipt_hides_no_other(ada: Protected, rubbish: bytes) -> None:
    restored(ada)
    before = kinds(ada)
    (ada.context.home.restore_folder / "receipts" / "odd.json").write_bytes(rubbish)
    assert kinds(ada) == before


def test_a_receipt_of_an_agent_that_is_gone_stands_in_the_log_of_all(ada: Protected) -> None:
    restored(ada)
    found = activity_log.list_activity(ada.context, [], everything=True)
    assert [each.kind for each in found] == ["restore"]
    assert activity_log.list_activity(ada.context, [], everything=False) == []


def test_an_import_stands_with_its_receipt_under_the_agent_that_it_made(ada: Protected, tmp_path: Path) -> None:
    archive = tmp_path / "ada.alf"
    exchange.export_agent(ada.context, "openclaw", ada.workspace, archive)
    made = exchange.import_archive(ada.context, archive, tmp_path / "copy")
    copy = manage_agents.find_agent(ada.context, made.agent)
    found = [each for each in activity_log.list_activity(ada.context, [copy], everything=False) if each.receipt]
    assert [(each.kind, each.agent, each.name) for each in found] == [("import", copy.id, copy.name)]
    assert found[0].details["outcomes"]
