"""`lifeboat config`."""

from __future__ import annotations

import msgspec

Written = bool | int | float | str | None


class Setting(msgspec.Struct, frozen=True):
    """One setting. `value` is None for a private one, `is_set` says then whether it has a value."""

    name: str
    value: Written = None
    source: str = "default"
    effect: str = ""
    default: Written = None
    kind: str = ""
    choices: tuple[str, ...] = ()
    per_agent: bool = True
    private: bool = False
    example: str = ""
    is_set: bool = msgspec.field(default=False, name="set")

    @property
    def shown(self) -> str:
        """The value as people type it."""
        if self.private:
            return "set, not shown" if self.is_set else "not set"
        return spell_value(self.value)

    @property
    def is_switch(self) -> bool:
        return self.kind == "switch" or isinstance(self.value, bool)

    @property
    def group(self) -> str:
        """The first word of its name, "" where it has one only."""
        first, dot, _ = self.name.partition(".")
        return first if dot else ""


class Settings(msgspec.Struct, frozen=True):
    """`problem`: why the file cannot be used; the last good settings are in force then."""

    settings: tuple[Setting, ...] = ()
    problem: str | None = None


def spell_value(value: Written) -> str:
    """A value as the command takes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)
