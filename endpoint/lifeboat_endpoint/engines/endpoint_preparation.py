"""Preparation of a shared endpoint: make or upgrade the tables, write its identity, then endpoint.json of this process.

The tables belong to their owner role. Repeating the command skips the steps that are done.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

from lifeboat_alf.common import ids, json_codec, times
from lifeboat_alf.seams.file_operations import FileOperations, SystemFiles, read_all, write_atomic
from lifeboat_alf.seams.system_clock import Clock, SystemClock
from lifeboat_endpoint import endpoint_config
from lifeboat_endpoint.endpoint import OBJECTS, Endpoint
from lifeboat_endpoint.endpoint_config import FILE, EndpointConfig, SharedStore
from lifeboat_endpoint.engines import shared_statements as sql
from lifeboat_endpoint.engines.engine_choice import open_engine
from lifeboat_endpoint.engines.objects import store_address
from lifeboat_endpoint.engines.objects.bucket import Bucket
from lifeboat_endpoint.engines.objects.place_owner import claim_place, find_owner
from lifeboat_endpoint.engines.objects.store_address import ObjectStore
from lifeboat_endpoint.engines.postgres import postgres_schema
from lifeboat_endpoint.engines.postgres.connection_pools import Database, Pools, check_database_address
from lifeboat_endpoint.engines.postgres.postgres_store import PostgresStore
from lifeboat_endpoint.engines.shared import UNFINISHED
from lifeboat_endpoint.tenancy import control_schema
from lifeboat_endpoint.tenancy import control_statements as control_sql
from lifeboat_vault import errors
from lifeboat_vault.at_rest.key_sources import key_source_registry
from lifeboat_vault.rows import audit_chain
from lifeboat_vault.rows.sequence_rows import json_of
from lifeboat_vault.store.store_protocols import MetadataStore


@dataclass(frozen=True, slots=True)
class PreparedEndpoint:
    """What was done. `migrations` are the numbers of those that were run.

    `made`: the database held no endpoint before. `joined`: this folder got an endpoint.json of the existing endpoint.
    """

    id: str
    migrations: list[int]
    made: bool
    joined: bool


def prepare_endpoint(
    folder: Path,
    store: SharedStore,
    *,
    key_source: str,
    key_scope: str = "tenant",
    files: FileOperations | None = None,
    clock: Clock | None = None,
) -> PreparedEndpoint:
    """Make or upgrade the tables, and endpoint.json in `folder` if there is none.

    A new folder also gets the key of `key_source` if it does not exist yet; all processes need the same key. Raises
    EndpointSettings for unsafe addresses, missing roles, a folder of another endpoint, or a place for objects that
    belongs to another endpoint, EndpointNewer, KeySourceRefused, KeyRevoked if the key is not the endpoint's, VaultBusy
    and VaultUnusable if database or object store do not answer.
    """
    files, clock = files or SystemFiles(), clock or SystemClock()
    folder = Path(os.path.realpath(folder))
    known = _known(folder, files)
    place = store_address.check_store_address(store.objects, store.object_options)
    bucket = store_address.open_store(place)
    bucket.check()
    database = check_database_address(store.database)
    owner = Database(database, store.owner_role)
    run = postgres_schema.prepare_schema(owner, api_role=store.api_role, worker_role=store.worker_role)
    files.make_folders(folder, 0o700)
    if known is None:  # an endpoint that exists may use another source by now, so its old key is not made again
        key_source_registry.make_key(key_source, outside=folder)
    wanted = known.id if known is not None else ids.make_id(times.to_text(clock.now()))
    with contextlib.closing(Pools(Database(database, store.worker_role), connections=store.connections)) as pools:
        control = PostgresStore(pools.control, "control", tenant=None)
        found, made = _endpoint_in(control, wanted, clock)
        if known is not None and known.id != found:
            raise errors.EndpointSettings(
                f"the database contains the endpoint {found}, but {folder / FILE} belongs to the endpoint {known.id}"
            )
        _claim(bucket, place, found, control)
    if known is not None:
        return PreparedEndpoint(found, run, made, False)
    created = times.to_text(clock.now())
    fresh = EndpointConfig(
        endpoint_config.KIND, endpoint_config.VERSION, found, created, key_source, key_scope, store=store
    )
    engine = open_engine(folder, fresh, "worker", files=files, clock=clock)
    with Endpoint(folder, fresh, engine, files=files, clock=clock) as begun:
        begun.signing_key()
    write_atomic(files, folder / FILE, endpoint_config.encode_config(fresh))
    return PreparedEndpoint(found, run, made, True)


def _known(folder: Path, files: FileOperations) -> EndpointConfig | None:
    """Return the endpoint.json in the folder, if there is one. Raises EndpointSettings for an endpoint of files."""
    try:
        found = endpoint_config.decode_config(read_all(files, folder / FILE))
    except (FileNotFoundError, NotADirectoryError):
        return None
    if found.store is None:
        raise errors.EndpointSettings(
            f"the endpoint in {folder} stores its data as files, so it cannot use a database",
            fix="prepare another folder, then: lifeboat endpoint migrate --data OLD --to NEW",
        )
    return found


def _endpoint_in(control: MetadataStore, wanted: str, clock: Clock) -> tuple[str, bool]:
    """Return the id of the endpoint in the tables, and whether it was written now."""
    with control.transaction():
        row = control.row(sql.ENDPOINT)
        if row is not None:
            return _finished(str(row[0])), False
        now = times.to_text(clock.now())
        control.execute(control_sql.ADD_CONTROL, (control_schema.VERSION, now))
        control.execute(sql.SET_ENDPOINT, (wanted,))
        audit_chain.append_row(control, clock.now(), "endpoint.create", "")
        return wanted, True


def _finished(found: str) -> str:
    if found.startswith(UNFINISHED):
        raise errors.EndpointSettings(
            "an endpoint is being moved into this database, and the move is not complete",
            fix="lifeboat endpoint migrate --data OLD --to NEW, then repeat this command",
        )
    return found


def _claim(bucket: Bucket, store: ObjectStore, endpoint_id: str, control: MetadataStore) -> None:
    """Mark the place for objects as this endpoint's. Other processes would miss objects written to a second place."""
    place = f"{store} ({store.endpoint})" if store.endpoint else str(store)
    row = control.row(control_sql.NOTE, (OBJECTS,))
    known = None if row is None else str(json_of(row[0]))
    if known not in (None, place) and find_owner(bucket) is None:
        raise errors.EndpointSettings(
            f"the endpoint stores its objects at {known}, but {place} contains none of the objects",
            fix="give `--objects` as in endpoint.json of the other processes, or copy all objects to "
            "the new place first",
        )
    claim_place(bucket, endpoint_id)
    with control.transaction():
        control.execute(control_sql.DROP_NOTE, (OBJECTS,))
        control.execute(control_sql.ADD_NOTE, (OBJECTS, json_codec.encode_json(place).decode()))
