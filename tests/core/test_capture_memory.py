"""Memories in captures: what keeps its identity, what is new, what is removed."""

from __future__ import annotations

from pathlib import Path

import pytest

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common import ids
from lifeboat_alf.memory import memory_records
from lifeboat_core.restore import RestoreOptions, carry_out_plan, open_plan
from lifeboat_core.state.state_db import delete_cache
from support.core.protected import MEMORY, Protected

TEA = "## Tea\n\nLikes green tea in the morning.\n\n"
BOAT = "## Boat\n\nThe red boat lies in the harbour.\n"


def test_inserting_a_section_on_top_is_one_create(ada: Protected) -> None:
    ada.write("MEMORY.md", MEMORY.replace("# Memory\n\n", "# Memory\n\n## New\n\nSomething new.\n\n"))
    report = ada.capture()
    assert dict(report.records) == {"created": 1}
    assert ada.operations() == [("create", "## New\n\nSomething new.\n\n")]


def test_joining_the_memories_of_a_file_gives_its_text(ada: Protected) -> None:
    assert "".join(ada.texts("raw/openclaw/MEMORY.md")) == MEMORY


def test_an_edited_section_keeps_its_identity(ada: Protected) -> None:
    before = ada.memories()[TEA]
    ada.write("MEMORY.md", MEMORY.replace("green tea", "black coffee with nothing else in common"))
    report = ada.capture()
    assert dict(report.records) == {"updated": 1}
    after = next(one for text, one in ada.memories().items() if text.startswith("## Tea"))
    assert after["id"] == before["id"]
    assert after["temporal"]["created_at"] == before["temporal"]["created_at"]


def test_a_renamed_heading_keeps_its_identity_by_its_words(ada: Protected) -> None:
    before = ada.memories()[TEA]
    ada.write("MEMORY.md", MEMORY.replace("## Tea", "## Breakfast"))
    assert dict(ada.capture().records) == {"updated": 1}
    assert ada.memories()[TEA.replace("## Tea", "## Breakfast")]["id"] == before["id"]


def test_a_removed_section_is_deleted_in_place(ada: Protected) -> None:
    before = ada.memories()[TEA]
    ada.write("MEMORY.md", MEMORY.replace(TEA, ""))
    assert dict(ada.capture().records) == {"deleted": 1}
    assert ada.operations() == [("delete", TEA)]
    dead = next(one for one in ada.records() if one["id"] == before["id"])
    assert dead["status"] == "deleted"
    assert TEA not in ada.memories()


def test_a_section_that_moves_to_another_file_is_the_same_memory(ada: Protected) -> None:
    before = ada.memories()[TEA]
    ada.write("MEMORY.md", MEMORY.replace(TEA, ""))
    ada.write("memory/drinks.md", TEA)
    report = ada.capture()
    assert not report.records
    assert ada.memories()[TEA] == before


def test_a_renamed_file_changes_no_memory(ada: Protected) -> None:
    ada.write("memory/a.md", "# Note\n\nOne fact about the lighthouse.\n")
    ada.capture()
    before = ada.memories()
    (ada.workspace / "memory/a.md").rename(ada.workspace / "memory/b.md")
    report = ada.capture()
    assert not report.records and report.raw == {"put": 1, "removed": 1}
    assert ada.memories() == before


def test_a_line_that_comes_back_is_the_memory_it_was(ada: Protected) -> None:
    before = ada.memories()[TEA]
    ada.write("MEMORY.md", MEMORY.replace(TEA, ""))
    ada.capture()
    ada.clock.advance(days=3)
    ada.write("MEMORY.md", MEMORY)
    assert ada.capture().records == {"created": 1}
    assert ada.memories()[TEA]["id"] == before["id"]
    assert ada.operations() == [("update", TEA)]


def test_after_30_days_it_is_a_new_memory_under_another_id(ada: Protected) -> None:
    before = ada.memories()[TEA]
    ada.write("MEMORY.md", MEMORY.replace(TEA, ""))
    ada.capture()
    ada.clock.advance(days=31)
    ada.write("MEMORY.md", MEMORY)
    ada.capture()
    assert ada.memories()[TEA]["id"] != before["id"]


def test_two_equal_sections_are_two_memories(ada: Protected) -> None:
    ada.write("memory/one.md", "## Same\n\nText.\n## Same\n\nText.\n")
    ada.capture()
    listed = (ada.meta("raw/openclaw/memory/one.md") or {})["records"]
    assert len(set(listed)) == 2
    ada.write("memory/one.md", "## Same\n\nText.\n")
    assert ada.capture().records == {"deleted": 1}


def test_a_memory_that_must_not_go_silently_is_archived(ada: Protected) -> None:
    ada.write("memory/rules.md", "# Rules\n\nNever sail alone in fog.\n")
    ada.capture()
    rule = ada.memories()["# Rules\n\nNever sail alone in fog.\n"]
    assert rule["memory_type"] == "procedural"
    (ada.workspace / "memory/rules.md").unlink()
    ada.capture()
    kept = next(one for one in ada.records() if one["id"] == rule["id"])
    assert kept["status"] == "archived" and kept[memory_records.MISSING] is True
    ada.write("memory/rules.md", "# Rules\n\nNever sail alone in fog.\n")
    ada.capture()
    assert ada.memories()["# Rules\n\nNever sail alone in fog.\n"]["id"] == rule["id"]


def test_a_daily_log_is_dated_by_its_name(ada: Protected) -> None:
    ada.write("memory/2026-11-03.md", "# Day\n\nWind from the west.\n")
    ada.capture()
    temporal = ada.memories()["# Day\n\nWind from the west.\n"]["temporal"]
    assert temporal["created_at"] == temporal["observed_at"] == "2026-11-03T00:00:00.000Z"


def test_the_first_capture_seals_past_quarters(tmp_path: Path) -> None:
    ada = Protected(tmp_path)
    ada.write("memory/2026-02-03.md", "# Day\n\nSnow on the deck.\n")
    report = ada.add()
    assert report.sealed == ["memory/partitions/2026-Q1.jsonl"]
    partitions = ada.document(archive_layout.MANIFEST)["partitions"]
    assert [(one["file"][-13:], one["sealed"], one["to"]) for one in partitions] == [
        ("2026-Q1.jsonl", True, "2026-03-31"),
        ("2026-Q4.jsonl", False, None),
    ]


def test_a_late_arrival_does_not_open_a_sealed_quarter(ada: Protected) -> None:
    ada.write("memory/2026-02-03.md", "# Day\n\nSnow on the deck.\n")
    ada.capture()
    record = ada.memories()["# Day\n\nSnow on the deck.\n"]
    assert record["temporal"]["observed_at"] == "2026-02-03T00:00:00.000Z"
    assert record["temporal"]["created_at"].startswith("2026-11-12T")


@pytest.fixture
def winter(tmp_path: Path) -> Protected:
    """Return an agent with a memory in a sealed quarter."""
    made = Protected(tmp_path)
    made.write("memory/2026-02-03.md", "# Day\n\nSnow on the deck.\n\n## Harbour\n\nThe crane is broken.\n")
    made.add()
    return made


def test_an_edit_of_a_sealed_memory_appends_a_successor(winter: Protected) -> None:
    old = winter.memories()["## Harbour\n\nThe crane is broken.\n"]
    winter.write("memory/2026-02-03.md", "# Day\n\nSnow on the deck.\n\n## Harbour\n\nThe crane works.\n")
    winter.capture()
    new = winter.memories()["## Harbour\n\nThe crane works.\n"]
    assert new["supersedes"] == old["id"]
    assert new["temporal"]["observed_at"] == "2026-02-03T00:00:00.000Z"
    assert old in winter.records()
    assert "".join(winter.texts("raw/openclaw/memory/2026-02-03.md")) == winter.read("memory/2026-02-03.md")


def test_an_insertion_behind_a_sealed_memory_appends_nothing_but_itself(winter: Protected, tmp_path: Path) -> None:
    """The blank line before a new heading belongs to the section above, but the sealed memory gets no
    successor for it."""
    before = winter.memories()["## Harbour\n\nThe crane is broken.\n"]
    winter.write("memory/2026-02-03.md", winter.read("memory/2026-02-03.md") + "\n## Later\n\nThe crane is gone.\n")
    assert dict(winter.capture().records) == {"created": 1}
    assert winter.memories()["## Harbour\n\nThe crane is broken.\n"] == before
    with open_plan(winter.context, winter.agent, tmp_path / "elsewhere", RestoreOptions()) as plan:
        carry_out_plan(winter.context, plan)
    assert (tmp_path / "elsewhere/memory/2026-02-03.md").read_text() == winter.read("memory/2026-02-03.md")


def test_blank_lines_around_an_open_memory_are_followed_in_place(ada: Protected) -> None:
    before = ada.memories()[BOAT]
    ada.write("MEMORY.md", MEMORY + "\n## Later\n\nThe boat is painted.\n")
    assert dict(ada.capture().records) == {"created": 1, "updated": 1}
    assert ada.memories()[BOAT + "\n"]["id"] == before["id"]
    assert "".join(ada.texts("raw/openclaw/MEMORY.md")) == ada.read("MEMORY.md")


def test_a_second_edit_follows_the_first(winter: Protected) -> None:
    for word in ("works", "creaks"):
        winter.write("memory/2026-02-03.md", f"# Day\n\nSnow on the deck.\n\n## Harbour\n\nThe crane {word}.\n")
        winter.capture()
    assert [text for text in winter.memories() if "Harbour" in text] == ["## Harbour\n\nThe crane creaks.\n"]
    assert len([one for one in winter.records() if one.get("supersedes")]) == 1


def test_a_deletion_of_a_sealed_memory_appends_a_tombstone_and_it_can_come_back(winter: Protected) -> None:
    text = winter.read("memory/2026-02-03.md")
    old = winter.memories()["## Harbour\n\nThe crane is broken.\n"]
    winter.write("memory/2026-02-03.md", "# Day\n\nSnow on the deck.\n\n")
    winter.capture()
    tomb = next(one for one in winter.records() if one.get("supersedes") == old["id"])
    assert (tomb["content"], tomb["status"]) == (memory_records.TOMBSTONE, "deleted")
    winter.write("memory/2026-02-03.md", text)
    winter.capture()
    back = winter.memories()["## Harbour\n\nThe crane is broken.\n"]
    assert back["id"] == tomb["id"] and back["supersedes"] == old["id"]
    winter.write("memory/2026-02-03.md", text.replace("broken", "painted"))
    winter.capture()
    assert [one for one in winter.memories() if "Harbour" in one] == ["## Harbour\n\nThe crane is painted.\n"]


def test_a_new_quarter_seals_the_last_one(ada: Protected) -> None:
    sealed: list[str] = []
    for _ in range(8):
        ada.clock.advance(days=7)
        ada.write("memory/week.md", f"# Week\n\nNothing new until {ada.clock.now():%d %B}.\n")
        sealed += ada.capture().sealed
    assert ada.clock.now().year == 2027
    assert sealed == ["memory/partitions/2026-Q4.jsonl"]
    assert [one["sealed"] for one in ada.document(archive_layout.MANIFEST)["partitions"]] == [True, False]


def test_a_clock_ten_years_ahead_seals_nothing(ada: Protected) -> None:
    ada.clock.jump(days=3650)
    ada.write("MEMORY.md", MEMORY + "\n## New\n\nText.\n")
    report = ada.capture()
    assert report.changed and report.sealed == []
    assert not any(one["sealed"] for one in ada.document(archive_layout.MANIFEST)["partitions"])


def test_identity_and_profile_get_versions_and_history(ada: Protected) -> None:
    ada.write("IDENTITY.md", "- **Name:** Ada\n")
    ada.write("USER.md", "# USER.md\n\n- **Name:** Mira\n- **Timezone:** Europe/Oslo\n")
    ada.capture()
    first = ada.document(archive_layout.IDENTITY)
    ada.write("IDENTITY.md", "- **Name:** Ada Byron\n")
    ada.write("USER.md", "# USER.md\n\n- **Name:** Mira L.\n- **Timezone:** Europe/Oslo\n")
    profile = ada.document(archive_layout.PRINCIPALS)["principals"][0]["profile"]
    ada.capture()
    second = ada.document(archive_layout.IDENTITY)
    assert second["version"] == first["version"] + 1 and second["id"] == first["id"]
    assert ada.document(archive_layout.identity_history(first["version"])) == first
    newer = ada.document(archive_layout.PRINCIPALS)["principals"][0]["profile"]
    assert newer["version"] == profile["version"] + 1 and newer["id"] == profile["id"]
    assert ada.document(archive_layout.profile_history(profile["id"], profile["version"])) == profile


def test_going_back_to_an_old_identity_is_a_new_version(ada: Protected) -> None:
    texts = ("- **Name:** Ada\n", "- **Name:** Bea\n", "- **Name:** Ada\n")
    versions = []
    for text in texts:
        ada.write("IDENTITY.md", text)
        ada.capture()
        versions.append(ada.document(archive_layout.IDENTITY)["version"])
    assert versions == sorted(set(versions))


def test_a_memory_carries_the_identity_it_was_made_under(ada: Protected) -> None:
    version = ada.document(archive_layout.IDENTITY)["version"]
    ada.write("IDENTITY.md", "- **Name:** Ada Byron\n")
    ada.write("memory/one.md", "# One\n\nA fact.\n")
    ada.capture()
    made = ada.memories()["# One\n\nA fact.\n"]["source"]["identity_version"]
    assert made == ada.document(archive_layout.IDENTITY)["version"] == version + 1
    assert ada.memories()[TEA]["source"]["identity_version"] == version


def test_what_is_known_of_the_user_belongs_to_the_principal(ada: Protected) -> None:
    ada.write("USER.md", "# USER.md\n\n- **Name:** Mira\n\n<!-- observed: 2026-11-01 -->\nPrefers short mails.\n")
    ada.capture()
    principal = ada.document(archive_layout.PRINCIPALS)["principals"][0]["id"]
    spaces = {one["namespace"] for one in ada.memories().values() if one["source"].get("origin") == "user_md"}
    assert spaces == {f"principal_context:{principal}"}


def test_ids_are_version_7_of_their_time_and_do_not_follow_from_the_content_alone(tmp_path: Path) -> None:
    agents = [Protected(tmp_path / name) for name in ("one", "two")]
    found = []
    for ada in agents:
        ada.add()
        found.append({text: one["id"] for text, one in ada.memories().items()})
        assert all(ids.is_version_7(one) for one in found[-1].values())
    assert found[0].keys() == found[1].keys()
    assert all(found[0][text] != found[1][text] for text in found[0])


def test_ids_are_the_same_with_and_without_the_caches(ada: Protected) -> None:
    ada.write("MEMORY.md", MEMORY.replace(TEA, ""))
    ada.capture()
    before = {one["id"] for one in ada.records()}
    delete_cache(ada.context.home.state_file(ada.agent.id))
    ada.write("MEMORY.md", MEMORY)
    ada.capture()
    assert {one["id"] for one in ada.records()} == before


def test_a_note_that_is_no_utf8_is_kept_whole_and_can_be_read(ada: Protected) -> None:
    ada.write("memory/latin.md", "# Caf\xe9\n\nText.\n".encode("latin-1"))
    ada.capture()
    assert ada.body("raw/openclaw/memory/latin.md") == b"# Caf\xe9\n\nText.\n"
    assert any(text.startswith("# Caf\N{REPLACEMENT CHARACTER}") for text in ada.memories())


def test_an_edit_takes_new_tags_and_keeps_those_from_elsewhere(ada: Protected) -> None:
    ada.write("memory/tags.md", "# Plan\n\nBuy rope #harbour\n")
    ada.capture()
    assert ada.memories()["# Plan\n\nBuy rope #harbour\n"]["tags"] == ["harbour"]
    ada.write("memory/tags.md", "# Plan\n\nBuy rope #market\n")
    ada.capture()
    assert ada.memories()["# Plan\n\nBuy rope #market\n"]["tags"] == ["market"]
