"""Judge the list of purges that a remote gives, which is untrusted.

A redaction counts if it is of this agent and has the signature of a trusted key. Everything else is refused and
reported.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import RedactionInvalid, SignatureError
from lifeboat_alf.redaction import redactions
from lifeboat_alf.redaction.redactions import NONE, WHOLE_AGENT, Redaction, Redactions
from lifeboat_keys.errors import KeysError
from lifeboat_keys.pairs.trusted_keys import TrustedKeys
from lifeboat_keys.signed import redaction_signatures
from lifeboat_vault.errors import AgentErased, RemoteDamaged, UnknownAtRemote
from lifeboat_vault.remote.remote_contract import Remote

MOST_REDACTIONS = 10_000
"""How many purges of one agent a remote may list: each one is a decision of a user."""
MOST_LEAVES = 4_000_000
"""How many leaves all of them together may name."""


@dataclass(frozen=True, slots=True)
class ListedRedactions:
    """What a remote lists of an agent.

    `counting` are the redactions that count, in the order of the list; `ids` their ids. `stale` are the ids of those
    that this machine knows and that have an outdated signature there. `refused` says of every other one why it does not
    count; `is_known`: whether the remote knows the agent at all.
    """

    counting: tuple[Redaction, ...] = ()
    stale: frozenset[str] = frozenset()
    refused: tuple[str, ...] = ()
    is_known: bool = True

    @property
    def ids(self) -> frozenset[str]:
        return frozenset(redaction.id for redaction in self.counting)


def load_listed(
    remote: Remote, agent_id: str, trusted: TrustedKeys | None, known: Redactions = NONE
) -> ListedRedactions:
    """Return what counts of a remote's list.

    Without `trusted` every intact redaction counts. A `known` one counts as it is known here, regardless of who signed
    it there.

    Raises AgentErased when the agent was purged whole by a trusted signer, RemoteDamaged for an impossible list,
    RemoteError.
    """
    try:
        documents = remote.redactions(agent_id)
    except UnknownAtRemote:
        return ListedRedactions(is_known=False)
    except AgentErased as error:
        check_erasure(error, agent_id, trusted)
        raise
    return judge_redactions(documents, agent_id, trusted, known)


def judge_redactions(
    documents: list[JsonObject], agent_id: str, trusted: TrustedKeys | None, known: Redactions = NONE
) -> ListedRedactions:
    """Judge the documents of a list. Raises AgentErased, RemoteDamaged."""
    if len(documents) > MOST_REDACTIONS:
        raise RemoteDamaged(f"the remote lists {len(documents)} purges of one agent; the limit is {MOST_REDACTIONS}")
    counting: dict[str, Redaction] = {}
    refused, leaves, stale = [], 0, set[str]()
    for document in documents:
        try:
            redaction = check_redaction(document, agent_id, trusted)
        except (RedactionInvalid, SignatureError, KeysError) as error:
            own = _known(document, agent_id, trusted, known)
            if own is None:
                refused.append(f"the remote lists an invalid purge: {error.message}")
                continue
            redaction = own
            stale.add(own.id)
        leaves += len(redaction.leaves)
        if leaves > MOST_LEAVES:
            raise RemoteDamaged("the purges that the remote lists cover more items than a history can contain")
        counting.setdefault(redaction.id, redaction)
    for redaction in counting.values():
        if redaction.scope == WHOLE_AGENT:
            raise AgentErased(describe_erasure(redaction), redaction=redaction.to_json())
    return ListedRedactions(tuple(counting.values()), frozenset(stale), tuple(refused))


def _known(document: JsonObject, agent_id: str, trusted: TrustedKeys | None, known: Redactions) -> Redaction | None:
    """Return the same redaction as it is known here, if it counts so."""
    with contextlib.suppress(RedactionInvalid, SignatureError, KeysError):
        found = redactions.decode_redaction(document)
        own = next((each for each in known if (each.id, each.digest) == (found.id, found.digest)), None)
        return None if own is None else check_redaction(own.to_json(), agent_id, trusted)
    return None


def check_redaction(document: JsonObject, agent_id: str, trusted: TrustedKeys | None) -> Redaction:
    """Return a redaction that counts. Raises RedactionInvalid, SignatureError, KeysError."""
    redaction = redactions.decode_redaction(document)
    if redaction.agent_id != agent_id:
        raise RedactionInvalid(f"the purge belongs to agent {redaction.agent_id}, not to this one")
    redaction_signatures.verify_redaction(redaction, trusted)
    return redaction


def check_erasure(error: AgentErased, agent_id: str, trusted: TrustedKeys | None) -> Redaction:
    """Return the redaction with which a remote says that an agent was purged whole. Raises RemoteDamaged if no trusted
    key signed it: then the agent counts as not purged."""
    try:
        redaction = check_redaction(error.redaction or {}, agent_id, trusted)
    except (RedactionInvalid, SignatureError, KeysError) as reason:
        raise RemoteDamaged(
            "the remote states that the whole agent was purged, but no trusted key has signed "
            f"such a purge: {reason.message}"
        ) from None
    if redaction.scope != WHOLE_AGENT:
        raise RemoteDamaged(
            "the remote states that the whole agent was purged, but the purge that it returned covers only a part"
        )
    return redaction


def describe_erasure(redaction: Redaction) -> str:
    """Return for people what a purge of a whole agent means."""
    asked = f"{redaction.requested_by or 'an unknown user'} on {redaction.requested_at}"
    return (
        f"the whole agent was purged at the request of {asked}; the remote keeps no data of the agent and accepts none"
    )
