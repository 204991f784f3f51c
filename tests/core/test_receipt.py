"""The receipt of a restore lists every thing in the archive once, and its counts add up."""

from __future__ import annotations

import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lifeboat_adapters.contract import MemorySection, RenderedFile
from lifeboat_adapters.item_fates import ItemFate, ItemOutcome
from lifeboat_adapters.memory_stores import DatabaseWrite
from lifeboat_alf.archive import archive_layout
from lifeboat_alf.memory import embeddings
from lifeboat_alf.testing.sample_states import (
    MemoryState,
    make_credentials,
    make_identity,
    make_principals,
    make_record,
)
from lifeboat_core.restore import RestoreOptions, RestorePlan, carry_out_plan, full_receipt, plan_restore
from support.core.plain_runtime import PlainAdapter, plain_context

RAW, HOME = "raw/openclaw/", "raw/openclaw-home/"
Ends = dict[tuple[str, str], tuple[str, str]]


def planned(folder: Path, state: MemoryState, adapter: PlainAdapter | None = None, **options: Any) -> RestorePlan:
    context = plain_context(folder, adapter)
    return plan_restore(context, state, folder / "ada", RestoreOptions(accept_unsigned=True, yes=True, **options))


def ends(made: full_receipt.RestoreReceipt) -> Ends:
    return {(fate.kind, fate.name): (fate.outcome.value, fate.code) for fate in made.fates}


def ends_of(folder: Path, state: MemoryState, **options: Any) -> Ends:
    return ends(full_receipt.make_receipt(planned(folder, state, **options), []))


def soul(*memories: dict[str, Any]) -> MemoryState:
    return with_memories(MemoryState().put(f"{RAW}SOUL.md", b"# Soul\n"), *memories)


def with_memories(state: MemoryState, *memories: dict[str, Any]) -> MemoryState:
    for memory in memories:
        state.add(memory)
    return state


def test_a_file_that_is_written_is_accepted(tmp_path: Path) -> None:
    assert ends_of(tmp_path, soul())["file", f"{RAW}SOUL.md"] == ("accepted", "")


def test_a_file_that_stands_there_already_is_deduplicated(tmp_path: Path) -> None:
    (tmp_path / "ada").mkdir()
    (tmp_path / "ada" / "SOUL.md").write_bytes(b"# Soul\n")
    assert ends_of(tmp_path, soul())["file", f"{RAW}SOUL.md"] == ("deduplicated", "")


def test_a_file_that_nobody_asked_for_is_omitted(tmp_path: Path) -> None:
    state = soul().put(f"{RAW}USER.md", b"# User\n")
    assert ends_of(tmp_path, state, path_globs=("SOUL.md",))["file", f"{RAW}USER.md"] == ("omitted", "not_asked")


def test_a_file_of_another_runtime_is_omitted_and_kept(tmp_path: Path) -> None:
    state = soul().put("raw/zeroclaw/SOUL.md", b"# Soul\n")
    assert ends_of(tmp_path, state)["file", "raw/zeroclaw/SOUL.md"] == ("omitted", "other_runtime")


@pytest.mark.parametrize(("made", "outcome"), [(b"# Soul\n", "accepted"), (b"# Other\n", "transformed")])
def test_a_file_of_another_runtime_that_both_have_is_no_loss(tmp_path: Path, made: bytes, outcome: str) -> None:
    adapter = PlainAdapter()
    adapter.rendered = [RenderedFile(f"{RAW}SOUL.md", made, "structured")]
    state = MemoryState().put("raw/zeroclaw/SOUL.md", b"# Soul\n")
    found = ends(full_receipt.make_receipt(planned(tmp_path, state, adapter), []))
    assert found["file", "raw/zeroclaw/SOUL.md"][0] == outcome


def test_a_link_that_leads_out_is_rejected(tmp_path: Path) -> None:
    state = soul().put(f"{RAW}out", b"", type="link", target="/etc/passwd")
    assert ends_of(tmp_path, state)["file", f"{RAW}out"] == ("rejected", "refused")


def test_a_file_for_a_folder_of_the_runtime_that_is_not_there_is_unresolved(tmp_path: Path) -> None:
    state = soul().put(f"{HOME}plain.json", b"{}")
    assert ends_of(tmp_path, state)["file", f"{HOME}plain.json"] == ("unresolved", "no_runtime_folder")


def test_a_memory_takes_the_outcome_of_the_file_it_stands_in(tmp_path: Path) -> None:
    memory = make_record("Tea.\n")
    state = soul(memory).put(f"{RAW}MEMORY.md", b"Tea.\n", records=[memory["id"]])
    assert ends_of(tmp_path, state)["memory", memory["id"]] == ("accepted", "")


def test_a_memory_that_no_file_holds_is_omitted(tmp_path: Path) -> None:
    memory = make_record("Tea.")
    assert ends_of(tmp_path, soul(memory))["memory", memory["id"]] == ("omitted", "kept_in_archive")


class _Splitting(PlainAdapter):
    def split(self, path: str, text: str) -> list[MemorySection] | None:
        return [MemorySection(line) for line in text.splitlines(keepends=True)] if path.endswith("MEMORY.md") else None


def test_a_memory_in_a_file_made_for_the_runtime_is_transformed(tmp_path: Path) -> None:
    adapter = _Splitting()
    adapter.rendered = [RenderedFile(f"{RAW}MEMORY.md", b"Tea.\n", "structured")]
    there, missing = make_record("Tea."), make_record("Coffee.")
    made = planned(tmp_path, with_memories(MemoryState(), there, missing), adapter)
    found = ends(full_receipt.make_receipt(made, []))
    assert found["memory", there["id"]] == ("transformed", "written_anew")
    assert found["memory", missing["id"]] == ("omitted", "kept_in_archive")


def test_a_deleted_memory_is_no_thing(tmp_path: Path) -> None:
    state = soul(make_record("Tea.", status="deleted"))
    assert [
        fate for fate in full_receipt.make_receipt(planned(tmp_path, state), []).fates if fate.kind == "memory"
    ] == []


def test_what_a_database_says_of_a_memory_counts(tmp_path: Path) -> None:
    memory = make_record("Tea.")
    made = planned(tmp_path, soul(memory))
    fates = (ItemFate("memory", memory["id"], ItemOutcome.DEDUPLICATED),)
    write = DatabaseWrite(tmp_path / "brain.db", True, lambda path: None, fates=fates)
    assert ends(full_receipt.make_receipt(replace(made, databases=[write]), []))["memory", memory["id"]] == (
        "deduplicated",
        "",
    )


def test_the_rows_of_a_table_are_things_of_their_own(tmp_path: Path) -> None:
    state = soul().put(f"{HOME}db/state/jobs.jsonl", b'{"id":1}\n{"id":2}\n')
    found = [name for kind, name in ends_of(tmp_path, state) if kind == "row"]
    assert found == [f"{HOME}db/state/jobs.jsonl#1", f"{HOME}db/state/jobs.jsonl#2"]


def test_what_an_adapter_says_of_a_table_holds_for_its_rows(tmp_path: Path) -> None:
    path = f"{HOME}db/state/jobs.jsonl"
    made = planned(tmp_path, soul().put(path, b'{"id":1}\n{"id":2}\n'))
    write = DatabaseWrite(
        tmp_path / "x.db", True, lambda path: None, fates=(ItemFate("row", path, ItemOutcome.REJECTED),)
    )
    told = full_receipt.make_receipt(replace(made, databases=[write]), [])
    assert told.outcomes["rejected"] == 2 and len(told.fates) == 3


def test_what_a_runtime_cannot_hold_is_told_beside_what_was_read(tmp_path: Path) -> None:
    class Refusing(PlainAdapter):
        def cannot_hold(self, installation: Any, state: Any) -> Any:
            return iter([ItemFate("setting", "agents.list", ItemOutcome.OMITTED, "one agent only")])

    (tmp_path / "ada").mkdir()
    (tmp_path / "ada" / "SOUL.md").write_bytes(b"# Soul\n")
    told = full_receipt.make_receipt(planned(tmp_path, soul(), Refusing()), [])
    assert ends(told)["setting", "agents.list"] == ("omitted", "")


def test_a_credential_waits_until_it_is_asked_for(tmp_path: Path) -> None:
    document = make_credentials()
    state = soul().put_document(archive_layout.CREDENTIALS, document)
    name = document["credentials"][0]["id"]
    assert ends_of(tmp_path, state)["credential", name] == ("unresolved", "without_credentials")


@pytest.mark.parametrize("path", [embeddings.INDEX, archive_layout.PRINCIPALS])
@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"principals": 1, "vectors": {}}', b"\xff"])
def test_a_document_that_cannot_be_read_stops_no_receipt(tmp_path: Path, path: str, body: bytes) -> None:
    assert full_receipt.make_receipt(planned(tmp_path, soul().put(path, body)), []).outcomes["accepted"] == 1


def test_the_report_of_a_restore_holds_the_receipt(tmp_path: Path) -> None:
    report = carry_out_plan(plain_context(tmp_path), planned(tmp_path, soul())).to_json()
    fates = [{"kind": "file", "outcome": "accepted", "code": "", "reason": "", "names": [f"{RAW}SOUL.md"]}]
    assert (report["objects"], report["outcomes"]["accepted"], report["fates"]) == (1, 1, fates)


# Generated states -----------------------------------------------------------------------------------------------

_TEXTS = st.text("ab \n", max_size=6)
_NAMES = st.sampled_from(["SOUL.md", "MEMORY.md", "memory/a.md", "x/y", "z"])
_PREFIXES = st.sampled_from([RAW, "raw/zeroclaw/", "raw/zeroclaw-home/db/brain/", f"{HOME}db/state/"])


@st.composite
def states(draw: st.DrawFn) -> MemoryState:
    state = soul()
    for prefix, name in draw(st.lists(st.tuples(_PREFIXES, _NAMES), unique=True, max_size=8)):
        state.put(prefix + name, draw(_TEXTS).encode())
    memories = [
        make_record(draw(_TEXTS), status=draw(st.sampled_from(["active", "deleted", "superseded"])))
        for _ in range(draw(st.integers(0, 6)))
    ]
    for number, memory in enumerate(memories):
        if number and draw(st.booleans()):
            memory["supersedes"] = memories[draw(st.integers(0, number - 1))]["id"]
        state.add(memory)
    if memories and draw(st.booleans()):
        state.put(f"{RAW}notes.md", draw(_TEXTS).encode(), records=[each["id"] for each in memories])
    for path, document in (
        (archive_layout.IDENTITY, make_identity()),
        (archive_layout.PRINCIPALS, make_principals()),
        (archive_layout.CREDENTIALS, make_credentials()),
        ("unknown.json", {}),
    ):
        if draw(st.booleans()):
            state.put_document(path, document)
    if draw(st.booleans()):
        state.put_document(
            embeddings.INDEX, {"vectors": draw(st.sampled_from([[], [{}], 1, [{"file": "f", "model": "m"}]]))}
        )
    return state


@settings(max_examples=60, deadline=None)
@given(states(), st.sampled_from([(), ("SOUL.md",)]))
def test_the_counts_add_up_to_what_was_read(state: MemoryState, globs: tuple[str, ...]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        made = planned(Path(folder), state, path_globs=globs)
        told = full_receipt.make_receipt(made, [])
    kinds = Counter(fate.kind for fate in told.fates)
    raw = [entry.path for entry in state.entries(archive_layout.RAW)]
    assert kinds["file"] == sum("-home/db/" not in path for path in raw)
    assert kinds["memory"] == made.inventory.memories.in_force()
    assert sum(told.outcomes.values()) == len(told.fates) == sum(len(group["names"]) for group in told.groups())
