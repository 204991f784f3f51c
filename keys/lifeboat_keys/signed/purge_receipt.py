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

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, TypeVar

from lifeboat_alf.common import ids, times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.redaction.redactions import SCOPES, WHOLE_AGENT
from lifeboat_keys.errors import ReceiptInvalid

T = TypeVar("T")

VERSION = 1
TYPE = "purge receipt"
DONE, WAITING, PENDING = "done", "waiting", "pending"
STATES = (DONE, WAITING, PENDING)
REASONS = ("gdpr_article_17", "ccpa_deletion", "user_request", "security_incident")
"""The four reasons of ALF §3.1.11."""
HOME = "home"
"""The kind of the vault on this disk."""


@dataclass(frozen=True, slots=True)
class VaultPurgeNote:
    """State of a purge in one vault. `id` is the vault's own (the remote's), `since` when this state began,
    `applies_at` until when it waits, `message` why it is not done, for people."""

    name: str
    id: str
    kind: str
    state: str
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

    undo_folders: int = 0
    staging: int = 0
    state_db: bool = False
    workspace: int | None = None
    keep_out_until: str | None = None
    searched: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PurgeReceipt:
    """The receipt of one purge (see the module). `audit` is exactly the record of ALF §3.1.11."""

    id: str
    audit: JsonObject
    digest: str
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


def from_json(document: Any) -> PurgeReceipt:
    """Decode a receipt from outside, with exactly the known fields. Raises ReceiptInvalid. Signatures are not checked,
    nor whether the parts belong together."""
    try:
        return _from_json(document)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ReceiptInvalid(f"the receipt is not well formed: {_why(error)}") from None


def _why(error: Exception) -> str:
    return f"{error} is missing" if isinstance(error, KeyError) else f"{error}"


def _from_json(document: Any) -> PurgeReceipt:
    names = ("version", "type", "id", "changed_at", "redaction", "audit", "here", "vaults", "unreachable", "signature")
    fields = _fields(document, names)
    if type(fields["version"]) is not int or (fields["version"], fields["type"]) != (VERSION, TYPE):
        raise ValueError("its version or type is not known")
    redaction = _fields(fields["redaction"], ("id", "digest"))
    if redaction["id"] != fields["id"]:
        raise ValueError("it has the id of another redaction")
    return PurgeReceipt(
        id=_uuid(fields["id"]),
        audit=_audit(fields["audit"]),
        digest=_hash(redaction["digest"]),
        vaults=tuple(_vault(each) for each in _list(fields["vaults"])),
        here=_here(fields["here"]),
        unreachable=tuple(_unreachable(each) for each in _list(fields["unreachable"])),
        changed_at=_timestamp(fields["changed_at"]),
        signature=_object_or_none(fields["signature"]),
    )


def _audit(value: Any) -> JsonObject:
    scope = value["scope"]
    if scope not in SCOPES:
        raise ValueError("its scope is not known")
    named = () if scope == WHOLE_AGENT else ("record_ids",)
    times_named, lists = ("requested_at", "completed_at"), ("partitions_affected", *named)
    texts = ("purge_id", "agent_id", "scope", "reason", "requested_by")
    record = _fields(value, (*texts, *times_named, *lists))
    for name in texts:
        _text(record[name])
    for name in times_named:
        _timestamp(record[name])
    for name in lists:
        [_text(each) for each in _list(record[name])]
    if record["reason"] not in REASONS:
        raise ValueError("its reason is none of those that there are")
    return record


def _vault(value: Any) -> VaultPurgeNote:
    names = ("name", "id", "kind", "state", "since", "applies_at", "message", "receipt")
    fields = _fields(value, names)
    if fields["state"] not in STATES:
        raise ValueError("the state of a vault is not known")
    return VaultPurgeNote(
        name=_text(fields["name"]),
        id=_text(fields["id"]),
        kind=_text(fields["kind"]),
        state=fields["state"],
        since=_timestamp(fields["since"]),
        applies_at=_optional(_timestamp, fields["applies_at"]),
        message=_text(fields["message"]),
        receipt=_object_or_none(fields["receipt"]),
    )


def _here(value: Any) -> MachinePurgeNote:
    fields = _fields(value, ("undo_folders", "staging", "state_db", "workspace", "keep_out_until", "searched"))
    if not isinstance(fields["state_db"], bool) or not isinstance(fields["searched"], dict):
        raise TypeError("what was done here is not of its kind")
    return MachinePurgeNote(
        undo_folders=_count(fields["undo_folders"]),
        staging=_count(fields["staging"]),
        state_db=fields["state_db"],
        workspace=_optional(_count, fields["workspace"]),
        keep_out_until=_optional(_text, fields["keep_out_until"]),
        searched={_text(name): _count(count) for name, count in fields["searched"].items()},
    )


def _unreachable(value: Any) -> UnreachableCopy:
    fields = _fields(value, ("name", "why", "what"))
    return UnreachableCopy(*(_text(fields[name]) for name in ("name", "why", "what")))


def _fields(value: Any, names: tuple[str, ...]) -> JsonObject:
    if not isinstance(value, dict):
        raise TypeError("an object was expected")
    for name in names:
        if name not in value:
            raise KeyError(name)
    if len(value) != len(names):
        raise ValueError("there is a field that is not known")
    return value


def _optional(read: Callable[[Any], T], value: Any) -> T | None:
    return None if value is None else read(value)


def _object_or_none(value: Any) -> JsonObject | None:
    if value is not None and not isinstance(value, dict):
        raise TypeError("an object was expected")
    return value


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError("a list was expected")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("a text was expected")
    return value


def _count(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise TypeError("a count was expected")
    return value


def _uuid(value: Any) -> str:
    if not ids.is_uuid(_text(value)):
        raise ValueError("its id is none")
    return str(value)


def _hash(value: Any) -> str:
    if len(_text(value)) != 64 or bytes.fromhex(value).hex() != value:
        raise ValueError("a SHA-256 in hexadecimal was expected")
    return str(value)


def _timestamp(value: Any) -> str:
    times.parse_time(_text(value))
    return str(value)
