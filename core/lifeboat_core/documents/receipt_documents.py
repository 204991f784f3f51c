"""`lifeboat receipts`: the proof of purges."""

from __future__ import annotations

from typing import Any

import msgspec

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
    receipt: dict[str, Any] | None = None


class Listed(msgspec.Struct, frozen=True):
    """A receipt in the list."""

    id: str
    agent_id: str = ""
    agent: str | None = None
    scope: str = "record_purge"
    records: int = 0
    reason: str = "user_request"
    requested_at: str | None = None
    completed_at: str | None = None
    done: bool = False
    vaults: tuple[Vault, ...] = ()


class Damaged(msgspec.Struct, frozen=True):
    id: str
    message: str = ""


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


class Shown(msgspec.Struct, frozen=True):
    """`receipts show` and `verify`."""

    receipt: Receipt = Receipt()
    holds: bool = False
    proven: bool | None = None
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
    head: dict[str, Any] | None = None
    audit: dict[str, Any] | None = None
    completed_at: str | None = None
    found: dict[str, int] = {}
    signer: str = ""


class Audited(msgspec.Struct, frozen=True):
    """`receipts show --audit`."""

    audit: Audit = Audit()
    redaction: Redaction = Redaction()
    positions: tuple[Position, ...] = ()
    holds: bool = False
    findings: tuple[Finding, ...] = ()


class Confirmed(msgspec.Struct, frozen=True):
    """`receipts confirm`."""

    id: str = ""
    vault: Vault | None = None
