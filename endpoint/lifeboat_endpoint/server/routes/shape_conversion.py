"""Conversion of results of the service to shapes of the wire."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from urllib.parse import unquote

from lifeboat_endpoint.server.http_shapes import AgentInfo, HeadInfo, SequenceInfo
from lifeboat_endpoint.service.bundle_receiver import PushResult
from lifeboat_vault.remote.remote_contract import RemoteAgent, RemoteHead, RemoteSequence

MACHINE = "x-lifeboat-machine"
MACHINE_SAYS = {"X-Lifeboat-Machine": "Name of the sending machine, percent-encoded."}
ETAG = {"ETag": "Identifies the newest sequence together with its purges."}
_SPACE = uuid.UUID("8f6c2d1e-7a55-5c1b-9d0e-3f6a1c2b4d7e")
_LONGEST_NAME = 200


def head_of(head: RemoteHead | None) -> HeadInfo:
    if head is None:
        return HeadInfo(None)
    return HeadInfo(head.number, head.digest.hex(), head.epoch, head.time, head.writer, head.machine, head.written_at)


def agent_of(agent: RemoteAgent, *, sealed: bool) -> AgentInfo:
    return AgentInfo(
        agent.id,
        agent.name,
        agent.runtime,
        agent.created_at,
        agent.head.number if agent.head is not None else 0,
        agent.epoch,
        sealed,
        agent.bytes,
        agent.held,
        agent.damaged,
        None if agent.head is None else head_of(agent.head),
        agent.damaged_states,
        agent.damage_found_at or None,
    )


def sequence_of(row: RemoteSequence) -> SequenceInfo:
    return SequenceInfo(
        row.number,
        row.base,
        row.digest.hex(),
        row.epoch,
        row.time,
        row.kind,
        row.writer,
        row.size,
        row.signature,
    )


def make_etag(head: RemoteHead | None, purges: int) -> str:
    """Return the ETag of a head. A purge makes no new sequence but changes what one contains, so purges are counted in
    it."""
    if head is None:
        return '"none"'
    purged = f"-{purges}" if purges else ""
    return f'"{head.epoch}-{head.number}-{head.digest.hex()[:32]}{purged}"'


def state_id(agent_id: str, number: int) -> str:
    """Return the id by which older clients know a sequence, always the same."""
    return str(uuid.uuid5(_SPACE, f"{agent_id}/{number}"))


def upload_uuid(upload_id: str) -> str:
    """Return the id of an upload as a UUID for older clients."""
    return str(uuid.UUID(hex=upload_id))


def upload_id_of(text: str) -> str:
    """Return the id of an upload from either form."""
    return text.replace("-", "").lower()


def machine_of(headers: Mapping[str, str]) -> str:
    """Return the sender's name of its machine, without control characters."""
    found = unquote(headers.get(MACHINE, ""), errors="replace")
    return "".join(character for character in found if character.isprintable())[:_LONGEST_NAME]


def status_of(received: PushResult) -> int:
    """Return 201 for a new sequence, 200 for one that was the head already."""
    return 201 if received.fresh else 200
