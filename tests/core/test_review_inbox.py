"""The review: which changes wait, and what approving and undoing them does."""

from __future__ import annotations

from pathlib import Path

import pytest

from lifeboat_core.agents.locks import agent_lock
from lifeboat_core.errors import UnknownRecord
from lifeboat_core.memories import edit_records
from lifeboat_core.review import review_inbox
from lifeboat_core.review.memory_changes import TextChange
from lifeboat_vault.vault import Retention
from support.alf.raising import raises_code
from support.core.protected import MEMORY, Protected
from support.core.purged_here import purge

TEA, BOAT = "## Tea\n\nLikes green tea in the morning.\n\n", "## Boat\n\nThe red boat lies in the harbour.\n"
WHITE = MEMORY.replace("green", "white")


@pytest.fixture
def ada(tmp_path: Path) -> Protected:
    made = Protected(tmp_path)
    made.write("memory/2026-02-03.md", "# Day\n\nSnow on the deck.\n")
    made.add()
    return made


def waiting(ada: Protected, since: str | None = None) -> list[TextChange]:
    return list(review_inbox.open_inbox(ada.context, ada.agent, since).shown)


def texts(ada: Protected, since: str | None = None) -> list[tuple[str, str | None, str | None]]:
    return [(one.operation, one.before, one.after) for one in waiting(ada, since)]


def test_what_the_first_capture_found_is_no_change(ada: Protected) -> None:
    assert waiting(ada) == []


def test_every_change_has_its_texts_file_and_sequence(ada: Protected) -> None:
    ada.write("MEMORY.md", MEMORY.replace("green", "white").replace(BOAT, ""))
    ada.write("memory/lamp.md", "## Lamp\n\nMended.\n")
    ada.capture()
    found = {one.operation: one for one in waiting(ada)}
    assert found["created"].after == "## Lamp\n\nMended.\n" and found["created"].origin_file == "memory/lamp.md"
    assert (found["deleted"].before, found["deleted"].after) == (BOAT, None)
    assert (found["updated"].before, found["updated"].after) == (TEA, TEA.replace("green", "white"))
    assert {one.sequence for one in found.values()} == {1}


def test_several_changes_of_a_memory_are_one(ada: Protected) -> None:
    for colour in ("white", "black"):
        ada.write("MEMORY.md", MEMORY.replace("green", colour))
        ada.capture()
    assert texts(ada) == [("updated", TEA, TEA.replace("green", "black"))]
    ada.write("MEMORY.md", MEMORY)
    ada.capture()
    assert texts(ada) == []


def test_a_memory_of_a_finished_quarter_is_followed_through_its_versions(ada: Protected) -> None:
    for word in ("Ice", "Rain"):
        ada.write("memory/2026-02-03.md", f"# Day\n\n{word} on the deck.\n")
        ada.capture()
    assert texts(ada) == [("updated", "# Day\n\nSnow on the deck.\n", "# Day\n\nRain on the deck.\n")]
    (ada.workspace / "memory/2026-02-03.md").unlink()
    ada.capture()
    assert texts(ada) == [("deleted", "# Day\n\nSnow on the deck.\n", None)]


def test_a_pin_is_no_change_of_a_text(ada: Protected) -> None:
    edit_records.pin_records(ada.context, ada.agent, [ada.memories()[TEA]["id"]])
    assert waiting(ada) == []


def test_a_blank_line_behind_a_memory_is_no_change_of_its_text(ada: Protected) -> None:
    ada.write("MEMORY.md", MEMORY + "\n## Lamp\n\nMended.\n")
    ada.capture()
    assert [one.after for one in waiting(ada)] == ["## Lamp\n\nMended.\n"]


def test_an_approved_change_waits_no_longer_and_a_later_one_does(ada: Protected) -> None:
    ada.write("MEMORY.md", WHITE.replace("red", "blue"))
    ada.capture()
    tea, boat = sorted(waiting(ada), key=lambda one: "boat" in (one.after or ""))
    review_inbox.approve_changes(ada.context, ada.agent, [tea.id])
    assert [one.id for one in waiting(ada)] == [boat.id]
    assert len(waiting(ada, since="0")) == 2
    assert len(waiting(ada, since="2001-01-01")) == 2, "a time before the history means all of it"
    ada.write("MEMORY.md", WHITE.replace("white", "black").replace("red", "blue"))
    ada.capture()
    assert len(waiting(ada)) == 2
    with raises_code(UnknownRecord):
        review_inbox.approve_changes(ada.context, ada.agent, [tea.id], until="1")


def test_approving_all_approves_what_was_seen(ada: Protected) -> None:
    ada.write("MEMORY.md", WHITE)
    ada.capture()
    seen = review_inbox.open_inbox(ada.context, ada.agent).until
    ada.write("MEMORY.md", WHITE.replace("red", "blue"))
    ada.capture()
    review_inbox.approve_all(ada.context, ada.agent, str(seen))
    assert texts(ada) == [("updated", BOAT, BOAT.replace("red", "blue"))]
    review_inbox.approve_all(ada.context, ada.agent)
    review_inbox.approve_all(ada.context, ada.agent, "0")
    assert waiting(ada) == []


def test_thinning_hides_no_change(ada: Protected) -> None:
    ada.write("MEMORY.md", WHITE)
    ada.capture()
    review_inbox.approve_all(ada.context, ada.agent)
    for colour in ("black", "yellow"):
        ada.write("MEMORY.md", MEMORY.replace("green", colour))
        ada.capture()
    ada.clock.advance(days=400)
    with ada.context.vault(ada.agent.id) as vault:
        while vault.thin(Retention(0, 0, 0), ada.clock.now(), keep=lambda number: number in (0, 3)).dropped:
            pass
        assert [row.number for row in vault.sequences()] == [0, 3]
    (change,) = waiting(ada)
    assert (change.before, change.after) == (TEA, TEA.replace("green", "yellow"))


def test_a_purged_text_is_not_shown(ada: Protected) -> None:
    ada.write("MEMORY.md", WHITE)
    ada.capture()
    (change,) = waiting(ada)
    purge(ada, change.id)
    assert waiting(ada) == []


def test_undo_writes_the_shown_text_before(ada: Protected) -> None:
    for colour in ("white", "black"):
        ada.write("MEMORY.md", MEMORY.replace("green", colour))
        ada.capture()
    (change,) = waiting(ada)
    review_inbox.undo_change(ada.context, ada.agent, change.id)
    assert ada.read("MEMORY.md") == MEMORY and waiting(ada) == []
    with raises_code(UnknownRecord):
        review_inbox.undo_change(ada.context, ada.agent, change.id)


def test_looking_takes_no_lock(ada: Protected) -> None:
    ada.write("MEMORY.md", WHITE)
    ada.capture()
    with agent_lock(ada.context, ada.agent.id, "capture"):
        assert len(waiting(ada)) == 1


def test_a_secret_and_a_rewrite_are_marked(tmp_path: Path) -> None:
    key = "sk-example-orchard-not-a-real-key"
    ada = Protected(tmp_path, config=f'{{ models: {{ providers: {{ orchard: {{ apiKey: "{key}" }} }} }} }}\n')
    sections = [f"## Part {number}\n\n{'A long sentence about boats. ' * 4}\n\n" for number in range(6)]
    ada.write("MEMORY.md", "".join(sections))
    ada.add()
    ada.write("MEMORY.md", "".join(f"## Part {number}\n\nShort now.\n\n" for number in range(6)))
    ada.write("memory/key.md", f"## Key\n\nIt is {key}.\n")
    ada.capture()
    inbox = review_inbox.open_inbox(ada.context, ada.agent)
    marks = {one.origin_file: {mark.kind for mark in inbox.marks[one.id]} for one in inbox.shown}
    assert marks["memory/key.md"] == {"secret"} and "rewrite" in marks["MEMORY.md"]
    assert all(key not in (one.after or "") for one in inbox.shown)


def test_the_limit_bounds_what_is_shown_and_not_what_is_counted(ada: Protected) -> None:
    ada.write("MEMORY.md", WHITE.replace("red", "blue"))
    ada.capture()
    inbox = review_inbox.open_inbox(ada.context, ada.agent, limit=1)
    assert (len(inbox.shown), inbox.total) == (1, 2)
