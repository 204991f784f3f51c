"""An open endpoint, and how one is created.

    endpoint.json     identity and settings (`endpoint_config`)
    tls/, run/        files of the server
    signing/          the key that signs receipts of purges

The engine decides where everything else is: in the same folder (`engines.files_engine`), or in a database and an object
store (`engines.shared`). The key that protects the data keys is elsewhere.
"""

from __future__ import annotations

import contextlib
import os
import stat
import threading
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import fields, replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Self

import filelock
import msgspec

from lifeboat_alf.common import ids, json_codec, times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_alf.seams.file_operations import FileOperations, SystemFiles, write_atomic
from lifeboat_alf.seams.system_clock import Clock, SystemClock
from lifeboat_endpoint import endpoint_config
from lifeboat_endpoint.endpoint_config import FILE, EndpointConfig
from lifeboat_endpoint.engines import engine_choice
from lifeboat_endpoint.engines.contract import Engine
from lifeboat_endpoint.engines.engine_choice import Role
from lifeboat_endpoint.engines.files_engine import TENANTS
from lifeboat_endpoint.maintenance.trusted_time import is_trusted
from lifeboat_endpoint.service.endpoint_limits import EndpointLimits
from lifeboat_endpoint.service.purge.purge_policy import WAITS, PurgePolicy
from lifeboat_endpoint.service.tenant_space import TenantSpace
from lifeboat_endpoint.tenancy.control import Control
from lifeboat_endpoint.tenancy.control_file import CONTROL, create_control
from lifeboat_endpoint.tenancy.tenant_rows import Tenant
from lifeboat_keys.errors import KeysError
from lifeboat_keys.pairs.endpoint_key import EndpointKey
from lifeboat_vault import errors
from lifeboat_vault.at_rest import endpoint_secrets, moved_key_source
from lifeboat_vault.at_rest.data_keys import DataKeys
from lifeboat_vault.at_rest.key_sources import key_source_registry
from lifeboat_vault.at_rest.key_sources.file_source import SCHEME, default_file

SIGNING = "signing"
TRANSFER_KEY = "transfer_key"
KEY_SOURCE = "key_source"
OBJECTS = "objects"
"""Names of notes in the tables of control."""
LOCK = "endpoint.lock"
_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_MOST_SPACES = 64
"""How many tenants a thread keeps open."""
_BEGUN = (CONTROL, f".{FILE}.")
"""Prefixes of the files that an unfinished `create` leaves behind."""
_OF_A_DISK = "lost+found"
_SHRED_AFTER = timedelta(hours=23)
"""Delay between a purge and the replacement of the tenant's keys, so that one replacement serves all purges of a
day."""
_WAIT = 10.0
"""Seconds to wait for the lock of another process."""


class Endpoint:
    """An open endpoint, usable by many threads. `close` writes the audit rows that are still in memory."""

    def __init__(
        self, folder: Path, found: EndpointConfig, engine: Engine, *, files: FileOperations, clock: Clock
    ) -> None:
        self.folder = folder
        self.settings = found
        self.engine = engine
        self.files = files
        self.clock = clock
        self.control = Control(engine, clock=clock)
        self._limits = limits_of(found)
        self._keys: dict[str, DataKeys] = {}
        self._guard = threading.Lock()
        self._own = threading.local()
        self._signing: EndpointKey | None = None
        self._expected: set[str] = set()
        self._followed: dict[tuple[str, bytes], str] = {}

    # Making and opening -----------------------------------------------------------------------------------------

    @classmethod
    def create(
        cls,
        folder: Path,
        *,
        key_source: str | None = None,
        key_scope: str = "tenant",
        files: FileOperations | None = None,
        clock: Clock | None = None,
    ) -> Self:
        """Create an endpoint in a new or empty folder. It appears completely or not at all.

        `key_source` defaults to a file in the user's configuration folder. Its key is made if it does not exist yet.
        Raises EndpointError.UNSAFE, KeySourceRefused, VaultError.EXISTS if the folder holds an endpoint.
        """
        files, clock = files or SystemFiles(), clock or SystemClock()
        folder = Path(os.path.realpath(folder))
        with _system(folder):
            files.make_folders(folder, 0o700)
            _check_safe(folder, files)
            with _making(folder):
                _check_empty(folder, files)
                _make(folder, _fresh(key_source, key_scope, clock), files, clock)
        return cls.open(folder, files=files, clock=clock)

    @classmethod
    def open(
        cls,
        folder: Path,
        *,
        role: Role = "worker",
        files: FileOperations | None = None,
        clock: Clock | None = None,
    ) -> Self:
        """Open the endpoint in a folder. `role` is the database role of this process on a shared endpoint.

        Raises NoEndpoint, EndpointError.UNSAFE, EndpointNewer, EndpointSettings.
        """
        files, clock = files or SystemFiles(), clock or SystemClock()
        folder = Path(os.path.realpath(folder))
        with _system(folder):
            found = endpoint_config.read_config(folder, files)
            _check_safe(folder, files)
        engine = engine_choice.open_engine(folder, found, role, files=files, clock=clock)
        return cls(folder, found, engine, files=files, clock=clock)

    @property
    def id(self) -> str:
        """Id that was created with the endpoint and never changes, even if its name or address does."""
        return self.settings.id

    def close_thread(self) -> None:
        """Close what the calling thread opened."""
        for space in self._spaces().values():
            space.close()
        self._spaces().clear()
        self.engine.close_thread()

    def close(self) -> None:
        """Write the audit rows that are still in memory, then close everything."""
        try:
            self.control.close()
        finally:
            self.close_thread()
            self.engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Tenants ----------------------------------------------------------------------------------------------------

    def add_tenant(self, name: str, *, key_source: str | None = None, quota: int | None = None) -> Tenant:
        """Add a tenant with a separate data key.

        The keys are written before the row. Keys without a row belong to no tenant and are swept. Raises
        EndpointError.TENANT_EXISTS, KeySourceRefused, KeyRevoked.
        """
        with contextlib.suppress(errors.UnknownTenant):
            self.control.tenant(name)
            raise errors.EndpointError.TENANT_EXISTS(f"another tenant already has the name {name!r}")
        if key_source is not None:
            key_source_registry.make_key(key_source, outside=self.folder)
        tenant_id = ids.make_id(times.to_text(self.clock.now()))
        source = key_source or self.key_source
        documents = self.engine.key_documents(tenant_id)
        scope = self.settings.key_scope
        DataKeys.create(documents, tenant_id, source=source, scope=scope, clock=self.clock, outside=self.folder)
        return self.control.add_tenant(name, key_source=key_source, quota=quota, tenant_id=tenant_id)

    def keys(self, tenant_id: str) -> DataKeys:
        """Return the data keys of a tenant, which all threads share. Raises UnknownTenant, VaultMissing."""
        found = self._keys.get(tenant_id)
        if found is None:
            # Read the document outside of the lock: it may be in a slow object store, and other threads need their
            # keys.
            documents = self.engine.key_documents(_checked_id(tenant_id), partial(self._sources_of, tenant_id))
            made = DataKeys.open(documents, tenant_id, clock=self.clock, outside=self.folder)
            made.on_use = lambda key_id: self.control.note(None, "key.used", key_id, {"tenant": tenant_id})
            with self._guard:
                found = self._keys.setdefault(tenant_id, made)
        return found

    def expect_source(self, source: str) -> None:
        """Allow a key source for the keys of tenants. The operator named it in a command."""
        self._expected.add(source)

    def _sources_of(self, tenant_id: str) -> set[str]:
        """Return the key sources that may protect the keys of a tenant, as far as this process knows them."""
        own = self.control.tenant(tenant_id).key_source
        return {self.key_source, self.settings.key_source, *self._expected} if own is None else {own, *self._expected}

    def space(self, tenant_id: str) -> TenantSpace:
        """Return the tenant's space of the calling thread, which stays open. Raises UnknownTenant, KeyRevoked,
        KeySourceRefused."""
        spaces = self._spaces()
        found = spaces.get(tenant_id)
        if found is None:
            found = spaces[tenant_id] = self._opened(self.control.tenant(tenant_id))
            # The least recently used space is the first one.
            if len(spaces) > _MOST_SPACES:
                spaces.popitem(last=False)[1].close()
        spaces.move_to_end(tenant_id)
        return found

    def forget(self, tenant_id: str) -> None:
        """Close this thread's space of a tenant, and read its keys again when they are needed next."""
        space = self._spaces().pop(tenant_id, None)
        if space is not None:
            space.close()
        with self._guard:
            self._keys.pop(tenant_id, None)

    def limits(self, tenant: Tenant) -> EndpointLimits:
        """Return how much a tenant may send and keep."""
        return self._limits if tenant.quota is None else replace(self._limits, tenant_bytes=tenant.quota)

    def _opened(self, tenant: Tenant) -> TenantSpace:
        if tenant.state != "active":
            raise errors.UnknownTenant(f"the tenant {tenant.id!r} is being removed")
        return TenantSpace(
            self.engine.tenant(tenant.id, self.clock.now()),
            tenant.id,
            self.keys(tenant.id),
            limits=self.limits(tenant),
            quota=lambda: self.limits(self.control.tenant(tenant.id)).tenant_bytes,
            purging=self._purging(tenant.id),
            clock=self.clock,
        )

    def ask(self, kind: str, tenant_id: str, run_at: datetime | None = None) -> None:
        """Ask a worker to run a job for a tenant (`work.job_handlers`) at `run_at`, or now. Raises VaultError.

        Does nothing on an endpoint of files, whose server does this work itself.
        """
        if self.engine.shared:
            from lifeboat_endpoint.work.shared_queue import open_queue

            open_queue(self).add(kind, tenant=tenant_id, run_at=run_at)

    def _purging(self, tenant_id: str) -> PurgePolicy:
        def note(kind: str, subject: str, details: JsonObject) -> None:
            self.control.record(None, kind, subject, {"tenant": tenant_id, **details})
            if kind == WAITS:
                # Not fatal: workers also look for waiting purges periodically
                with contextlib.suppress(errors.VaultError):
                    self.ask("apply_purge", tenant_id, times.parse_time(details["applies_at"]))

        def shred_later() -> None:
            self.ask("shred", tenant_id, self.clock.now() + _SHRED_AFTER)

        wait = timedelta(hours=self.settings.purge_hours)
        return PurgePolicy(self.id, self.signing_key, wait, note, lambda: is_trusted(self), shred_later)

    def signing_key(self) -> EndpointKey:
        """Return the key that signs receipts of purges, and make it on first use.

        It is a file on an endpoint of files, and a wrapped secret that all processes share on a shared endpoint. Raises
        EndpointError.UNSAFE, KeyRevoked, KeySourceRefused.
        """
        with self._guard:
            if self._signing is None:
                self._signing = self._shared_signing_key() if self.engine.shared else self._own_signing_key()
            return self._signing

    def check_key(self) -> None:
        """Check on a shared endpoint that the key source unwraps the secrets that all processes share.

        A source that is unreachable now is asked again when a key is needed. Raises KeyRevoked, KeySourceRefused.
        """
        if self.engine.shared:
            with contextlib.suppress(errors.VaultBusy, errors.EndpointBusy, errors.KeySourceAway):
                self.signing_key()

    def _own_signing_key(self) -> EndpointKey:
        try:
            return EndpointKey.load(self.folder / SIGNING, self.files)
        except KeysError as error:
            raise errors.EndpointError.UNSAFE(error.message, fix=error.fix) from error

    def _shared_signing_key(self) -> EndpointKey:
        source = key_source_registry.open_key_source(self.key_source, outside=self.folder)
        alone = self.engine.alone(SIGNING, seconds=_WAIT)
        document = endpoint_secrets.ensure_secret(
            self.control, source, SIGNING, lambda: json_codec.encode_json(EndpointKey.generate().to_document()), alone
        )
        try:
            return EndpointKey.of_document(json_codec.decode_object(document, entry=SIGNING))
        except LifeboatError:
            told = f"the key source {source.spec} cannot decrypt the key that signs receipts"
        raise errors.VaultDamaged(told, fix="check that this endpoint has always used this key source")

    @property
    def key_source(self) -> str:
        """The key source of tenants without one of their own.

        It is the one in endpoint.json, or on a shared endpoint the one that all processes were moved to since. Raises
        KeySourceRefused if the note in the database is not vouched for by the former source, KeySourceAway.
        """
        begin = self.settings.key_source
        note = self.control.get(KEY_SOURCE) if self.engine.shared else None
        if note is None:
            return begin
        # Follow a note once: the former source has to be asked whether it vouches for the new one.
        known = (begin, json_codec.encode_json(note))
        if known not in self._followed:
            opened = partial(key_source_registry.open_key_source, outside=self.folder)
            self._followed = {known: moved_key_source.follow_moves(note, begin, opened)}
        return self._followed[known]

    def move_secrets(self, source: str) -> None:
        """Make all processes of a shared endpoint use another key source, and wrap their shared secrets with it.

        The source and the secrets change in one transaction. Raises KeyRevoked, KeySourceAway, KeySourceRefused,
        VaultDamaged.
        """
        before, after = (
            key_source_registry.open_key_source(each, outside=self.folder) for each in (self.key_source, source)
        )
        moved: JsonObject = {SIGNING: endpoint_secrets.rewrap_secret(self.control, before, after, SIGNING)}
        # The transfer key is made again when a server needs it
        with contextlib.suppress(errors.KeyRevoked, errors.VaultDamaged):
            moved[TRANSFER_KEY] = endpoint_secrets.rewrap_secret(self.control, before, after, TRANSFER_KEY)
        notes = {name: note for name, note in moved.items() if note is not None}
        notes[KEY_SOURCE] = moved_key_source.note_move(self.control.get(KEY_SOURCE), before, source)
        self.control.set_all(notes)

    def _spaces(self) -> OrderedDict[str, TenantSpace]:
        spaces: OrderedDict[str, TenantSpace] | None = getattr(self._own, "spaces", None)
        if spaces is None:
            spaces = self._own.spaces = OrderedDict()
        return spaces


def _checked_id(tenant_id: str) -> str:
    """Return the id if it is a UUID, since it becomes the name of a folder. Raises UnknownTenant."""
    if not ids.is_uuid(tenant_id):
        raise errors.UnknownTenant(f"{tenant_id!r} is not a valid tenant id")
    return tenant_id


def limits_of(found: EndpointConfig) -> EndpointLimits:
    """Return the limits that endpoint.json sets. Raises EndpointSettings for an unknown limit or a bad value."""
    unknown = found.limits.keys() - {field.name for field in fields(EndpointLimits)}
    if unknown:
        raise errors.EndpointSettings(f"{FILE}: unknown limits: {', '.join(sorted(unknown))}")
    try:
        return msgspec.convert(found.limits, EndpointLimits)
    except (msgspec.ValidationError, ValueError) as error:
        raise errors.EndpointSettings(f"{FILE}: the limits are invalid: {error}") from None


def _fresh(key_source: str | None, key_scope: str, clock: Clock) -> EndpointConfig:
    now = times.to_text(clock.now())
    endpoint_id = ids.make_id(now)
    source = key_source or f"{SCHEME}:{default_file(endpoint_id)}"
    return EndpointConfig(endpoint_config.KIND, endpoint_config.VERSION, endpoint_id, now, source, key_scope)


def _make(folder: Path, found: EndpointConfig, files: FileOperations, clock: Clock) -> None:
    """Make the files of a new endpoint. endpoint.json is written last: without it there is no endpoint."""
    key_source_registry.open_key_source(found.key_source, outside=folder)
    files.make_folders(folder / TENANTS, 0o700)
    # An attempt that ends before endpoint.json is written is repeated by the next `create`.
    create_control(folder / CONTROL, clock)
    key_source_registry.make_key(found.key_source, outside=folder)
    write_atomic(files, folder / FILE, endpoint_config.encode_config(found))


def _check_empty(folder: Path, files: FileOperations) -> None:
    names = {entry.name for entry in files.scan(folder)}
    if FILE in names:
        raise errors.VaultError.EXISTS(
            f"{folder} already contains an endpoint", fix=f"lifeboat endpoint tenant list --data {folder}"
        )
    foreign = sorted(name for name in names if not name.startswith(_BEGUN) and name not in (TENANTS, LOCK, _OF_A_DISK))
    if foreign:
        raise errors.EndpointError.UNSAFE(
            f"{folder} contains {foreign[0]}, which is not a file of an endpoint; give an empty or new folder"
        )
    files.set_mode(folder, 0o700)


def _check_safe(folder: Path, files: FileOperations) -> None:
    """Raise EndpointError.UNSAFE if other users could change the data."""
    found = files.lstat(folder)
    if not stat.S_ISDIR(found.st_mode):
        raise errors.EndpointError.UNSAFE(f"{folder} is not a folder")
    if os.name != "posix":
        return
    if found.st_uid != os.geteuid():
        raise errors.EndpointError.UNSAFE(f"{folder} belongs to another user; run the command as that user")
    if found.st_mode & _WRITABLE_BY_OTHERS:
        raise errors.EndpointError.UNSAFE(f"other users can write to {folder}", fix=f"chmod 700 {folder}")


@contextlib.contextmanager
def _making(folder: Path) -> Iterator[None]:
    try:
        with filelock.FileLock(folder / LOCK, mode=0o600, timeout=_WAIT):
            yield
    except filelock.Timeout:
        raise errors.EndpointError(f"{folder}: another process is creating an endpoint in this folder") from None


@contextlib.contextmanager
def _system(folder: Path) -> Iterator[None]:
    """Convert OSError to EndpointError."""
    try:
        yield
    except OSError as error:
        raise errors.EndpointError(f"{folder}: {error.strerror or error}") from error
