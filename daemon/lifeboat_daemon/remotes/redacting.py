"""Purges and second copies: what was purged anywhere is learnt here, and what was purged here is told there, before
anything else is said to a remote (design of redactions: `lifeboat_alf.redactions`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from lifeboat_alf.redactions import Redaction
from lifeboat_daemon.agent import Agent
from lifeboat_daemon.context import Context
from lifeboat_daemon.remotes.contract import RemoteConfig
from lifeboat_daemon.remotes.redacting_there import only_there as only_there
from lifeboat_endpoint.remote.contract import RedactionState, Remote
from lifeboat_endpoint.vault import Vault


@dataclass(frozen=True, slots=True)
class Exchanged:
    """What came of an exchange. `learnt` were applied here, `told` are those of this machine as they stand there;
    `refused` says, for people, what the remote listed or would not take."""

    learnt: tuple[str, ...] = ()
    told: tuple[RedactionState, ...] = ()
    refused: tuple[str, ...] = ()
    is_known: bool = field(default=True)


def exchange(
    context: Context,
    agent: Agent,
    config: RemoteConfig,
    vault: Vault,
    remote: Remote,
    *,
    owners: Mapping[str, str] | None = None,
) -> Exchanged:
    """Fetch the remote's purges, apply here what is new and signed by somebody trusted, send ours that it lacks.

    `owners`: the token of the remote's owner by the id of the redaction that it is for. Raises AgentErased (then
    nothing of the agent is left here), Busy (the agent's lock is held for long), RemoteError.
    """
    raise AssertionError


def send(
    context: Context, agent: Agent, config: RemoteConfig, redaction: Redaction, owner: str | None = None
) -> RedactionState:
    """Tell one remote of a purge, with the token of its `owner` at once. Raises RemoteError, OtherVault, ConfigError."""
    raise AssertionError
