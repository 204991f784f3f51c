"""Recognise the homes of agent runtimes that have no adapter.

Several runtimes use OpenClaw's file names (SOUL.md, USER.md, memory/). Their homes also hold credential files that no
adapter here knows. So a folder with such marks is refused by name instead of being captured as another runtime's
workspace.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from lifeboat_adapters.errors import NotAWorkspace
from lifeboat_adapters.nested_values import get_nested
from lifeboat_adapters.small_files import read_small

_DATED_NOTES = "[0-9]" * 6 + "/" + "[0-9]" * 8 + ".md"


@dataclass(frozen=True, slots=True)
class RuntimeMarks:
    """The marks of the home or the workspace of one runtime.

    `folders` are the usual names of its home; a workspace may be that folder or lie directly in it. One match of a glob
    in `certain` is enough. Of the names in `usual` it takes two.
    """

    title: str
    folders: tuple[str, ...]
    certain: tuple[str, ...] = ()
    usual: tuple[str, ...] = ()


_KNOWN = (
    RuntimeMarks(
        "Codex CLI",
        (".codex",),
        ("state_*.sqlite", "memories_*.sqlite", "memory_summary.md", "skills/.system", "installation_id"),
    ),
    RuntimeMarks(
        "Hermes Agent",
        (".hermes",),
        ("memories/MEMORY.md", "memories/USER.md", "skills/.hub", ".skills_prompt_snapshot.json"),
        (
            *("state.db", "auth.json", "config.yaml", "cron/jobs.json", "memories"),
            *("pairing", "sandboxes", "audio_cache", "image_cache", "skins"),
        ),
    ),
    RuntimeMarks("Claude Code", (".claude",), (".last-cleanup", ".credentials.json", "projects/*/*.jsonl")),
    RuntimeMarks("Gemini CLI", (".gemini",), ("oauth_creds.json", "google_accounts.json", "trustedFolders.json")),
    RuntimeMarks("opencode", ("opencode", ".opencode"), ("opencode.db",)),
    RuntimeMarks("nanobot", (".nanobot",), ("memory/.dream_cursor", "memory/history.jsonl")),
    RuntimeMarks("PicoClaw", (".picoclaw",), (f"memory/{_DATED_NOTES}",)),
    RuntimeMarks("IronClaw", (".ironclaw",)),
    RuntimeMarks("NanoClaw", (".nanoclaw",), ("data/v2.db",)),
    RuntimeMarks("Letta", (".letta",)),
)


def find_foreign_runtime(workspace: Path) -> tuple[str, str] | None:
    """Return the name of a runtime without an adapter that the folder belongs to, and the mark that shows it.

    Only names are checked, and the beginning of the small JSON files `auth.json` and `config.json`.
    """
    real = workspace.resolve()
    around = (real.name, real.parent.name, real.parent.parent.name if real.parent.name == "profiles" else "")
    for marks in _KNOWN:
        if named := next((name for name in around if name in marks.folders), None):
            return marks.title, f"{named}/"
    for marks in _KNOWN:
        if found := _mark_in(workspace, marks):
            return marks.title, found
    return _by_json(workspace)


def refuse_foreign_runtime(workspace: Path) -> None:
    """Raise NotAWorkspace for a folder with marks of a runtime that has no adapter."""
    found = find_foreign_runtime(workspace)
    if found is not None:
        runtime, mark = found
        raise NotAWorkspace.FOREIGN(f"{workspace} belongs to {runtime} ({mark}); no adapter reads {runtime}")


def _mark_in(workspace: Path, marks: RuntimeMarks) -> str | None:
    for glob in marks.certain:
        if _any_match(workspace, glob):
            return glob
    present = [name for name in marks.usual if _exists(workspace / name)]
    return ", ".join(present) if len(present) >= 2 else None


def _any_match(workspace: Path, glob: str) -> bool:
    try:
        return next(iter(workspace.glob(glob)), None) is not None
    except OSError:
        return False


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return False


def _by_json(workspace: Path) -> tuple[str, str] | None:
    """Recognise a runtime by a JSON file whose name alone is ambiguous."""
    for name, title, matches in _JSON_MARKS:
        values = _json_in(workspace, name)
        if matches(values):
            return title, name
    return None


def _json_in(workspace: Path, name: str) -> object:
    """Return the parsed file, None when it is absent or unreadable. Such a file is no mark."""
    try:
        return json.loads(read_small(workspace / name, workspace))
    except (OSError, ValueError, RecursionError):
        return None


def _holds(*keys: Iterable[str]) -> Callable[[object], bool]:
    return lambda values: any(get_nested(values, *path) is not None for path in keys)


_JSON_MARKS: tuple[tuple[str, str, Callable[[object], bool]], ...] = (
    ("auth.json", "Hermes Agent", _holds(("credential_pool",))),
    ("auth.json", "Codex CLI", _holds(("OPENAI_API_KEY",), ("auth_mode",))),
    ("../config.json", "nanobot", _holds(("agents", "defaults", "botName"), ("modelPresets",))),
    ("config.json", "nanobot", _holds(("agents", "defaults", "botName"), ("modelPresets",))),
    ("../config.json", "nanobot or PicoClaw", _holds(("agents", "defaults"))),
)
