"""What a remote still keeps of an agent and this machine has let go: for finding a text over all history."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from lifeboat_daemon.agent import Agent
from lifeboat_daemon.context import Context
from lifeboat_daemon.remotes.contract import RemoteConfig
from lifeboat_endpoint.vault import Vault

if TYPE_CHECKING:
    from lifeboat_alf.purging import Item


def only_there(context: Context, agent: Agent, config: RemoteConfig, vault: Vault) -> Iterator[Item]:
    """Every object of the states that the remote keeps and the vault does not, state by state. A body can be read until
    the next item is asked for. Raises RemoteError, OtherVault, ArchiveError."""
    raise AssertionError
    yield
