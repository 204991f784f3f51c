"""The list of purges that a remote holds, taken for what it is: something that somebody else says. A redaction counts
when it is of this agent and was signed by somebody trusted; whatever else is listed is refused, and said."""

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
"""How many purges of one agent a remote may list: each is one decision of a person."""
MOST_LEAVES = 4_000_000
"""How many leaves all of them may name together."""


@dataclass(frozen=True, slots=True)
class ListedRedactions:
    """What a remote lists of an agent. `counting` in its order, `ids` of them; `stale` are the ids of those of them
    that this machine knows, and that stand there under a signature which counts no more; `refused` says of each of the
    others why it does not count; `is_known`: whether the remote knows the agent at all."""

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
    """What counts of a remote's list. Without `trusted` every redaction does that is whole in itself. One of the
    `known` ones counts as it is known here, whoever signed it there.

    Raises AgentErased when the agent was purged whole by somebody who counts, RemoteDamaged for a list that nobody can
    have made, RemoteError.
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
    """The same of documents. Raises AgentErased, RemoteDamaged."""
    if len(documents) > MOST_REDACTIONS:
        raise RemoteDamaged(f"it lists {len(documents)} purges of one agent, more than anybody asks for")
    counting: dict[str, Redaction] = {}
    refused, leaves, stale = [], 0, set[str]()
    for document in documents:
        try:
            redaction = check_redaction(document, agent_id, trusted)
        except (RedactionInvalid, SignatureError, KeysError) as error:
            own = _known(document, agent_id, trusted, known)
            if own is None:
                refused.append(f"it lists a purge that does not count: {error.message}")
                continue
            redaction = own
            stale.add(own.id)
        leaves += len(redaction.leaves)
        if leaves > MOST_LEAVES:
            raise RemoteDamaged("its purges name more than any history holds")
        counting.setdefault(redaction.id, redaction)
    for redaction in counting.values():
        if redaction.scope == WHOLE_AGENT:
            raise AgentErased(describe_erasure(redaction), redaction=redaction.to_json())
    return ListedRedactions(tuple(counting.values()), frozenset(stale), tuple(refused))


def _known(document: JsonObject, agent_id: str, trusted: TrustedKeys | None, known: Redactions) -> Redaction | None:
    """The same redaction as it is known here, if it counts so."""
    with contextlib.suppress(RedactionInvalid, SignatureError, KeysError):
        found = redactions.from_json(document)
        own = next((each for each in known if (each.id, each.digest) == (found.id, found.digest)), None)
        return None if own is None else check_redaction(own.to_json(), agent_id, trusted)
    return None


def check_redaction(document: JsonObject, agent_id: str, trusted: TrustedKeys | None) -> Redaction:
    """A redaction that counts. Raises RedactionInvalid, SignatureError, KeysError."""
    redaction = redactions.from_json(document)
    if redaction.agent_id != agent_id:
        raise RedactionInvalid(f"it is of the agent {redaction.agent_id}")
    redaction_signatures.verify_redaction(redaction, trusted)
    return redaction


def check_erasure(error: AgentErased, agent_id: str, trusted: TrustedKeys | None) -> Redaction:
    """The redaction with which a remote says that an agent was purged whole. Raises RemoteDamaged when nobody who
    counts signed that: then it is not so."""
    try:
        redaction = check_redaction(error.redaction or {}, agent_id, trusted)
    except (RedactionInvalid, SignatureError, KeysError) as reason:
        raise RemoteDamaged(
            f"it says that the agent was purged whole, and nobody whom you trust signed that: {reason.message}"
        ) from None
    if redaction.scope != WHOLE_AGENT:
        raise RemoteDamaged("it says that the agent was purged whole, and shows a purge of less")
    return redaction


def describe_erasure(redaction: Redaction) -> str:
    """What a purge of a whole agent means, for people."""
    asked = f"{redaction.requested_by or 'somebody'} on {redaction.requested_at}"
    return f"the whole agent was purged, as {asked} asked for: nothing of it is kept any more, and nothing is taken"
