"""The receipt of a purge as a document: what one machine did, what each remote reported, and what is out of reach.

    {"version": 1, "type": "purge receipt", "id": uuid, "changed_at": timestamp,
     "redaction": {"id": uuid, "digest": hex},
     "audit": {ALF §3.1.11},
     "here": {"undo_folders": count, "staging": count, "state_db": bool, "workspace": count | null,
              "keep_out_until": text | null, "searched": {what: count...}},
     "vaults": [{"name", "id", "kind", "state": "done" | "waiting" | "pending", "since": timestamp,
                 "applies_at": timestamp | null, "message", "receipt": {`lifeboat_keys.signed.vault_receipts`} |
null}...],
     "unreachable": [{"name", "why", "what"}...],
     "signature": {`lifeboat_keys.pairs.device_key`}}

It contains no content: only ids, counts, places in chains, digests over salted leaves, and names of remotes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any

import msgspec

from lifeboat_alf.common import ids, times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.redaction.redactions import SCOPES, WHOLE_AGENT
from lifeboat_keys.errors import ReceiptInvalid

VERSION = 1
TYPE = "purge receipt"
DONE, WAITING, PENDING = "done", "waiting", "pending"
STATES = (DONE, WAITING, PENDING)
REASONS = ("gdpr_article_17", "ccpa_deletion", "user_request", "security_incident")
"""The four reasons of ALF §3.1.11."""
HOME = "home"
"""The kind of the vault on this disk."""
Count = Annotated[int, msgspec.Meta(ge=0)]
Sha256 = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]
State = Annotated[str, msgspec.Meta(pattern=rf"^({'|'.join(STATES)})\Z")]


@dataclass(frozen=True, slots=True)
class VaultPurgeNote:
    """State of a purge in one vault. `id` is the vault's own (the remote's), `since` when this state began,
    `applies_at` until when it waits, `message` why it is not done, for people."""

    name: str
    id: str
    kind: str
    state: State
    since: str
    applies_at: str | None = None
    message: str = ""
    receipt: JsonObject | None = None


@dataclass(frozen=True, slots=True)
class UnreachableCopy:
    """A copy that this program cannot reach: a machine that was off, a provider's backups, exported files."""

    name: str
    why: str
    what: str


@dataclass(frozen=True, slots=True)
class MachinePurgeNote:
    """What was done on this machine besides the vault. `undo_folders` and `staging` count what was emptied, `state_db`
    says whether caches were deleted, `workspace` counts edited live files (None: they were left alone),
    `keep_out_until` says until when the text is kept out of captures, `searched` counts what was searched afterwards,
    and `hits` in it."""

    undo_folders: Count = 0
    staging: Count = 0
    state_db: bool = False
    workspace: Count | None = None
    keep_out_until: str | None = None
    searched: Mapping[str, Count] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PurgeReceipt:
    """The receipt of one purge (see the module). `audit` is exactly the record of ALF §3.1.11."""

    id: str
    audit: JsonObject
    digest: Sha256
    vaults: tuple[VaultPurgeNote, ...] = ()
    here: MachinePurgeNote = field(default_factory=MachinePurgeNote)
    unreachable: tuple[UnreachableCopy, ...] = ()
    changed_at: str = ""
    signature: JsonObject | None = None

    @property
    def agent_id(self) -> str:
        return str(self.audit["agent_id"])

    @property
    def is_done(self) -> bool:
        """Return whether the purge is complete in every known vault."""
        return all(vault.state == DONE for vault in self.vaults)

    def vault(self, vault_id: str) -> VaultPurgeNote | None:
        """Return the note of one vault."""
        return next((each for each in self.vaults if each.id == vault_id), None)

    def statement(self) -> JsonObject:
        """Return the signed part: the document without its signature."""
        return {
            "version": VERSION,
            "type": TYPE,
            "id": self.id,
            "changed_at": self.changed_at,
            "redaction": {"id": self.id, "digest": self.digest},
            "audit": self.audit,
            "here": {**asdict(self.here), "searched": dict(self.here.searched)},
            "vaults": [asdict(each) for each in self.vaults],
            "unreachable": [asdict(each) for each in self.unreachable],
        }

    def to_json(self) -> JsonObject:
        return {**self.statement(), "signature": self.signature}


# JSON ---------------------------------------------------------------------------------------------------------------


def decode_purge_receipt(document: Any) -> PurgeReceipt:
    """Decode a receipt from outside, with exactly the known fields. Raises ReceiptInvalid. Signatures are not checked,
    nor whether the parts belong together."""
    try:
        made = msgspec.convert({**document, "digest": document["redaction"]["digest"]}, PurgeReceipt)
        _check_audit(made.audit)
        _check_fields(document, made.to_json())
        if type(document["version"]) is not int or not ids.is_uuid(made.id):
            raise ValueError("the version or the id of the receipt is invalid")
        for moment in (made.changed_at, *(each.since for each in made.vaults)):
            times.parse_time(moment)
        for until in (each.applies_at for each in made.vaults):
            times.parse_time(until or made.changed_at)
    except KeyError as error:
        raise ReceiptInvalid(f"the format of the receipt is invalid: {error} is missing") from None
    except (TypeError, ValueError) as error:
        raise ReceiptInvalid(f"the format of the receipt is invalid: {error}") from None
    return made


def _check_audit(record: JsonObject) -> None:
    if record["scope"] not in SCOPES:
        raise ValueError("the scope of the receipt is unknown")
    if record["reason"] not in REASONS:
        raise ValueError("the reason of the receipt is unknown")
    texts = ("purge_id", "agent_id", "scope", "reason", "requested_at", "requested_by", "completed_at")
    lists = ("partitions_affected",) if record["scope"] == WHOLE_AGENT else ("partitions_affected", "record_ids")
    _check_fields(record, {name: record[name] for name in (*texts, *lists)})
    msgspec.convert([record[name] for name in texts], list[str])
    msgspec.convert([record[name] for name in lists], list[list[str]])
    times.parse_time(record["requested_at"])
    times.parse_time(record["completed_at"])


def _check_fields(document: JsonObject, known: JsonObject) -> None:
    """Check that a document is what this program would write for it. Raises KeyError, ValueError."""
    for name in known:
        document[name]
    if document != known:
        raise ValueError("the receipt has an unknown field or value")
