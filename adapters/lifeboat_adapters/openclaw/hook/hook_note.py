"""The note `lifeboat.json`: the agents that the hook reports, and what was added to OpenClaw's folder and configuration
with it."""

from __future__ import annotations

from pathlib import Path

import msgspec

from lifeboat_adapters.session_hook_plan import NotifiedAgent
from lifeboat_adapters.small_files import read_small

NAME = "lifeboat.json"


class HookNote(msgspec.Struct, frozen=True):
    """The content of the note. `agents` is keyed by OpenClaw's own names. `added` is the outermost path that was added
    to the configuration, "" when nothing was added. `made_folder` says that `hooks/` did not exist before."""

    agents: dict[str, NotifiedAgent] = {}
    added: str = ""
    made_folder: bool = False

    def to_bytes(self) -> bytes:
        return msgspec.json.format(msgspec.json.encode(self), indent=2) + b"\n"


def state_dir_of(folder: Path) -> Path:
    """Return the state directory, below which no link is followed, of a hook's folder."""
    return folder.parent.parent


def read_hook_note(folder: Path) -> HookNote | None:
    """Return the note in a hook's folder, None when there is none that can be read."""
    try:
        return msgspec.json.decode(read_small(folder / NAME, state_dir_of(folder)), type=HookNote)
    except (OSError, msgspec.MsgspecError):
        return None
