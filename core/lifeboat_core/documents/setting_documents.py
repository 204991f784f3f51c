"""The JSON of `lifeboat config`."""

from __future__ import annotations

import msgspec

Written = bool | int | float | str | None


class Setting(msgspec.Struct, frozen=True):
    """One setting."""

    name: str
    """the setting"""
    value: Written = None
    """value as written; null for a private setting"""
    source: str = "default"
    """source"""
    effect: str = ""
    """effect"""
    default: Written = None
    """default"""
    kind: str = ""
    """kind of value: `choice`, `switch`, `number`, `days`, `share`, `size`, `duration`, `cron`, `command`, `path` or
    `address`"""
    choices: tuple[str, ...] = ()
    """possible values, if they are few"""
    example: str = ""
    """example value"""
    per_agent: bool = True
    private: bool = False
    """whether agents can have their own value, and whether the value is never shown"""
    is_set: bool | msgspec.UnsetType = msgspec.field(default=msgspec.UNSET, name="set")
    """for a private setting: whether it has a value"""

    @property
    def shown(self) -> str:
        """The value as people type it."""
        if self.private:
            return "set, but not shown" if self.is_set else "not set"
        return spell_value(self.value)

    @property
    def is_switch(self) -> bool:
        return self.kind == "switch" or isinstance(self.value, bool)

    @property
    def group(self) -> str:
        """The first word of its name, or "" if it has only one."""
        first, dot, _ = self.name.partition(".")
        return first if dot else ""


class Settings(msgspec.Struct, frozen=True):
    """The document of `config list`."""

    settings: tuple[Setting, ...] = ()
    problem: str | None = None
    """why the settings file is not in use, or null"""


def spell_value(value: Written) -> str:
    """Return a value as the command takes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)
