"""The JSON of `lifeboat receipts`: the proof of purges."""

from __future__ import annotations

import msgspec

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.documents.purge_documents import Unreachable

DONE, WAITING, PENDING = "done", "waiting", "pending"


class Vault(msgspec.Struct, frozen=True):
    """How a purge stands in one vault; `receipt` is what that vault signed."""

    name: str
    id: str = ""
    kind: str = ""
    state: str = PENDING
    since: str | None = None
    applies_at: str | None = None
    message: str = ""
    """how it stands in each: `state` is `done`, `waiting` or `pending`, see [Receipts](receipts.md)"""
    receipt: JsonObject | None = None
    """of `receipts show`: what that vault signed, or null"""


class Listed(msgspec.Struct, frozen=True):
    """A receipt in the list."""

    id: str
    agent_id: str = ""
    agent: str | None = None
    """a purge, its agent, and what that is called here, or null"""
    scope: str = "record_purge"
    records: int = 0
    reason: str = "user_request"
    """`record_purge` or `full_agent`, how many memories went, and why"""
    requested_at: str | None = None
    completed_at: str | None = None
    """when it was asked for, and done here"""
    done: bool = False
    """whether nothing is left to do in any vault that is known"""
    vaults: tuple[Vault, ...] = ()


class Damaged(msgspec.Struct, frozen=True):
    id: str
    message: str = ""
    """a receipt that cannot be read, and why"""


class Receipts(msgspec.Struct, frozen=True):
    """`receipts list`."""

    receipts: tuple[Listed, ...] = ()
    damaged: tuple[Damaged, ...] = ()


class Audit(msgspec.Struct, frozen=True):
    """The audit record of ALF §3.1.11."""

    purge_id: str = ""
    agent_id: str = ""
    scope: str = "record_purge"
    record_ids: tuple[str, ...] = ()
    partitions_affected: tuple[str, ...] = ()
    reason: str = "user_request"
    requested_at: str | None = None
    completed_at: str | None = None
    requested_by: str = ""


class Here(msgspec.Struct, frozen=True):
    """What was done on this machine beside the vault."""

    undo_folders: int = 0
    staging: int = 0
    state_db: bool = False
    workspace: int | None = None
    keep_out_until: str | None = None
    searched: dict[str, int] = {}


class Receipt(msgspec.Struct, frozen=True):
    id: str = ""
    changed_at: str | None = None
    audit: Audit = Audit()
    here: Here = Here()
    vaults: tuple[Vault, ...] = ()
    unreachable: tuple[Unreachable, ...] = ()


class Finding(msgspec.Struct, frozen=True):
    """`level` is holds, open or wrong."""

    subject: str
    level: str
    message: str = ""
    """what was looked at, `holds`, `open` or `wrong`, and what was found"""
    unknown_key: bool = False
    """whether it was signed with a key that is not known here: `verify` then ends with 4"""


class Shown(msgspec.Struct, frozen=True):
    """`receipts show` and `verify`."""

    receipt: Receipt = Receipt()
    """the receipt itself, see [Receipts](receipts.md); not of `receipts verify`"""
    holds: bool = False
    """whether nothing is wrong with it"""
    proven: bool | None = None
    """of `receipts verify`: whether nothing is open either"""
    findings: tuple[Finding, ...] = ()


class Redaction(msgspec.Struct, frozen=True):
    id: str = ""
    digest: str = ""


class Position(msgspec.Struct, frozen=True):
    """What one vault signed."""

    name: str
    vault_id: str = ""
    kind: str = ""
    applied: int = 0
    leaves: int = 0
    objects: int = 0
    remaining: int = 0
    head: JsonObject | None = None
    audit: JsonObject | None = None
    completed_at: str | None = None
    found: dict[str, int] = {}
    signer: str = ""


class Audited(msgspec.Struct, frozen=True):
    """`receipts show --audit`."""

    audit: Audit = Audit()
    """the audit record of ALF 3.1.11"""
    redaction: Redaction = Redaction()
    """the `id` and `digest` of the redaction"""
    positions: tuple[Position, ...] = ()
    """what each vault signed: `name`, `vault_id`, `kind`, `applied`, `leaves`, `objects`, `remaining`, `head`, `audit`,
    `completed_at`, `found`, `signer`"""
    holds: bool = False
    """whether nothing is wrong with it"""
    findings: tuple[Finding, ...] = ()


class Confirmed(msgspec.Struct, frozen=True):
    """`receipts confirm`."""

    id: str = ""
    """the receipt"""
    vault: Vault | None = None
    """how the purge stands there now, as in `receipts list`"""
