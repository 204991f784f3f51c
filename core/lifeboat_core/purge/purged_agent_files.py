"""The files of agents that were purged completely: `vault/erased/<agent id>.json`, with the signed redaction and the
agent's name.

From it the redaction goes to remotes that could not be reached, and an older copy of the agent is recognised when it
comes back.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import PurgeError, RedactionInvalid
from lifeboat_alf.redaction.redactions import Redaction, decode_redaction
from lifeboat_alf.seams.file_operations import read_all, write_atomic
from lifeboat_core.agents.agent import Agent
from lifeboat_core.home.context import Context
from lifeboat_core.purge import purge_folders
from lifeboat_keys.errors import ReceiptInvalid
from lifeboat_keys.signed.vault_receipts import VaultReceipt
from lifeboat_keys.signed.vault_receipts import decode_vault_receipt as receipt_from_json


@dataclass(frozen=True, slots=True)
class PurgedAgent:
    """One such agent as it was known here. `vaults` are the unsigned receipts of its vaults from before they were
    destroyed. `again` are ids of remotes that have to be told, for the first time or because their redaction has a
    signature that is no longer valid."""

    redaction: Redaction
    name: str
    runtime: str
    workspace: Path
    vaults: tuple[VaultReceipt, ...] = ()
    again: tuple[str, ...] = ()

    @property
    def agent(self) -> Agent:
        """Return the agent as it was, for requests to remotes."""
        return Agent(self.redaction.agent_id, self.name, self.runtime, self.workspace, watched=False)

    def to_json(self) -> JsonObject:
        redaction, workspace = self.redaction.to_json(), str(self.workspace)
        vaults = [each.to_json() for each in self.vaults]
        named = {"name": self.name, "runtime": self.runtime, "workspace": workspace}
        return {"redaction": redaction, **named, "vaults": vaults, "again": list(self.again)}


def write_purged_agent(context: Context, made: PurgedAgent) -> None:
    """Write the file durably, before anything is destroyed."""
    context.files.make_folders(purge_folders.locate_purged_agents(context), 0o700)
    write_atomic(
        context.files,
        purge_folders.locate_purged_agents(context) / f"{made.redaction.agent_id}.json",
        json_codec.encode_json(made.to_json()),
    )


def note_told(context: Context, agent_id: str, remote: str) -> None:
    """Note that a remote has the redaction under a valid signature."""
    known = find_purged_agent(context, agent_id)
    if known is not None and remote in known.again:
        write_purged_agent(context, replace(known, again=tuple(each for each in known.again if each != remote)))


def find_purged_agent(context: Context, agent_id: str) -> PurgedAgent | None:
    """Return a purged agent; None when it was never purged here."""
    return _read(context, purge_folders.locate_purged_agents(context) / f"{agent_id}.json")


def list_purged_agents(context: Context) -> Iterator[PurgedAgent]:
    """Yield all purged agents whose files can be read. Costs one listing of a folder when there are none."""
    for agent_id in purge_folders.list_purged_agent_ids(context):
        with contextlib.suppress(PurgeError):
            found = find_purged_agent(context, agent_id)
            if found is not None:
                yield found


def list_damaged_purged_agents(context: Context) -> Iterator[PurgeError]:
    """Yield the errors of files that cannot be read."""
    for agent_id in purge_folders.list_purged_agent_ids(context):
        try:
            find_purged_agent(context, agent_id)
        except PurgeError as error:
            yield error


def _read(context: Context, path: Path) -> PurgedAgent | None:
    try:
        document = json_codec.decode_json(read_all(context.files, path))
        redaction, workspace = decode_redaction(document["redaction"]), Path(str(document["workspace"]))
        vaults = tuple(receipt_from_json(each) for each in document["vaults"])
        again = tuple(str(each) for each in document.get("again", ()))
        return PurgedAgent(redaction, str(document["name"]), str(document["runtime"]), workspace, vaults, again)
    except FileNotFoundError:
        return None
    except (msgspec.DecodeError, RedactionInvalid, ReceiptInvalid, KeyError, TypeError) as error:
        raise PurgeError(f"{path} is damaged: {error}", fix=f"rm {path}") from None
