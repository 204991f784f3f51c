"""ALF §10.14 on every vault set-up: this disk, an endpoint in this process, one over HTTP, a sealed one, a folder that
is sealed and one that is plain. One machine has them all, and purges as its user does."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.testing.sample_states import quarter_file
from lifeboat_core.agents import manage_agents
from lifeboat_core.memories.memory_search import search_memories
from lifeboat_core.purge import purge_run, receipt_signing
from lifeboat_keys.errors import NoAgentKey
from lifeboat_vault.errors import AgentErased
from support.adapters.canaries import HEAD, TAIL
from support.alf.archive_files import ArchiveFile
from support.core.machines import Machine
from support.core.purged import purge, request
from support.core.vault_setups import ENDPOINTS, EVERYWHERE, HTTP, SECOND_COPIES, THIS_DISK, SetUps, every_kind

Q1, Q2, Q4 = (quarter_file(f"2026-{month}-04T08:00:00.000Z") for month in ("02", "05", "11"))
THREE = tuple(f"Old fact {HEAD} {number:03} {TAIL}." for number in (7, 50, 99))
SPREAD = ("Old fact number 001.", "Older fact 2.")
LATE = f"Late fact {HEAD} {TAIL}."
BEFORE, THREE_GONE, SPREAD_GONE, ALL_GONE = "before", "three of a hundred", "of two partitions", "of the current one"


@dataclass
class Story:
    """Three purges in a row; `archives` are the states 0 and 1 at every place after each, `purged` the id of each."""

    set_ups: SetUps
    ids: dict[str, list[str]]
    archives: dict[tuple[str, str, int], ArchiveFile] = field(default_factory=dict)
    purged: dict[str, str] = field(default_factory=dict)
    found_before: int = 0
    leaks_before: dict[str, int] = field(default_factory=dict)

    def look(self, folder: Path, after: str) -> None:
        for number, place in enumerate((*EVERYWHERE, *EVERYWHERE)):
            state, path = number // len(EVERYWHERE), folder / f"{after} {number}.alf"
            self.archives[place, after, state] = self.set_ups.archive(place, state, path)

    def partition(self, place: str, after: str, file: str, state: int = 1) -> JsonObject:
        return next(item for item in self.archives[place, after, state].partitions if item["file"] == file)


def facts(machine: Machine) -> None:
    """A hundred records in a sealed quarter, three in an older one; then some in the current one."""
    marked = {text.split()[3]: text for text in THREE}
    old = [marked.get(f"{number:03}", f"Old fact number {number:03}.") for number in range(100)]
    machine.write("memory/2026-05-04.md", "".join(f"## {place}\n\n{text}\n\n" for place, text in enumerate(old)))
    older = "".join(f"## {number}\n\nOlder fact {number}.\n\n" for number in range(3))
    machine.write("memory/2026-02-04.md", older)


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    folder = tmp_path_factory.mktemp("purged")
    machine = Machine(folder / "laptop")
    facts(machine)
    machine.add(name="ada")
    with every_kind(machine, folder / "there") as set_ups:
        set_ups.push()
        machine.write("memory/2026-11-12.md", f"## Late\n\n{LATE}\n\n## Tea\n\nGreen.\n")
        machine.capture()
        set_ups.push()
        by_text = {record["content"]: record["id"] for record in machine.records()}
        ids = {text: [one for said, one in by_text.items() if text in said] for text in (*THREE, *SPREAD, LATE)}
        made = Story(set_ups, ids)
        made.look(folder, BEFORE)
        made.found_before = len(search_memories(machine.context, machine.agent, HEAD))
        made.leaks_before = {place: len(set_ups.leaks(place)) for place in EVERYWHERE}
        for after, texts in ((THREE_GONE, THREE), (SPREAD_GONE, SPREAD), (ALL_GONE, (LATE,))):
            records = [one for text in texts for one in ids[text]]
            assert len(records) == len(texts)
            done = purge(machine, request(text=None, records=records), set_ups.owners)
            assert {each.name: each.state for each in done.remotes} == dict.fromkeys(SECOND_COPIES, "done")
            made.purged[after] = done.receipt
            made.look(folder, after)
        yield made


everywhere = pytest.mark.parametrize("place", EVERYWHERE)


@everywhere
def test_three_of_a_hundred_records_are_purged_from_a_vault(story: Story, place: str) -> None:
    archive, found = story.archives[place, THREE_GONE, 1], story.partition(place, THREE_GONE, Q2)
    assert story.partition(place, BEFORE, Q2)["record_count"] == 100
    data = archive.bodies[found["file"]]
    assert found["record_count"] == len(archive.lines(found["file"])) == 97
    assert found["checksum"] == f"sha256:{hashlib.sha256(data).hexdigest()}"
    assert [text for text in THREE for one in (text, *story.ids[text]) if one.encode() in data] == []
    assert [text for text in THREE for body in archive.bodies.values() if text.encode() in body] == []
    listed = story.set_ups.audit(place, story.purged[THREE_GONE])["record_ids"]
    assert listed == sorted(one for text in THREE for one in story.ids[text])


@everywhere
def test_nothing_that_was_purged_is_left_in_what_a_vault_stores(story: Story, place: str) -> None:
    """The old blobs are destroyed: files, inflated, decrypted, free pages of databases."""
    assert story.leaks_before[place], "the scan sees nothing at all"
    assert story.set_ups.leaks(place) == []


@everywhere
def test_records_of_two_partitions_are_purged_from_a_vault(story: Story, place: str) -> None:
    for state in (0, 1):
        counts = [story.partition(place, SPREAD_GONE, file, state)["record_count"] for file in (Q1, Q2)]
        assert counts == [2, 96]
    for text in SPREAD:
        assert not any(text.encode() in body for body in story.archives[place, SPREAD_GONE, 0].bodies.values())
    assert story.set_ups.audit(place, story.purged[SPREAD_GONE])["partitions_affected"] == [Q1, Q2]


@everywhere
def test_a_record_of_the_current_partition_is_purged_from_a_vault(story: Story, place: str) -> None:
    before, after = (story.partition(place, when, Q4)["record_count"] for when in (SPREAD_GONE, ALL_GONE))
    assert after == before - 1
    archive = story.archives[place, ALL_GONE, 1]
    assert not story.partition(place, ALL_GONE, Q4)["sealed"]
    assert not any(LATE.encode() in body for body in archive.bodies.values())
    assert story.ids[LATE][0] not in archive.bodies[Q4].decode()


@everywhere
def test_deltas_of_a_vault_hold_no_purged_record(story: Story, place: str) -> None:
    deltas = list(story.set_ups.deltas(place))
    assert deltas
    assert not any(LATE.encode() in delta for delta in deltas)


@everywhere
def test_the_search_of_a_machine_finds_no_purged_record(story: Story, place: str, tmp_path: Path) -> None:
    """Of the one that purged, and of one that gets the agent from the second copy and makes its index of that."""
    machine = story.set_ups.machine
    assert story.found_before == len(THREE) + 1
    if place != THIS_DISK:
        machine = reader_of(story, place, tmp_path)
    assert search_memories(machine.context, machine.agent, HEAD) == []
    assert search_memories(machine.context, machine.agent, "number 001") == []
    assert len(search_memories(machine.context, machine.agent, "number 002")) == 1


def reader_of(story: Story, place: str, folder: Path) -> Machine:
    """Another machine of the user, which knows this second copy alone."""
    laptop, other = story.set_ups.machine, Machine(folder / "desk")
    other.learn_words_of(laptop)
    known = laptop.remote(place)
    tokens = {HTTP: story.set_ups.running.token, "sealed": story.set_ups.blind.token}
    other.add_remote(place, known.url, token=tokens.get(place), sealed=known.sealed)
    other.bring_back(laptop.agent.id, folder / "moved", place, take_over=laptop.context.keys().own_name)
    return other


@everywhere
def test_who_knows_the_hash_of_a_partition_sees_that_a_vault_replaced_it(story: Story, place: str) -> None:
    def checksum(after: str, file: str) -> str:
        return str(story.partition(place, after, file, 0)["checksum"])

    assert checksum(THREE_GONE, Q2) != checksum(BEFORE, Q2)
    assert checksum(THREE_GONE, Q1) == checksum(BEFORE, Q1)
    assert checksum(SPREAD_GONE, Q1) != checksum(THREE_GONE, Q1)
    for state in (0, 1):
        bodies = {
            name: body for name, body in story.archives[THIS_DISK, ALL_GONE, state].bodies.items() if ".jsonl" in name
        }
        there = story.archives[place, ALL_GONE, state].bodies
        assert {name: there[name] for name in bodies} == bodies


@everywhere
@pytest.mark.parametrize("after", [THREE_GONE, SPREAD_GONE, ALL_GONE])
def test_the_audit_of_a_purge_from_a_vault_says_what_and_why_and_nothing_of_the_content(
    story: Story, place: str, after: str
) -> None:
    audit = story.set_ups.audit(place, story.purged[after])
    assert set(audit) == {
        "purge_id", "agent_id", "scope", "record_ids", "partitions_affected",
        "reason", "requested_at", "completed_at", "requested_by",
    }  # fmt: skip
    assert (audit["scope"], audit["reason"]) == ("record_purge", "user_request")
    said = json.dumps(audit)
    assert not [text for text in (*THREE, *SPREAD, LATE, "fact", HEAD, TAIL) if text in said]


# All of it ----------------------------------------------------------------------------------------------------------


@dataclass
class Ended:
    set_ups: SetUps
    receipt: str
    agent_id: str
    erased_here: Machine


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ended]:
    folder = tmp_path_factory.mktemp("erased")
    key = f"sk-{HEAD}-{TAIL}"
    config = f'{{ models: {{ providers: {{ orchard: {{ apiKey: "{key}" }} }} }} }}\n'
    machine = Machine(folder / "laptop", config=config)
    facts(machine)
    machine.add(name="ada")
    with every_kind(machine, folder / "there") as set_ups:
        set_ups.push()
        machine.write("memory/2026-11-12.md", f"## Late\n\n{LATE}\n")
        machine.capture()
        set_ups.push()
        done = purge_run.purge_agent(machine.context, machine.known_agent, "gdpr_article_17", set_ups.owners)
        assert {each.name: each.state for each in done.remotes} == dict.fromkeys(SECOND_COPIES, "done")
        yield Ended(set_ups, done.receipt, machine.agent.id, machine)


@everywhere
def test_all_of_an_agent_is_destroyed_in_a_vault(ended: Ended, place: str) -> None:
    """Partitions, identity, principals, credentials, deltas, index, snapshots; the audit says so without content."""
    machine, set_ups = ended.erased_here, ended.set_ups
    if place == THIS_DISK:
        assert manage_agents.list_agents(machine.context) == []
        assert not machine.context.home.vault_folder(ended.agent_id).exists()
        assert not machine.context.home.state_file(ended.agent_id).exists()
        with pytest.raises(NoAgentKey):
            machine.context.keys().agent_secret(ended.agent_id)
    else:
        with set_ups.remote(place) as remote:
            for work in (remote.snapshot, remote.keys, remote.agent):
                with pytest.raises(AgentErased):
                    work(ended.agent_id)
    assert stored(ended, place) == []
    audit = audit_of(ended, place)
    assert (audit["purge_id"], audit["scope"]) == (ended.receipt, "full_agent")
    assert "record_ids" not in audit
    assert audit["partitions_affected"] == [Q1, Q2, Q4]
    assert "fact" not in json.dumps(audit) and HEAD not in json.dumps(audit)


def stored(ended: Ended, place: str) -> list[str]:
    """What is left of it there, the signed head of a log aside."""
    set_ups = ended.set_ups
    if place in (*ENDPOINTS, THIS_DISK):
        folders = {"process": set_ups.folder / "process", HTTP: set_ups.running.data}
        folder = folders.get(place, ended.erased_here.folder / "home" / "vault" / "agents")
        return [str(path) for path in folder.rglob("*") if ended.agent_id in path.as_posix()]
    with set_ups.remote(place) as remote:
        log: Any = remote
        return [each.name for each in log._files.names(ended.agent_id)]


def audit_of(ended: Ended, place: str) -> JsonObject:
    if place in ENDPOINTS:
        return ended.set_ups.audit(place, ended.receipt)
    kept = receipt_signing.find_receipt(ended.erased_here.context, ended.receipt)
    note = [each for each in kept.vaults if place in (each.name, THIS_DISK)]
    assert note and all(each.state == receipt_signing.DONE for each in note)
    return dict(kept.audit)


@everywhere
def test_no_content_of_an_agent_that_was_purged_whole_is_left_in_a_vault(ended: Ended, place: str) -> None:
    assert ended.set_ups.leaks(place) == []
