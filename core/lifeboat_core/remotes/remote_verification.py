"""Read back a remote's copy: this makes it count as verified."""

from __future__ import annotations

import contextlib
import hashlib
import random

from lifeboat_alf.archive import archive_layout, artifact_index
from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_alf.states.agent_state import BodyAbsent, State
from lifeboat_core.agents.agent import Agent
from lifeboat_core.health.agent_status import ERROR
from lifeboat_core.home.context import Context
from lifeboat_core.remotes import acknowledged_states
from lifeboat_core.remotes.contract import Compactable, RemoteConfig
from lifeboat_core.remotes.redactions import purge_exchange
from lifeboat_core.remotes.remote_kinds import open_remote
from lifeboat_core.texts.human_text import count_text
from lifeboat_vault.errors import RemoteDamaged, RemoteError, VaultDamaged
from lifeboat_vault.remote.remote_contract import Remote, RemoteAgent, RemoteHead, RemoteVerification, file_key_of
from lifeboat_vault.vault import Vault

BODIES = 64
"""How many items of the newest state are read back. They are chosen at random, so that over time all are read."""
EVERYTHING = 1 << 40
"""Read everything after damage was found: a sample might miss it, so only a whole verification clears it."""


def verify_remote(context: Context, agent: Agent, config: RemoteConfig, *, bodies: int = BODIES) -> JsonObject:
    """Read back what a remote has of an agent, and return {name, id, sequence, items, bytes, findings, ok,
    is_drill_due}.

    `sequence` is None when there is nothing to compare; `is_drill_due`: only the last drill found something wrong.
    Raises LifeboatError when the remote cannot be read.
    """
    with (
        purge_exchange.heed_erasure(context, agent),
        context.vault(agent.id) as vault,
        contextlib.closing(open_remote(context, config)) as remote,
    ):
        purge_exchange.exchange_purges(context, agent, config, vault, remote)
        found = read_back_copy(context, vault, remote, agent, config, bodies=bodies)
        known = acknowledged_states.load_acknowledged(vault).get(config.id)
    is_drill_wrong = known is not None and bool(known.drill_failed)
    return {
        "name": config.name,
        "id": config.id,
        "sequence": found.number,
        "items": found.items,
        "bytes": found.bytes,
        "findings": found.findings,
        "ok": found.ok,
        "is_drill_due": is_drill_wrong and len(found.findings) == 1,
    }


def read_back_copy(
    context: Context, vault: Vault, remote: Remote, agent: Agent, config: RemoteConfig, *, bodies: int = BODIES
) -> RemoteVerification:
    """Compare what the remote has with the same state here, and note the result. `replicate_agent` judges a head that
    this machine never had."""
    there = remote.agent(agent.id)
    head = there.head
    row = None if head is None else vault.find(head.number)
    if head is None or row is None or row.digest != head.digest:
        return RemoteVerification(None)
    known = acknowledged_states.load_acknowledged(vault).get(config.id)
    if known is not None and known.damaged:
        bodies = EVERYTHING
    try:
        found = remote.verify(agent.id, vault.state(row.number), bodies=bodies, chance=random.Random())
        if known is not None and known.files == row.number:  # otherwise some of them may still wait to be sent
            found.findings += find_missing_files(vault.state(row.number), remote)
    except RemoteDamaged as error:
        found = RemoteVerification(row.number, findings=[error.message])
    if damage := describe_reported_damage(there):
        found.findings.append(damage)
    if known is not None and known.drill_failed:  # only a drill clears this
        found.findings.append(known.drill_failed)
    if found.ok:
        acknowledged_states.note_acknowledged(
            vault, config.id, verified_number=row.number, verified_at=context.now(), damaged=""
        )
        if known is not None and known.keys and not _has_keys(remote, agent, known.keys):
            acknowledged_states.note_acknowledged(
                vault, config.id, keys=""
            )  # they are sent again with the next transfer
        return found
    if _has_moved(remote, agent, head):
        return RemoteVerification(None)
    first = found.findings[0]
    why = {"message": f"the copy on the remote is damaged: {first}", "code": RemoteDamaged.code}
    acknowledged_states.note_acknowledged(vault, config.id, state=ERROR, damaged=first, **why)
    return found


def find_missing_files(here: State, remote: Remote) -> list[str]:
    """Return a sentence for each file that this machine has and the remote lacks.

    For an endpoint these are all files, since a state may have been pushed without their bytes. For a log, whose
    bundles are files, they are the large ones.
    """
    is_log = isinstance(remote, Compactable)
    paths = {
        key: entry.path
        for entry in here.entries(archive_layout.ARTIFACTS if is_log else "")
        if (key := file_key_of(entry)) is not None and (not is_log or artifact_index.is_referenced(entry.meta))
    }
    lacks = remote.missing(here.sequence.agent_id, list(paths)) if paths else []
    return [f"the file {paths[key]} is missing" for key in lacks if _is_held(here, paths[key])]


def _is_held(here: State, path: str) -> bool:
    """Return whether this machine has the bytes of a large file, or had them before they were damaged."""
    try:
        here.body(path)
    except BodyAbsent:
        return False
    except VaultDamaged:
        return True
    return True


def describe_reported_damage(there: RemoteAgent) -> str:
    """Return what the remote itself found damaged, "" for nothing."""
    found = []
    if there.damaged:
        objects = count_text(there.damaged, "file or record", "files and records")
        found.append(f"{objects} cannot be read on the remote")
    if there.damaged_states:
        found.append(f"rows of {count_text(there.damaged_states, 'sequence')} were lost or changed on the remote")
    return ", and ".join(found)


def _has_keys(remote: Remote, agent: Agent, digest: str) -> bool:
    """Return whether the agent's wrapped keys are the ones that were sent: no signature of a state covers them, and any
    token with push can replace them."""
    try:
        document = remote.keys(agent.id)
    except LifeboatError:  # the remote says nothing of them now
        return True
    return document is not None and hashlib.sha256(json_codec.encode_canonical(document)).hexdigest() == digest


def _has_moved(remote: Remote, agent: Agent, head: RemoteHead) -> bool:
    """Return whether another machine wrote there meanwhile: then the comparison was with another state."""
    try:
        now = remote.agent(agent.id).head
    except RemoteError:
        return False
    return now is not None and (now.number, now.digest) != (head.number, head.digest)
