"""Redactions that reach an endpoint: whose they are, whether they are known, and how long they wait."""

from __future__ import annotations

from lifeboat_alf.common import times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import RedactionInvalid, SignatureError
from lifeboat_alf.redaction import redactions
from lifeboat_alf.redaction.joined_redactions import find_contested_leaves
from lifeboat_alf.redaction.redactions import WHOLE_AGENT, Redaction, Redactions
from lifeboat_alf.seams.system_clock import Clock
from lifeboat_endpoint.service.agent_roster import AgentRow
from lifeboat_endpoint.service.purge import purge_statements as sql
from lifeboat_endpoint.service.purge.purge_policy import WAITS, PurgePolicy
from lifeboat_keys.pairs.user_key import UserPublic
from lifeboat_keys.signed import redaction_signatures
from lifeboat_vault.bodies.vault_redactions import RedactionRow
from lifeboat_vault.errors import RemoteRefused
from lifeboat_vault.store.store_protocols import MetadataStore
from lifeboat_vault.vault import Vault


def redaction_of(document: object, agent_id: str) -> Redaction:
    """What was sent for an agent. Raises RemoteRefused."""
    try:
        made = redactions.from_json(document)
    except RedactionInvalid as error:
        raise RemoteRefused(error.message) from error
    if made.agent_id.lower() != agent_id.lower():
        raise RemoteRefused("the purge is not of this agent")
    return made


def signer_of(redaction: Redaction) -> UserPublic:
    """Under whose key it was signed. Raises RemoteRefused for one whose signature does not hold."""
    try:
        return redaction_signatures.verify_redaction(redaction, None)
    except SignatureError as error:
        raise RemoteRefused(error.message) from error


def check_signer(vault: Vault, redaction: Redaction, *, confirmed: bool) -> None:
    """Whoever wrote the states that are there may purge them; what nobody signed, only whoever owns the endpoint.
    Raises RemoteRefused."""
    signer, head = signer_of(redaction), vault.head()
    if head is None:
        return
    if head.signature is None:
        if not confirmed:
            raise RemoteRefused("nobody signed what is there: whoever owns the endpoint has to confirm its purge")
    elif not _is_of_writer(head.signature, redaction) and signer not in _writers(vault):
        raise RemoteRefused("the purge is not signed by the user who writes this agent")


def sign_again(vault: Vault, held: Redaction, redaction: Redaction, *, confirmed: bool) -> None:
    """A redaction that is held, under another signature: taken when it is of the user, or of the device, that signed
    the newest state there is now, or whoever owns the endpoint says so; else the one that is there stays. Raises
    RemoteRefused for one that does not hold."""
    if redaction.signature == held.signature:
        return
    signer_of(redaction)
    head = vault.head()
    if confirmed or head is None or (head.signature is not None and _is_of_writer(head.signature, redaction)):
        vault.resign_redaction(redaction)


def can_sign_purged_again(held: Redaction, redaction: Redaction) -> bool:
    """Whether the redaction of an agent of which nothing is there may get another signature from whoever pushes: of the
    user or the device that signed it first. Raises RemoteRefused for one that does not hold."""
    signer_of(redaction)
    return held.signature is not None and _is_of_writer(held.signature, redaction)


def _writers(vault: Vault) -> set[UserPublic]:
    return {_writer(row.signature) for row in vault.sequences() if row.signature is not None}


def _is_of_writer(signature: JsonObject, redaction: Redaction) -> bool:
    """Whether a redaction whose signature holds is of the user or the device of another signature. A device keeps its
    key when that of its user is replaced, and signs nothing anew then unless others may have the old one."""
    made = redaction.signature or {}
    return any(signature.get(name) == made.get(name) for name in ("user", "device"))


def _writer(signature: JsonObject) -> UserPublic:
    return UserPublic.from_json(signature["user"])


def find_redaction(vault: Vault, redaction_id: str) -> RedactionRow | None:
    return next((row for row in vault.redaction_rows() if row.redaction.id == redaction_id), None)


def is_contested(vault: Vault, redaction: Redaction) -> bool:
    """Whether nothing would stand where it and another one cut the same bytes. Its machine did not know of the other
    one; it waits until a machine that has the bytes says what both leave (see
    `lifeboat_alf.redaction.joined_redactions`), or its time has come."""
    rows = [row for row in vault.redaction_rows() if not row.refused] if len(vault.redactions) else []
    return bool(find_contested_leaves(Redactions(row.redaction for row in rows), redaction))


def is_nothing_there(vault: Vault, redaction: Redaction) -> bool:
    """Whether it would destroy nothing."""
    if redaction.scope == WHOLE_AGENT:
        return vault.head() is None
    return vault.remaining(redaction) == 0


class WaitingRedactions:
    """Of one tenant and one thread."""

    def __init__(self, metadata: MetadataStore, purging: PurgePolicy, clock: Clock) -> None:
        self._metadata = metadata
        self._purging = purging
        self._clock = clock

    def wait(self, row: AgentRow, vault: Vault, redaction: Redaction) -> str:
        """Hold it, and destroy nothing yet; until when (timestamp). The row that says where one waits comes first: one
        that nothing stands behind is dropped when its time comes."""
        until = times.to_text(self._clock.now() + self._purging.wait)
        with self._metadata.transaction():
            self._metadata.execute(sql.DROP_WAITING, (row.id, redaction.id))
            self._metadata.execute(sql.ADD_WAITING, (row.id, redaction.id, until, 0))
        report = vault.redact(redaction, waits_until=until)
        if report.fresh:
            details = {"agent": row.id, "scope": redaction.scope, "applies_at": until}
            self._purging.note(WAITS, redaction.id, details)
        return report.waits_until or until

    def learn(self, row: AgentRow, vault: Vault, found: Redactions, writer: UserPublic | None) -> None:
        """Those that came with a signed bundle, of `writer`: each is held as if it had been sent before. Raises
        RemoteRefused for one of another user, and where `writer` is None for every one that is not known."""
        there = {each.redaction.id: each.redaction.digest for each in vault.redaction_rows()} if len(found) else {}
        for redaction in found:
            if there.get(redaction.id) == redaction.digest:
                continue
            redaction_of(redaction.to_json(), row.id)
            if redaction.id in there or redaction.scope == WHOLE_AGENT or signer_of(redaction) != writer:
                raise RemoteRefused("the bundle holds a purge that the user who signed it did not ask for")
            if is_nothing_there(vault, redaction):
                vault.redact(redaction)
            else:
                self.wait(row, vault, redaction)
