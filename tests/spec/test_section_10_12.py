"""ALF §10.12: storage and transport, against every kind of remote."""

from __future__ import annotations

import contextlib
import hashlib
import io
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import pytest

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.deltas.applied_state import AppliedState
from lifeboat_alf.deltas.delta_writer import DeltaReader
from lifeboat_alf.snapshot import SnapshotReader, write_snapshot
from lifeboat_cli.demo import demo_workspace as demo
from lifeboat_core.agents import manage_agents
from lifeboat_core.home.context import Context
from lifeboat_core.remotes import vault_bundles
from lifeboat_core.remotes.contract import Compactable
from lifeboat_vault.remote.remote_contract import Remote, RemoteBundle, RemoteHead
from support.alf.archive_files import ArchiveFile
from support.core import second_copies
from support.core.harbour import Harbour
from support.core.protected import SteadyClock

DAYS = 5
"""How many deltas follow the snapshot."""
OLD_NOTE = "memory/2026-08-03.md"
"""A day whose partition is sealed at the first capture."""
SEALED = "memory/partitions/2026-Q3.jsonl"


@pytest.fixture(scope="module")
def ada(tmp_path_factory: pytest.TempPathFactory) -> Harbour:
    """An agent with a sealed partition, captured once and then after each of five changes."""
    folder = tmp_path_factory.mktemp("ada")
    environment = {"HOME": str(folder / "user"), "LIFEBOAT_HOME": str(folder / "home"), "PATH": "/usr/bin:/bin"}
    demo.write_workspace(folder / "user/.openclaw", date(2026, 11, 12))
    workspace = folder / "user/.openclaw/workspace"
    (workspace / OLD_NOTE).write_text("## Summer\n\nSwam in the river.\n")
    clock = SteadyClock()
    context = Context.open(environment, clock=clock)
    made = Harbour(context, manage_agents.protect_workspace(context, workspace)[0])
    for number in range(1, DAYS + 1):
        clock.advance(hours=1)
        note = workspace / "MEMORY.md"
        note.write_text(f"{note.read_text()}\n## Day {number}\n\nSomething happened, {number}.\n")
        assert made.capture() == number
    return made


@dataclass
class Pushed:
    """A remote that got everything: the heads that it acknowledged, in order."""

    remote: Remote
    heads: list[RemoteHead]


@pytest.fixture(scope="module", params=second_copies.KINDS)
def pushed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, ada: Harbour) -> Iterator[Pushed]:
    folder = tmp_path_factory.mktemp("remote") / "copy"
    with second_copies.remote_of(request.param, folder, ada.context) as remote:
        remote.register(ada.agent.id, ada.agent.name, "openclaw")
        yield Pushed(remote, list(_push_all(ada, remote)))


def _push_all(ada: Harbour, remote: Remote) -> Iterator[RemoteHead]:
    with ada.context.vault(ada.agent.id) as vault:
        with vault_bundles.make_snapshot(ada.context, vault, 0, None) as first:
            yield remote.push(ada.agent.id, first)
        for number in range(1, DAYS + 1):
            with vault_bundles.make_delta(ada.context, vault, number - 1, number) as delta:
                yield remote.push(ada.agent.id, delta)


def _read(bundle: RemoteBundle) -> bytes:
    with contextlib.closing(bundle.file) as file:
        return file.read()


def _full_export(ada: Harbour, number: int) -> bytes:
    """The agent at a sequence, written by the machine that it lives on."""
    out = io.BytesIO()
    with ada.context.vault(ada.agent.id) as vault:
        write_snapshot(vault.state(number), out)
    return out.getvalue()


def test_pushed_deltas_get_rising_numbers(pushed: Pushed) -> None:
    assert [head.number for head in pushed.heads] == list(range(DAYS + 1))


def test_deltas_since_a_sequence_are_those_after_it_in_order(pushed: Pushed, ada: Harbour) -> None:
    for since in (0, 2, DAYS):
        found = []
        for delta in pushed.remote.deltas(ada.agent.id, since):
            found.append((delta.base, delta.number))
            delta.file.close()
        assert found == [(number, number + 1) for number in range(since, DAYS)]


def test_a_compacted_snapshot_is_a_full_export(pushed: Pushed, ada: Harbour) -> None:
    """An endpoint makes any snapshot when it is asked for one."""
    compacted = pushed.remote.snapshot(ada.agent.id)
    assert (compacted.number, compacted.base) == (DAYS, None)
    assert _read(compacted) == _full_export(ada, DAYS)


class _OnlyTheNewest(vault_bundles.VaultBundleSource):
    """What a machine has that let go of everything but the newest state."""

    def gone(self) -> Collection[int]:
        return range(DAYS)


@pytest.mark.parametrize("kind", [second_copies.SEALED_FOLDER, second_copies.PLAIN_FOLDER])
def test_what_a_machine_compacts_for_a_folder_is_a_full_export(kind: str, ada: Harbour, tmp_path: Path) -> None:
    with second_copies.remote_of(kind, tmp_path / "copy", ada.context) as remote:
        remote.register(ada.agent.id, ada.agent.name, "openclaw")
        assert isinstance(remote, Compactable) and len(list(_push_all(ada, remote))) == DAYS + 1
        with ada.context.vault(ada.agent.id) as vault:
            assert remote.compact(ada.agent.id, _OnlyTheNewest(vault, None))
        assert [row.number for row in remote.sequences(ada.agent.id)] == [DAYS]
        assert _read(remote.snapshot(ada.agent.id)) == _full_export(ada, DAYS)


def test_a_sealed_partition_is_the_same_blob_whenever_it_is_fetched(
    pushed: Pushed, ada: Harbour, tmp_path: Path
) -> None:
    found = set()
    for place, number in enumerate((0, DAYS, DAYS, 0)):
        path = tmp_path / f"{place}.alf"
        path.write_bytes(_read(pushed.remote.snapshot(ada.agent.id, number)))
        archive = ArchiveFile(path)
        (listed,) = [item for item in archive.manifest["layers"]["memory"]["partitions"] if item["file"] == SEALED]
        assert listed["sealed"] is True
        assert listed["checksum"] == f"sha256:{hashlib.sha256(archive.bodies[SEALED]).hexdigest()}"
        found.add(listed["checksum"])
    assert len(found) == 1


def test_a_snapshot_and_the_deltas_after_it_are_a_fresh_full_export(pushed: Pushed, ada: Harbour) -> None:
    first = _read(pushed.remote.snapshot(ada.agent.id, 0))
    deltas = [_read(delta) for delta in pushed.remote.deltas(ada.agent.id, 0)]
    with SnapshotReader(io.BytesIO(first)) as snapshot, contextlib.ExitStack() as opened:
        state: AppliedState | SnapshotReader = snapshot
        for delta in deltas:
            state = AppliedState(state, opened.enter_context(DeltaReader(io.BytesIO(delta))))
        out = io.BytesIO()
        write_snapshot(state, out)
        assert out.getvalue() == _full_export(ada, DAYS)
        memory = state.body(f"{archive_layout.raw_prefix('openclaw')}MEMORY.md")
    assert memory == (ada.workspace / "MEMORY.md").read_bytes()
