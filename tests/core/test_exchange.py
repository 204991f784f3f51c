"""Exporting and importing agents, with deltas."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.archive.zip_container import ArchiveReader
from lifeboat_alf.common import json_codec
from lifeboat_alf.deltas.applied_state import AppliedState
from lifeboat_alf.deltas.delta_writer import DeltaReader
from lifeboat_alf.errors import SignatureError
from lifeboat_alf.snapshot import SnapshotReader, write_snapshot
from lifeboat_alf.testing.sample_states import MemoryState, make_identity, make_record
from lifeboat_cli.demo.tree_comparison import Tree, list_differences, read_tree
from lifeboat_core.agents import agent as agents
from lifeboat_core.agents import manage_agents as registry
from lifeboat_core.capture.capture_run import capture_agent
from lifeboat_core.errors import AgentError, ExchangeError, RestoreError
from lifeboat_core.exchange import export_agent, import_archive
from lifeboat_core.exchange.agent_export import ExportOptions
from lifeboat_core.home.context import Context
from lifeboat_core.restore import RestoreOptions, restore_agent
from support.alf.raising import raises_code
from support.core.harbour import Harbour, harbour
from support.flushes import Flushes, flushes

__all__ = ["flushes"]


@pytest.fixture
def ada(tmp_path: Path) -> Harbour:
    return harbour(tmp_path)


LARGE = "photographs/harbour-1911.raw"
"""Too large for an archive: described there, stored in the vault."""


def without_large(tree: Tree) -> Tree:
    return {path: node for path, node in tree.items() if not path.startswith(b"photographs")}


def entries_of(path: Path) -> dict[str, bytes]:
    with ArchiveReader(path) as archive:
        return {name: archive.read(name) for name in archive.names()}


def exported(ada: Harbour, path: Path, since: int | None = None, *, force: bool = False) -> Path:
    export_agent(ada.context, "openclaw", ada.workspace, path, ExportOptions(since), force=force)
    return path


def test_snapshot_and_deltas_equal_the_full_export_entry_by_entry(ada: Harbour, tmp_path: Path) -> None:
    first = exported(ada, tmp_path / "0.alf")
    deltas = []
    for live in (ada.day_passes, ada.another_day_passes):
        base = ada.head
        live()
        deltas.append(exported(ada, tmp_path / f"{base}.alf-delta", since=base))
    with (
        SnapshotReader(first) as base_state,
        DeltaReader(deltas[0]) as one,
        DeltaReader(deltas[1]) as two,
        (tmp_path / "applied.alf").open("wb") as out,
    ):
        write_snapshot(AppliedState(AppliedState(base_state, one), two), out, keys=base_state.keys)
    full = entries_of(exported(ada, tmp_path / "full.alf"))
    applied = entries_of(tmp_path / "applied.alf")
    assert applied.keys() == full.keys()
    assert [name for name in full if applied[name] != full[name]] == []


def test_an_export_gets_its_name_once_its_bytes_are_on_the_disk(ada: Harbour, tmp_path: Path, flushes: Flushes) -> None:
    path = exported(ada, tmp_path / "0.alf")
    flushed, renamed, folder = flushes.seen[-3:]
    assert (flushed[0], flushed[2]) == ("file", path.stat().st_size)
    assert renamed[:2] == ("renamed", path) and folder[:2] == ("folder", path.parent)


def test_an_export_changes_nothing_but_catches_up(ada: Harbour, tmp_path: Path) -> None:
    (ada.workspace / "new.md").write_text("new\n")
    before = read_tree(ada.workspace)
    report = export_agent(ada.context, "openclaw", ada.workspace, tmp_path / "a.alf")
    assert list_differences(before, read_tree(ada.workspace)) == []
    assert report.sequence == ada.head == 1
    assert os.listdir(ada.context.home.restore_folder / "tmp") == []
    assert report.bytes == (tmp_path / "a.alf").stat().st_size


def test_a_threshold_moves_artifacts_between_the_tiers_of_that_export_only(ada: Harbour, tmp_path: Path) -> None:
    (ada.workspace / "table.csv").write_bytes(b"1,2\n" * 5_000)
    all_in = export_agent(ada.context, "openclaw", ada.workspace, tmp_path / "a.alf")
    head = ada.head
    few_in = export_agent(ada.context, "openclaw", ada.workspace, tmp_path / "b.alf", ExportOptions(threshold=10_000))
    assert "table.csv" in [each["filename"] for each in all_in.artifacts["included"]]
    assert {"filename": "table.csv", "size_bytes": 20_000} in few_in.artifacts["referenced"]
    assert (
        json_codec.decode_json(entries_of(tmp_path / "b.alf")[archive_layout.ATTACHMENTS])["artifact_size_threshold"]
        == 10_000
    )
    assert (few_in.sequence, ada.head) == (head + 1, head + 2)
    with ada.context.vault(ada.agent.id) as vault:
        assert vault.changes(head, head + 2).entries == []


def test_a_file_is_not_replaced_unless_forced(ada: Harbour, tmp_path: Path) -> None:
    path = exported(ada, tmp_path / "a.alf")
    with raises_code(ExchangeError.FILE_EXISTS) as refused:
        exported(ada, path)
    assert refused.value.exit_status == 3
    exported(ada, path, force=True)


def test_a_failed_export_leaves_no_file(ada: Harbour, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (ada.workspace / "SOUL.md").rename(tmp_path / "SOUL.md")
    for path in list(ada.workspace.iterdir()):
        path.rename(tmp_path / f"away-{path.name}")
    with pytest.raises(ExchangeError):
        exported(ada, tmp_path / "out" / "a.alf")
    assert os.listdir(tmp_path / "out") == []


def test_a_workspace_nobody_protects_is_exported_and_leaves_no_agent(ada: Harbour, tmp_path: Path) -> None:
    copy = tmp_path / "stranger"
    restore_agent(ada.context, ada.agent, RestoreOptions(to=copy, reindex=False))
    report = export_agent(ada.context, "openclaw", copy, tmp_path / "s.alf")
    assert report.records > 0
    assert [agent.id for agent in agents.list_agents(ada.context)] == [ada.agent.id]
    with pytest.raises(ExchangeError, match="history"):
        export_agent(ada.context, "openclaw", copy, tmp_path / "s.alf-delta", ExportOptions(since=0))


def test_an_archive_comes_back_as_the_same_agent_on_another_machine(ada: Harbour, tmp_path: Path) -> None:
    path = exported(ada, tmp_path / "a.alf")
    other = _machine_with_the_key(ada, tmp_path / "other")
    report = import_archive(other, path, tmp_path / "other" / "ada", RestoreOptions(runtime="openclaw"))
    agent = agents.load_agent(other, ada.agent.id)
    assert report.copied_from is None
    assert not agent.watched
    assert agent.workspace == tmp_path / "other" / "ada"
    assert [each["filename"] for each in report.restored.absent] == [LARGE]
    assert list_differences(without_large(ada.trees[0]), read_tree(agent.workspace)) == []
    added, _ = registry.protect_workspace(other, agent.workspace)
    assert added.id == ada.agent.id


def _machine_with_the_key(ada: Harbour, folder: Path) -> Context:
    (folder / "user").mkdir(parents=True)
    environment = {"HOME": str(folder / "user"), "LIFEBOAT_HOME": str(folder / "home"), "PATH": "/usr/bin:/bin"}
    context = Context.open(environment)
    context.keys().install(ada.context.keys().user_key())
    return context


def test_another_users_archive_needs_to_be_accepted(ada: Harbour, tmp_path: Path) -> None:
    path = exported(ada, tmp_path / "a.alf")
    stranger = harbour(tmp_path / "stranger")
    with pytest.raises(SignatureError) as refused:
        import_archive(stranger.context, path, tmp_path / "ada")
    assert refused.value.exit_status == 3
    assert not (tmp_path / "ada").exists()
    report = import_archive(stranger.context, path, tmp_path / "ada", RestoreOptions(accept_unsigned=True))
    assert any("credentials" in warning for warning in report.warnings)


def test_an_unsigned_archive_needs_to_be_accepted(ada: Harbour, tmp_path: Path) -> None:
    path = _foreign(tmp_path)
    with raises_code(RestoreError.UNSIGNED_STATE):
        import_archive(ada.context, path, tmp_path / "new")
    assert not (tmp_path / "new").exists()
    assert len(agents.list_agents(ada.context)) == 1


def _foreign(tmp_path: Path) -> Path:
    """Make an archive with what OpenClaw has no place for: links, lineage, a roster, unknown fields."""
    state = MemoryState()
    text = b"# Memory\n\nLikes tea.\n"
    first = state.add(make_record("# Memory\n\nLikes tea.\n", **{"source": _source(2)}, x_unknown={"kept": True}))
    state.add(make_record("Not in any file.", related_records=[{"id": first.id, "relation": "elaborates_on"}]))
    state.put("raw/openclaw/MEMORY.md", text, records=[first.id]).put("raw/openclaw/SOUL.md", b"# Soul\n\nKind.\n")
    roster = [{"name": "scout", "agent_id": None, "capabilities": [{"name": "scouting"}]}]
    docker = {"name": "docker_management", "portability": "host_dependent", "host_requirements": "Docker CLI"}
    state.put_document(archive_layout.IDENTITY, make_identity(2, sub_agents=roster, capabilities=[docker]))
    path = tmp_path / "foreign.alf"
    with path.open("wb") as out:
        write_snapshot(state, out)
    return path


def _source(version: int) -> dict[str, Any]:
    return {
        "runtime": "openclaw",
        "origin": "memory_md",
        "extraction_method": "agent_written",
        "identity_version": version,
    }


def test_what_the_runtime_cannot_hold_comes_out_again(ada: Harbour, tmp_path: Path) -> None:
    path = _foreign(tmp_path)
    report = import_archive(ada.context, path, tmp_path / "new", RestoreOptions(accept_unsigned=True))
    agent, _ = registry.protect_workspace(ada.context, tmp_path / "new")
    assert agent.id == report.agent
    export_agent(ada.context, "openclaw", tmp_path / "new", tmp_path / "again.alf")
    with SnapshotReader(path) as before, SnapshotReader(tmp_path / "again.alf") as after:
        old = {item.id: json_codec.decode_json(item.line) for item in before.records()}
        new = {item.id: json_codec.decode_json(item.line) for item in after.records()}
        assert new == old
        document = json_codec.decode_json(after.body(archive_layout.IDENTITY))
    assert [each["name"] for each in document["structured"]["sub_agents"]] == ["scout"]
    (docker,) = [each for each in document["structured"]["capabilities"] if each["name"] == "docker_management"]
    assert (docker["portability"], docker["host_requirements"]) == ("host_dependent", "Docker CLI")


def test_a_capture_after_an_import_finds_nothing_new_in_the_files(ada: Harbour, tmp_path: Path) -> None:
    path = exported(ada, tmp_path / "a.alf")
    other = _machine_with_the_key(ada, tmp_path / "other")
    import_archive(other, path, tmp_path / "other" / "ada")
    _, found = registry.protect_workspace(other, tmp_path / "other" / "ada")
    assert found.raw["put"] == found.raw["patched"] == found.raw["removed"] == 0
    assert found.records["created"] == found.records["updated"] == found.records["deleted"] == 0


def test_an_agent_that_is_known_comes_in_as_a_copy(ada: Harbour, tmp_path: Path) -> None:
    path = exported(ada, tmp_path / "a.alf")
    report = import_archive(ada.context, path, tmp_path / "copy", RestoreOptions(with_credentials=True))
    assert report.copied_from == ada.agent.id
    assert report.agent != ada.agent.id
    with ada.context.vault(report.agent) as vault:
        state = vault.state()
        assert {json_codec.decode_json(item.line)["agent_id"] for item in state.records()} == {report.agent}
        credentials = json_codec.decode_json(state.body(archive_layout.CREDENTIALS))["credentials"]
        assert {each["agent_id"] for each in credentials} == {report.agent}
        assert all(ada.context.keys().open(each) for each in credentials)
        assert vault.verify(trusted=ada.context.keys().trusted).findings == []
    agent = agents.load_agent(ada.context, report.agent)
    assert agent.name != ada.agent.name
    assert not capture_agent(ada.context, ada.agent).changed


def test_an_import_into_a_protected_workspace_is_refused(ada: Harbour, tmp_path: Path) -> None:
    path = exported(ada, tmp_path / "a.alf")
    with raises_code(AgentError.ALREADY_PROTECTED):
        import_archive(ada.context, path, ada.workspace, RestoreOptions(yes=True))


def test_a_dry_run_registers_and_writes_nothing(ada: Harbour, tmp_path: Path) -> None:
    report = import_archive(
        ada.context, _foreign(tmp_path), tmp_path / "new", RestoreOptions(accept_unsigned=True, dry_run=True)
    )
    assert report.to_json()["files"]["created"] == 2
    assert not (tmp_path / "new").exists()
    assert len(agents.list_agents(ada.context)) == 1


def test_deltas_are_applied_on_the_way_in(ada: Harbour, tmp_path: Path) -> None:
    first = exported(ada, tmp_path / "0.alf")
    number = ada.day_passes()
    delta = exported(ada, tmp_path / "1.alf-delta", since=0)
    other = _machine_with_the_key(ada, tmp_path / "other")
    report = import_archive(other, first, tmp_path / "other" / "ada", deltas=[delta])
    assert report.restored.sequence == number
    assert list_differences(without_large(ada.trees[number]), read_tree(tmp_path / "other" / "ada")) == []
