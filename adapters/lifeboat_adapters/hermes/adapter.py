"""The adapter for Hermes Agent: its profile, its named profiles, and its jobs and sessions as rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath

from lifeboat_adapters.contract import DatabaseSupport, DiscoveredAgent, Installation, RuntimeRow
from lifeboat_adapters.folder.folder_adapter import FolderAdapter
from lifeboat_adapters.folder.shipped_profiles import load_shipped_profiles
from lifeboat_adapters.hermes import hermes_jobs, hermes_sessions, session_writing
from lifeboat_adapters.hermes.hook.hook_planning import HermesHook
from lifeboat_adapters.memory_stores import DatabaseWrite, WriteOrder

PROFILES = "profiles"
DEFAULT = "default"


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


class Hermes(FolderAdapter):
    """Hermes Agent. The home is the agent `default`; each folder in `profiles/` is another agent."""

    databases = HermesDatabases()
    hook = HermesHook()

    def __init__(self) -> None:
        super().__init__(load_shipped_profiles()["hermes"])

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
        real = workspace.resolve()
        is_profile = real.parent.name == PROFILES
        native_id = real.name if is_profile else DEFAULT
        return replace(found, native_id=native_id, name=real.name if is_profile else self.profile.title)
