from __future__ import annotations

import hashlib
from typing import Any

import pytest

from lifeboat_adapters.notes import note_joining, note_splitting
from lifeboat_adapters.notes import note_rendering as notes_rendering
from lifeboat_adapters.openclaw import ADAPTER, adapter
from lifeboat_adapters.persona import prose_synthesis
from lifeboat_alf.testing import sample_states
from lifeboat_alf.testing.sample_states import MemoryState
from support.adapters import openclaw_derived as derived
from support.adapters import openclaw_workspaces as workspaces
from support.adapters.openclaw_derived import FileMap

RAW = "raw/openclaw/"
ID = "0198f7a0-0000-7000-8000-00000000000"


def render(state: MemoryState) -> dict[str, str]:
    return {item.path.removeprefix(RAW): item.data.decode() for item in ADAPTER.render(state)}


def with_documents(identity: Any = None, user: Any = None) -> MemoryState:
    state = MemoryState()
    if identity is not None:
        state.put_document("identity.json", identity)
    if user is not None:
        human = {"id": "p-1", "principal_type": "human", "profile": user}
        state.put_document("principals.json", {"principals": [{"principal_type": "agent", "profile": {}}, human]})
    return state


def memory(content: str, file: str | None = None, **fields: Any) -> Any:
    source = {"runtime": "zeroclaw", "origin": "sqlite_store", **({"origin_file": file} if file else {})}
    return sample_states.make_record(content, source=source, **fields)


def test_prose_is_written_as_it_is() -> None:
    prose = {"soul": "# S\r\n", "identity_profile": "- **Name:** Ada\n", "operating_instructions": "# A\n"}
    blocks = {"tools_guidance": "# T\n", "heartbeat_checklist": "# H\n", "boot_checklist": "# B\n", "other": "x"}
    state = with_documents({"prose": {**prose, "custom_blocks": blocks}}, {"prose": {"user_profile": "# U\n"}})
    assert render(state) == {
        "SOUL.md": "# S\r\n",
        "IDENTITY.md": "- **Name:** Ada\n",
        "AGENTS.md": "# A\n",
        "TOOLS.md": "# T\n",
        "HEARTBEAT.md": "# H\n",
        "BOOT.md": "# B\n",
        "USER.md": "# U\n",
    }


def test_tools_that_stand_in_agents_md_get_no_file_of_their_own() -> None:
    blocks = {"tools_guidance": "## Tools\n\n- x\n"}
    state = with_documents({"prose": {"operating_instructions": "# A\n\n## Tools\n\n- x\n", "custom_blocks": blocks}})
    assert set(render(state)) == {"AGENTS.md"}


def test_without_prose_the_structure_is_written_marked_and_the_same_each_time() -> None:
    identity = {
        "structured": {
            "names": {"primary": "Ada", "nickname": "A"},
            "role": "pilot",
            "goals": ["fly", "land"],
            "psychology": {"neural_matrix": {"logic": 0.8}, "moral_alignment": "Neutral Good"},
            "linguistics": {"formality_level": 0.4, "idiolect": {"avoided_words": ["honestly"]}},
            "capabilities": [{"name": "docker", "portability": "host_dependent", "host_requirements": "Docker Engine"}],
            "sub_agents": [{"name": "Scout", "capabilities": [], "status": "active", "routing_hints": "a|b"}],
        }
    }
    user = {"structured": {"name": "Bo", "timezone": "UTC", "communication_preferences": {"tone": "dry"}}}
    files = render(with_documents(identity, user))
    assert set(files) == {"SOUL.md", "IDENTITY.md", "AGENTS.md", "USER.md"}
    assert all(text.startswith(prose_synthesis.MARK) for text in files.values())
    assert "- **logic:** 0.8" in files["SOUL.md"]
    assert files == render(with_documents(identity, user))


def test_what_was_written_from_the_structure_reads_back_as_the_structure() -> None:
    made = workspaces.IDENTITY, workspaces.AGENTS, workspaces.USER
    data = dict(zip(("IDENTITY.md", "AGENTS.md", "USER.md"), made, strict=True))
    files = FileMap({RAW + name: text.encode() for name, text in data.items()})
    identity = derived.derive("identity", files)
    profile = derived.derive("principals", files)["principals"][0]["profile"]
    written = render(with_documents({"structured": identity["structured"]}, {"structured": profile["structured"]}))
    again = FileMap({RAW + name: text.encode() for name, text in written.items()})
    assert derived.derive("identity", again)["structured"] == identity["structured"]
    assert derived.derive("principals", again)["principals"][0]["profile"]["structured"] == profile["structured"]


def test_an_agent_with_some_prose_gets_only_the_files_its_structure_says_more_in() -> None:
    state = with_documents({"prose": {"identity_profile": "- **Name:** Ada\n"}, "structured": {"role": "pilot"}})
    assert set(render(state)) == {"IDENTITY.md"}
    roster = {"names": {"primary": "Ada"}, "sub_agents": [{"name": "Scout", "capabilities": [], "status": "active"}]}
    files = render(with_documents({"prose": {"soul": "# S\n"}, "structured": roster}))
    assert set(files) == {"SOUL.md", "AGENTS.md"}
    assert "Scout" in files["AGENTS.md"]


def test_a_character_without_prose_gets_its_soul_before_a_runtime_puts_its_own_there() -> None:
    structured = {"names": {"primary": "Ada"}, "psychology": {"neural_matrix": {"logic": 0.8}}}
    files = render(with_documents({"structured": structured, "prose": {"operating_instructions": "# A\n"}}))
    assert files.keys() == {"SOUL.md", "AGENTS.md"}
    assert "logic" in files["SOUL.md"]
    assert files["SOUL.md"].startswith(prose_synthesis.MARK)


def test_memories_go_to_the_file_of_their_kind() -> None:
    state = MemoryState().add_all(
        [
            memory("## Summary\n", memory_type="summary"),
            memory(
                "day", memory_type="episodic", category="daily_log", temporal={"created_at": "2026-02-10T12:00:00Z"}
            ),
            memory("fact"),
            memory("project", namespace="project/harbour chart"),
            memory("kept", "memory/people/jonas.md"),
        ]
    )
    files = render(state)
    assert files.pop("MEMORY.md") == "## Summary\n"
    assert memories("memory/2026-02-10.md", files) == ["day"]
    assert memories("memory/default.md", files) == ["fact"]
    assert memories("memory/people/jonas.md", files) == ["kept"]
    assert [note_joining.memory_texts(name, text) for name, text in files.items()] == [["project"]]
    assert next(iter(files)).startswith("memory/project-harbour-chart-")


def memories(name: str, files: dict[str, str]) -> list[str]:
    return note_joining.memory_texts(name, files.pop(name))


def test_the_memory_that_opens_every_conversation_elsewhere_does_so_here() -> None:
    state = MemoryState().add_all([memory("Boat seventeen lies at the north pier.", "memories/MEMORY.md")])
    assert set(render(state)) == {"MEMORY.md"}


def test_the_examples_that_openclaw_writes_are_no_memories(monkeypatch: pytest.MonkeyPatch) -> None:
    seed = "# USER.md - User Model\n\n- Prefer ...\n"
    monkeypatch.setattr(adapter, "_SEEDS", {hashlib.sha256(seed.encode()).hexdigest()})
    assert ADAPTER.split(f"{RAW}USER.md", seed) is None
    assert ADAPTER.split(f"{RAW}USER.md", f"{seed}\n- Prefers tea.\n") is not None


def test_preferences_of_the_human_have_a_file_of_their_own() -> None:
    record = memory("likes tea", memory_type="preference", namespace="principal_context:p-1")
    state = with_documents(user={"structured": {"name": "Bo"}}).add_all([record])
    (section,) = note_splitting.split_note("memory/preferences.md", render(state)["memory/preferences.md"]) or []
    assert section.text == "likes tea"
    assert section.fields["namespace"] == note_splitting.PRIMARY_PRINCIPAL_NAMESPACE


def test_what_is_known_of_another_principal_finds_its_namespace_again() -> None:
    namespace = "principal_context:0198f7a0-0000-7000-8000-00000000000b"
    (path,) = render(MemoryState().add_all([memory("knows", namespace=namespace)]))
    (section,) = note_splitting.split_note(path, "knows") or []
    assert section.fields["namespace"] == namespace


@pytest.mark.parametrize(
    "origin",
    ["../SOUL.md", "memory/../SOUL.md", "/etc/passwd.md", "memory//a.md", "SOUL.md", "memory/.x/a.md", "a\\b.md"],
)
def test_no_memory_leads_out_of_the_notes(origin: str) -> None:
    assert set(render(MemoryState().add_all([memory("x", origin)]))) == {"memory/default.md"}


def test_a_name_made_of_a_namespace_is_safe_and_tells_namespaces_apart() -> None:
    names = {
        notes_rendering.note_name_for_record(memory("x", namespace=name))
        for name in ("a/b", "a b", "../..", "ä", "x" * 500)
    }
    assert len(names) == 5
    assert all(name.startswith("memory/") and name.count("/") == 1 and len(name) < 110 for name in names)


def test_deleted_and_superseded_memories_are_not_written() -> None:
    old = memory("old")
    state = MemoryState().add_all([old, memory("new", supersedes=old["id"]), memory("gone", status="deleted")])
    files = render(state)
    assert (memories("memory/default.md", files), files) == (["new"], {})


def test_memories_from_elsewhere_are_set_apart() -> None:
    state = MemoryState().add_all([memory("a", id=f"{ID}a"), memory("## B\n", id=f"{ID}b"), memory("c", id=f"{ID}c")])
    assert render(state)["memory/default.md"] == (
        "<!-- memory 0000000a -->\na\n<!-- /memory -->\n## B\n<!-- memory 0000000c -->\nc\n<!-- /memory -->\n"
    )


def test_a_memory_that_says_nothing_is_no_file() -> None:
    assert render(MemoryState().add_all([memory(" \n")])) == {}


def test_a_raw_file_that_says_the_same_is_not_written_again() -> None:
    sections = note_splitting.split_note("MEMORY.md", workspaces.MEMORY) or []
    records = [sample_states.make_record(section.content) for section in sections]
    state = with_documents({"prose": {"soul": workspaces.SOUL}}).add_all(records)
    state.put(RAW + "SOUL.md", workspaces.SOUL.encode())
    state.put(RAW + "MEMORY.md", workspaces.MEMORY.encode()).set_records_of(
        RAW + "MEMORY.md", [r["id"] for r in records]
    )
    assert render(state) == {}


def test_a_raw_file_whose_memories_changed_is_merged_in_its_order() -> None:
    first, second = sample_states.make_record("## A\n\none\n\n"), sample_states.make_record("## B\n\ntwo\n")
    state = MemoryState().add_all([second, first])
    state.put(RAW + "MEMORY.md", b"## A\n\none\n\n## B\n\ntwo\n").set_records_of(
        RAW + "MEMORY.md", [first["id"], second["id"]]
    )
    state.add(memory("## A\n\nONE\n\n", supersedes=first["id"]))
    state.add(memory("## C\n", memory_type="summary"))
    (made,) = ADAPTER.render(state)
    assert (made.path, made.basis) == (RAW + "MEMORY.md", "merged")
    assert made.data == b"## A\n\nONE\n\n## B\n\ntwo\n## C\n"


@pytest.mark.parametrize("memory_type", ["summary", "semantic", "preference", "episodic"])
@pytest.mark.parametrize(
    "marked",
    [
        {"namespace": f"principal_context:{ID}b"},
        {"namespace": "principal_context:p-2"},
        {"raw_source_format": {"zeroclaw": {"row": {"principal_id": "user:alice"}}}},
    ],
)
def test_a_memory_of_one_principal_stands_in_no_note_that_all_are_told_of(memory_type: str, marked: Any) -> None:
    state = MemoryState().add_all([memory("Alice dreads the open sea.", memory_type=memory_type, **marked)])
    (name,) = render(state)
    assert name.startswith(("memory/principals/", "memory/principal_context-p-2-", "memory/private-user-alice-"))


def test_a_memory_whose_row_names_no_principal_is_told_to_all() -> None:
    part = {"zeroclaw": {"row": {"principal_id": None}}}
    assert set(render(MemoryState().add_all([memory("tea", memory_type="summary", raw_source_format=part)]))) == {
        "MEMORY.md"
    }
