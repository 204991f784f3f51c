"""The absolute path of a project in the files of Claude Code: as the name of a folder, and inside JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from lifeboat_adapters.claude_code import user_settings
from lifeboat_adapters.claude_code.path_spelling import (
    CWD,
    PROJECTS,
    map_project_folder,
    map_slug,
    project_slug,
    replace_path,
)
from lifeboat_adapters.contract import Installation, ProjectMove, ProjectSupport
from lifeboat_adapters.folder import profile_transcripts
from lifeboat_adapters.folder.folder_profile import FolderProfile
from lifeboat_adapters.small_files import read_small

_SETTINGS = (
    "settings.json",
    "settings.local.json",
    "history.jsonl",
    "plugins/*.json",
    "projects/*/sessions-index.json",
)
_BEGINNING = 1 << 20
"""Bytes of a transcript that are searched for the folder in which it began."""

_CWD = re.compile(rb'(?<!\\)"cwd":\s?("(?:[^"\\]|\\.)*")')


class ClaudeCodeProjects(ProjectSupport):
    """Finds every place of the home, and of `.claude.json`, that holds the path of a project."""

    def __init__(self, profile: FolderProfile) -> None:
        self._profile = profile

    def plan_move(self, installation: Installation, old: str, new: str) -> ProjectMove:
        workspace = installation.workspace
        folders = {
            workspace / PROJECTS / project_slug(path): new + path.removeprefix(old)
            for path in sorted({old, *_known_projects(self._profile, workspace, old, new)})
            if path == old or path.startswith(f"{old}/")
        }
        moved = {folder: folder.with_name(project_slug(path)) for folder, path in folders.items() if folder.is_dir()}
        found = dict(_rewritten_files(workspace, old, new))
        for folder in moved:
            for path in folder.rglob("*.jsonl"):
                data = read_small(path, workspace, limit=profile_transcripts.LARGEST)
                if (made := replace_path(data, old, new, key=CWD)) != data:
                    found[path] = made
        names = [path for path in _settings_files(workspace) if _names_path(found.get(path) or read_small(path), old)]
        return ProjectMove(moved, found, tuple(names))

    def map_name(self, name: str, old: str, new: str) -> str:
        return map_project_folder(name, old, new)

    def uncertain_folder(self, name: str, old: str) -> str:
        first, _, rest = name.partition("/")
        slug = rest.partition("/")[0]
        is_uncertain = first == PROJECTS and slug != project_slug(old) and map_slug(slug, old, "/") != slug
        return f"{first}/{slug}" if is_uncertain else ""

    def holds_paths(self, name: str) -> bool:
        return any(fnmatchcase(name, glob) for glob in _SETTINGS)

    def map_data(self, data: bytes, old: str, new: str) -> bytes:
        return replace_path(data, old, new)


def _known_projects(profile: FolderProfile, workspace: Path, old: str, new: str) -> Iterator[str]:
    """Yield the paths of projects: those with settings, and the folders in which sessions ran. A path that an
    interrupted move has already rewritten is given as it was."""
    known = [*_projects_of(user_settings.read_settings(workspace))]
    for transcript in profile_transcripts.list_transcripts(profile, workspace):
        with transcript.open("rb") as stream:
            known += (json.loads(found[1]) for found in _CWD.finditer(stream.read(_BEGINNING)))
    for path in dict.fromkeys(known):
        yield path
        if path.startswith(f"{new}/"):
            yield old + path.removeprefix(new)


def _projects_of(settings: dict[str, Any]) -> dict[str, Any]:
    projects = settings.get("projects")
    return projects if isinstance(projects, dict) else {}


def _settings_files(workspace: Path) -> list[Path]:
    inside = [path for glob in _SETTINGS for path in sorted(workspace.glob(glob)) if path.is_file()]
    return [*user_settings.list_settings_files(workspace), *inside]


def _rewritten_files(workspace: Path, old: str, new: str) -> Iterator[tuple[Path, bytes]]:
    for path in _settings_files(workspace):
        data = read_small(path, limit=user_settings.LARGEST)
        made = replace_path(_merge_projects(data, old, new) if path.name == user_settings.FILE else data, old, new)
        if made != data:
            yield path, made


def _merge_projects(data: bytes, old: str, new: str) -> bytes:
    """Return `.claude.json` without entries of `old` where the new path has one, too: it gets what it lacks."""
    try:
        settings = json.loads(data)
    except (ValueError, RecursionError):
        return data
    projects = _projects_of(settings) if isinstance(settings, dict) else {}
    pairs = {path: new + path.removeprefix(old) for path in projects if path == old or path.startswith(f"{old}/")}
    both = {path: after for path, after in pairs.items() if after in projects}
    for path, after in both.items():
        before = projects.pop(path)
        servers = {**before.get("mcpServers", {}), **projects[after].get("mcpServers", {})}
        projects[after] = {**before, **projects[after], "mcpServers": servers}
    return json.dumps(settings, indent=2, ensure_ascii=False).encode() if both else data


def _names_path(data: bytes, path: str) -> bool:
    """Return whether a file still has the path in a text, as a rule for permissions may."""
    written = json.dumps(path, ensure_ascii=False)[1:-1].encode()
    return re.search(re.escape(written) + rb"(?![\w.-])", data) is not None
