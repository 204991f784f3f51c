"""The JSON of `lifeboat setup`."""

from __future__ import annotations

import msgspec

from lifeboat_alf.common.json_types import JsonObject


class Step(msgspec.Struct, frozen=True):
    """One step and its state."""

    name: str
    """`find`, `protect`, `key`, `words`, `second_copy` or `service`"""
    state: str
    """`done`, `missing`, or `skipped`: it cannot be done here, or was dismissed"""
    text: str
    """how it stands, for people"""
    command: str | None = None
    """what does it, or null; words in capitals are to be replaced"""
    action: str = ""
    """what the command of the service does: `install_service` or `start_daemon`; "" for other steps"""


class Did(msgspec.Struct, frozen=True):
    """A command that was run."""

    command: str
    """with `--yes`: what was done now"""
    error: JsonObject | None = None
    """why that failed (`code`, `title`, `message`, `fix`), or null"""
    left_out: dict[str, str] = {}
    """what of an agent that it protected was not captured, with the reason; then the exit status is 1"""


class Setup(msgspec.Struct, frozen=True):
    """The document of `setup`."""

    steps: tuple[Step, ...] = ()
    next: str | None = None
    """the command of the first step that is missing, or null"""
    did: tuple[Did, ...] = ()

    def step(self, name: str) -> Step | None:
        """Return the step of this name."""
        return next((one for one in self.steps if one.name == name), None)
