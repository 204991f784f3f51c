"""The adapter for Hermes Agent: its profile, its named profiles, and its jobs and sessions as rows."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

import psutil

from lifeboat_adapters.contract import DatabaseSupport, DiscoveredAgent, Installation, NextStep, RuntimeRow
from lifeboat_adapters.folder.folder_adapter import FolderAdapter, ProfilePlacement
from lifeboat_adapters.folder.folder_profile import FolderProfile
from lifeboat_adapters.folder.shipped_profiles import load_shipped_profiles
from lifeboat_adapters.hermes import hermes_jobs, hermes_sessions, memory_budgets, session_writing
from lifeboat_adapters.hermes.hook.hook_planning import HermesHook
from lifeboat_adapters.memory_stores import DatabaseWrite, WriteOrder

PROFILES = "profiles"
DEFAULT, TITLE = "default", "Hermes Agent"


class HermesDatabases(DatabaseSupport):
    """Scheduled jobs, and sessions with their messages. Memories are entries of files."""

    def files(self, installation: Installation) -> list[Path]:
        every = (installation.workspace / name for name in (hermes_sessions.FILE, hermes_jobs.FILE))
        return [path for path in every if path.is_file()]

    def rows(self, installation: Installation, *, transcripts: bool, cron: bool = False) -> Iterator[RuntimeRow]:
        if cron:
            yield from hermes_jobs.read_jobs(installation)
        if transcripts:
            yield from hermes_sessions.read_sessions(installation)

    def unreadable_rows(self, installation: Installation, path: str, data: bytes) -> str:
        if path == hermes_jobs.ROWS:
            return hermes_jobs.find_jobs_problem(installation.workspace)
        if path.startswith(hermes_sessions.FOLDER):
            return hermes_sessions.find_session_problem(installation.workspace, PurePosixPath(path).stem)
        return ""

    def plan_writes(self, installation: Installation, order: WriteOrder) -> list[DatabaseWrite]:
        jobs = hermes_jobs.plan_job_write(installation, order)
        return [*jobs, *session_writing.plan_session_write(installation, order)]


class HermesPlacement(ProfilePlacement):
    """Whether Hermes uses a home, and the wrapper with which a profile is started."""

    def stand_alone(self, workspace: Path) -> Installation | None:
        return _named(Installation(self._profile.name, workspace, DEFAULT, TITLE))

    def running(self, installation: Installation) -> str:
        return super().running(installation) or _holder_of(installation.workspace / hermes_sessions.FILE)

    def uses(self, process: psutil.Process, installation: Installation) -> bool:
        try:
            around = process.environ()
        except psutil.NoSuchProcess:  # also for a process that has ended and was not waited for
            return False
        except psutil.Error:
            return True
        home = Path(around.get("HERMES_HOME") or Path(around.get("HOME") or Path.home(), ".hermes"))
        # A process may have changed to a profile by itself, so it counts for all profiles of its home.
        homes = (installation.workspace, *installation.workspace.parents[1:2])
        return os.path.realpath(home) in map(os.path.realpath, homes)

    def next_steps(self, installation: Installation, state: Any) -> list[NextStep]:
        name, root = installation.native_id, installation.workspace.parent.parent
        is_profile = installation.workspace.parent.name == PROFILES
        if not is_profile or (Path.home() / ".local" / "bin" / name).exists():
            return []
        waits = "" if installation.program else "hermes is not on PATH"
        command = (str(installation.program or "hermes"), "profile", "alias", name)
        title = f"Create the command {name}, which starts this profile"
        return [NextStep(title, command, environment={"HERMES_HOME": str(root)}, waits=waits)]


def _holder_of(database: Path) -> str:
    """Return the process that has a database or its log open, "" for none. A daemon of Lifeboat only reads it."""
    names = {os.path.realpath(f"{database}{end}") for end in ("", "-wal", "-shm")}
    for process in psutil.process_iter(["name"]):
        with contextlib.suppress(psutil.Error, OSError):
            is_ours = process.pid == os.getpid() or any("lifeboat_daemon" in word for word in process.cmdline())
            if not is_ours and any(file.path in names for file in process.open_files()):
                return f"{process.info['name']}, process {process.pid}, which has {database} open,"
    return ""


class Hermes(FolderAdapter):
    """Hermes Agent. The home is the agent `default`; each folder in `profiles/` is another agent."""

    hook = HermesHook()

    def __init__(self, profile: FolderProfile | None = None) -> None:
        super().__init__(profile or load_shipped_profiles()["hermes"])
        self.databases = HermesDatabases()
        self.placement = HermesPlacement(self.profile)

    def fitted_to(self, workspace: Path, state: Any) -> Hermes:
        return Hermes(memory_budgets.fit_profile(self.profile, workspace, state))

    def lock_name(self, name: str) -> str | None:
        return f"{name}.lock" if self.profile.memory_rule(name) is not None else None

    def discover(self, environment: Mapping[str, str], user_home: Path) -> list[DiscoveredAgent]:
        found = super().discover(environment, user_home)
        homes = [each.workspace for each in found]
        profiles = [
            folder for home in homes for folder in sorted((home / PROFILES).glob("*")) if self.recognises(folder)
        ]
        located = [self.locate(folder, environment, user_home) for folder in (*homes, *profiles)]
        return [DiscoveredAgent(one.runtime, one.native_id, one.name, one.workspace, None) for one in located]

    def locate(self, workspace: Path, environment: Mapping[str, str], user_home: Path) -> Installation:
        found = super().locate(workspace, environment, user_home)
        return replace(_named(found), program=self.find_program(environment))


def _named(found: Installation) -> Installation:
    """Return the installation with the name of its profile."""
    real = found.workspace.resolve()
    if real.parent.name != PROFILES:
        return replace(found, native_id=DEFAULT, name=TITLE)
    return replace(found, native_id=real.name, name=real.name)
