"""The outcome of a try to bring a remote up to date."""

from __future__ import annotations

from dataclasses import dataclass

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_core.health.agent_status import ERROR, FENCED, OK, WAITING
from lifeboat_core.health.remote_health import DEFERRED as DEFERRED
from lifeboat_core.remotes.contract import RemoteConfig

HELD_BACK = "held_back"
"""The code of an agent whose newest change looks like an accident and therefore waits."""


@dataclass(frozen=True, slots=True)
class ReplicationOutcome:
    """How a try ended.

    `sequence` is what the remote holds now, None for nothing. `state`: `ok`, `waiting` (it is tried again), `held`,
    `fenced`, `error` (a user has to act); `message` says why, for people, `code` for programs. `bytes` were sent;
    `retry_after` is in seconds, as the remote asked; `fix` is the command that helps.
    """

    name: str
    id: str
    sequence: int | None
    state: str
    message: str = ""
    code: str = ""
    bytes: int = 0
    retry_after: float | None = None
    fix: str | None = None

    def to_json(self) -> JsonObject:
        """Return one remote of `sync --json`."""
        document: JsonObject = {"name": self.name, "sequence": self.sequence, "state": self.state, "bytes": self.bytes}
        if self.message:
            document |= {"message": self.message, "code": self.code, "fix": self.fix}
        return document


def make_failed_outcome(config: RemoteConfig, sequence: int | None, error: LifeboatError) -> ReplicationOutcome:
    """Return the outcome of a try that an error ended: it waits if a retry may work, otherwise a user has to act."""
    state = WAITING if error.retryable else ERROR
    state = FENCED if error.code == "epoch_behind" else state
    wait = getattr(error, "retry_after", None)
    return ReplicationOutcome(config.name, config.id, sequence, state, error.message, error.code, 0, wait, error.fix)


def make_current_outcome(config: RemoteConfig, sequence: int, sent: int) -> ReplicationOutcome:
    return ReplicationOutcome(config.name, config.id, sequence, OK, bytes=sent)
