"""Restore credentials from files alone: a snapshot, its deltas, and the 24 words on a new machine."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lifeboat_alf.archive import archive_layout
from lifeboat_core.exchange import export_agent, import_archive
from lifeboat_core.exchange.agent_export import ExportOptions
from lifeboat_core.exchange.file_check import check_file
from lifeboat_core.home import user_key_rotation
from lifeboat_core.restore.restore_options import RestoreOptions
from lifeboat_keys.pairs.user_key import UserKey
from support.alf import archive_files
from support.alf.archive_files import ArchiveFile
from support.cli.cli_client import run
from support.core.machines import Machine

STEPS = ("credential", "second credential", "memory", "no credential", "rotate", "rotate after a theft")
EXPORT = "export"


@dataclass
class History:
    """An agent that is exported repeatedly: a snapshot, then a delta whenever something changed."""

    machine: Machine
    base: Path | None = None
    deltas: list[Path] = field(default_factory=list)
    number: int = 0
    count: int = 0

    def do(self, step: str) -> None:
        self.count += 1
        value = f"fake-tide-key-{self.count:04d}-0123456789abcdef"
        if step in STEPS[:2]:
            name = "TIDE_API_KEY" if step == STEPS[0] else "PIER_API_KEY"
            kept = [line for line in self._env() if not line.startswith(name)]
            self.machine.write(".env", "".join(f"{line}\n" for line in [*kept, f"{name}={value}"]), mode=0o600)
        elif step == "memory":
            self.machine.write("MEMORY.md", f"# Memory\n\n## Note\n\nNumber {self.count}.\n")
        elif step == "no credential":
            (self.machine.workspace / ".env").unlink(missing_ok=True)
        elif step == EXPORT:
            self.export()
        else:
            self.rotate(compromised=step == "rotate after a theft")
        self.machine.capture()

    def _env(self) -> list[str]:
        path = self.machine.workspace / ".env"
        return path.read_text().splitlines() if path.exists() else []

    def rotate(self, *, compromised: bool) -> None:
        context = self.machine.context
        old = context.keys().user_key()
        user_key_rotation.rotate_user_key(context, old, UserKey.generate(), compromised=compromised, lost=None)

    def export(self) -> None:
        folder, context = self.machine.folder, self.machine.context
        if self.base is None:
            self.base = folder / "base.alf"
            self.number = export_agent(context, "openclaw", self.machine.workspace, self.base).sequence
            return
        with context.vault(self.machine.agent.id) as vault:
            head = vault.head()
        if head is not None and head.number > self.number:
            delta = folder / f"{len(self.deltas)}.alf-delta"
            self.number = export_agent(
                context, "openclaw", self.machine.workspace, delta, ExportOptions(since=self.number)
            ).sequence
            self.deltas.append(delta)

    def arrived(self, folder: Path) -> Path:
        """Return the workspace on a machine that has the files and the words of the present key."""
        other = Machine(folder)
        other.learn_words_of(self.machine)
        assert self.base is not None
        to = folder / "arrived"
        import_archive(
            other.context, self.base, to, RestoreOptions(with_credentials=True, yes=True), deltas=self.deltas
        )
        return to


@given(
    st.lists(st.sampled_from(STEPS), max_size=3), st.lists(st.sampled_from((*STEPS, EXPORT)), min_size=1, max_size=5)
)
@settings(max_examples=12, deadline=None)
def test_files_and_words_bring_every_credential_back(before: list[str], after: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        history = History(Machine(Path(folder, "laptop")))
        history.machine.add(name="ada")
        for step in [*before, EXPORT, *after, "memory", EXPORT]:
            history.do(step)
        to = history.arrived(Path(folder, "new"))
        for name in (".env", "MEMORY.md", "SOUL.md"):
            here, there = history.machine.workspace / name, to / name
            assert there.exists() == here.exists()
            assert not here.exists() or there.read_bytes() == here.read_bytes()


@pytest.fixture
def history(tmp_path: Path) -> History:
    """Return a base without a credential, and a delta that brings the first one."""
    made = History(Machine(tmp_path / "laptop"))
    made.machine.add(name="ada")
    for step in (EXPORT, "credential", EXPORT):
        made.do(step)
    return made


def without_keys(history: History) -> Path:
    """Return the delta as an earlier version wrote it."""
    (delta,) = history.deltas
    return archive_files.edit(delta, delta.with_name("old.alf-delta"), {archive_layout.KEYS: None})


def test_a_delta_that_brings_a_credential_without_its_key_is_warned_of(history: History) -> None:
    (delta,) = history.deltas
    assert check_file(history.machine.context, delta, None, strict=True).ok
    found = check_file(history.machine.context, without_keys(history), None, strict=True)
    assert ([each.code for each in found.warnings], found.ok) == (["no_key"], False)


def test_a_snapshot_that_holds_a_credential_without_its_key_is_warned_of(history: History, tmp_path: Path) -> None:
    full = tmp_path / "full.alf"
    export_agent(history.machine.context, "openclaw", history.machine.workspace, full)
    assert check_file(history.machine.context, full, None, strict=True).ok
    edited = archive_files.edit(full, tmp_path / "edited.alf", {archive_layout.KEYS: None})
    assert [each.code for each in check_file(history.machine.context, edited, None, strict=False).warnings] == [
        "no_key"
    ]


def test_applying_a_delta_without_the_key_of_its_credential_says_which_stays_shut(
    history: History, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("LIFEBOAT_HOME", "HOME"):
        monkeypatch.setenv(name, history.machine.context.environment[name])
    assert history.base is not None
    made = run("alf", "apply", history.base, without_keys(history), "-o", tmp_path / "a.alf", expect=1)
    (label,) = made["unopened"]
    assert "TIDE" in label or "tide" in label
    assert run("alf", "apply", history.base, *history.deltas, "-o", tmp_path / "b.alf")["unopened"] == []
    assert (
        json.loads(ArchiveFile(tmp_path / "b.alf").bodies[archive_layout.KEYS])["agent_id"] == history.machine.agent.id
    )
    entries = run("alf", "diff", tmp_path / "a.alf", tmp_path / "b.alf")["entries"]
    assert entries == [{"path": archive_layout.KEYS, "operation": "put"}]


def test_an_import_that_leaves_credentials_out_ends_with_1(
    history: History, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full, other = tmp_path / "full.alf", Machine(tmp_path / "new")
    export_agent(history.machine.context, "openclaw", history.machine.workspace, full)
    other.learn_words_of(history.machine)
    for name in ("LIFEBOAT_HOME", "HOME"):
        monkeypatch.setenv(name, other.context.environment[name])
    run("alf", "import", full, "--to", tmp_path / "to", "--dry-run")
    assert run("alf", "import", full, "--to", tmp_path / "to", expect=1)["lacking"] == [".env"]
    whole = run("alf", "import", full, "--to", tmp_path / "whole", "--with-credentials")
    assert whole["lacking"] == []
