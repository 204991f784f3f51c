"""The shared endpoint that an endpoint of files is moved into.

It has the identity of the old endpoint from the beginning, and is not served before everything is there. Each step may
have been done by an earlier attempt.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import msgspec

from lifeboat_alf.common import json_codec
from lifeboat_alf.seams.crash_points import CrashPoint, reach_crash_point
from lifeboat_alf.seams.file_operations import FileOperations, write_atomic
from lifeboat_alf.seams.system_clock import Clock
from lifeboat_endpoint import endpoint_config
from lifeboat_endpoint.endpoint import OBJECTS, SIGNING
from lifeboat_endpoint.endpoint_config import FILE, EndpointConfig, SharedStore
from lifeboat_endpoint.engines.objects import store_address
from lifeboat_endpoint.engines.objects.place_owner import hand_over
from lifeboat_endpoint.engines.postgres import postgres_schema
from lifeboat_endpoint.engines.postgres.connection_pools import Database, Pools, check_database_address
from lifeboat_endpoint.engines.postgres.postgres_store import PostgresStore
from lifeboat_endpoint.engines.shared import UNFINISHED, SharedEngine
from lifeboat_endpoint.engines.shared_statements import ENDPOINT, SET_ENDPOINT
from lifeboat_endpoint.tenancy.control import Control
from lifeboat_keys.pairs.endpoint_key import FILE as KEY_FILE
from lifeboat_keys.pairs.endpoint_key import EndpointKey
from lifeboat_vault import errors
from lifeboat_vault.at_rest import endpoint_secrets
from lifeboat_vault.at_rest.key_sources import key_source_registry

TLS = "tls"
PREPARE = "lifeboat endpoint prepare --data NEW --database ADDRESS --objects URL"
_NOTHING = (f"delete from note where name <> '{OBJECTS}'", "delete from audit")


class MigrationTarget:
    """The folder that `endpoint prepare` made, with its database and object store. Close it."""

    def __init__(self, folder: Path, old: EndpointConfig, *, files: FileOperations, clock: Clock) -> None:
        """Open the target without connecting yet. Raises NoEndpoint, EndpointSettings."""
        self.folder = folder
        self._old = old
        self._files = files
        self._clock = clock
        self._found = endpoint_config.read_config(folder, files, fix=PREPARE)
        self.store = _store(self._found)
        self._pools = Pools(
            Database(check_database_address(self.store.database), self.store.worker_role), connections=4
        )

    def close(self) -> None:
        self._pools.close()

    def is_finished(self) -> bool:
        """Return whether the migration was finished.

        Raises EndpointSettings if the target is neither empty nor the one that the old endpoint is being moved into.
        """
        postgres_schema.check_schema(self._pools)
        holds = self._holds()
        if holds == self._old.id and self._found.id == self._old.id:
            return True
        if holds not in (UNFINISHED + self._old.id, self._found.id):
            raise errors.EndpointSettings(f"the database contains another endpoint ({holds})", fix=PREPARE)
        if holds == self._found.id and self._rows().row("select 1 from tenant") is not None:
            raise errors.EndpointSettings(
                "the database already contains an endpoint with tenants, so no endpoint can be moved into it",
                fix=PREPARE,
            )
        return False

    def begin(self) -> None:
        """Give the target the identity of the old endpoint, marked as unfinished.

        Raises KeySourceRefused if the key of the old endpoint cannot be used from here.
        """
        key_source_registry.open_key_source(self._old.key_source, outside=self.folder)
        rows = self._rows()
        if self._holds() != UNFINISHED + self._old.id:
            with rows.transaction():
                for statement in _NOTHING:
                    rows.execute(statement)
                rows.execute(SET_ENDPOINT, (UNFINISHED + self._old.id,))
        reach_crash_point(CrashPoint.ENDPOINT_MIGRATE_BEGUN)
        bucket = store_address.open_store(
            store_address.check_store_address(self.store.objects, self.store.object_options)
        )
        hand_over(bucket, before=self._found.id, after=self._old.id)
        reach_crash_point(CrashPoint.ENDPOINT_MIGRATE_CLAIMED)
        wanted = msgspec.structs.replace(self._old, store=self.store, work_hours=self._found.work_hours)
        write_atomic(self._files, self.folder / FILE, endpoint_config.encode_config(wanted))

    def engine(self) -> SharedEngine:
        return SharedEngine(self.store, self._old.id, "worker", files=self._files, clock=self._clock, begun=True)

    def keep_signing_key(self, old: Path, engine: SharedEngine) -> None:
        """Copy the key that receipts are checked with, if there is one, wrapped by the endpoint's key source."""
        if not (old / SIGNING / KEY_FILE).exists():
            return
        document = json_codec.encode_json(EndpointKey.load(old / SIGNING, self._files).to_document())
        source = key_source_registry.open_key_source(self._old.key_source, outside=self.folder)
        control = Control(engine, clock=self._clock)
        endpoint_secrets.write_secret(control, source, SIGNING, document)

    def keep_certificates(self, old: Path) -> None:
        """Copy the authority that clients have pinned, unless the folder has one."""
        if (old / TLS).is_dir() and not (self.folder / TLS).exists():
            begun = self.folder / f".{TLS}.new"
            shutil.rmtree(begun, ignore_errors=True)
            shutil.copytree(old / TLS, begun)
            os.replace(begun, self.folder / TLS)

    def _holds(self) -> str:
        row = self._rows().row(ENDPOINT)
        if row is None:
            raise errors.NoEndpoint("the database contains no endpoint", fix=PREPARE)
        return str(row[0])

    def _rows(self) -> PostgresStore:
        return PostgresStore(self._pools.control, "control", tenant=None)


def _store(found: EndpointConfig) -> SharedStore:
    if found.store is None:
        raise errors.EndpointSettings(
            "the target endpoint stores its data as files; a move needs a target with a database and an object store",
            fix=PREPARE,
        )
    return found.store
