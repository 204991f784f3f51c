"""The JSON of `lifeboat setup`."""

from __future__ import annotations

import msgspec

from lifeboat_alf.common.json_types import JsonObject


class Step(msgspec.Struct, frozen=True):
    """One step and its state."""

    name: str
    """`find`, `protect`, `key`, `words`, `second_copy` or `service`"""
    state: str
    """`done`, `missing`, or `skipped` (impossible here, or dismissed)"""
    text: str
    """description for people"""
    command: str | None = None
    """command for this step, or null; replace words in capitals"""
    action: str = ""
    """code of that command: `install_service` or `start_daemon`; "" for other steps"""


class Did(msgspec.Struct, frozen=True):
    """A command that was run."""

    command: str
    """with `--yes`: the commands that were run"""
    error: JsonObject | None = None
    """its error (`code`, `title`, `message`, `fix`), or null"""
    left_out: dict[str, str] = {}
    """files of a newly protected agent that were not captured, with reasons; the exit status is then 1"""


class Setup(msgspec.Struct, frozen=True):
    """The document of `setup`."""

    steps: tuple[Step, ...] = ()
    next: str | None = None
    """command of the first missing step, or null"""
    did: tuple[Did, ...] = ()

    def step(self, name: str) -> Step | None:
        """Return the step of this name."""
        return next((one for one in self.steps if one.name == name), None)
