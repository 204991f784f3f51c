"""Purges of what runtimes keep outside notes: rows of a database with vectors, large files; and what another runtime
gets of a purged agent."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from lifeboat_core.agents import manage_agents
from lifeboat_core.agents.agent import Agent
from lifeboat_core.memories.memory_search import search_memories
from lifeboat_core.restore import RestoreOptions, restore_agent
from support.adapters.zeroclaw_installs import packed
from support.core.machines import Machine
from support.core.purged import SCANNER, TEXT, bodies, everything, leaks_below, leaks_in, purge, request, same
from support.core.zeroclaw_protected import ProtectedClaw

LATELY = "2026-11-10T08:00:00+00:00"
TEA, FIRST, SECOND, BOAT = packed(0.1, 0.2), packed(1.5, 2.5), packed(3.5, 4.5), packed(0.3, 0.4)


class Claw(ProtectedClaw):
    """A ZeroClaw agent with the helpers of a purge."""

    @property
    def known_agent(self) -> Agent:
        return manage_agents.load_agent(self.context, self.agent.id)


@pytest.fixture
def eva(tmp_path: Path) -> Claw:
    """Return an agent whose row came with the second sequence, and another text and vector with the third; the fourth
    is about other things."""
    made = Claw(tmp_path / "laptop")
    for pair in (("embedding_provider", "openai"), ("embedding_model", "example"), ("embedding_dimensions", "2")):
        made.install.execute("insert into memory_meta values (?, ?)", *pair)
    made.install.remember("tea", "Likes green tea", created_at=LATELY, embedding=TEA)
    made.add()
    made.install.remember("pass", TEXT, created_at=LATELY, embedding=FIRST)
    made.capture()
    made.install.execute("update memories set content = ?, embedding = ? where key = 'pass'", f"{TEXT} Yes.", SECOND)
    made.capture()
    made.install.remember("boat", "The red boat", created_at=LATELY, embedding=BOAT)
    made.capture()
    return made


def held(eva: Claw) -> Iterator[bytes]:
    """Return every body of the history, decoded."""
    with eva.context.vault(eva.agent.id) as vault:
        yield from (body for _, body in bodies(vault))


def by_id(eva: Claw) -> dict[str, Any]:
    return {"text": None, "records": [str(eva.memories()[f"{TEXT} Yes."]["id"])]}


@pytest.mark.parametrize("named", ["text", "record", "passage"])
def test_the_vectors_of_a_row_go_with_it_at_every_sequence(eva: Claw, named: str) -> None:
    with eva.context.vault(eva.agent.id) as vault:
        before = everything(vault)
    assert all(any(vector in body for body in held(eva)) for vector in (TEA, FIRST, SECOND, BOAT))
    chosen: dict[str, Any] = {"text": {}, "record": by_id(eva), "passage": {"passage": True}}
    purge(eva, request(**chosen[named]))  # type: ignore[arg-type]
    assert [vector for vector in (FIRST, SECOND) if any(vector in body for body in held(eva))] == []
    assert all(any(vector in body for body in held(eva)) for vector in (TEA, BOAT))
    with eva.context.vault(eva.agent.id) as vault:
        assert leaks_in(vault) == []
        now = everything(vault)
    assert {number: digest for number, (digest, _) in now.items()} == {n: digest for n, (digest, _) in before.items()}
    assert leaks_below(eva.folder / "home") == []


def test_a_row_that_still_is_in_the_database_is_captured_no_more(eva: Claw) -> None:
    purge(eva, request())
    assert f"{TEXT} Yes." in [row["content"] for row in eva.install.rows()]
    assert eva.capture().outcome == "unchanged"
    eva.install.execute("update memories set importance = 0.9 where key = 'pass'")
    eva.capture()
    with eva.context.vault(eva.agent.id) as vault:
        assert leaks_in(vault) == []
    assert search_memories(eva.context, eva.agent, "passport") == []
    assert set(eva.memories()) == {"Likes green tea", "The red boat"}


@pytest.mark.parametrize("number", [0, 1, 2, 3])
def test_a_database_that_is_restored_lacks_the_row_and_has_the_others(eva: Claw, tmp_path: Path, number: int) -> None:
    purge(eva, request())
    to = tmp_path / "new" / ".zeroclaw" / "agents" / "default" / "workspace"
    restore_agent(eva.context, eva.known_agent, RestoreOptions(at=number, to=to, reindex=False))
    assert leaks_below(tmp_path / "new") == []
    assert contents_below(tmp_path / "new") == {"Likes green tea", *(["The red boat"] if number == 3 else [])}


def contents_below(folder: Path) -> set[str]:
    """Return what the memory database of a restored state directory says."""
    [database] = folder.rglob("brain.db")
    with closing(sqlite3.connect(database)) as connection:
        return {row[0] for row in connection.execute("select content from memories")}


# Another runtime ----------------------------------------------------------------------------------------------------


def ada_in(folder: Path) -> Machine:
    machine = Machine(folder / "laptop")
    machine.add(name="ada")
    machine.write("MEMORY.md", f"{machine.read('MEMORY.md')}\n## Passport\n\n{TEXT}\n")
    machine.write("notes/trip.txt", f"before\n{TEXT}\nafter\n")
    machine.capture()
    return machine


@pytest.mark.parametrize("runtime", ["zeroclaw", "openclaw"])
@pytest.mark.parametrize("passage", [False, True], ids=["whole", "passage"])
def test_another_runtime_gets_nothing_of_it(tmp_path: Path, runtime: str, passage: bool) -> None:
    ada = ada_in(tmp_path)
    purge(ada, request(passage=passage))
    to = tmp_path / "new" / f".{runtime}" / "agents" / "ada" / "workspace"
    restore_agent(ada.context, ada.known_agent, RestoreOptions(at=1, to=to, runtime=runtime, reindex=False))
    assert leaks_below(tmp_path / "new") == []
    if runtime == "zeroclaw":
        assert any("green tea" in content for content in contents_below(tmp_path / "new"))


# Large files --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("large", [f"{'x' * 70}\n" * 8000 + TEXT + "\n", "y" * 200_000 + f"\n{TEXT}\n" + "z" * 600_000])
def test_a_large_file_loses_the_text_and_keeps_the_rest_at_every_sequence(tmp_path: Path, large: str) -> None:
    ada = ada_in(tmp_path)
    ada.write("data/large.txt", large)
    ada.capture()
    meta = ada.meta("artifacts/data/large.txt")
    assert meta is not None and meta["attachment"]["tier"] == 3
    ada.clock.advance(days=2)  # large files are captured again after a while
    ada.write("data/large.txt", large + "and more\n")
    ada.capture()
    with ada.context.vault(ada.agent.id) as vault:
        before = everything(vault)
    purge(ada, request(workspace=True))
    with ada.context.vault(ada.agent.id) as vault:
        now = everything(vault)
        assert same(before, now)
        assert leaks_in(vault) == []
        for number, line in ((2, ""), (3, "and more\n")):
            assert vault.state(number).body("artifacts/data/large.txt") == (large.replace(TEXT, "") + line).encode()
    assert leaks_below(ada.folder) == []


def test_a_large_binary_that_holds_it_loses_all_of_its_bytes(tmp_path: Path) -> None:
    ada = ada_in(tmp_path)
    ada.write("film.bin", bytes(range(256)) * 2000 + TEXT.encode() + bytes(range(256)))
    ada.capture()
    purge(ada, request())
    with ada.context.vault(ada.agent.id) as vault:
        assert vault.state().body("artifacts/film.bin") == b""
    assert SCANNER.folders(ada.folder / "home") == []
