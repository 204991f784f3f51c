"""endpoint.json: the identity of an endpoint, and the settings of its operator."""

from __future__ import annotations

from pathlib import Path

import msgspec

from lifeboat_alf.common import json_codec, times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_alf.seams.file_operations import FileOperations, read_all
from lifeboat_vault import errors
from lifeboat_vault.retention.retention_policy import Retention

FILE = "endpoint.json"
KIND = "lifeboat endpoint"
VERSION = 1
_DAY = 24
_LONGEST_WAIT = 90 * _DAY


class SizeCap(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How much history may take in bytes, None for no cap. Above it old bytes of large files go first, then history is
    thinned sooner."""

    agent: int | None = None
    tenant: int | None = None

    def __post_init__(self) -> None:
        if any(cap is not None and cap <= 0 for cap in (self.agent, self.tenant)):
            raise ValueError("a value in size_cap must be larger than 0")


class AuditKept(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How long audit rows are kept, and how many at most."""

    days: int = 400
    rows: int = 1_000_000

    def __post_init__(self) -> None:
        if self.days < 1 or self.rows < 1:
            raise ValueError("`audit.days` and `audit.rows` must be at least 1")


class KeptHistory(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All sequences of `all_hours`, then one each hour for `hourly_days`, one each day for `daily_days`, and one each
    week without limit."""

    all_hours: int = 24
    hourly_days: int = 7
    daily_days: int = 90

    def __post_init__(self) -> None:
        if not 0 < self.all_hours <= self.hourly_days * _DAY <= self.daily_days * _DAY:
            raise ValueError("all_hours, hourly_days and daily_days must be in ascending order")

    def retention(self) -> Retention:
        return Retention(self.all_hours, self.hourly_days, self.daily_days)


class SharedStore(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The database and object store that processes on several machines share.

    `database` is an address as libpq writes it (`postgresql:///lifeboat?host=/run/postgresql`), without a password.
    `objects` is `s3://bucket/prefix`, `gs://...` or `az://...`, with `object_options` for that kind of store, none of
    them secret. Bodies of more than `inline_bytes` are objects. Servers connect as `api_role`, workers and the
    operator's commands as `worker_role`; tables belong to `owner_role`. A process has at most `connections` to each
    kind of table. Unnamed objects are removed after `loose_days`: an older backup of the database could not be restored
    completely then.
    """

    database: str
    objects: str
    object_options: dict[str, str] = msgspec.field(default_factory=dict)
    inline_bytes: int = 64 << 10
    api_role: str = "lifeboat_api"
    worker_role: str = "lifeboat_worker"
    owner_role: str = "lifeboat_owner"
    connections: int = 32
    loose_days: int = 30

    def __post_init__(self) -> None:
        if not 0 <= self.inline_bytes <= 1 << 20:
            raise ValueError("inline_bytes must be from 0 to 1048576")
        if self.loose_days < 2:
            raise ValueError("loose_days must be at least 2")
        if not 4 <= self.connections <= 1000:
            raise ValueError("connections must be from 4 to 1000")


class WorkHours(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How often workers of a shared endpoint do each kind of work, in hours.

    Purges are applied when they are due, and `apply_purge` is how often missed ones are looked for. `verify` reads all
    bodies; 0 means never.
    """

    apply_purge: int = 1
    look_after: int = 1
    verify: int = 7 * _DAY
    sweep: int = _DAY
    finish_removals: int = 1
    trim_audit: int = _DAY

    def __post_init__(self) -> None:
        others = (self.apply_purge, self.look_after, self.sweep, self.finish_removals, self.trim_audit)
        if not all(0 < hours <= _LONGEST_WAIT for hours in others) or not 0 <= self.verify <= 4 * _LONGEST_WAIT:
            raise ValueError(
                f"the intervals in work_hours must be from 1 to {_LONGEST_WAIT} hours (`verify`: from 0 to "
                f"{4 * _LONGEST_WAIT})"
            )


class EndpointConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The content of endpoint.json.

    `key_source` protects the data keys of tenants without one of their own; `key_scope` "tenant" or "agent" says who
    gets a data key. `limits` are those of `EndpointLimits` that differ from the default. Of a large file the newest
    `large_file_versions` keep their bytes. An unconfirmed purge waits for `purge_hours`. With `store` processes on
    several machines share the endpoint, each with an endpoint.json of the same content.
    """

    kind: str
    version: int
    id: str
    created_at: str
    key_source: str
    key_scope: str
    limits: JsonObject = msgspec.field(default_factory=dict)
    retention: KeptHistory = KeptHistory()
    size_cap: SizeCap = SizeCap()
    large_file_versions: int = 3
    audit: AuditKept = AuditKept()
    purge_hours: int = 24
    store: SharedStore | None = None
    work_hours: WorkHours = WorkHours()

    def __post_init__(self) -> None:
        times.parse_time(self.created_at)
        if self.key_scope not in ("tenant", "agent"):
            raise ValueError("key_scope must be `tenant` or `agent`")
        if self.large_file_versions < 1:
            raise ValueError("large_file_versions must be at least 1")
        if not 0 <= self.purge_hours <= _LONGEST_WAIT:
            raise ValueError(f"purge_hours must be from 0 to {_LONGEST_WAIT}")


def read_config(folder: Path, files: FileOperations, *, fix: str | None = None) -> EndpointConfig:
    """Read endpoint.json in a folder. Raises NoEndpoint with this fix, EndpointNewer, EndpointSettings."""
    try:
        data = read_all(files, folder / FILE)
    except (FileNotFoundError, NotADirectoryError):
        raise errors.NoEndpoint(f"{folder} contains no {FILE}", fix=fix) from None
    return decode_config(data)


def decode_config(data: bytes) -> EndpointConfig:
    """Parse endpoint.json. Raises NoEndpoint, EndpointNewer, EndpointSettings."""
    try:
        found = json_codec.decode_object(data, entry=FILE)
    except LifeboatError as error:
        raise errors.EndpointSettings(error.message) from None
    if found.get("kind") != KIND:
        raise errors.NoEndpoint(f"{FILE} is not the configuration of an endpoint")
    version = found.get("version")
    if isinstance(version, int) and version > VERSION:
        raise errors.EndpointNewer(f"{FILE} has version {version}, but this release supports version {VERSION}")
    try:
        return msgspec.convert(found, EndpointConfig)
    except (msgspec.ValidationError, ValueError) as error:
        raise errors.EndpointSettings(f"{FILE}: {error}") from None


def encode_config(settings: EndpointConfig) -> bytes:
    """Format endpoint.json, readable and editable."""
    return json_codec.encode_pretty(settings) + b"\n"
