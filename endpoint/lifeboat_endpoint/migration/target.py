"""The shared endpoint that another one moves into: who it is from the first moment, and that it is not served before
all is there. Each step may have been done by an earlier attempt."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import msgspec

from lifeboat_alf import codec
from lifeboat_alf.seams.clock import Clock
from lifeboat_alf.seams.files import FileOperations, read_all, write_atomic
from lifeboat_alf.seams.steps import Step, reached
from lifeboat_endpoint import settings
from lifeboat_endpoint.endpoint import OBJECTS, SIGNING
from lifeboat_endpoint.engines.objects import address
from lifeboat_endpoint.engines.objects.claim import hand_over
from lifeboat_endpoint.engines.postgres import migrating
from lifeboat_endpoint.engines.postgres.connecting import Database, Pools, checked
from lifeboat_endpoint.engines.postgres.store import PostgresStore
from lifeboat_endpoint.engines.shared import UNFINISHED, SharedEngine
from lifeboat_endpoint.engines.shared_statements import ENDPOINT, SET_ENDPOINT
from lifeboat_endpoint.settings import FILE, Settings, SharedStore
from lifeboat_endpoint.tenancy.control import Control
from lifeboat_keys.endpoint_key import FILE as KEY_FILE
from lifeboat_keys.endpoint_key import EndpointKey
from lifeboat_vault import errors
from lifeboat_vault.at_rest import kept_secrets
from lifeboat_vault.at_rest.key_sources import registry

TLS = "tls"
PREPARE = "lifeboat endpoint prepare --data NEW --database ADDRESS --objects URL"
_NOTHING = (f"delete from note where name <> '{OBJECTS}'", "delete from audit")


class Target:
    """The folder that `endpoint prepare` made, and what it names. Close it."""

    def __init__(self, folder: Path, old: Settings, *, files: FileOperations, clock: Clock) -> None:
        """Asks nobody yet. Raises NoEndpoint, EndpointSettings."""
        self.folder = folder
        self._old = old
        self._files = files
        self._clock = clock
        self._found = _settings(folder, files)
        self.store = _store(self._found)
        self._pools = Pools(Database(checked(self.store.database), self.store.worker_role), connections=4)

    def close(self) -> None:
        self._pools.close()

    def is_finished(self) -> bool:
        """Whether all of the old endpoint is there. Raises EndpointSettings for one that is neither empty nor the one
        that the old endpoint is being moved into."""
        migrating.check(self._pools)
        holds = self._holds()
        if holds == self._old.id and self._found.id == self._old.id:
            return True
        if holds not in (UNFINISHED + self._old.id, self._found.id):
            raise errors.EndpointSettings(f"the database holds another endpoint ({holds})", fix=PREPARE)
        if holds == self._found.id and self._rows().row("select 1 from tenant") is not None:
            raise errors.EndpointSettings("the database holds an endpoint that has tenants", fix=PREPARE)
        return False

    def begin(self) -> None:
        """It is the old endpoint from now on, and nobody serves it. Raises KeySourceRefused where the key of the old
        one cannot be used from here."""
        registry.key_source(self._old.key_source, outside=self.folder)
        rows = self._rows()
        if self._holds() != UNFINISHED + self._old.id:
            with rows.transaction():
                for statement in _NOTHING:
                    rows.execute(statement)
                rows.execute(SET_ENDPOINT, (UNFINISHED + self._old.id,))
        reached(Step.ENDPOINT_MIGRATE_BEGUN)
        bucket = address.opened(address.checked(self.store.objects, self.store.object_options))
        hand_over(bucket, before=self._found.id, after=self._old.id)
        reached(Step.ENDPOINT_MIGRATE_CLAIMED)
        wanted = msgspec.structs.replace(self._old, store=self.store, work_hours=self._found.work_hours)
        write_atomic(self._files, self.folder / FILE, settings.encoded(wanted))

    def engine(self) -> SharedEngine:
        return SharedEngine(self.store, self._old.id, "worker", files=self._files, clock=self._clock, begun=True)

    def keep_signing_key(self, old: Path, engine: SharedEngine) -> None:
        """The key that receipts are checked with, wrapped by the endpoint's key source; none where none was made."""
        if not (old / SIGNING / KEY_FILE).exists():
            return
        document = codec.encode(EndpointKey.load(old / SIGNING, self._files).to_document())
        source = registry.key_source(self._old.key_source, outside=self.folder)
        control = Control(engine, clock=self._clock)
        kept_secrets.keep(control, source, SIGNING, document)

    def keep_certificates(self, old: Path) -> None:
        """The authority that clients have pinned, unless the folder has one."""
        if (old / TLS).is_dir() and not (self.folder / TLS).exists():
            begun = self.folder / f".{TLS}.new"
            shutil.rmtree(begun, ignore_errors=True)
            shutil.copytree(old / TLS, begun)
            os.replace(begun, self.folder / TLS)

    def _holds(self) -> str:
        row = self._rows().row(ENDPOINT)
        if row is None:
            raise errors.NoEndpoint("the database holds no endpoint", fix=PREPARE)
        return str(row[0])

    def _rows(self) -> PostgresStore:
        return PostgresStore(self._pools.control, "control", tenant=None)


def _settings(folder: Path, files: FileOperations) -> Settings:
    try:
        return settings.decoded(read_all(files, folder / FILE))
    except (FileNotFoundError, NotADirectoryError):
        raise errors.NoEndpoint(f"{folder} holds no {FILE}", fix=PREPARE) from None


def _store(found: Settings) -> SharedStore:
    if found.store is None:
        raise errors.EndpointSettings("the endpoint to move into is one of files", fix=PREPARE)
    return found.store
