"""A protected agent for tests: a workspace on disk, a home, a clock that stands still, and the way to look at both."""

from __future__ import annotations

import os
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.memory.effective_view import visible_records
from lifeboat_alf.seams.file_operations import FileOperations, SystemFiles
from lifeboat_alf.states import entry_metas
from lifeboat_core.agents import manage_agents
from lifeboat_core.capture.capture_report import CaptureReport
from lifeboat_core.capture.capture_run import capture_agent
from lifeboat_core.home.context import Context

START = datetime(2026, 11, 12, 12, tzinfo=UTC)


class SteadyClock:
    """A clock that stands still until it is moved; time since boot moves with it unless it `jump`s."""

    def __init__(self, moment: datetime = START) -> None:
        self.moment, self.running, self.boot = moment, 1000.0, "first"
        self.asleep = 0.0

    def now(self) -> datetime:
        return self.moment

    def since_boot(self) -> float:
        return self.running

    def monotonic(self) -> float:
        return self.running - self.asleep

    def boot_id(self) -> str:
        return self.boot

    def sleep(self, **parts: float) -> None:
        self.advance(**parts)
        self.asleep += timedelta(**parts).total_seconds()

    def advance(self, **parts: float) -> None:
        span = timedelta(**parts)
        self.moment += span
        self.running += span.total_seconds()

    def jump(self, **parts: float) -> None:
        self.moment += timedelta(**parts)

    def reboot(self, **off: float) -> None:
        self.moment += timedelta(**off)
        self.running, self.boot, self.asleep = 10.0, f"{self.boot}+", 0.0


SOUL = "# Soul\n\nBe kind.\n"
MEMORY = "# Memory\n\n## Tea\n\nLikes green tea in the morning.\n\n## Boat\n\nThe red boat lies in the harbour.\n"


class Protected:
    """An OpenClaw workspace `ada` in `folder` that is captured on demand.

    Files get the clock's time less a minute, so that none of them is young enough to be read twice.
    """

    def __init__(self, folder: Path, *, files: FileOperations | None = None, config: str | None = None) -> None:
        self.folder = folder
        self.state_dir = folder / "openclaw"
        self.workspace = self.state_dir / "workspace"
        self.workspace.mkdir(parents=True)
        self.clock = SteadyClock()
        self.files = files or SystemFiles()
        self.write("SOUL.md", SOUL)
        self.write("MEMORY.md", MEMORY)
        if config is not None:
            self.write_config(config)

    @property
    def context(self) -> Context:
        around = {
            "LIFEBOAT_HOME": str(self.folder / "home"),
            "HOME": str(self.folder / "user"),
            "PATH": "/usr/bin:/bin",
        }
        return Context.open(around, self.files, self.clock)

    def add(self, **options: Any) -> CaptureReport:
        self.agent, report = manage_agents.protect_workspace(self.context, self.workspace, **options)
        return report

    def capture(self, **options: Any) -> CaptureReport:
        """A minute later: capture."""
        self.clock.advance(minutes=1)
        return capture_agent(self.context, manage_agents.load_agent(self.context, self.agent.id), **options)

    # The workspace ----------------------------------------------------------------------------------------------

    def write(self, path: str, content: str | bytes, *, mode: int = 0o644) -> Path:
        return self._write(self.workspace / path, content, mode)

    def write_config(self, content: str, name: str = "openclaw.json") -> Path:
        return self._write(self.state_dir / name, content, 0o600)

    def _write(self, file: Path, content: str | bytes, mode: int) -> Path:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        file.chmod(mode)
        moment = int(self.clock.now().timestamp()) - 60
        os.utime(file, (moment, moment))
        return file

    def read(self, path: str) -> str:
        return (self.workspace / path).read_text()

    def tree(self) -> dict[str, tuple[Any, ...]]:
        """The workspace as it stands: bytes and execute bit of files, targets of links, empty folders."""
        found: dict[str, tuple[Any, ...]] = {}
        for folder, folders, names in os.walk(self.workspace):
            for name in [*names, *(one for one in folders if os.path.islink(os.path.join(folder, one)))]:
                file = Path(folder, name)
                path = file.relative_to(self.workspace).as_posix()
                if file.is_symlink():
                    found[path] = ("link", os.readlink(file))
                else:
                    found[path] = ("file", file.read_bytes(), bool(file.stat().st_mode & stat.S_IXUSR))
            if not folders and not names and folder != str(self.workspace):
                found[Path(folder).relative_to(self.workspace).as_posix()] = ("folder",)
        return found

    # What is kept -----------------------------------------------------------------------------------------------

    def kept(self, number: int | None = None) -> dict[str, tuple[Any, ...]]:
        """The workspace as the vault has it, in the form of `tree`."""
        found: dict[str, tuple[Any, ...]] = {}
        with self.context.vault(self.agent.id) as vault:
            state = vault.state(number)
            for entry in (*state.entries("raw/openclaw/"), *state.entries("artifacts/")):
                path = entry.path.removeprefix("raw/openclaw/").removeprefix("artifacts/")
                kind = entry.meta.get("type", "file")
                if kind == "file":
                    found[path] = ("file", state.body(entry.path), bool(entry.meta.get("executable")))
                else:
                    found[path] = (kind, entry.meta["target"]) if kind == "link" else (kind,)
        return found

    def body(self, path: str, number: int | None = None) -> bytes:
        with self.context.vault(self.agent.id) as vault:
            return vault.state(number).body(path)

    def meta(self, path: str, number: int | None = None) -> JsonObject | None:
        with self.context.vault(self.agent.id) as vault:
            entry = vault.state(number).entry(path)
            return None if entry is None else entry.meta

    def document(self, path: str, number: int | None = None) -> JsonObject:
        document: JsonObject = json_codec.decode_json(self.body(path, number))
        return document

    def records(self, number: int | None = None) -> list[JsonObject]:
        """Every record, dead ones too, in order."""
        with self.context.vault(self.agent.id) as vault:
            return [json_codec.decode_json(record.line) for record in vault.state(number).records()]

    def memories(self, number: int | None = None) -> dict[str, JsonObject]:
        """What the agent remembers, by text."""
        with self.context.vault(self.agent.id) as vault:
            return {one.record["content"]: one.record for one in visible_records(vault.state(number))}

    def texts(self, path: str, number: int | None = None) -> list[str]:
        """The texts of a file's memories in their order."""
        listed = (self.meta(path, number) or {}).get(entry_metas.RECORDS, [])
        by_id = {record["id"]: record["content"] for record in self.records(number)}
        return [by_id[one] for one in listed]

    def operations(self) -> list[tuple[str, str]]:
        """What the newest sequence does to the memory: (operation, text)."""
        with self.context.vault(self.agent.id) as vault:
            head = vault.head()
            assert head is not None and head.base is not None
            changes = vault.changes(head.base, head.number).records
            return [(one.operation, json_codec.decode_json(one.record.line)["content"]) for one in changes]


def protected_agent(folder: Path) -> Protected:
    """Add the agent `ada`, which takes the first capture. For `PreparedFolders.restore`."""
    made = Protected(folder)
    made.add(name="ada")
    return made
