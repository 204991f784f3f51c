"""Who writes an agent: taking that over at every remote that can be reached."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from datetime import timedelta

from lifeboat_alf import times
from lifeboat_alf.errors import LifeboatError
from lifeboat_daemon.context import Context
from lifeboat_daemon.errors import MovedElsewhere
from lifeboat_daemon.remotes import acknowledged, registry
from lifeboat_daemon.remotes.opening import open_remote
from lifeboat_daemon.words import age_text, argument
from lifeboat_endpoint.errors import UnknownThere
from lifeboat_endpoint.remote.contract import RemoteHead
from lifeboat_endpoint.vault import Vault

RECENTLY = timedelta(hours=24)
"""Whoever wrote within this time may be at work right now."""


@dataclass
class Raised:
    """The epoch in force from now on, and why some remotes do not know of it yet, by name."""

    epoch: int
    missed: dict[str, str] = field(default_factory=dict)


def check_consent(context: Context, name: str, head: RemoteHead | None, take_over: str | None) -> None:
    """Refuse to take an agent from a machine that wrote lately, unless that machine was named. `take_over` is the
    name as it was typed. Raises MovedElsewhere."""
    if head is None or head.writer == context.keys().device.id or not head.written_at:
        return
    age = context.clock.now() - times.parse(head.written_at)
    machine = head.machine or head.writer
    if age > RECENTLY or (take_over or "").casefold() == machine.casefold():
        return
    raise MovedElsewhere(
        f"{machine} wrote {name} {age_text(max(0.0, age.total_seconds()))} ago and would send nothing any more",
        fix=f"the same command with --take-over {argument(machine)}",
    )


def raise_everywhere(context: Context, vault: Vault, machine: str) -> Raised:
    """Begin a new epoch at every remote that knows the agent, and in the vault here. A remote that cannot be reached
    learns of it with the next push. Raises EpochMoved when another machine was quicker."""
    raised = Raised(vault.epoch)
    for config in registry.usable(context):
        try:
            with contextlib.closing(open_remote(context, config)) as remote:
                there = remote.agent(vault.agent_id)
                epoch = remote.raise_epoch(vault.agent_id, there.epoch, machine=machine)
        except UnknownThere:
            continue
        except LifeboatError as error:
            if not error.retryable:
                raise
            raised.missed[config.name] = error.message
            continue
        raised.epoch = max(raised.epoch, epoch)
        acknowledged.note(vault, config.id, name=config.name, fenced=None, state="waiting", message="", code="")
    vault.enter_epoch(raised.epoch)
    return raised
