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
    """its error, or null"""
    left_out: dict[str, str] = {}
    """files of a newly protected agent that were not captured, with reasons; the exit status is then 1"""


class KitRemoteResult(msgspec.Struct, frozen=True):
    """A remote of the kit."""

    name: str = ""
    url: str = ""
    """each remote of the kit, under its name on this machine"""
    state: str = ""
    """`added`, `known`, `planned` (with `--dry-run`) or `left_out`"""
    can_push: bool = False
    """whether its token on this machine permits pushes, not only restores"""
    needs_join_line: bool = False
    """whether the kit holds no valid access to it"""
    error: JsonObject | None = None
    """why it was left out, or null"""


class KitAgentResult(msgspec.Struct, frozen=True):
    """An agent of the remotes of the kit."""

    id: str = ""
    name: str = ""
    remote: str = ""
    """each agent, and the remote with its newest state"""
    to: str | None = None
    """its workspace on this machine, or null"""
    state: str = ""
    """`restored`, `here` (it was on this machine before) or `left_out`"""
    summary: str = ""
    """the counts and what was left out, as one sentence for people"""
    partial: bool = False
    """whether something of it was left out because it is damaged or lacks its credentials"""
    machine: str | None = None
    """the machine that wrote it within 24 hours and must be named with `--take-over`, or null"""
    error: JsonObject | None = None
    """why it was left out, or null"""
    next: tuple[JsonObject, ...] = ()
    """the runtime's steps that remain (`title`, `command`)"""


class KitReturn(msgspec.Struct, frozen=True):
    """The document of `setup --kit`. With something left out the exit status is 1."""

    key_id: str = ""
    key_was_here: bool = False
    """the key of the kit, and whether this machine had it before"""
    checked: bool = False
    """whether the kit proves its remotes; kits of older releases do not"""
    dry_run: bool = False
    """whether nothing was done"""
    remotes: tuple[KitRemoteResult, ...] = ()
    agents: tuple[KitAgentResult, ...] = ()
    commands: tuple[str, ...] = ()
    """what is left to do"""


class Setup(msgspec.Struct, frozen=True):
    """The document of `setup`."""

    steps: tuple[Step, ...] = ()
    next: str | None = None
    """command of the first missing step, or null"""
    did: tuple[Did, ...] = ()

    def step(self, name: str) -> Step | None:
        """Return the step of this name."""
        return next((one for one in self.steps if one.name == name), None)
