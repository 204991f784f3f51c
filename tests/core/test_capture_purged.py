"""Purged text that is still in the live workspace is kept out of every capture, and nothing else is."""

from __future__ import annotations

from pathlib import Path

import pytest

from lifeboat_alf.common import json_codec
from lifeboat_alf.memory.embeddings import StateVectors
from lifeboat_alf.states import entry_metas
from lifeboat_cli.agents import path_coverage
from lifeboat_core.errors import UnknownRecord
from lifeboat_core.health.status_gathering import gather_status
from lifeboat_core.memories import edit_records
from lifeboat_core.memories.memory_search import search_memories
from lifeboat_core.purge import keep_out
from lifeboat_core.purge.keep_out import KeepOut
from lifeboat_core.restore import RestoreOptions, restore_agent
from support.adapters.zeroclaw_installs import packed
from support.alf.raising import raises_code
from support.core.protected import Protected
from support.core.purged_here import holding, purge
from support.core.zeroclaw_protected import ProtectedClaw
from support.prepared_folders import PreparedFolders

PASSPORT = "The passport number is C01X00T47 for now."
NOTES = f"# Notes\n\n## Travel\n\n{PASSPORT}\n\n## Food\n\nRice and beans.\n"
LATELY = "2026-11-10T08:00:00+00:00"


@pytest.fixture
def ada(prepared_folders: PreparedFolders) -> Protected:
    return prepared_folders.restore("agent with a day of notes", _agent_with_notes)


def _agent_with_notes(folder: Path) -> Protected:
    made = Protected(folder)
    made.write("memory/2026-11-11.md", NOTES)
    made.add()
    return made


def id_of(ada: Protected, text: str) -> str:
    return next(str(record["id"]) for content, record in ada.memories().items() if text in content)


def left(ada: Protected | ProtectedClaw, text: str) -> list[str]:
    with ada.context.vault(ada.agent.id) as vault:
        return holding(vault, text)


def test_a_capture_of_a_dirty_workspace_makes_no_sequence(ada: Protected) -> None:
    purge(ada, id_of(ada, "passport"))
    report = ada.capture()
    assert (report.outcome, left(ada, "C01X00T47")) == ("unchanged", [])


def test_a_purged_text_in_files_makes_no_sequence_either(ada: Protected) -> None:
    purge(ada, texts=["C01X00T47"], passage=True)
    report = ada.capture()
    assert (report.outcome, left(ada, "C01X00T47")) == ("unchanged", [])


def test_the_capture_says_where_lines_are_kept_out(ada: Protected) -> None:
    purge(ada, texts=["C01X00T47"])
    report = ada.capture()
    assert set(report.kept_out) == {"raw/openclaw/memory/2026-11-11.md"}


def test_status_says_in_which_files_it_still_lies(ada: Protected) -> None:
    purge(ada, texts=["C01X00T47"])
    ada.capture()
    (said,) = [reason for reason in gather_status(ada.context).agents[0].reasons if "purged" in reason]
    assert ("memory/2026-11-11.md" in said, "C01X00T47" in said) == (True, False)


def test_nothing_that_is_reported_holds_the_text(ada: Protected) -> None:
    purge(ada, texts=["C01X00T47"])
    assert "C01X00T47" not in str(ada.capture().to_json())


def test_a_file_that_is_edited_otherwise_is_captured_without_the_purged_line(ada: Protected) -> None:
    purge(ada, texts=["C01X00T47"])
    ada.write("memory/2026-11-11.md", NOTES.replace("Rice", "Bread"))
    assert (ada.capture().outcome, left(ada, "C01X00T47")) == ("captured", [])
    assert b"Bread and beans." in ada.body("raw/openclaw/memory/2026-11-11.md")


def test_a_purged_line_in_another_file_stays_out(ada: Protected) -> None:
    purge(ada, texts=["C01X00T47"])
    ada.write("memory/2026-11-12.md", f"# Day\n\n  {PASSPORT}  \n\nSunny.\n")
    ada.capture()
    assert left(ada, "C01X00T47") == []
    assert b"Sunny." in ada.body("raw/openclaw/memory/2026-11-12.md")


def test_a_purged_line_in_a_string_of_a_log_stays_out(ada: Protected) -> None:
    purge(ada, texts=["C01X00T47"])
    ada.write("notes/log.jsonl", json_codec.encode_json({"role": "user", "text": f"Hello\n{PASSPORT}\nBye"}) + b"\n")
    ada.capture()
    assert (left(ada, "C01X00T47"), len(left(ada, "Hello"))) == ([], 1)


def test_a_line_that_stands_elsewhere_stays_there(ada: Protected) -> None:
    ada.write("memory/2026-11-12.md", "# Day\n\n## Travel\n\nA walk.\n\n## Food\n\nRice and beans.\n")
    ada.capture()
    purge(ada, texts=["C01X00T47"])
    before = ada.body("raw/openclaw/memory/2026-11-12.md")
    assert (ada.capture().outcome, ada.body("raw/openclaw/memory/2026-11-12.md")) == ("unchanged", before)


def test_a_purged_memory_is_not_found_again(ada: Protected) -> None:
    purge(ada, id_of(ada, "passport"))
    ada.capture()
    assert search_memories(ada.context, ada.agent, "passport") == []


def test_a_purged_record_says_that_it_was_purged(ada: Protected) -> None:
    purged = id_of(ada, "passport")
    purge(ada, purged)
    with raises_code(UnknownRecord.PURGED):
        edit_records.show_records(ada.context, ada.agent, [purged])


def test_a_purged_text_that_is_written_again_does_not_come_back(ada: Protected) -> None:
    purge(ada, id_of(ada, "passport"))
    ada.write("memory/2026-11-11.md", "# Notes\n\n## Food\n\nRice and beans.\n")
    ada.capture()
    ada.write("memory/2026-11-11.md", NOTES)
    ada.capture()
    assert left(ada, "C01X00T47") == []


def test_the_list_of_what_is_kept_counts_no_purged_memory(ada: Protected) -> None:
    purge(ada, id_of(ada, "passport"))
    ada.capture()
    found = next(
        one for one in path_coverage.list_path_coverage(ada.context, ada.agent) if one.path.endswith("2026-11-11.md")
    )
    listed = len((ada.meta(found.path) or {})[entry_metas.RECORDS])
    assert (listed, found.why) == (3, "2 memories")


def test_a_second_purge_keeps_the_first_one_out(ada: Protected) -> None:
    purge(ada, texts=["C01X00T47"], passage=True)
    purge(ada, texts=["beans"], passage=True)
    assert (ada.capture().outcome, left(ada, "C01X00T47"), left(ada, "beans")) == ("unchanged", [], [])


def test_the_filter_ends_after_a_clean_month(ada: Protected) -> None:
    purge(ada, texts=["C01X00T47"])
    ada.write("memory/2026-11-11.md", "# Notes\n")
    ada.capture()
    ada.clock.advance(days=31)
    ada.capture(full=True)
    with ada.context.vault(ada.agent.id) as vault:
        assert vault.get(keep_out.FILTER) is None


def test_the_filter_stays_while_the_line_lies_there(ada: Protected) -> None:
    purge(ada, texts=["C01X00T47"])
    ada.capture()
    ada.clock.advance(days=60)
    ada.capture()
    assert left(ada, "C01X00T47") == []


def test_a_capture_whose_head_was_purged_meanwhile_begins_again(
    ada: Protected, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lifeboat_core.capture.capture_work import CaptureWork

    done: list[bool] = []
    guard = CaptureWork.guard

    def purging(work: CaptureWork) -> None:
        if not done:
            done.append(True)
            purge(ada, texts=["C01X00T47"])
        guard(work)

    monkeypatch.setattr(CaptureWork, "guard", purging)
    ada.write("memory/2026-11-12.md", f"# Day\n\n{PASSPORT}\n\nSunny.\n")
    assert (ada.capture().outcome, left(ada, "C01X00T47")) == ("captured", [])


def test_the_filter_holds_no_text(ada: Protected) -> None:
    purge(ada, texts=["C01X00T47"])
    with ada.context.vault(ada.agent.id) as vault:
        kept_out = str(vault.get(keep_out.FILTER))
    assert not [word for word in PASSPORT.split() if len(word) > 3 and word in kept_out]


def test_without_a_purge_there_is_no_filter(ada: Protected) -> None:
    with ada.context.vault(ada.agent.id) as vault:
        assert not KeepOut.of(ada.context, vault)


# Rows ---------------------------------------------------------------------------------------------------------------


@pytest.fixture
def eva(tmp_path: Path) -> ProtectedClaw:
    made = ProtectedClaw(tmp_path)
    made.install.remember("tea", "Likes green tea", created_at=LATELY)
    made.install.remember("pass", PASSPORT, created_at=LATELY)
    made.install.remember("pin", "483920", created_at=LATELY)
    made.add()
    return made


def test_a_row_with_a_purged_memory_makes_no_sequence(eva: ProtectedClaw) -> None:
    purge(eva, texts=["C01X00T47"])
    assert (eva.capture().outcome, left(eva, "C01X00T47")) == ("unchanged", [])


def test_a_row_with_a_short_purged_memory_makes_no_sequence(eva: ProtectedClaw) -> None:
    purge(eva, texts=["483920"])
    assert (eva.capture().outcome, left(eva, "483920")) == ("unchanged", [])


def test_other_rows_are_captured_beside_it(eva: ProtectedClaw) -> None:
    purge(eva, texts=["C01X00T47"])
    eva.install.remember("boat", "The red boat", created_at=LATELY)
    assert eva.capture().records == {"created": 1}
    assert set(eva.memories()) == {"Likes green tea", "The red boat", "483920"}


def test_a_row_that_lost_a_passage_makes_no_sequence(eva: ProtectedClaw) -> None:
    purge(eva, texts=["C01X00T47"], passage=True)
    assert (eva.capture().outcome, left(eva, "C01X00T47")) == ("unchanged", [])


def test_rows_are_told_of(eva: ProtectedClaw) -> None:
    purge(eva, texts=["C01X00T47"])
    assert sum(eva.capture().kept_out.values()) > 0


def test_the_vector_of_a_row_that_lost_a_passage_does_not_come_back(tmp_path: Path) -> None:
    made = ProtectedClaw(tmp_path)
    for key, value in {"provider": "example", "model": "text-example", "dimensions": "2"}.items():
        made.install.execute("insert or replace into memory_meta values (?, ?)", f"embedding_{key}", value)
    made.install.remember("pass", PASSPORT, embedding=packed(1.0, 2.0), created_at=LATELY)
    made.install.remember("tea", "Likes green tea", embedding=packed(3.0, 4.0), created_at=LATELY)
    made.add()
    purge(made, texts=["C01X00T47"], passage=True)
    assert made.capture().outcome == "unchanged"
    with made.context.vault(made.agent.id) as vault:
        found = StateVectors(vault.state())
        packs = [found.packed(record["id"], "example/text-example") for record in made.memories().values()]
    assert [data for data in packs if data is not None] == [packed(3.0, 4.0)]


# Beside secrets -----------------------------------------------------------------------------------------------------

KEY = "sk-example-orchard-not-a-real-key"
CONFIG = '{ models: { providers: { orchard: { apiKey: "%s" } } } }\n' % KEY  # noqa: UP031
BOTH = f"Use {KEY} with the passport C01X00T47, then wait.\n"


@pytest.fixture
def mia(tmp_path: Path) -> Protected:
    """Return an agent with a line that has a known secret and text to purge."""
    made = Protected(tmp_path, config=CONFIG)
    made.add()
    made.write("notes.txt", f"one\n{BOTH}two\n")
    made.capture()
    return made


@pytest.mark.parametrize("passage", [False, True])
def test_a_line_with_a_secret_in_it_is_known_as_it_was_kept(mia: Protected, passage: bool) -> None:
    purge(mia, texts=["C01X00T47"], passage=passage)
    mia.capture()
    assert (left(mia, "C01X00T47"), left(mia, KEY)) == ([], [])


def test_what_is_left_of_the_file_is_what_the_purge_left(mia: Protected) -> None:
    purge(mia, texts=["C01X00T47"], passage=True)
    before = mia.body("artifacts/notes.txt")
    mia.capture()
    assert mia.body("artifacts/notes.txt") == before


def test_after_a_capture_the_secret_comes_back_into_what_is_left(mia: Protected, tmp_path: Path) -> None:
    purge(mia, texts=["C01X00T47"], passage=True)
    for number in (1, mia.capture().sequence):
        aside = tmp_path / f"aside-{number}"
        chosen = RestoreOptions(at=number, to=aside, yes=True, reindex=False, with_credentials=True)
        restore_agent(mia.context, mia.agent, chosen)
        assert (aside / "notes.txt").read_text() == f"one\n{BOTH}two\n".replace("C01X00T47", "")


# In other words ------------------------------------------------------------------------------------------------------

CODE = "Juniper Quartz 7731 Harbour Lane 58"


@pytest.fixture
def coded(ada: Protected) -> Protected:
    ada.write("memory/2026-11-12.md", f"# Codes\n\nThe code of the boat is {CODE}, he says.\n")
    ada.capture()
    purge(ada, texts=[CODE], passage=True)
    ada.write("memory/2026-11-13.md", f"# Day\n\nHe told me: {CODE.upper()}.\n\nSunny.\n")
    return ada


def test_a_purged_value_in_other_words_is_cut_and_told_of(coded: Protected) -> None:
    report = coded.capture()
    assert report.kept_out["raw/openclaw/memory/2026-11-13.md"] == 1
    assert coded.body("raw/openclaw/memory/2026-11-13.md") == b"# Day\n\nHe told me: .\n\nSunny.\n"
    found = gather_status(coded.context).agents[0]
    assert "memory/2026-11-13.md" in str(found.kept_out)
    assert any("memory/2026-11-13.md" in reason for reason in found.reasons)


def test_a_purged_value_in_other_words_is_only_told_of_where_the_user_wants_that(coded: Protected) -> None:
    coded.context.home.config_file.write_text('[purge]\nagain = "notice"\n')
    report = coded.capture()
    assert report.purged_again == {"raw/openclaw/memory/2026-11-13.md": 1}
    assert CODE.upper().encode() in coded.body("raw/openclaw/memory/2026-11-13.md")
    found = gather_status(coded.context).agents[0]
    assert "memory/2026-11-13.md" in str(found.purged_again)
    assert any("purged text is in" in reason and "memory/2026-11-13.md" in reason for reason in found.reasons)


def test_a_purged_value_in_a_row_is_cut_in_other_words(tmp_path: Path) -> None:
    eva = ProtectedClaw(tmp_path)
    eva.install.remember("boat", f"The code of the boat is {CODE}", created_at=LATELY)
    eva.add()
    purge(eva, texts=[CODE], passage=True)
    eva.install.remember("again", f"He told me ({CODE}) again", created_at=LATELY)
    eva.capture()
    assert "He told me () again" in eva.memories()
    assert left(eva, CODE) == []


def test_no_digest_of_a_short_passage_is_kept_beside_its_key(eva: ProtectedClaw) -> None:
    purge(eva, texts=["C01X00T47"], passage=True)
    with eva.context.vault(eva.agent.id) as vault:
        kept_out = vault.get(keep_out.FILTER)
    assert (kept_out["bodies"], kept_out["lines"], kept_out["values"]) == ({}, {}, {})
