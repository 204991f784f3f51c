"""Purges of the beginning, the middle and the top of a chain across ended periods: the purged text is in no view of the
agent, and no older text becomes the memory again, at any sequence."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from lifeboat_alf.memory.effective_view import visible_records
from lifeboat_alf.snapshot import write_snapshot
from lifeboat_core.errors import UnknownRecord
from lifeboat_core.exchange import export_agent
from lifeboat_core.memories import edit_records
from lifeboat_core.memories.memory_search import search_memories
from lifeboat_core.restore import RestoreOptions, restore_agent
from lifeboat_vault.legacy.legacy_state import legacy_view
from support.alf.archive_files import ArchiveFile
from support.alf.raising import raises_code
from support.core.machines import Machine
from support.core.purged import bodies, purge, request

FILE = "memory/2026-11-11.md"
TEXTS = (
    "The passport lies in the drawer by the window.",
    "The passport lies in the oven by the window.",
    "The passport lies in the safe by the window.",
)
PLACES = ("beginning", "middle", "top")


@dataclass(frozen=True)
class Purged:
    """An agent of whose chain one version was named. `gone` are the versions that have to be removed; `before` is the
    visible text of the chain at each sequence; `ids` are those of its versions, the oldest first."""

    ada: Machine
    place: int
    only: bool
    ids: list[str]
    before: dict[int, list[str]]

    @property
    def gone(self) -> set[str]:
        return {TEXTS[self.place]} if self.only else set(TEXTS)

    @property
    def left(self) -> set[str]:
        return set(TEXTS) - self.gone


def grown(folder: Path) -> Machine:
    """Make one memory in three versions, each in another quarter, and after each a sequence about something else."""
    made = Machine(folder / "laptop")
    for number, text in enumerate(TEXTS):
        made.write(FILE, f"# Day\n\n## Papers\n\n{text}\n")
        if number == 0:
            made.add(name="ada")
        else:
            made.capture()
        made.write("notes.txt", f"note {number}\n")
        made.capture()
        made.clock.advance(days=100)
    made.capture()  # the period has ended
    return made


def purged_of(ada: Machine, place: int, only: bool) -> Purged:
    made = Purged(ada, place, only, chain(ada), {number: visible(ada, number) for number in numbers(ada)})
    purge(ada, request(text=None, records=[made.ids[place]], only=only))
    return made


@pytest.fixture(
    scope="module",
    params=[(place, only) for place in range(3) for only in (False, True)],
    ids=[f"{place}, {kind}" for place in PLACES for kind in ("whole", "only")],
)
def story(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Purged:
    return purged_of(grown(tmp_path_factory.mktemp("chain")), *request.param)


def chain(ada: Machine) -> list[str]:
    return [record["id"] for record in ada.records() if "passport" in record["content"]]


def numbers(ada: Machine) -> list[int]:
    with ada.context.vault(ada.agent.id) as vault:
        return [row.number for row in vault.sequences()]


def visible(ada: Machine, number: int | None = None) -> list[str]:
    """Return what the agent has as a memory of the passport."""
    with ada.context.vault(ada.agent.id) as vault:
        found = [one.record["content"] for one in visible_records(vault.state(number))]
    return [text for text in TEXTS if any(text in content for content in found)]


def said(data: bytes) -> set[str]:
    return {text for text in TEXTS if text.encode() in data}


def test_nothing_older_is_the_memory_again_at_any_sequence(story: Purged) -> None:
    assert [len(texts) for texts in story.before.values()] == [1] * len(story.before)
    assert {one for texts in story.before.values() for one in texts} == set(TEXTS)
    expected = {number: [text for text in texts if text in story.left] for number, texts in story.before.items()}
    assert {number: visible(story.ada, number) for number in numbers(story.ada)} == expected


def test_the_purged_versions_are_in_no_body_of_the_history(story: Purged) -> None:
    with story.ada.context.vault(story.ada.agent.id) as vault:
        found = list(bodies(vault))
    assert said(b"\n".join(body for name, body in found if name.startswith("record "))) == story.left
    assert story.only or said(b"\n".join(body for _, body in found)) == set()


def test_search_finds_the_newest_of_what_is_left_or_nothing(story: Purged) -> None:
    found = search_memories(story.ada.context, story.ada.agent, "passport")
    assert len(found) == len(visible(story.ada)) == (1 if story.only and story.place != 2 else 0)


def test_a_purged_version_is_shown_by_none_of_the_ids(story: Purged) -> None:
    """An id names the present version of its chain."""
    for record_id in story.ids:
        if visible(story.ada):
            shown = str(edit_records.show_records(story.ada.context, story.ada.agent, [record_id]))
            assert said(shown.encode()) == set(visible(story.ada))
        else:
            with raises_code(UnknownRecord.PURGED):
                edit_records.show_records(story.ada.context, story.ada.agent, [record_id])


def test_restored_files_hold_nothing_of_a_whole_chain(story: Purged, tmp_path: Path) -> None:
    for number in numbers(story.ada):
        to = tmp_path / f"restored-{number}"
        restore_agent(story.ada.context, story.ada.known_agent, RestoreOptions(at=number, to=to, reindex=False))
        files = said(b"".join(file.read_bytes() for file in to.rglob("*") if file.is_file()))
        assert files <= story.left


def test_older_clients_get_nothing_older_either(story: Purged) -> None:
    for number in numbers(story.ada):
        lines = b"\n".join(memory_of_older_clients(story.ada, number))
        assert said(lines) <= set(visible(story.ada, number))


def memory_of_older_clients(ada: Machine, number: int) -> Iterator[bytes]:
    out = io.BytesIO()
    with ada.context.vault(ada.agent.id) as vault:
        write_snapshot(legacy_view(vault.state(number)), out)
    with zipfile.ZipFile(out) as archive:
        yield from (archive.read(name) for name in archive.namelist() if name.endswith(".jsonl"))


def test_an_export_holds_what_is_left_and_no_more(story: Purged, tmp_path: Path) -> None:
    target = tmp_path / "ada.alf"
    export_agent(story.ada.context, "openclaw", story.ada.workspace, target)
    archive = ArchiveFile(target)
    assert said(str(archive.records).encode()) == story.left
    assert said(str(archive.active).encode()) == set(visible(story.ada))
    assert story.only or said(b"".join(archive.bodies.values())) == set()


@pytest.mark.parametrize(("place", "only"), [(1, False), (2, True)])
def test_what_is_written_of_it_later_is_a_memory_and_nothing_older_stands_beside_it(
    tmp_path: Path, place: int, only: bool
) -> None:
    ada = purged_of(grown(tmp_path), place, only).ada
    ada.write(FILE, "# Day\n\n## Papers\n\nThe passport lies in the boat by the harbour.\n")
    ada.capture()
    found = search_memories(ada.context, ada.agent, "passport")
    assert found and all("boat" in hit.snippet for hit in found)
    assert visible(ada) == []
