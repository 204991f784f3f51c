"""The daemon's methods and the shapes of their answers, for both clients.

    state = client.ask(control_methods.DAEMON).address

Every method can also be called by name (`client.call`) with plain JSON objects. Fields that a newer daemon adds are
ignored here. Fields that an older daemon does not send have their defaults.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

import msgspec

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.errors import OtherRelease
from lifeboat_daemon.control.json_rpc import HELLO as _HELLO

if TYPE_CHECKING:
    from lifeboat_core.agents.offers import AgentOffer
    from lifeboat_core.health.agent_status import Status

R = TypeVar("R")
PATIENCE = 10.0
"""Seconds for methods that the daemon answers immediately."""


class HelloAnswer(msgspec.Struct, frozen=True):
    """The answer to hello. `home` is the path of the home, `started_at` a timestamp."""

    protocol: int
    release: str
    pid: int
    home: str
    started_at: str

    def to_json(self) -> JsonObject:
        found: JsonObject = msgspec.to_builtins(self)
        return found


class JobStatus(msgspec.Struct, frozen=True):
    """A job that waits or runs (`state`), `seconds` of it so far. `rate` is in units of `done` per second;
    `seconds_left` and `total` are None while they are unknown."""

    operation: str
    number: int = 0
    agent: str | None = None
    remote: str | None = None
    long: bool = False
    state: str = "waiting"
    seconds: float = 0.0
    text: str = ""
    done: int = 0
    total: int | None = None
    rate: float | None = None
    seconds_left: float | None = None


class WatchStatus(msgspec.Struct, frozen=True):
    """How the daemon watches an agent. `mode` is events, partial, polling or none; `reason` explains any mode but
    events. `captures` and `failures` count since the daemon started; `at_work` is the running operation."""

    id: str
    name: str
    cadence: str = ""
    mode: str = "none"
    folders: int = 0
    watches: int = 0
    reason: str | None = None
    captures: int = 0
    failures: int = 0
    at_work: str | None = None


class DaemonInfo(msgspec.Struct, frozen=True):
    """The daemon as `status` describes it. `version` is its release, `address` the address of its socket."""

    running: bool
    pid: int | None = None
    version: str | None = None
    started_at: str | None = None
    address: str = ""
    ticks: int = 0
    python: str = ""


class DaemonStatus(DaemonInfo, frozen=True):
    """The daemon with its jobs and watched agents."""

    agents: tuple[WatchStatus, ...] = ()
    jobs: tuple[JobStatus, ...] = ()


class JobsAnswer(msgspec.Struct, frozen=True):
    jobs: tuple[JobStatus, ...]


class ReloadAnswer(msgspec.Struct, frozen=True):
    """`problem` explains why the files on disk are not in force, or is None."""

    problem: str | None = None


class EmptyAnswer(msgspec.Struct, frozen=True):
    """An answer without content."""


@dataclass(frozen=True, slots=True)
class StatusAnswer:
    """The status of all agents, the daemon, and agents that are not protected. `document` is the output of `status
    --json`."""

    standing: Status
    daemon: DaemonInfo
    offers: list[AgentOffer]
    document: JsonObject


@dataclass(frozen=True, slots=True)
class ControlMethod(Generic[R]):
    """A method by name. `read` decodes its result and raises KeyError or msgspec.ValidationError. `patience` is in
    seconds; None means without a time limit."""

    name: str
    read: Callable[[JsonObject], R]
    patience: float | None = PATIENCE

    def result(self, found: JsonObject) -> R:
        """Decode a result. Raises OtherRelease for an answer of another shape."""
        try:
            return self.read(found)
        except (KeyError, msgspec.ValidationError) as error:
            raise OtherRelease(
                f"this release does not understand the daemon's answer to {self.name}: {error}"
            ) from error


def _to(kind: type[R]) -> Callable[[JsonObject], R]:
    return lambda found: msgspec.convert(found, kind)


def _as_it_is(found: JsonObject) -> JsonObject:
    return found


def _status(found: JsonObject) -> StatusAnswer:
    from lifeboat_core.agents.offers import AgentOffer
    from lifeboat_core.health.agent_status import Status

    offers = msgspec.convert(found.get("offers", []), list[AgentOffer])
    return StatusAnswer(Status.from_json(found), msgspec.convert(found["daemon"], DaemonInfo), offers, found)


HELLO = ControlMethod(_HELLO, _to(HelloAnswer))
STATUS = ControlMethod("status", _status)
DAEMON = ControlMethod("daemon", _to(DaemonStatus))
JOBS = ControlMethod("jobs", _to(JobsAnswer))
RELOAD = ControlMethod("reload", _to(ReloadAnswer))
STOP = ControlMethod("stop", _to(EmptyAnswer))
CANCEL = ControlMethod("cancel", _to(EmptyAnswer))
SYNC = ControlMethod("sync", _as_it_is, patience=None)
"""{agents: [id, ...]?, full: bool?}: the document of `sync --json`."""
VERIFY = ControlMethod("verify", _as_it_is, patience=None)
"""{agent: id, whole: bool?}: the document of `verify --json`."""
DISCOVER = ControlMethod("discover", _as_it_is, patience=None)
"""The document of `agents discover --json`."""
