"""`lifeboat.json`: whom the hook tells, and what came into OpenClaw's folder and configuration with it."""

from __future__ import annotations

from pathlib import Path

import msgspec

from lifeboat_adapters.session_hook_plan import HookOrder
from lifeboat_adapters.small_files import read_small

NAME = "lifeboat.json"


class NotifiedAgent(msgspec.Struct, frozen=True):
    """An agent of Lifeboat, and how to start the program. `home` is None where it is the usual one."""

    agent: str
    program: tuple[str, ...]
    home: str | None = None


class HookNote(msgspec.Struct, frozen=True):
    """`agents` by OpenClaw's own names. `added` is the outermost path that the configuration did not have before, ""
    when it was not changed; `made_folder` says that there was no `hooks/` before."""

    agents: dict[str, NotifiedAgent] = {}
    added: str = ""
    made_folder: bool = False

    def to_bytes(self) -> bytes:
        return msgspec.json.format(msgspec.json.encode(self), indent=2) + b"\n"


def notified_agent_of(order: HookOrder) -> NotifiedAgent:
    """What the note says of an order."""
    return NotifiedAgent(order.agent, order.program, None if order.home is None else str(order.home))


def state_dir_of(folder: Path) -> Path:
    """Return the state folder, below which no link is followed, of a hook's folder."""
    return folder.parent.parent


def read_hook_note(folder: Path) -> HookNote | None:
    """The note in a hook's folder; None where there is none that can be read."""
    try:
        return msgspec.json.decode(read_small(folder / NAME, state_dir_of(folder)), type=HookNote)
    except (OSError, msgspec.MsgspecError):
        return None
