"""The adapter for a runtime that a profile describes."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any

import psutil

from lifeboat_adapters.contract import (
    Adapter,
    CaptureRoot,
    CredentialSupport,
    Derivation,
    DiscoveredAgent,
    HomeFileMerge,
    Installation,
    MemorySection,
    MergedHomeFile,
    Placement,
    PlacementSupport,
    RenderedFile,
)
from lifeboat_adapters.credential_types import FileSecret, ForeignCredential, TranslatedCredentials
from lifeboat_adapters.errors import NotAWorkspace
from lifeboat_adapters.exclusion_rules import STATE_SUFFIXES, ExclusionRules, file_suffix
from lifeboat_adapters.folder import (
    profile_credentials,
    profile_identity,
    profile_key_translation,
    profile_memories,
    profile_rendering,
    volatile_values,
)
from lifeboat_adapters.folder.folder_profile import FolderProfile
from lifeboat_adapters.folder.profile_transcripts import ProfileTranscripts
from lifeboat_adapters.folder.settings_hook import SettingsHook
from lifeboat_adapters.folder.volatile_values import values_at
from lifeboat_adapters.foreign_runtimes import find_unsupported_runtime, refuse_foreign_runtime
from lifeboat_adapters.item_fates import ItemFate
from lifeboat_adapters.notes import memory_comments
from lifeboat_adapters.persona import markdown_fields
from lifeboat_adapters.runtime_marks import find_mark, find_named_folder, has_match
from lifeboat_adapters.small_files import read_small
from lifeboat_alf.archive import archive_layout

_COMMON = ExclusionRules()
_NO_LETTERS = re.compile(r"[^a-z0-9]+")
_NOTES = ("*.md", "*/*.md")


class ProfileCredentials(CredentialSupport):
    """The credentials in the files of a profile."""

    def __init__(self, profile: FolderProfile) -> None:
        self._profile = profile

    def find(self, path: str, data: bytes) -> list[FileSecret] | None:
        name = _name_of(self._profile, path)
        return None if name is None else profile_credentials.find_profile_secrets(self._profile, name, data)

    def secret_places(self, path: str, data: bytes, offsets: Sequence[int]) -> list[tuple[str | int, ...]]:
        return profile_credentials.find_profile_secret_places(path, data, offsets)

    def translate(
        self, installation: Installation, credentials: Sequence[ForeignCredential], state: Any
    ) -> TranslatedCredentials:
        return profile_key_translation.translate_provider_keys(self._profile, installation, credentials)


class ProfilePlacement(PlacementSupport):
    """Where an agent of a profile is restored to, and whether its runtime is running."""

    def __init__(self, profile: FolderProfile) -> None:
        self._profile = profile
        self.stop_command = profile.running.stop

    def install_into(
        self,
        state_dir: Path,
        workspace: Path,
        state: Any,
        environment: Mapping[str, str],
        user_home: Path,
        version: str,
    ) -> Installation:
        return _installation(self._profile, workspace, state_dir)

    def home_around(self, workspace: Path) -> Path | None:
        # Only a folder that is named as the runtime names its own: a restore writes files of the runtime into it.
        home = _home_around(self._profile, workspace, Path.home())
        return home if home is not None and home.name == PurePosixPath(self._profile.agent.home).name else None

    def stand_alone(self, workspace: Path) -> Installation | None:
        # Without the folder around the workspace, a file in it cannot get keys.
        is_around = self._profile.keys.file in self._profile.home_files
        return None if is_around else _installation(self._profile, workspace, None)

    def merge_home(self, installation: Installation, merge: HomeFileMerge) -> MergedHomeFile | None:
        return profile_key_translation.merge_provider_keys(self._profile, merge)

    def running(self, installation: Installation) -> str:
        home = installation.state_dir or installation.workspace
        for name in self._profile.running.pid_files:
            recorded = _recorded_process(home / name, home)
            if recorded is not None:
                return f"{self._profile.title}, process {recorded}"
        programs = self._profile.running.programs
        for process in psutil.process_iter(["name"]) if programs else ():
            name = str(process.info["name"] or "").lower().removesuffix(".exe")
            if name in programs and process.pid != os.getpid() and self.uses(process, installation):
                return f"{self._profile.title}, process {process.pid}"
        return ""

    def uses(self, process: psutil.Process, installation: Installation) -> bool:
        """Return whether a process of the runtime may use this installation."""
        return True


class FolderAdapter(Adapter):
    """A runtime whose agent is a folder of files, as its profile says. `text` is that of a profile of the user."""

    def __init__(self, profile: FolderProfile, text: str = "") -> None:
        self.profile = profile
        self.profile_text = text
        self.runtime = profile.name
        self.splitter_version = profile.splitter
        self.takes_any_folder = profile.takes_any_folder
        self.home_names = (home,) if (home := _home_name(profile)) else ()
        self.credentials = ProfileCredentials(profile)
        self.placement = ProfilePlacement(profile)
        # An adapter that adds to its profile has its own, as attributes of its class.
        if profile.transcripts.globs:
            self.databases = ProfileTranscripts(profile)
        if profile.hook.file:
            self.hook = SettingsHook(profile)
        self._marks = profile.runtime_marks()

    # Finding agents

    def discover(self, environment: Mapping[str, str], user_home: Path) -> list[DiscoveredAgent]:
        found = dict.fromkeys(self._candidates(environment, user_home))
        recognised = (each for each in found if self.recognises(each))
        located = [_installation(self.profile, each, self._home_of(each, user_home)) for each in recognised]
        return [DiscoveredAgent(one.runtime, one.native_id, one.name, one.workspace, one.state_dir) for one in located]

    def _candidates(self, environment: Mapping[str, str], user_home: Path) -> Iterator[Path]:
        agent = self.profile.agent
        moved = environment.get(agent.home_variable) if agent.home_variable else None
        if moved or agent.home:
            home = Path(moved) if moved else _in_home(agent.home, user_home)
            yield home / agent.workspace if agent.workspace != "." else home
        if agent.listed_in:
            values = _read_json(_in_home(agent.listed_in, user_home))
            yield from (Path(each) for each in values_at(values, agent.listed_at.split(".")) if isinstance(each, str))

    def locate(self, workspace: Path, environment: Mapping[str, str], user_home: Path) -> Installation:
        if self.takes_any_folder or not self.recognises(workspace):
            refuse_foreign_runtime(workspace, self.profile.name)
            # A restored agent may lack the marks that the runtime makes, and is no less one of it.
            if not (self.recognises(workspace) or self._has_own_file(workspace)):
                raise NotAWorkspace(f"{workspace} contains no files of {self.profile.title}")
        return _installation(self.profile, workspace, self._home_of(workspace, user_home))

    def recognises(self, workspace: Path) -> int:
        if not workspace.is_dir():
            return 0
        if self.takes_any_folder:
            return int(any(has_match(workspace, glob) for glob in _NOTES))
        # A runtime makes its folder before there is an agent in it, so the name of the folder alone is no proof.
        if find_named_folder(workspace, self._marks) and self._has_own_file(workspace):
            return 2
        return int(find_mark(workspace, self._marks) is not None and find_unsupported_runtime(workspace) is None)

    def _has_own_file(self, workspace: Path) -> bool:
        named = (*self.profile.persona_files().values(), *self.profile.marks.usual)
        rules = (rule.glob for rule in self.profile.memories)
        return any(has_match(workspace, glob) for glob in (*named, *rules))

    def find_program(self, environment: Mapping[str, str]) -> Path | None:
        found = (shutil.which(name, path=environment.get("PATH")) for name in self.profile.running.programs)
        return next((Path(each) for each in found if each), None)

    def usual_workspace(self, user_home: Path, name: str) -> Path:
        agent = self.profile.agent
        if not agent.home:
            return user_home / self.runtime / name
        home = _in_home(agent.home, user_home)
        return home if agent.workspace == "." else home / agent.workspace

    def _home_of(self, workspace: Path, user_home: Path) -> Path | None:
        """Return the folder of the runtime around a workspace, None for one that stands alone."""
        home = _home_around(self.profile, workspace, user_home)
        names = [name for name in self.profile.home_files if "*" not in name]
        return home if home is not None and any((home / name).is_file() for name in names) else None

    # Files

    def roots(self, installation: Installation) -> Sequence[CaptureRoot]:
        workspace = CaptureRoot(self.profile.raw, installation.workspace)
        if installation.state_dir is None or not self.profile.home_files:
            return (workspace,)
        return (workspace, CaptureRoot(self.profile.raw_home, installation.state_dir, self.profile.home_files))

    def place(self, path: str, *, is_folder: bool) -> Placement:
        if self.exclusion(path, is_folder=is_folder):
            return Placement.EXCLUDED
        is_state = path.startswith(self.profile.raw_home) or self.profile.is_state(path.removeprefix(self.profile.raw))
        return Placement.MANAGED if is_state and file_suffix(path) in STATE_SUFFIXES else Placement.ARTIFACT

    def exclusion(self, path: str, *, is_folder: bool) -> str | None:
        name = _name_of(self.profile, path)
        if name is None:
            return "the folder belongs to another runtime"
        if name in self.profile.running.pid_files:
            return "file that names a running process of this machine"
        parts = name.split("/")
        above = ["/".join(parts[:length]) for length in range(1, len(parts) + 1)]
        for rule in self.profile.exclude:
            if any(fnmatchcase(each, glob.removesuffix("/**")) for each in above for glob in rule.globs):
                return rule.reason
        return _COMMON.reason(name, is_folder=is_folder)

    def matters(self, path: str, data: bytes) -> bytes | None:
        name = _name_of(self.profile, path)
        return None if name is None else volatile_values.without_volatile_values(self.profile, name, data)

    # Memories and documents

    def split(self, path: str, text: str) -> list[MemorySection] | None:
        name = path.removeprefix(self.profile.raw)
        return None if name == path else profile_memories.split_profile_file(self.profile, name, text)

    def join(self, path: str, memories: Sequence[tuple[str, str]]) -> str:
        return profile_memories.join_profile_file(self.profile, path.removeprefix(self.profile.raw), memories)

    def label(self, record_id: str) -> str:
        return memory_comments.memory_label(record_id)

    def derivations(self) -> Sequence[Derivation]:
        return profile_identity.make_derivations(self.profile)

    def render(self, state: Any) -> Iterator[RenderedFile]:
        return profile_rendering.render_profile_files(
            self.profile,
            state,
            lambda name, text: self.split(self.profile.raw + name, text),
            lambda name, memories: self.write_note(state, name, memories),
        )

    def write_note(self, state: Any, name: str, memories: Sequence[tuple[str, str]]) -> str:
        """Return the text of a file of the workspace with these memories of a state."""
        return profile_memories.join_profile_file(self.profile, name, memories)

    def cannot_hold(self, installation: Installation, state: Any) -> Iterator[ItemFate]:
        return profile_rendering.list_unplaced_items(self.profile, state)


def _name_of(profile: FolderProfile, path: str) -> str | None:
    """Return the name of a file in the workspace or in the home, by its archive path. A file that the profile names may
    be an artifact, because of its suffix."""
    for prefix in (profile.raw, profile.raw_home, archive_layout.ARTIFACTS):
        if path.startswith(prefix):
            return path.removeprefix(prefix)
    return None


def _home_name(profile: FolderProfile) -> str:
    """Return the name of the folder that the runtime makes in a user's home, "" where it makes none."""
    home = profile.agent.home
    return home.removeprefix("~/").split("/")[0] if home.startswith("~/") else ""


def _home_around(profile: FolderProfile, workspace: Path, user_home: Path) -> Path | None:
    """Return the folder in which `home_files` are, None if there is none. It is never the user's home or a folder above
    it, because `home_files` could match the user's own files."""
    if profile.agent.workspace == "." or not profile.home_files:
        return None
    above, depth = workspace.parents, len(PurePosixPath(profile.agent.workspace).parts)
    home = above[depth - 1] if depth <= len(above) else None  # a workspace may lie less deep than the profile says
    return None if home is None or user_home.resolve().is_relative_to(home.resolve()) else home


def _in_home(path: str, user_home: Path) -> Path:
    parts = PurePosixPath(path).parts
    # Joined by name: `~//etc` would be /etc.
    return user_home.joinpath(*parts[1:]) if parts[:1] == ("~",) else Path(path)


def _installation(profile: FolderProfile, workspace: Path, state_dir: Path | None) -> Installation:
    folder = workspace if profile.agent.workspace == "." else state_dir or workspace
    native_id = _NO_LETTERS.sub("-", folder.resolve().name.lower()).strip("-") or profile.name
    name = _name_in(workspace, profile.persona.identity_profile) or folder.resolve().name.lstrip(".") or profile.title
    return Installation(profile.name, workspace, native_id, name, state_dir)


def _name_in(workspace: Path, file: str) -> str | None:
    """Return the name that the identity file gives the agent, None without one."""
    try:
        text = read_small(workspace / file, workspace).decode("utf-8", "replace") if file else ""
    except OSError:
        return None
    return markdown_fields.key_value_pairs(text).get("name")


def _read_json(path: Path) -> Any:
    try:
        return json.loads(read_small(path))
    except (OSError, ValueError, RecursionError):
        return None


def _recorded_process(path: Path, home: Path) -> int | None:
    """Return the process that a file names, if it exists: a number, or a JSON object with `pid`."""
    try:
        text = read_small(path, home, limit=1 << 16).decode("utf-8", "replace")
        values = json.loads(text)
        number = values.get("pid") if isinstance(values, dict) else values
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(number, int) or not 0 < number < 2**31 or number == os.getpid():
        return None
    return number if psutil.pid_exists(number) else None
