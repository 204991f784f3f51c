"""The tenants of an endpoint, their tokens, and the audit of what was done."""

from __future__ import annotations

import contextlib
import hmac
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Protocol

from lifeboat_alf.common import ids, json_codec, times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.seams.system_clock import Clock
from lifeboat_endpoint.tenancy import control_statements as sql
from lifeboat_endpoint.tenancy import tenant_names, token_secrets
from lifeboat_endpoint.tenancy.audit_buffer import AuditBatch, AuditBuffer
from lifeboat_endpoint.tenancy.callers import SCOPES, Caller
from lifeboat_endpoint.tenancy.tenant_rows import Tenant, TokenRow
from lifeboat_vault import errors
from lifeboat_vault.rows import audit_chain
from lifeboat_vault.rows.sequence_rows import AuditRow, json_of
from lifeboat_vault.store.store_protocols import MetadataStore

AT_ONCE = ("tenant.", "token.", "key.rotated", "key.moved", "key.destroyed", "agent.removed", "epoch", "purge")
"""Beginnings of the kinds of notes that are written before `note` returns; others are gathered."""
_LOST = "audit.lost"
_NOBODY = b"\0" * 32


class ControlStores(Protocol):
    """What a Control needs of the engine (`engines.contract.Engine`): of one thread always the same store."""

    @property
    def shared(self) -> bool: ...

    def control(self, *, tenant: str | None = None, token: str | None = None) -> MetadataStore: ...

    def check_unmoved(self, *, changes: bool = False) -> None: ...

    def close_thread(self) -> None: ...


class Control:
    """For many threads. Every method raises VaultError for trouble with the tables."""

    def __init__(self, stores: ControlStores, *, clock: Clock) -> None:
        self._stores = stores
        self._clock = clock
        self._notes = AuditBuffer(self._write_batch, stores.close_thread)

    @property
    def _store(self) -> MetadataStore:
        return self._stores.control()

    def close_thread(self) -> None:
        """Close the connection of this thread."""
        self._stores.close_thread()

    def close(self) -> None:
        """Write what was gathered, and close the connection of this thread."""
        try:
            self._notes.close()
        finally:
            self.close_thread()

    def _now(self) -> str:
        return times.to_text(self._clock.now())

    # Tenants ----------------------------------------------------------------------------------------------------

    def add_tenant(
        self, name: str, *, key_source: str | None = None, quota: int | None = None, tenant_id: str | None = None
    ) -> Tenant:
        """Raises EndpointError.TENANT_EXISTS, EndpointError for what is no name."""
        key = tenant_names.fold_name(tenant_names.check_name(name))
        now = self._now()
        tenant = Tenant(tenant_id or ids.make_id(now), name, key_source, quota, now)
        with self._changing(self._store):
            if self._store.row(sql.TENANT_NAMED, (key, key)) is not None:
                raise errors.EndpointError.TENANT_EXISTS(f"{name!r} is the name of a tenant already")
            self._store.execute(sql.ADD_TENANT, (tenant.id, name, key, key_source, quota, now))
            self._append(
                self._store, None, "tenant.add", tenant.id, {"quota": quota, "own_key": key_source is not None}
            )
        return tenant

    def tenants(self) -> list[Tenant]:
        """By name; also those whose removal is not finished."""
        return [Tenant(*row) for row in self._store.rows(sql.TENANTS)]

    def tenant(self, name_or_id: str) -> Tenant:
        """Raises UnknownTenant."""
        store = self._stores.control(tenant=name_or_id)
        row = store.row(sql.TENANT_NAMED, (tenant_names.fold_name(name_or_id), name_or_id))
        if row is None:
            raise errors.UnknownTenant(f"{name_or_id!r} is neither the name nor the id of a tenant")
        return Tenant(*row)

    def set_key_source(self, tenant_id: str, key_source: str | None) -> None:
        """Note which source protects a tenant's keys from now on."""
        with self._changing(self._store):
            self._store.execute(sql.SET_KEY_SOURCE, (key_source, tenant_id))
            self._append(self._store, None, "key.moved", tenant_id, {"own_key": key_source is not None})

    def set_quota(self, tenant_id: str, quota: int | None) -> None:
        """How much a tenant may keep from now on, in bytes; None for the endpoint's limit. Raises UnknownTenant."""
        with self._changing(self._store):
            if self._store.execute(sql.SET_QUOTA, (quota, tenant_id)) == 0:
                raise errors.UnknownTenant(f"{tenant_id!r} is not the id of a tenant")
            self._append(self._store, None, "tenant.quota", tenant_id, {"quota": quota})

    def begin_removal(self, tenant_id: str) -> None:
        """From now on no token of the tenant counts, and nothing of it is served. Again is no error."""
        with self._changing(self._store):
            if self._store.execute(sql.SET_TENANT_STATE, ("removing", tenant_id)) == 0:
                raise errors.UnknownTenant(f"{tenant_id!r} is not the id of a tenant")
            revoked = self._store.execute(sql.REVOKE_TOKENS_OF, (self._now(), tenant_id))
            self._append(self._store, None, "tenant.removing", tenant_id, {"tokens": revoked})

    def remove_tenant(self, tenant_id: str) -> None:
        """Forget a tenant and its tokens, whose files are gone already (see `maintenance.removal`). The audit stays."""
        with self._changing(self._store):
            tokens = self._store.execute(sql.DROP_TOKENS_OF, (tenant_id,))
            if self._store.execute(sql.DROP_TENANT, (tenant_id,)):
                self._append(self._store, None, "tenant.removed", tenant_id, {"tokens": tokens})

    @contextlib.contextmanager
    def _changing(self, store: MetadataStore, *, tokens: bool = False) -> Iterator[None]:
        """A transaction that changes who is served. While an endpoint is being moved only tokens may change. It is
        looked for inside, since the move ends inside a transaction too. Raises EndpointMoving, EndpointMoved."""
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
        """A new token and its secret, which nobody can be told again. Raises UnknownTenant, EndpointError for scopes
        that there are not."""
        wanted = frozenset(scopes)
        if not wanted or not wanted <= set(SCOPES):
            raise errors.EndpointError(f"the scopes of a token are some of {', '.join(SCOPES)}")
        tenant = self.tenant(tenant_id)
        token_id = token_secrets.new_id()
        secret = token_secrets.new_secret(token_id)
        ends = _text(expires_at)
        token = TokenRow(token_id, tenant.id, tenant_names.check_name(name), wanted, self._now(), ends)
        store = self._stores.control(tenant=tenant.id)
        with self._changing(store, tokens=True):
            row = (token.id, tenant.id, name, token_secrets.digest_secret(secret), _scopes_text(wanted))
            store.execute(sql.ADD_TOKEN, (*row, token.created_at, ends))
            details = {"tenant": tenant.id, "scopes": _scopes_text(wanted), "expires_at": ends}
            self._append(store, by, "token.add", token.id, details)
        return token, secret

    def tokens(self, tenant_id: str | None = None) -> list[TokenRow]:
        """Of one tenant or of all, oldest first; also those that count no more."""
        if tenant_id is None:
            rows = self._store.rows(sql.TOKENS)
        else:
            rows = self._stores.control(tenant=tenant_id).rows(sql.TOKENS_OF, (tenant_id,))
        return [_token(row) for row in rows]

    def token(self, token_id: str) -> TokenRow:
        """Raises EndpointError.UNKNOWN_TOKEN."""
        row = self._stores.control(token=token_id).row(sql.TOKEN, (token_id,))
        if row is None:
            raise errors.EndpointError.UNKNOWN_TOKEN(f"{token_id!r} is not the id of a token")
        return _token(row)

    def revoke_token(self, token_id: str, *, by: Caller | None = None) -> TokenRow:
        """The token counts no more, from this moment, for every process. Again is no error. Raises
        EndpointError.UNKNOWN_TOKEN."""
        token = self.token(token_id)
        store = self._stores.control(tenant=token.tenant_id)
        with self._changing(store, tokens=True):
            if store.execute(sql.REVOKE_TOKEN, (self._now(), token_id)):
                self._append(store, by, "token.revoke", token_id, {"tenant": token.tenant_id})
        return self.token(token_id)

    def authenticate(self, secret: str) -> Caller:
        """Whose token this is. One row is read; nothing is written. Raises RemoteDenied, EndpointMoved."""
        self._stores.check_unmoved()
        token_id = token_secrets.id_of(secret)
        row = None if token_id is None else self._stores.control(token=token_id).row(sql.AUTHENTICATE, (token_id,))
        kept = _NOBODY if row is None else bytes(row[0])
        if not hmac.compare_digest(kept, token_secrets.digest_secret(secret)) or row is None or token_id is None:
            raise errors.RemoteDenied("this is no token of this endpoint")
        _, tenant_id, name, scopes, expires_at, revoked_at, state = row
        now = self._now()
        _check_counts(token_id, expires_at, revoked_at, state, now)
        self._notes.used(token_id, now)
        return Caller(tenant_id, token_id, name, frozenset(scopes.split()))

    def check_token(self, token_id: str, tenant_id: str) -> None:
        """Whether a token of the tenant, known by its id, still counts. Raises RemoteDenied, EndpointMoved."""
        self._stores.check_unmoved()
        row = self._stores.control(tenant=tenant_id).row(sql.AUTHENTICATE, (token_id,))
        if row is None or row[1] != tenant_id:
            raise errors.RemoteDenied("this is no token of this endpoint")
        _check_counts(token_id, row[4], row[5], row[6], self._now())

    # Audit ------------------------------------------------------------------------------------------------------

    def note(self, caller: Caller | None, kind: str, subject: str = "", details: JsonObject | None = None) -> None:
        """Something was done: `kind` in dotted words (snapshot.read, delta.push), `subject` an id, `details` ids and
        counts, never content. What often happens is gathered for some seconds; kinds of `AT_ONCE` are written now."""
        if kind.startswith(AT_ONCE):
            self.record(caller, kind, subject, details or {})
            return
        self._notes.add(kind, subject, _of(caller, details or {}), self._now())

    def record(self, caller: Caller | None, kind: str, subject: str, details: JsonObject) -> None:
        """Something was done that stands in the audit before anybody is told that it is done."""
        with self._store.transaction():
            self._append(self._store, caller, kind, subject, details)

    def flush(self) -> None:
        """Write what was gathered."""
        self._notes.flush()

    def audit_rows(self) -> Iterator[AuditRow]:
        """Everything that was done, oldest first, as far as it is kept; what this process gathered is written first."""
        self.flush()
        return audit_chain.read_rows(self._store)

    def audit_page(self, after: int, most: int) -> tuple[bytes, list[AuditRow]]:
        """Some rows after a number, and the hash that the first of them follows from (see `audit_chain.read_page`)."""
        store = self._store
        with store.snapshot():
            return audit_chain.read_page(store, after, most)

    def audit_since(self, moment: datetime) -> int:
        """The number of the last row before the first one that is as young as a moment, or of the last one of all."""
        store = self._store
        with store.snapshot():
            return audit_chain.number_before(store, times.to_text(moment))

    def check_audit(self) -> list[int]:
        """Numbers of rows that do not follow from the one before; empty when the chain is whole. Raises VaultDamaged
        for a row that cannot be read."""
        with self._store.snapshot():
            return audit_chain.find_broken_rows(self._store)

    def audit_ends(self) -> tuple[int, int, str]:
        """The numbers of the oldest and of the newest row that are kept, and the hash of the newest, which covers all
        before it: noted elsewhere, it shows later that nothing up to there was rewritten."""
        self.flush()
        with self._store.snapshot():
            return audit_chain.chain_ends(self._store)

    def trim_audit(self, before: datetime, most: int) -> int:
        """Let go of rows from before a time, and of the oldest beyond `most`; how many. The chain stays whole."""
        with self._store.transaction():
            return audit_chain.trim_rows(self._store, self._clock.now(), times.to_text(before), most)

    def _append(
        self, store: MetadataStore, caller: Caller | None, kind: str, subject: str, details: JsonObject
    ) -> None:
        """In the open transaction of the store."""
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
        if self._stores.shared:  # there nobody writes the tokens of all tenants at once
            for token_id, time in batch.uses.items():
                self._stores.control(token=token_id).execute(sql.USE_TOKEN, (time, token_id))

    # Small things kept ------------------------------------------------------------------------------------------

    def get(self, name: str) -> Any:
        """A small JSON value kept earlier, or None."""
        row = self._store.row(sql.NOTE, (name,))
        return None if row is None else json_of(row[0])

    def set(self, name: str, value: Any) -> None:
        """Keep a small JSON value."""
        self.set_all({name: value})

    def set_all(self, values: Mapping[str, Any]) -> None:
        """Keep small JSON values by name, all of them or none."""
        with self._store.transaction():
            for name, value in values.items():
                self._store.execute(sql.DROP_NOTE, (name,))
                self._store.execute(sql.ADD_NOTE, (name, json_codec.encode_json(value).decode()))

    def problems(self) -> list[str]:
        """What the database itself finds wrong with its file."""
        return self._store.problems()

    def compact(self) -> None:
        """Give back the space of what was dropped."""
        self._store.compact()


def _check_counts(token_id: str, expires_at: str | None, revoked_at: str | None, state: str, now: str) -> None:
    if revoked_at is not None or state != "active":
        raise errors.RemoteDenied(f"the token {token_id} was revoked")
    if expires_at is not None and expires_at <= now:
        raise errors.RemoteDenied(f"the token {token_id} ended on {expires_at}")


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
