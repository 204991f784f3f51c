"""Purges of live files remove the lines that were shown, and nothing else."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from lifeboat_core.purge import workspace_purge
from lifeboat_core.purge.workspace_purge import WorkspaceRemoval
from lifeboat_formats.aimem.wire.bundle_reading import parse_bundle
from support.core.busy_agent import FilesOfBusyAgent
from support.core.protected import Protected
from support.core.purged_here import purge
from support.core.zeroclaw_protected import ProtectedClaw
from support.formats import aimem_bundles as bundles

LINE = "The passport number is C01X00T47."
FILE = "memory/2026-11-11.md"
ARCHIVED = f"raw/openclaw/{FILE}"


@pytest.fixture
def ada(tmp_path: Path) -> Protected:
    made = Protected(tmp_path)
    made.write(FILE, f"# Day\n\n## Papers\n\n{LINE}\n\n## Weather\n\nSunny.\n", mode=0o640)
    made.add()
    purge(made, texts=["C01X00T47"])
    return made


def planned(ada: Protected | ProtectedClaw) -> list[WorkspaceRemoval]:
    with ada.context.vault(ada.agent.id) as vault:
        return workspace_purge.plan_workspace_purge(ada.context, ada.agent, vault)


def cut(ada: Protected, cuts: list[WorkspaceRemoval]) -> list[str]:
    with ada.context.vault(ada.agent.id) as vault:
        return workspace_purge.purge_workspace(ada.context, ada.agent, vault, cuts)


def test_a_plan_names_the_file_and_shows_what_goes(ada: Protected) -> None:
    (found,) = planned(ada)
    assert (found.path, f"-{LINE}" in found.diff) == (ARCHIVED, True)


def test_a_plan_writes_nothing(ada: Protected) -> None:
    planned(ada)
    assert LINE in ada.read(FILE)


def test_the_lines_leave_the_file(ada: Protected) -> None:
    assert cut(ada, planned(ada)) == [ARCHIVED]
    assert ("C01X00T47" in ada.read(FILE), "Sunny." in ada.read(FILE)) == (False, True)


def test_the_file_keeps_its_rights(ada: Protected) -> None:
    cut(ada, planned(ada))
    assert stat.S_IMODE((ada.workspace / FILE).stat().st_mode) == 0o640


def test_the_file_keeps_its_time(ada: Protected) -> None:
    before = (ada.workspace / FILE).stat().st_mtime_ns
    cut(ada, planned(ada))
    assert (ada.workspace / FILE).stat().st_mtime_ns == before


def test_a_file_that_changed_since_it_was_shown_stays(ada: Protected) -> None:
    cuts = planned(ada)
    ada.write(FILE, f"# Day\n\n{LINE}\n\nRainy.\n")
    assert (cut(ada, cuts), LINE in ada.read(FILE)) == ([], True)


def test_a_file_that_changes_while_its_new_version_is_written_stays(tmp_path: Path) -> None:
    files = FilesOfBusyAgent()
    ada = Protected(tmp_path, files=files)
    ada.write(FILE, f"# Day\n\n{LINE}\n")
    ada.add()
    purge(ada, texts=["C01X00T47"])
    cuts, files.changed = planned(ada), ada.workspace / FILE
    assert (cut(ada, cuts), ada.read(FILE)) == ([], FilesOfBusyAgent.TEXT)


def test_a_capture_afterwards_makes_no_sequence(ada: Protected) -> None:
    cut(ada, planned(ada))
    report = ada.capture()
    assert (report.outcome, report.kept_out) == ("unchanged", {})


def test_without_a_purge_there_is_nothing_to_cut(tmp_path: Path) -> None:
    ada = Protected(tmp_path)
    ada.add()
    assert planned(ada) == []


def test_a_row_is_removed_by_a_command_of_the_runtime(tmp_path: Path) -> None:
    eva = ProtectedClaw(tmp_path)
    eva.install.remember("pass", LINE, created_at="2026-11-10T08:00:00+00:00")
    eva.add()
    purge(eva, texts=["C01X00T47"])
    (found,) = planned(eva)
    assert found.command == "zeroclaw memory clear --key pass"


def test_a_bundle_that_loses_a_memory_still_fits_its_checksum(tmp_path: Path) -> None:
    ada = Protected(tmp_path)
    chunks = [bundles.chunk("c1", LINE), bundles.chunk("c2", "Sunny.")]
    whole = {**bundles.sample(), "chunks": chunks, "edges": [bundles.edge()], "entities": [], "chunk_entities": []}
    ada.write("a.aimem.json", bundles.document(whole))
    ada.add(runtime="aimem")
    purge(ada, texts=["C01X00T47"])
    assert cut(ada, planned(ada)) == ["raw/aimem/a.aimem.json"]
    left = parse_bundle(ada.read("a.aimem.json").encode())
    assert [chunk["content"] for chunk in left.chunks] == ["Sunny."]
    assert list(left.edges) == []
    assert planned(ada) == []
    ada.capture()
    assert [record["content"] for record in ada.memories().values()] == ["Sunny."]
