"""The adapter for Claude Code: one user is one agent, with the memories of each project."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from lifeboat_adapters.claude_code import memory_directory, memory_files, user_settings
from lifeboat_adapters.claude_code.path_spelling import CWD, MEMORY, PROJECTS, map_project_folder, replace_path
from lifeboat_adapters.claude_code.project_paths import ClaudeCodeProjects
from lifeboat_adapters.contract import (
    CaptureRoot,
    Installation,
    MemorySection,
    RenderedFile,
    RuntimeRow,
    UnusedDataOffer,
)
from lifeboat_adapters.credential_types import FileSecret
from lifeboat_adapters.folder.folder_adapter import FolderAdapter, ProfileCredentials
from lifeboat_adapters.folder.folder_profile import FolderProfile
from lifeboat_adapters.folder.profile_transcripts import ProfileTranscripts
from lifeboat_adapters.folder.shipped_profiles import load_shipped_profiles
from lifeboat_adapters.memory_stores import DatabaseWrite, WriteOrder
from lifeboat_adapters.notes.note_rendering import MERGED, STRUCTURED
from lifeboat_adapters.persona.derivation_files import StateFiles, read_file_text
from lifeboat_adapters.runtime_marks import has_match
from lifeboat_alf.memory import effective_view

_OF_THE_USER = (
    *("CLAUDE.md", "settings.json", "projects/*/memory/*.md", "skills/*/SKILL.md", "rules/**/*.md"),
    *("agents/**/*.md", "commands/**/*.md", "output-styles/*.md"),
)
"""The program makes its home by itself. There is an agent once a user or the program wrote one of these."""

_SESSIONS = "session data; transcripts are captured line by line if the setting `transcripts` is on"


class ClaudeCodeCredentials(ProfileCredentials):
    """Credentials in files of the home, and those that are only learned: in `.claude.json` and its copies."""

    def find(self, path: str, data: bytes) -> list[FileSecret] | None:
        if path == user_settings.ROWS:
            return user_settings.find_secrets_in_rows(self._profile, data)
        return super().find(path, data)

    def learned(self, installation: Installation) -> Iterator[FileSecret]:
        yield from user_settings.learn_secrets(self._profile, installation.workspace)


class ClaudeCodeDatabases(ProfileTranscripts):
    """MCP servers of `.claude.json`, and transcripts with the setting for them. Memories are files."""

    def files(self, installation: Installation) -> list[Path]:
        return [*user_settings.list_settings_files(installation.workspace), *super().files(installation)]

    def rows(self, installation: Installation, *, transcripts: bool, cron: bool = False) -> Iterator[RuntimeRow]:
        yield from user_settings.read_servers(installation.workspace)
        yield from super().rows(installation, transcripts=transcripts, cron=cron)

    def unreadable_rows(self, installation: Installation, path: str, data: bytes) -> str:
        missing = user_settings.find_missing_source(installation.workspace) if path == user_settings.ROWS else None
        return f"{missing} does not exist" if missing else super().unreadable_rows(installation, path, data)

    def row_names(self, path: str, values: dict[str, Any]) -> tuple[str, ...]:
        return (user_settings.name_server(values),) if path == user_settings.ROWS else super().row_names(path, values)

    def offers(self, installation: Installation) -> Iterator[UnusedDataOffer]:
        captured = dict(installation.outside).get(memory_directory.PART)
        for folder in memory_directory.find_other_folders(installation.workspace, captured):
            what = f"memories in {folder} (setting autoMemoryDirectory) are not captured with this agent"
            yield UnusedDataOffer(what, f"lifeboat agents add {shlex.quote(str(folder))} --runtime markdown")

    def plan_writes(self, installation: Installation, order: WriteOrder) -> list[DatabaseWrite]:
        servers = user_settings.plan_server_write(installation.workspace, order)
        return [*servers, *super().plan_writes(installation, order)]

    def map_name(self, name: str, order: WriteOrder) -> str:
        found = (map_project_folder(name, old, new) for old, new in order.paths)
        return next((mapped for mapped in found if mapped != name), name)

    def map_data(self, data: bytes, order: WriteOrder) -> bytes:
        for old, new in order.paths:
            data = replace_path(data, old, new, key=CWD)
        return data


class ClaudeCode(FolderAdapter):
    """Claude Code. The home of a user is one agent; the category of a memory is the folder of its project."""

    def __init__(self, profile: FolderProfile | None = None) -> None:
        super().__init__(profile or load_shipped_profiles()["claude-code"])
        self.credentials = ClaudeCodeCredentials(self.profile)
        self.databases = ClaudeCodeDatabases(self.profile)
        self.projects = ClaudeCodeProjects(self.profile)

    # Finding agents

    def recognises(self, workspace: Path) -> int:
        return super().recognises(workspace) if self._has_own_file(workspace) else 0

    def _has_own_file(self, workspace: Path) -> bool:
        return any(has_match(workspace, glob) for glob in _OF_THE_USER)

    def locate(self, workspace: Path, environment: Mapping[str, str], user_home: Path) -> Installation:
        found = super().locate(workspace, environment, user_home)
        folder = memory_directory.find_captured_folder(workspace, user_home)
        return found if folder is None else replace(found, outside=((memory_directory.PART, folder),))

    def outside_parts(self, state: Any, user_home: Path) -> Mapping[str, Path]:
        settings = StateFiles(state).read(self.profile.raw + memory_directory.SETTINGS)
        folder = memory_directory.find_named_folder(settings or b"", user_home)
        return {} if folder is None else {memory_directory.PART: folder}

    def fitted_to(self, workspace: Path, state: Any) -> ClaudeCode:
        """Return the adapter that adds memories where the settings say: of the state, or those that are there."""
        named = memory_directory.read_named_folder(workspace / memory_directory.SETTINGS, Path.home(), workspace)
        if named is None and not self.outside_parts(state, Path.home()):
            return self
        first, *others = self.profile.memories
        moved = msgspec.structs.replace(first, new=f"{memory_directory.PART}memory-{{id}}.md")
        return ClaudeCode(msgspec.structs.replace(self.profile, memories=(moved, *others)))

    # Files

    def roots(self, installation: Installation) -> Sequence[CaptureRoot]:
        named = ((self.profile.raw + part, folder) for part, folder in installation.outside)
        others = [CaptureRoot(prefix, folder, memory_directory.FILES) for prefix, folder in named]
        return [*super().roots(installation), *others]

    def exclusion(self, path: str, *, is_folder: bool) -> str | None:
        parts = path.removeprefix(self.profile.raw).split("/")
        if parts[0] == PROJECTS and len(parts) > 2 and parts[2] != MEMORY:
            return _SESSIONS
        return super().exclusion(path, is_folder=is_folder)

    # Memories

    def split(self, path: str, text: str) -> list[MemorySection] | None:
        sections = super().split(path, text)
        project = path.removeprefix(self.profile.raw).split("/")[1:2]
        return sections and [memory_files.split_memory(section, *project) for section in sections]

    def join(self, path: str, memories: Sequence[tuple[str, str]]) -> str:
        return memory_files.write_memory(path, "\n".join(text for _, text in memories), None, "")

    def rejoin(
        self, path: str, text: str, record_ids: Sequence[str], memories: Sequence[tuple[str, str]]
    ) -> str | None:
        if self.split(path, text) is None:
            return None
        memory = "\n".join(memory for _, memory in memories)
        return memory_files.write_memory(path, memory, None, memory_files.front_matter_of(text))

    def pieces(self, path: str, text: str, record_ids: Sequence[str], gone: Collection[str]) -> list[tuple[int, int]]:
        # The front matter describes the memory, so it goes with it.
        is_gone = self.split(path, text) is not None and bool(record_ids) and set(record_ids) <= set(gone)
        return [(0, len(text))] if is_gone and text else []

    def write_note(self, state: Any, name: str, memories: Sequence[tuple[str, str]]) -> str:
        before = read_file_text(StateFiles(state), self.profile.raw + name)
        ids = {record_id for record_id, _ in memories}
        found = (item.record for item in effective_view.visible_records(state) if str(item.record["id"]) in ids)
        text = "\n".join(memory for _, memory in memories)
        return memory_files.write_memory(name, text, next(found, None), memory_files.front_matter_of(before))

    def render(self, state: Any) -> Iterator[RenderedFile]:
        files = StateFiles(state)
        new: dict[str, list[tuple[str, str]]] = {}
        for file in super().render(state):
            yield file
            if file.basis == STRUCTURED:
                folder, _, name = file.path.rpartition("/")
                for section in self.split(file.path, file.data.decode("utf-8", "replace")) or ():
                    new.setdefault(folder, []).append((name, section.text))
        for folder, memories in new.items():
            path = f"{folder}/{memory_files.INDEX}"
            before = read_file_text(files, path)
            text = memory_files.add_index_lines(before, memories)
            if text != before:
                yield RenderedFile(path, text.encode("utf-8", "replace"), MERGED if before else STRUCTURED)
