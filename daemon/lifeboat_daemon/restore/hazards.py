"""What could run on this machine once a state is restored. Listed for states that nobody signed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from lifeboat_alf.state import State
from lifeboat_daemon.restore.contents import FILE, Contents, Wanted

_SCRIPT_FOLDERS = frozenset({"hooks", "skills", "scripts", "bin", "extensions", "plugins"})
_SCRIPT_ENDINGS = frozenset(
    {
        ".sh",
        ".bash",
        ".zsh",
        ".py",
        ".js",
        ".mjs",
        ".cjs",
        ".ts",
        ".rb",
        ".pl",
        ".ps1",
        ".bat",
        ".cmd",
        ".exe",
        ".lua",
        ".wasm",
    }
)
_DOCUMENTS_THAT_RUN = {
    "skill.toml": "a skill that can name commands",
    "sop.toml": "a procedure that can start by itself",
    "sop.md": "a procedure whose steps can be commands",
}
_TABLES_THAT_RUN = ("cron", "hook", "mcp", "intent")


def executables(state: State, contents: Contents) -> list[str]:
    """Scripts, hooks, configuration that can name commands, and scheduled work, each with the word that says why."""
    found = list(_in_files(state, contents.workspace.values()))
    found += [
        f"{item.name}: the runtime's configuration (MCP servers, hooks, tools, jobs, where requests go)"
        for item in contents.home.values()
    ]
    found += [f"{row.path}: scheduled work" for row in contents.rows if _runs(row.path)]
    return found


def _runs(path: str) -> bool:
    return any(word in path.rpartition("/")[2] for word in _TABLES_THAT_RUN)


def _in_files(state: State, items: Iterable[Wanted]) -> Iterator[str]:
    for item in items:
        reason = _reason(state, item) if item.kind == FILE else ""
        if reason:
            yield f"{item.name}: {reason}"


def _reason(state: State, item: Wanted) -> str:
    if item.meta.get("executable"):
        return "may be executed"
    folders, ending = item.name.split("/")[:-1], os.path.splitext(item.name)[1].lower()
    if ending in _SCRIPT_ENDINGS:
        return "a script"
    document = _DOCUMENTS_THAT_RUN.get(item.name.rpartition("/")[2].lower(), "")
    if document:
        return document
    if "hooks" in folders:
        return "a hook"
    if not _SCRIPT_FOLDERS.isdisjoint(folders) and not ending:
        return "a script"
    return "begins like a script" if _begins_like_script(state, item) else ""


def _begins_like_script(state: State, item: Wanted) -> bool:
    if item.data is not None or item.entry is None:
        return (item.data or b"").startswith(b"#!")
    return state.body(item.entry.path).startswith(b"#!")
