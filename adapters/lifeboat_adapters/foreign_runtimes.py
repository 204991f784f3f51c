"""Recognise the homes of agent runtimes that an adapter must not take for its own.

Several runtimes use OpenClaw's file names (SOUL.md, USER.md, memory/). Their homes also hold credential files that
another adapter does not know. So a folder with such marks is refused by name instead of being captured as another
runtime's workspace.
"""

from __future__ import annotations

import shlex
from pathlib import Path

from lifeboat_adapters.errors import NotAWorkspace
from lifeboat_adapters.folder import shipped_profiles
from lifeboat_adapters.runtime_marks import JsonMark, RuntimeMarks, first_mark

_NO_ADAPTER = (
    RuntimeMarks("IronClaw", (".ironclaw",)),
    RuntimeMarks("NanoClaw", (".nanoclaw",), ("data/v2.db",)),
    RuntimeMarks("Letta", (".letta",)),
)
_NANOBOT_OR_PICOCLAW = RuntimeMarks(
    "nanobot or PicoClaw",
    json=(JsonMark("../config.json", (("agents", "defaults"),)),),
    profiles=("nanobot", "picoclaw"),
)
"""Both keep such a configuration beside the workspace; without another mark it is unknown which one it is."""


def find_foreign_runtime(workspace: Path) -> tuple[RuntimeMarks, str] | None:
    """Return the marks of the runtime that the folder belongs to, and the one that shows it: a runtime without an
    adapter, or one that a shipped profile describes. Only names are checked, and the beginning of small JSON files."""
    of_profiles = (profile.runtime_marks() for profile in shipped_profiles.load_shipped_profiles().values())
    return first_mark(workspace, (*_NO_ADAPTER, *of_profiles, _NANOBOT_OR_PICOCLAW))


def find_unsupported_runtime(workspace: Path) -> tuple[RuntimeMarks, str] | None:
    """Return the marks of a runtime without an adapter that the folder belongs to, and the one that shows it."""
    return first_mark(workspace, _NO_ADAPTER)


def refuse_foreign_runtime(workspace: Path, own: str = "") -> None:
    """Raise NotAWorkspace for a folder with marks of another runtime. `own` is the profile that asks."""
    found = find_foreign_runtime(workspace)
    if found is None or own in found[0].profiles:
        return
    marks, mark = found
    if marks.profiles:
        raise NotAWorkspace(
            f"{workspace} belongs to the runtime {marks.title} (recognised by {mark})",
            fix=f"lifeboat agents add --runtime {marks.profiles[0]} {shlex.quote(str(workspace))}",
        )
    raise NotAWorkspace.FOREIGN(
        f"{workspace} belongs to the runtime {marks.title} (recognised by {mark}), for which Lifeboat has no adapter"
    )
