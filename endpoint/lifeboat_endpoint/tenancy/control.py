"""The tenants of an endpoint, their tokens, and the audit."""

from __future__ import annotations

import contextlib
import hmac
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Protocol

from lifeboat_alf.common import ids, json_codec, times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.seams.system_clock import Clock
from lifeboat_endpoint.tenancy import control_statements as sql
from lifeboat_endpoint.tenancy import token_secrets
from lifeboat_endpoint.tenancy.audit_buffer import AuditBatch, AuditBuffer
from lifeboat_endpoint.tenancy.callers import ADMIN, RESTORE_SCOPES, SCOPES, Caller
from lifeboat_endpoint.tenancy.tenant_rows import Tenant, TokenRow
from lifeboat_vault import errors
from lifeboat_vault.rows import audit_chain
from lifeboat_vault.rows.sequence_rows import AuditRow, json_of
from lifeboat_vault.store.store_protocols import MetadataStore

AT_ONCE = ("tenant.", "token.", "key.rotated", "key.moved", "key.destroyed", "agent.removed", "epoch", "purge")
"""Prefixes of the kinds that `note` writes before it returns; others are buffered."""
FIRST_TOKEN = "first_token"
"""Name of the note with the encrypted secret of the first token (see `first_token`)."""
_LOST = "audit.lost"
_NOBODY = b"\0" * 32
_LONGEST_NAME = 64
MOST_RESTORE_TOKENS = 50
"""How many valid restore-only tokens of a tenant its machines may create. An operator may create more."""


class ControlStores(Protocol):
    """What a Control needs of the engine (`engines.contract.Engine`). A thread always gets the same store."""

    @property
    def shared(self) -> bool: ...

    def control(self, *, tenant: str | None = None, token: str | None = None) -> MetadataStore: ...

    def check_unmoved(self, *, changes: bool = False) -> None: ...

    def close_thread(self) -> None: ...


class Control:
    """Tenants, tokens, audit and notes, for many threads. Every method raises VaultError for trouble with the
    tables."""

    def __init__(self, stores: ControlStores, *, clock: Clock) -> None:
        self._stores = stores
        self._clock = clock
        self._buffer = AuditBuffer(self._write_batch, stores.close_thread)

    @property
    def _store(self) -> MetadataStore:
        return self._stores.control()

    def close_thread(self) -> None:
        """Close the connection of this thread."""
        self._stores.close_thread()

    def close(self) -> None:
        """Write buffered rows, and close the connection of this thread."""
        try:
            self._buffer.close()
        finally:
            self.close_thread()

    def _now(self) -> str:
        return times.to_text(self._clock.now())

    # Tenants ----------------------------------------------------------------------------------------------------

    def add_tenant(
        self, name: str, *, key_source: str | None = None, quota: int | None = None, tenant_id: str | None = None
    ) -> Tenant:
        """Add a tenant. Raises TenantExists, EndpointError for an invalid name."""
        key = _fold_name(_check_name(name))
        now = self._now()
        tenant = Tenant(tenant_id or ids.make_id(now), name, key_source, quota, now)
        with self._changing(self._store):
            if self._store.row(sql.TENANT_NAMED, (key, key)) is not None:
                raise errors.EndpointError.TENANT_EXISTS(f"another tenant already has the name {name!r}")
            self._store.execute(sql.ADD_TENANT, (tenant.id, name, key, key_source, quota, now))
            self._append(
                self._store, None, "tenant.add", tenant.id, {"quota": quota, "own_key": key_source is not None}
            )
        return tenant

    def tenants(self) -> list[Tenant]:
        """Return all tenants by name, also those that are being removed."""
        return [Tenant(*row) for row in self._store.rows(sql.TENANTS)]

    def tenant(self, name_or_id: str) -> Tenant:
        """Return a tenant by its name or id. Raises UnknownTenant."""
        store = self._stores.control(tenant=name_or_id)
        row = store.row(sql.TENANT_NAMED, (_fold_name(name_or_id), name_or_id))
        if row is None:
            raise errors.UnknownTenant(f"{name_or_id!r} is neither the name nor the id of a tenant")
        return Tenant(*row)

    def set_key_source(self, tenant_id: str, key_source: str | None) -> None:
        """Note which source protects a tenant's keys from now on."""
        with self._changing(self._store):
            self._store.execute(sql.SET_KEY_SOURCE, (key_source, tenant_id))
            self._append(self._store, None, "key.moved", tenant_id, {"own_key": key_source is not None})

    def set_quota(self, tenant_id: str, quota: int | None) -> None:
        """Set how many bytes a tenant may keep, None for the endpoint's limit. Raises UnknownTenant."""
        with self._changing(self._store):
            if self._store.execute(sql.SET_QUOTA, (quota, tenant_id)) == 0:
                raise errors.UnknownTenant(f"{tenant_id!r} is not a valid tenant id")
            self._append(self._store, None, "tenant.quota", tenant_id, {"quota": quota})

    def begin_removal(self, tenant_id: str) -> None:
        """Revoke all tokens of a tenant and stop serving it. Repeating it is not an error. Raises UnknownTenant."""
        with self._changing(self._store):
            if self._store.execute(sql.SET_TENANT_STATE, ("removing", tenant_id)) == 0:
                raise errors.UnknownTenant(f"{tenant_id!r} is not a valid tenant id")
            revoked = self._store.execute(sql.REVOKE_TOKENS_OF, (self._now(), tenant_id))
            self._append(self._store, None, "tenant.removing", tenant_id, {"tokens": revoked})

    def remove_tenant(self, tenant_id: str) -> None:
        """Delete a tenant and its tokens after its files are gone (see `maintenance.tenant_removal`). The audit
        stays."""
        with self._changing(self._store):
            tokens = self._store.execute(sql.DROP_TOKENS_OF, (tenant_id,))
            if self._store.execute(sql.DROP_TENANT, (tenant_id,)):
                self._append(self._store, None, "tenant.removed", tenant_id, {"tokens": tokens})

    @contextlib.contextmanager
    def _changing(self, store: MetadataStore, *, tokens: bool = False) -> Iterator[None]:
        """Run a transaction that changes who is served. While an endpoint is being moved, only tokens may change.

        The check is inside of the transaction, because the move also ends inside of one. Raises EndpointMoving,
        EndpointMoved.
        """
        with store.transaction():
            self._stores.check_unmoved(changes=not tokens)
            yield

    # Tokens -----------------------------------------------------------------------------------------------------

    def add_token(
        self,
        tenant_id: str,
        name: str,
        scopes: Iterable[str],
        expires_at: datetime | str | None = None,
        *,
        by: Caller | None = None,
    ) -> tuple[TokenRow, str]:
        """Make a token; return it and its secret, which cannot be shown again.

        Raises UnknownTenant, EndpointError for unknown scopes.
        """
        wanted = frozenset(scopes)
        if not wanted or not wanted <= set(SCOPES):
            raise errors.EndpointError(f"the scopes of a token must be some of {', '.join(SCOPES)}")
        tenant = self.tenant(tenant_id)
        token_id = token_secrets.new_id()
        secret = token_secrets.new_secret(token_id)
        ends = _text(expires_at)
        token = TokenRow(token_id, tenant.id, _check_name(name), wanted, self._now(), ends)
        store = self._stores.control(tenant=tenant.id)
        with self._changing(store, tokens=True):
            row = (token.id, tenant.id, name, token_secrets.digest_secret(secret), _scopes_text(wanted))
            store.execute(sql.ADD_TOKEN, (*row, token.created_at, ends))
            details = {"tenant": tenant.id, "scopes": _scopes_text(wanted), "expires_at": ends}
            self._append(store, by, "token.add", token.id, details)
        return token, secret

    def add_restore_token(self, caller: Caller) -> tuple[TokenRow, str]:
        """Make a restore-only token for a recovery kit, at the request of a machine. It expires when the machine's own
        token does; revoking that does not revoke it.

        Raises RemoteDenied if this endpoint keeps its tokens where a server may not create any, or if the tenant has
        too many.
        """
        if self._stores.shared:
            raise errors.RemoteDenied(
                "the servers of this endpoint create no tokens; only the operator of the endpoint creates them",
                scope=ADMIN,
            )
        now = self._now()
        valid = [one for one in self.tokens(caller.tenant_id) if one.scopes == RESTORE_SCOPES and one.counts_at(now)]
        if len(valid) >= MOST_RESTORE_TOKENS:
            raise errors.RemoteDenied(
                f"the tenant has reached its limit of {len(valid)} restore-only tokens; the operator can revoke some",
                scope=ADMIN,
            )
        name = f"kit of {caller.token_name}"[:_LONGEST_NAME].strip()
        return self.add_token(caller.tenant_id, name, RESTORE_SCOPES, self.token(caller.token_id).expires_at, by=caller)

    def tokens(self, tenant_id: str | None = None) -> list[TokenRow]:
        """Return the tokens of one tenant or of all, oldest first, also revoked and expired ones."""
        if tenant_id is None:
            rows = self._store.rows(sql.TOKENS)
        else:
            rows = self._stores.control(tenant=tenant_id).rows(sql.TOKENS_OF, (tenant_id,))
        return [_token(row) for row in rows]

    def token(self, token_id: str) -> TokenRow:
        """Return a token. Raises EndpointError.UNKNOWN_TOKEN."""
        row = self._stores.control(token=token_id).row(sql.TOKEN, (token_id,))
        if row is None:
            raise errors.EndpointError.UNKNOWN_TOKEN(f"{token_id!r} is not a valid token id")
        return _token(row)

    def revoke_token(self, token_id: str, *, by: Caller | None = None) -> TokenRow:
        """Revoke a token immediately, for every process. Repeating it is not an error. Raises
        EndpointError.UNKNOWN_TOKEN."""
        token = self.token(token_id)
        store = self._stores.control(tenant=token.tenant_id)
        with self._changing(store, tokens=True):
            if store.execute(sql.REVOKE_TOKEN, (self._now(), token_id)):
                self._append(store, by, "token.revoke", token_id, {"tenant": token.tenant_id})
        return self.token(token_id)

    def authenticate(self, secret: str) -> Caller:
        """Return the caller for a secret. It reads one row and writes nothing. Raises RemoteDenied, EndpointMoved."""
        self._stores.check_unmoved()
        token_id = token_secrets.parse_token_id(secret)
        row = None if token_id is None else self._stores.control(token=token_id).row(sql.AUTHENTICATE, (token_id,))
        # Compare a digest for unknown tokens too, so that the duration does not tell whether a token exists.
        kept = _NOBODY if row is None else bytes(row[0])
        if not hmac.compare_digest(kept, token_secrets.digest_secret(secret)) or row is None or token_id is None:
            raise errors.RemoteDenied("this token does not belong to this endpoint")
        _, tenant_id, name, scopes, expires_at, revoked_at, state = row
        now = self._now()
        _check_counts(token_id, expires_at, revoked_at, state, now)
        self._buffer.used(token_id, now)
        return Caller(tenant_id, token_id, name, frozenset(scopes.split()))

    def check_token(self, token_id: str, tenant_id: str) -> None:
        """Check that a token of the tenant, given by its id, is still valid. Raises RemoteDenied, EndpointMoved."""
        self._stores.check_unmoved()
        row = self._stores.control(tenant=tenant_id).row(sql.AUTHENTICATE, (token_id,))
        if row is None or row[1] != tenant_id:
            raise errors.RemoteDenied("this token does not belong to this endpoint")
        _check_counts(token_id, row[4], row[5], row[6], self._now())

    # Audit ------------------------------------------------------------------------------------------------------

    def note(self, caller: Caller | None, kind: str, subject: str = "", details: JsonObject | None = None) -> None:
        """Add an audit row. `kind` has dotted words (snapshot.read, delta.push), `subject` is an id, `details` are ids
        and counts, never content.

        Frequent kinds are buffered for some seconds; those of `AT_ONCE` are written before this returns.
        """
        if kind.startswith(AT_ONCE):
            self.record(caller, kind, subject, details or {})
            return
        self._buffer.add(kind, subject, _of(caller, details or {}), self._now())

    def record(self, caller: Caller | None, kind: str, subject: str, details: JsonObject) -> None:
        """Write an audit row before this returns."""
        with self._store.transaction():
            self._append(self._store, caller, kind, subject, details)

    def flush(self) -> None:
        """Write buffered rows."""
        self._buffer.flush()

    def audit_rows(self) -> Iterator[AuditRow]:
        """Yield all kept rows, oldest first, including the rows that this process had buffered."""
        self.flush()
        return audit_chain.read_rows(self._store)

    def audit_page(self, after: int, most: int) -> tuple[bytes, list[AuditRow]]:
        """Return some rows after a number, and the hash before the first of them (see `vault.audit.page`)."""
        store = self._store
        with store.snapshot():
            return audit_chain.read_page(store, after, most)

    def audit_since(self, moment: datetime) -> int:
        """Return the number of the last row before `moment`, or of the last row if none is newer."""
        store = self._store
        with store.snapshot():
            return audit_chain.number_before(store, times.to_text(moment))

    def check_audit(self) -> list[int]:
        """Return the numbers of rows that do not follow from the one before. Raises VaultDamaged for an unreadable
        row."""
        with self._store.snapshot():
            return audit_chain.find_broken_rows(self._store)

    def audit_ends(self) -> tuple[int, int, str]:
        """Return the numbers of the oldest and newest kept row, and the hash of the newest.

        The hash covers all rows before it. Noted elsewhere, it shows later that none of them was rewritten.
        """
        self.flush()
        with self._store.snapshot():
            return audit_chain.chain_ends(self._store)

    def trim_audit(self, before: datetime, most: int) -> int:
        """Delete rows from before a time, and the oldest beyond `most`; return how many. The chain stays valid."""
        with self._store.transaction():
            return audit_chain.trim_rows(self._store, self._clock.now(), times.to_text(before), most)

    def _append(
        self, store: MetadataStore, caller: Caller | None, kind: str, subject: str, details: JsonObject
    ) -> None:
        """Append a row in the open transaction of the store."""
        audit_chain.append_row(store, self._clock.now(), kind, subject, _of(caller, details))

    def _write_batch(self, batch: AuditBatch) -> None:
        store = self._store
        with store.transaction():
            entries = [
                audit_chain.AuditEntry(row.first, row.kind, row.subject, row.row_details())
                for row in batch.rows.values()
            ]
            if batch.lost:
                entries.append(audit_chain.AuditEntry(self._now(), _LOST, "", {"rows": batch.lost}))
            audit_chain.append_rows(store, entries)
            if not self._stores.shared:
                store.execute_many(sql.USE_TOKEN, [(time, token_id) for token_id, time in batch.uses.items()])
                _forget_used_first_token(store)
        if self._stores.shared:  # no role of a shared endpoint may write tokens of several tenants in one transaction
            for token_id, time in batch.uses.items():
                self._stores.control(token=token_id).execute(sql.USE_TOKEN, (time, token_id))

    # Notes ------------------------------------------------------------------------------------------------------

    def get(self, name: str) -> Any:
        """Return a small JSON value that was stored, or None."""
        row = self._store.row(sql.NOTE, (name,))
        return None if row is None else json_of(row[0])

    def set(self, name: str, value: Any) -> None:
        """Store a small JSON value."""
        self.set_all({name: value})

    def set_all(self, values: Mapping[str, Any]) -> None:
        """Store small JSON values by name, all of them or none."""
        with self._store.transaction():
            for name, value in values.items():
                self._store.execute(sql.DROP_NOTE, (name,))
                self._store.execute(sql.ADD_NOTE, (name, json_codec.encode_json(value).decode()))

    def problems(self) -> list[str]:
        """Return what the database reports about its file."""
        return self._store.problems()

    def compact(self) -> None:
        """Give back the space of deleted rows."""
        self._store.compact()


def _check_counts(token_id: str, expires_at: str | None, revoked_at: str | None, state: str, now: str) -> None:
    if revoked_at is not None or state != "active":
        raise errors.RemoteDenied(f"the token {token_id} was revoked")
    if expires_at is not None and expires_at <= now:
        raise errors.RemoteDenied(f"the token {token_id} expired on {expires_at}")


def _of(caller: Caller | None, details: JsonObject) -> JsonObject:
    if caller is None:
        return details
    return {"tenant": caller.tenant_id, "token": caller.token_id, **details}


def _scopes_text(scopes: frozenset[str]) -> str:
    return " ".join(scope for scope in SCOPES if scope in scopes)


def _text(moment: datetime | str | None) -> str | None:
    return None if moment is None else times.to_text(times.parse_time(moment) if isinstance(moment, str) else moment)


def _token(row: tuple[Any, ...]) -> TokenRow:
    token_id, tenant_id, name, scopes, *rest = row
    return TokenRow(token_id, tenant_id, name, frozenset(scopes.split()), *rest)


def _check_name(name: str) -> str:
    """Return a valid name. Raises EndpointError."""
    if not 0 < len(name) <= _LONGEST_NAME or name != name.strip() or not name.isprintable():
        raise errors.EndpointError(
            f"the name {name!r} is not allowed: a name must have 1 to {_LONGEST_NAME} printable "
            "characters and no space at its ends"
        )
    if name.startswith("-") or ids.is_uuid(name):
        raise errors.EndpointError(f"the name {name!r} is not allowed: it looks like an option or an id")
    return name


def _fold_name(name: str) -> str:
    """Return a key that is equal for names that look the same to people."""
    return unicodedata.normalize("NFKC", name).casefold()


def _forget_used_first_token(store: MetadataStore) -> None:
    """Destroy the stored secret of the first token if its tenant was used. The first token is the oldest one."""
    if store.row(sql.NOTE, (FIRST_TOKEN,)) is None:
        return
    tokens = [_token(row) for row in store.rows(sql.TOKENS)]
    first = min(tokens, key=lambda one: (one.created_at, one.id), default=None)
    if first is None or any(one.tenant_id == first.tenant_id and one.last_used_at is not None for one in tokens):
        store.execute(sql.DROP_NOTE, (FIRST_TOKEN,))
