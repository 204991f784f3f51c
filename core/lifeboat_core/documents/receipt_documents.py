"""The JSON of `lifeboat receipts`: the proof of purges."""

from __future__ import annotations

import msgspec

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.documents.purge_documents import Unreachable

DONE, WAITING, PENDING = "done", "waiting", "pending"


class Vault(msgspec.Struct, frozen=True):
    """The state of a purge in one vault; `receipt` is signed by that vault."""

    name: str
    id: str = ""
    kind: str = ""
    state: str = PENDING
    since: str | None = None
    applies_at: str | None = None
    message: str = ""
    """each vault: `state` is `done`, `waiting` or `pending`, see [Receipts](receipts.md)"""
    receipt: JsonObject | None = None
    """`receipts show`: signed by that vault, or null"""


class Listed(msgspec.Struct, frozen=True):
    """A receipt in the list."""

    id: str
    agent_id: str = ""
    agent: str | None = None
    """the purge, its agent and the agent's name here, or null"""
    scope: str = "record_purge"
    records: int = 0
    reason: str = "user_request"
    """`record_purge` or `full_agent`, number of purged memories, reason"""
    requested_at: str | None = None
    completed_at: str | None = None
    """when it was requested and done here"""
    done: bool = False
    """whether every known vault is done"""
    vaults: tuple[Vault, ...] = ()


class Damaged(msgspec.Struct, frozen=True):
    id: str
    message: str = ""
    """unreadable receipts, with reasons"""


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
    """subject, `holds`, `open` or `wrong`, and result"""
    unknown_key: bool = False
    """signed with a key that is unknown here: `verify` exits with 4"""


class Shown(msgspec.Struct, frozen=True):
    """`receipts show` and `verify`."""

    receipt: Receipt = Receipt()
    """the receipt, see [Receipts](receipts.md); not in `receipts verify`"""
    holds: bool = False
    """whether nothing is wrong"""
    proven: bool | None = None
    """`receipts verify`: whether nothing is open either"""
    findings: tuple[Finding, ...] = ()


class Redaction(msgspec.Struct, frozen=True):
    id: str = ""
    digest: str = ""


class Position(msgspec.Struct, frozen=True):
    """The signed statement of one vault."""

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
    """audit record of ALF 3.1.11"""
    redaction: Redaction = Redaction()
    """`id` and `digest` of the redaction"""
    positions: tuple[Position, ...] = ()
    """signed by each vault: `name`, `vault_id`, `kind`, `applied`, `leaves`, `objects`, `remaining`, `head`, `audit`,
    `completed_at`, `found`, `signer`"""
    holds: bool = False
    """whether nothing is wrong"""
    findings: tuple[Finding, ...] = ()


class Confirmed(msgspec.Struct, frozen=True):
    """`receipts confirm`."""

    id: str = ""
    """the receipt"""
    vault: Vault | None = None
    """the state at that remote, as in `receipts list`"""
