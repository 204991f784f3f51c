"""`lifeboat status`."""

from __future__ import annotations

import msgspec

from lifeboat_alf.common.json_types import JsonObject


class Remote(msgspec.Struct, frozen=True):
    """A second copy of one agent."""

    name: str
    state: str = "ok"
    message: str | None = None
    optional: bool = False
    sequence: int | None = None
    pending: int = 0
    verified_at: str | None = None
    acknowledged_at: str | None = None


class Agent(msgspec.Struct, frozen=True):
    """One agent, as docs/json.md says."""

    id: str
    name: str
    runtime: str = ""
    workspace: str = ""
    state: str = "ok"
    sequence: int | None = None
    last_captured_at: str | None = None
    last_verified_at: str | None = None
    verified_in: str | None = None
    pending: int = 0
    reasons: tuple[str, ...] = ()
    held: JsonObject | None = None
    missing: bool = False
    vault_bytes: int = 0
    remotes: tuple[Remote, ...] = ()
    at_work: bool = False
    waits_for: str | None = None

    @property
    def queue(self) -> int:
        """How many sequences wait at the second copy that lags most."""
        return max((remote.pending for remote in self.remotes), default=0)


class Key(msgspec.Struct, frozen=True):
    state: str = "ok"
    id: str | None = None
    store: str | None = None
    note: str = ""
    proven_at: str | None = None


class Daemon(msgspec.Struct, frozen=True):
    running: bool = False
    pid: int | None = None
    version: str | None = None
    started_at: str | None = None


class Offer(msgspec.Struct, frozen=True):
    """An agent that nobody protects."""

    runtime: str
    name: str
    workspace: str
    native_id: str = ""


class Purge(msgspec.Struct, frozen=True):
    """A purge that is not done everywhere."""

    id: str
    agent_id: str = ""
    vault: str = ""
    state: str = "waiting"
    applies_at: str | None = None
    message: str = ""


class Status(msgspec.Struct, frozen=True):
    verdict: str = ""
    state: str = "ok"
    agents: tuple[Agent, ...] = ()
    key: Key = Key()
    problems: tuple[str, ...] = ()
    daemon: Daemon = Daemon()
    offers: tuple[Offer, ...] = ()
    pending_purges: tuple[Purge, ...] = ()
