"""An older client gets one snapshot of the current state, in which it can use every file."""

from __future__ import annotations

import io
import json
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common import json_codec
from lifeboat_alf.deltas.delta_writer import DeltaReader
from lifeboat_alf.snapshot import SnapshotReader, write_snapshot
from lifeboat_alf.states.agent_state import State
from lifeboat_alf.testing import sample_states
from lifeboat_alf.testing.sample_states import MemoryState, make_record
from lifeboat_vault.legacy import legacy_pushes
from lifeboat_vault.legacy.legacy_state import legacy_view
from lifeboat_vault.vault import Vault
from support.endpoint import reference_archives as reference
from support.vault.vaults import ManualClock

RAW = "raw/openclaw/"


def archived(state: State) -> bytes:
    out = io.BytesIO()
    write_snapshot(legacy_view(state), out)
    return out.getvalue()


def names(state: State) -> set[str]:
    with zipfile.ZipFile(io.BytesIO(archived(state))) as file:
        return set(file.namelist())


def signed(state: MemoryState) -> MemoryState:
    return state.sign(lambda sequence: {"by": "a key"})


# Of an agent that a device of Lifeboat writes ------------------------------------------------------------------


@pytest.fixture
def ours() -> MemoryState:
    """Return a state with everything that a state can hold: a home, a file with a cut, a chain, and dead memories."""
    state = sample_states.make_full_state()
    state.put("raw/openclaw-home/openclaw.json", b"{}").put("raw/zeroclaw/SOUL.md", b"# of once\n")
    state.put(archive_layout.EMBEDDINGS + "index.json", b"{}")
    old = state.add(make_record("Lives in Porto."))
    state.add(make_record("Lives in Lisbon.", supersedes=old.id))
    state.add(make_record("Was forgotten.", status="deleted"))
    state.add(make_record("Vanished.", status="archived", missing_at_source=True))
    return signed(state)


def test_only_what_such_a_client_knows_is_in_it(ours: MemoryState) -> None:
    memory = {name for name in names(ours) if name.startswith("memory/partitions/")}
    assert names(ours) - memory == {
        "manifest.json",
        "identity.json",
        "principals.json",
        "credentials.json",
        "memory/index.json",
        RAW + "SOUL.md",
        RAW + "MEMORY.md",
        RAW + "run.sh",
        RAW + "memory/default.md",
    }


def test_its_own_reader_takes_it(ours: MemoryState) -> None:
    found = reference.read(archived(ours))
    assert found.manifest["agent"]["id"] == ours.sequence.agent_id
    assert found.documents["identity.json"]["prose"]["soul"].startswith("# Soul")


def test_of_a_chain_only_the_newest_is_there_under_its_own_id_and_nothing_dead(ours: MemoryState) -> None:
    found = [item["content"] for item in reference.read(archived(ours)).records]
    assert found == ["Moved to Lisbon.", "Likes tea.", "Lives in Lisbon."]


def test_the_tree_of_a_device_that_keeps_it_current_stays_as_it_is(ours: MemoryState) -> None:
    assert legacy_view(ours).body(RAW + "MEMORY.md") == ours.body(RAW + "MEMORY.md")


def test_memories_that_stand_in_no_file_are_notes_of_their_own(ours: MemoryState) -> None:
    assert legacy_view(ours).body(RAW + "memory/default.md") == b"Lives in Lisbon.\n"


def test_memories_of_a_file_with_a_cut_are_there_without_the_file(ours: MemoryState) -> None:
    cut = ours.copy()
    item = cut.add(make_record("The key is .", source={"runtime": "openclaw", "origin_file": "memory/key.md"}))
    cut.put(RAW + "memory/key.md", b"The key is .\n", records=[item.id], cuts=[{"offset": 11, "credential_id": "x"}])
    view = legacy_view(signed(cut))
    assert view.entry(RAW + "memory/key.md") is None
    assert b"The key is ." in view.body(RAW + "memory/default.md")


def test_the_same_state_gives_the_same_bytes(ours: MemoryState) -> None:
    assert archived(ours) == archived(ours)


def test_it_carries_no_proof_and_the_number_of_the_state(ours: MemoryState) -> None:
    with SnapshotReader(io.BytesIO(archived(ours))) as reader:
        assert (reader.sequence.number, reader.sequence.digest) == (ours.sequence.number, b"")
        reader.check()


def test_no_list_is_null(ours: MemoryState) -> None:
    other = ours.copy()
    other.add(json_codec.encode_json({**make_record("Of another tool."), "tags": None}))
    assert [item.get("tags") for item in reference.read(archived(signed(other))).records].count(None) == 4


def test_files_whose_bytes_are_not_here_are_left_out(ours: MemoryState) -> None:
    other = ours.copy().put_absent(RAW + "purged.md", 9, None)
    assert RAW + "purged.md" not in names(signed(other))


def test_memories_that_are_rows_come_as_notes_by_day_and_namespace() -> None:
    state = MemoryState(agent={"id": sample_states.AGENT_ID, "name": "Zoe", "source_runtime": "zeroclaw"})
    rows = {"origin": "sqlite_store", "origin_file": "memory/brain.db", "runtime": "zeroclaw"}
    state.add(make_record("Likes tea.", namespace="core", source=rows))
    state.add(make_record("Watered the plants.", memory_type="episodic", source=rows))
    state.add(make_record("Odd.", namespace="../../custom:odd", source=rows))
    state.put("raw/zeroclaw/SOUL.md", b"# Zoe\n").put("raw/zeroclaw/memory/brain.db", b"a copy of once")
    view = legacy_view(signed(state))
    made = {entry.path: view.body(entry.path) for entry in view.entries("raw/zeroclaw/memory/") if ".md" in entry.path}
    assert made == {
        "raw/zeroclaw/memory/core.md": b"Likes tea.\n",
        "raw/zeroclaw/memory/2026-11-20.md": b"Watered the plants.\n",
        "raw/zeroclaw/memory/custom-odd.md": b"Odd.\n",
    }


# Of an agent that only such clients write ------------------------------------------------------------------


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    (folder / "memory").mkdir(parents=True)
    (folder / "SOUL.md").write_text("# Ada\n")
    (folder / "MEMORY.md").write_text("# Memory\n\n## Tea\n\nLikes tea.\n\n## Home\n\nLives in Lisbon.\n")
    (folder / "memory/2026-11-02.md").write_text("## Morning\n\nWatered the plants.\n")
    (folder / "memory/active-context.md").write_bytes(b"## Now\r\nAt the desk.")
    (folder / "memory/facts.db").write_bytes(b"\x00\x01")
    return folder


@pytest.fixture
def vault(tmp_path: Path, workspace: Path) -> Iterator[Vault]:
    with Vault.create(tmp_path / "vault", reference.agent_id(workspace), clock=ManualClock()) as made:
        with SnapshotReader(io.BytesIO(reference.write_snapshot(reference.export(workspace)))) as reader:
            legacy_pushes.accept_snapshot(made, reader, clock=ManualClock())
        yield made


def sync(vault: Vault, workspace: Path, before: reference.Archive) -> reference.Archive:
    """Push the next delta of that client; return its new base."""
    head = vault.head()
    assert head is not None
    now = reference.export(workspace)
    bundle = reference.write_delta(now.manifest, reference.compare(before.records, now.records), head.number)
    with DeltaReader(io.BytesIO(bundle)) as reader:
        legacy_pushes.accept_delta(vault, reader, head.number, clock=ManualClock())
    return now


def restored(vault: Vault, folder: Path) -> dict[str, bytes]:
    reference.restore(reference.read(archived(vault.state())), folder)
    return files(folder)


def files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_what_was_sent_comes_back_to_the_byte(vault: Vault, workspace: Path, tmp_path: Path) -> None:
    assert restored(vault, tmp_path / "new") == files(workspace)


def test_notes_follow_the_memory_that_deltas_changed(vault: Vault, workspace: Path, tmp_path: Path) -> None:
    base = reference.export(workspace)
    memory = workspace / "MEMORY.md"
    memory.write_text(memory.read_text().replace("## Tea", "## First\n\nOn top.\n\n## Tea").replace("tea.", "coffee."))
    (workspace / "memory/active-context.md").write_bytes(b"In the garden.\r\n")
    (workspace / "memory/deep").mkdir()
    (workspace / "memory/deep/project-boat.md").write_text("A boat.\n")
    (workspace / "memory/2026-11-02.md").unlink()
    base = sync(vault, workspace, base)
    memory.write_text(memory.read_text().replace("## First\n\nOn top.\n\n", ""))
    sync(vault, workspace, base)
    assert restored(vault, tmp_path / "new") == files(workspace)


ODD_LINES = st.lists(
    st.tuples(st.sampled_from(["", "  ", "## A", "## A", "text", "a\rb"]), st.sampled_from(["\n", "\r\n"])),
    min_size=1,
    max_size=8,
)


@settings(max_examples=8)
@given(ODD_LINES, st.booleans(), st.lists(st.integers(0, 7), min_size=1, max_size=3))
def test_odd_notes_come_back_to_the_byte_after_any_deltas(
    lines: list[tuple[str, str]], is_open: bool, places: list[int]
) -> None:
    """Any line ends, blank and repeated lines; each delta changes one line of the note."""
    lines = [("# Memory", "\r\n"), *lines, ("the last one", "" if is_open else "\n")]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve() / "workspace"
        folder.mkdir()
        note = folder / "MEMORY.md"
        note.write_bytes("".join(line + end for line, end in lines).encode())
        base = reference.export(folder)
        with Vault.create(folder.parent / "vault", reference.agent_id(folder), clock=ManualClock()) as vault:
            with SnapshotReader(io.BytesIO(reference.write_snapshot(base))) as reader:
                legacy_pushes.accept_snapshot(vault, reader, clock=ManualClock())
            for number, place in enumerate(places):
                lines[place % len(lines)] = (f"changed {number}", lines[place % len(lines)][1])
                note.write_bytes("".join(line + end for line, end in lines).encode())
                base = sync(vault, folder, base)
                assert legacy_view(vault.state()).body(RAW + "MEMORY.md") == note.read_bytes()


def test_a_note_that_was_emptied_and_written_again_is_there(vault: Vault, workspace: Path, tmp_path: Path) -> None:
    base = reference.export(workspace)
    text = (workspace / "MEMORY.md").read_text()
    (workspace / "MEMORY.md").unlink()
    base = sync(vault, workspace, base)
    assert "MEMORY.md" not in restored(vault, tmp_path / "without")
    (workspace / "MEMORY.md").write_text(text)
    sync(vault, workspace, base)
    assert restored(vault, tmp_path / "new") == files(workspace)


def test_a_memory_that_claims_to_be_of_a_file_outside_writes_none(vault: Vault, workspace: Path) -> None:
    archive = reference.export(workspace)
    bad = [{**archive.records[0], "id": f"019a0000-0000-7000-8000-00000000000{number}"} for number in range(3)]
    for item, path in zip(bad, ("memory/../../out.md", "/etc/out.md", "memory//out.md"), strict=True):
        item["source"] = {**item["source"], "origin_file": path}
    bundle = reference.write_delta(archive.manifest, [("create", item) for item in bad], 0)
    with DeltaReader(io.BytesIO(bundle)) as reader:
        legacy_pushes.accept_delta(vault, reader, 0, clock=ManualClock())
    assert not [name for name in names(vault.state()) if "out.md" in name]


def test_the_manifest_says_what_is_there(vault: Vault) -> None:
    found = reference.read(archived(vault.state()))
    head = json.loads(vault.state().body(archive_layout.MANIFEST))
    assert found.manifest["layers"]["memory"]["record_count"] == 5
    assert found.manifest["raw_sources"] == ["openclaw"] and head["agent"] == found.manifest["agent"]


def test_rows_of_zeroclaw_that_such_a_client_sent_come_as_notes_and_its_settings_not_at_all(tmp_path: Path) -> None:
    number = "019a0000-0000-7000-8000-0000000000aa"
    rows = {"runtime": "zeroclaw", "origin": "sqlite", "extraction_method": "agent_written"}
    records = [make_record(text, agent_id=number, namespace="core", source=rows) for text in ("Likes tea.", "Sails.")]
    agent = {"id": number, "name": "Zoe", "source_runtime": "zeroclaw"}
    manifest = {"alf_version": "1.0.0", "created_at": sample_states.TIME, "agent": agent}
    raw = {"raw/zeroclaw/config.toml": b'api_key = "<redacted>"\n', "raw/zeroclaw/memory/core.md": b"Of once.\n"}
    with Vault.create(tmp_path / "vault", number, clock=ManualClock()) as vault:
        sent = reference.write_snapshot(reference.Archive(manifest, records, raw))
        with SnapshotReader(io.BytesIO(sent)) as reader:
            legacy_pushes.accept_snapshot(vault, reader, clock=ManualClock())
        bundle = reference.write_delta(manifest, [("update", {**records[0], "content": "Likes coffee."})], 0)
        with DeltaReader(io.BytesIO(bundle)) as delta:
            legacy_pushes.accept_delta(vault, delta, 0, clock=ManualClock())
        view = legacy_view(vault.state())
        assert {entry.path: view.body(entry.path) for entry in view.entries("raw/")} == {
            "raw/zeroclaw/memory/core.md": b"Of once.\n",
            "raw/zeroclaw/memory/core-records.md": b"Likes coffee.\n\nSails.\n",
        }
