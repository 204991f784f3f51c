"""The text that says what a proposal of an agent asks for."""

from __future__ import annotations

from typing import Protocol

from lifeboat_core.texts.safe_text import name_text


class AskedChange(Protocol):
    """What an agent asks for: a stored request, or the document of `proposals list`."""

    @property
    def kind(self) -> str: ...

    @property
    def sequence(self) -> int: ...

    @property
    def path(self) -> str | None: ...

    @property
    def memory(self) -> str | None: ...

    @property
    def edited(self) -> int | None: ...

    @property
    def label(self) -> str | None: ...


def describe_request(asked: AskedChange) -> str:
    """Return what a proposal asks for, in one sentence without a full stop."""
    if asked.kind == "label":
        return f"name sequence {asked.sequence}: {name_text(asked.label)}"
    if asked.kind == "restore_file":
        return f"restore {name_text(asked.path)} from sequence {asked.sequence}"
    if asked.kind == "restore_memory":
        return f"restore memory {asked.memory} from sequence {asked.sequence}"
    return f"undo the edit of memory {asked.memory} in sequence {asked.edited}"
