"""Redact content that arrives with its leaf before it is stored."""

from __future__ import annotations

from lifeboat_alf.errors import RedactionInvalid
from lifeboat_alf.redaction.redactions import NONE, Redactions
from lifeboat_alf.states import merkle
from lifeboat_alf.states.agent_state import Leaf
from lifeboat_vault.bodies.vault_redactions import NOTHING_KNOWN, VaultRedactions
from lifeboat_vault.errors import DraftInvalid


class RedactedArrivals:
    """Redactions for one draft. `known` are those of the vault. `sent` came with the draft and are not trusted; they
    only name what the vault lacks."""

    def __init__(self, known: VaultRedactions = NOTHING_KNOWN, sent: Redactions = NONE) -> None:
        self._known = known
        self._sent = sent

    def entry(self, path: str, leaf: Leaf, body: bytes) -> tuple[Leaf, bytes]:
        """Return leaf and bytes to store, without salt where they were replaced. Raises DraftInvalid."""
        kept, made = self._settled(path, leaf, body)
        return kept, made or b""

    def entry_without_body(self, leaf: Leaf, sha256: str | None) -> tuple[Leaf, str | None]:
        """Return leaf and SHA-256 to store for absent bytes, without salt and hash when they were purged."""
        if self._known.applied.naming(leaf.digest) is None:
            return leaf, sha256
        return Leaf(leaf.digest), None

    def line(self, record_id: str, leaf: Leaf, line: bytes | None) -> tuple[Leaf, bytes | None]:
        """Return leaf and line to store; None for the line of a gone record. Raises DraftInvalid."""
        what = f"the record {record_id}"
        if line is not None:
            return self._settled(what, leaf, line)
        if not self._known.every.is_gone(leaf.digest):
            raise self._unknown(what, leaf)
        return Leaf(leaf.digest), None

    def _settled(self, what: str, leaf: Leaf, body: bytes) -> tuple[Leaf, bytes | None]:
        applied = self._known.applied
        if applied.naming(leaf.digest) is None:
            return self._vouched(what, leaf, body)
        try:
            return Leaf(leaf.digest), applied.settled(leaf, body)
        except RedactionInvalid:
            return self._vouched(what, leaf, body)

    def _vouched(self, what: str, leaf: Leaf, body: bytes) -> tuple[Leaf, bytes]:
        """Return bytes that match their leaf, or that a redaction which still waits here explains."""
        if merkle.leaf_holds(leaf, body):
            return leaf, body
        if leaf.salt:
            raise DraftInvalid(f"{what}: the content does not match its signed hash")
        if not self._known.every.hold(leaf, body):
            raise self._unknown(what, leaf)
        return leaf, body

    def _unknown(self, what: str, leaf: Leaf) -> DraftInvalid:
        naming = self._sent.naming(leaf.digest)
        if naming is None or naming.id in self._known.every:
            return DraftInvalid(
                f"the content of {what} does not match its signed hash, and no purge record explains the difference"
            )
        return DraftInvalid(f"{what} was changed by the purge {naming.id}, which this vault does not contain")
