"""Redactions that reach an endpoint: check their signer, and hold those that are not confirmed."""

from __future__ import annotations

from lifeboat_alf.common import times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import RedactionInvalid, SignatureError
from lifeboat_alf.redaction import redactions
from lifeboat_alf.redaction.joined_redactions import find_contested_leaves
from lifeboat_alf.redaction.redactions import WHOLE_AGENT, Redaction, Redactions
from lifeboat_endpoint.service.agent_roster import AgentRow
from lifeboat_endpoint.service.purge import purge_statements as sql
from lifeboat_endpoint.service.purge.purge_policy import WAITS
from lifeboat_endpoint.service.tenant_service import TenantService
from lifeboat_keys.pairs.user_key import UserPublic
from lifeboat_keys.signed import redaction_signatures
from lifeboat_vault.bodies.vault_redactions import RedactionRow
from lifeboat_vault.errors import RemoteRefused
from lifeboat_vault.vault import Vault


def redaction_of(document: object, agent_id: str) -> Redaction:
    """Parse the redaction that was sent for an agent. Raises RemoteRefused."""
    try:
        made = redactions.decode_redaction(document)
    except RedactionInvalid as error:
        raise RemoteRefused(error.message) from error
    if made.agent_id.lower() != agent_id.lower():
        raise RemoteRefused("the purge belongs to another agent")
    return made


def signer_of(redaction: Redaction) -> UserPublic:
    """Verify a redaction and return its signer. Raises RemoteRefused for a bad signature."""
    try:
        return redaction_signatures.verify_redaction(redaction, None)
    except SignatureError as error:
        raise RemoteRefused(error.message) from error


def check_signer(vault: Vault, redaction: Redaction, *, confirmed: bool) -> None:
    """Check that the signer wrote sequences of this vault. Unsigned sequences need the confirmation of the owner.

    Raises RemoteRefused.
    """
    signer, head = signer_of(redaction), vault.head()
    if head is None:
        return
    if head.signature is None:
        if not confirmed:
            raise RemoteRefused("the history is not signed, so the operator of the endpoint must confirm the purge")
    elif not _is_of_writer(head.signature, redaction) and signer not in _writers(vault):
        raise RemoteRefused("the purge is not signed by the user who writes this agent")


def sign_again(vault: Vault, held: Redaction, redaction: Redaction, *, confirmed: bool) -> None:
    """Store another signature of a redaction that is held.

    It is taken if the user or device signed the newest sequence, or if the owner confirms it. Otherwise the first
    signature stays. Raises RemoteRefused for a bad signature.
    """
    if redaction.signature == held.signature:
        return
    signer_of(redaction)
    head = vault.head()
    if confirmed or head is None or (head.signature is not None and _is_of_writer(head.signature, redaction)):
        vault.resign_redaction(redaction)


def can_sign_purged_again(held: Redaction, redaction: Redaction) -> bool:
    """Whether the redaction of a purged agent may get this signature: only from the user or device that signed it
    first.

    Raises RemoteRefused for a bad signature.
    """
    signer_of(redaction)
    return held.signature is not None and _is_of_writer(held.signature, redaction)


def _writers(vault: Vault) -> set[UserPublic]:
    return {UserPublic.from_json(row.signature["user"]) for row in vault.sequences() if row.signature is not None}


def _is_of_writer(signature: JsonObject, redaction: Redaction) -> bool:
    """Whether a verified redaction is of the same user or device as another signature.

    A device keeps its key when the user's key is replaced, and signs nothing again unless the old key may be
    compromised.
    """
    made = redaction.signature or {}
    return any(signature.get(name) == made.get(name) for name in ("user", "device"))


def find_redaction(vault: Vault, redaction_id: str) -> RedactionRow | None:
    """Return the row of a redaction, None if it is unknown."""
    return next((row for row in vault.redaction_rows() if row.redaction.id == redaction_id), None)


def is_contested(vault: Vault, redaction: Redaction) -> bool:
    """Whether it and another redaction cut the same bytes, so that nothing would remain.

    Its machine did not know of the other one. It waits until a machine that has the bytes says what remains (see
    `lifeboat_alf.joining`), or until its time has come.
    """
    rows = [row for row in vault.redaction_rows() if not row.refused] if len(vault.redactions) else []
    return bool(find_contested_leaves(Redactions(row.redaction for row in rows), redaction))


def is_nothing_there(vault: Vault, redaction: Redaction) -> bool:
    """Whether the redaction would destroy nothing."""
    if redaction.scope == WHOLE_AGENT:
        return vault.head() is None
    return vault.remaining(redaction) == 0


class WaitingRedactions(TenantService):
    """Holds redactions of one tenant. Belongs to one thread."""

    def wait(self, row: AgentRow, vault: Vault, redaction: Redaction) -> str:
        """Hold a redaction without destroying anything; return until when (timestamp).

        The row of tenant.db is written before the vault. If only that row exists, it is dropped when its time comes.
        """
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
        """Hold the unknown redactions of a signed bundle as if they had been sent separately.

        Raises RemoteRefused for one that `writer` did not sign; with None, for any unknown one.
        """
        # A bundle without redactions needs no look at the vault's rows.
        there = {each.redaction.id: each.redaction.digest for each in vault.redaction_rows()} if len(found) else {}
        for redaction in found:
            if there.get(redaction.id) == redaction.digest:
                continue
            redaction_of(redaction.to_json(), row.id)
            if redaction.id in there or redaction.scope == WHOLE_AGENT or signer_of(redaction) != writer:
                raise RemoteRefused(
                    "the bundle contains a purge that was not requested by the user who signed the bundle"
                )
            if is_nothing_there(vault, redaction):
                vault.redact(redaction)
            else:
                self.wait(row, vault, redaction)
