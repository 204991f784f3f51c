"""Read durable rows of OpenClaw's databases in one transaction, without writing.

The control plane database holds the schedule. Each agent's own database holds its intentions, the origin of its
memories, and its transcripts. Both hold credentials (see `credential_stores`). Tables that belong to this machine are
never read. Columns are read as they are found, because the schema changes with almost every release.
"""

from __future__ import annotations

import json
import re
import sqlite3
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from lifeboat_adapters import database_reading
from lifeboat_adapters.contract import Installation, RuntimeRow
from lifeboat_adapters.credential_types import FileSecret, UnparsableSecrets
from lifeboat_adapters.database_reading import Found, as_json, columns_of, row_key_text
from lifeboat_adapters.errors import RuntimeDatabaseError
from lifeboat_adapters.guarded_files import GuardedFolders
from lifeboat_adapters.openclaw import config_includes, openclaw_config, openclaw_folders, openclaw_paths, session_files
from lifeboat_adapters.openclaw.credentials import (
    credential_stores,
    openclaw_auth_profiles,
    openclaw_leftovers,
    openclaw_secrets,
    openclaw_share,
)
from lifeboat_adapters.openclaw.layers import subagents
from lifeboat_adapters.small_files import read_small
from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.common.refusal_texts import refusal_reason

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

LARGEST_EVENT = 64 * 1024 * 1024
"""Bytes that one compressed transcript event may decompress to."""


@dataclass(frozen=True, slots=True)
class OpenClawTable:
    """A table to read. `agent_columns` name the owner of a row. `left_out` are columns that record the last run of a
    job rather than its settings, or that can be computed again. `session_column` names the session of a row."""

    name: str
    agent_columns: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    session_column: str = ""


STATE_TABLES = (
    OpenClawTable("cron_jobs", ("agent_id", "owner_agent_id"), ("state_json", "runtime_updated_at_ms", "updated_at")),
    OpenClawTable("cron_job_scratch"),
)
AGENT_TABLES = (
    OpenClawTable("standing_intents", left_out=("trigger_embedding",)),
    OpenClawTable("memory_entry_origins", ("agent_id",)),
)
TRANSCRIPT_TABLES = (
    OpenClawTable("session_windows", session_column="session_id"),
    OpenClawTable("session_nodes", session_column="current_session_id"),
    OpenClawTable("transcript_events", session_column="session_id"),
)


SHARED_STORE_SINCE = (2026, 8)
"""Earlier releases kept the shared store in the database of `main`."""


@dataclass(frozen=True, slots=True)
class OpenClawSources:
    """Where the rows of an agent come from.

    `main` is the database in which an older release keeps the shared credentials. `profile_file` holds the credentials
    of an agent of 2026.2 whose folder lies elsewhere. Each is None where it does not exist. `outside` are files of the
    state directory that are stored elsewhere. Below `grounds` no link to a database or a file is followed.
    """

    state: Path
    agent: Path
    legacy_jobs: Path
    main: Path | None
    profile_file: Path | None
    owner: openclaw_config.OpenClawAgent
    values: JsonObject
    outside: dict[Path, str]
    grounds: GuardedFolders

    def files(self) -> list[Path]:
        every = (self.state, self.agent, self.legacy_jobs, self.main, self.profile_file)
        return [path for path in every if path is not None and path.is_file()]


def list_openclaw_databases(installation: Installation) -> list[Path]:
    """Return the existing files that `read_openclaw_rows` and `secrets_in_openclaw_databases` read. A commit may change
    only the `-wal` file beside a database."""
    sources = openclaw_sources_of(installation)
    if sources is None or installation.state_dir is None:
        return []
    transcripts = session_files.list_session_files(installation.state_dir, sources.owner.id)
    return [
        *sources.files(),
        *transcripts,
        *sources.outside,
        *openclaw_leftovers.openclaw_leftover_files(installation.state_dir),
    ]


def read_openclaw_rows(installation: Installation, *, transcripts: bool = False) -> Iterator[RuntimeRow]:
    """Yield every durable row of one agent, by file and key. Raises RuntimeDatabaseError when one cannot be read
    completely now; rows captured earlier then stay."""
    sources = openclaw_sources_of(installation)
    if sources is None:
        return
    if sources.agent.is_file():
        yield from _read(sources, sources.agent, lambda agent: _of_database(agent, sources, transcripts=transcripts))
    else:
        yield from _of_profile_file(sources)
    # An older release wrote these files, or OpenClaw archived them: they are older than the sessions of a database.
    if transcripts and installation.state_dir is not None:
        yield from session_files.read_session_rows(installation.state_dir, sources.owner.id, sources.grounds)


def read_stored_credentials(installation: Installation) -> Iterator[RuntimeRow]:
    """Yield every credential in the stores that an agent may use, also those outside of its share: a restore must not
    replace them. Raises RuntimeDatabaseError when they cannot be read now."""
    sources = openclaw_sources_of(installation)
    if sources is None:
        return
    if sources.agent.is_file():
        yield from _read(
            sources,
            sources.agent,
            lambda own: _profiles(openclaw_auth_profiles.AGENT, credential_stores.read_agent_store(own), None),
        )
    if sources.state.is_file():
        yield from _read(sources, sources.state, lambda state: _all_shared(state, sources))


def _all_shared(connection: sqlite3.Connection, sources: OpenClawSources) -> Iterator[RuntimeRow]:
    yield from _profiles(openclaw_auth_profiles.SHARED, _shared_store(connection, sources), None)
    yield from credential_stores.secret_store_rows(connection, None, set())


def _shared_store(
    connection: sqlite3.Connection, sources: OpenClawSources
) -> credential_stores.OpenClawProfileStore | None:
    found = credential_stores.read_shared_store(connection)
    if found is None and sources.main is not None and sources.main.is_file():
        (found,) = _read(sources, sources.main, lambda main: iter([credential_stores.read_agent_store(main)]))
    return found


def _of_database(
    connection: sqlite3.Connection, sources: OpenClawSources, *, transcripts: bool
) -> Iterator[RuntimeRow]:
    """Yield the rows of an agent with a database. The agent's database stays open, so that its sessions, which come
    last, are read in the same transaction."""
    yield from _tables(connection, "agent", AGENT_TABLES, sources.owner)
    own = list(_profiles(openclaw_auth_profiles.AGENT, credential_stores.read_agent_store(connection), None))
    yield from own
    yield from _of_installation(sources, own)
    if transcripts:
        yield from _of_sessions(connection, sources.owner)


def _of_profile_file(sources: OpenClawSources) -> Iterator[RuntimeRow]:
    """Yield the rows of an agent without a database, whose credentials 2026.2 may keep in a file elsewhere."""
    own: list[RuntimeRow] = []
    if sources.profile_file is not None and sources.profile_file.is_file():
        store = credential_stores.read_profile_file_store(sources.profile_file, sources.grounds)
        own.extend(_profiles(openclaw_auth_profiles.AGENT, store, None))
    yield from own
    yield from _of_installation(sources, own)


def _of_installation(sources: OpenClawSources, own: list[RuntimeRow]) -> Iterator[RuntimeRow]:
    """Yield the agent's share of what all agents have in common. `own` are its own profiles."""
    share = openclaw_share.read_openclaw_share(sources.values, sources.owner.id)
    if share is not None:
        helpers = subagents.subagents_from_config(sources.values, sources.owner.id)
        yield from (RuntimeRow(openclaw_paths.HELPERS, id, {"id": id, "helper": helper}) for id, helper in helpers)
    if sources.state.is_file():
        yield from _read(sources, sources.state, lambda connection: _of_state(connection, sources, share, own))
    elif sources.legacy_jobs.is_file():
        yield from _legacy_jobs(sources)


def _of_sessions(connection: sqlite3.Connection, owner: openclaw_config.OpenClawAgent) -> Iterator[RuntimeRow]:
    """Yield the rows of each session, the newest session first. Rows that do not name their session come before."""
    *about, events = TRANSCRIPT_TABLES
    # No index leads from a session to its node. These tables have few rows, so they are read as a whole.
    rows: defaultdict[str, list[RuntimeRow]] = defaultdict(list)
    for row in _tables(connection, "agent", tuple(about), owner):
        rows[row.conversation].append(row)
    yield from rows.pop("", ())
    columns, _ = columns_of(connection, events.name)
    found = {}
    if events.session_column in columns:
        found = {str(id): id for (id,) in connection.execute(f"SELECT DISTINCT session_id FROM {events.name}")}
    else:
        yield from _tables(connection, "agent", (events,), owner)
    is_dated = {"seq", "created_at"} <= set(columns)
    last = {name: _last_written(connection, id) if is_dated else 0 for name, id in found.items()}
    for name in sorted(rows.keys() | found.keys(), key=lambda name: (last.get(name, 0), name), reverse=True):
        yield from rows[name]
        if name in found:
            yield from _rows_of(connection, "agent", events, owner, set(), ("session_id IS ?", (found[name],)))


def _last_written(connection: sqlite3.Connection, session: str | None) -> int:
    """Return the time of the last event of a session in milliseconds, 0 without any."""
    query = "SELECT created_at FROM transcript_events WHERE session_id IS ? ORDER BY seq DESC LIMIT 1"
    found = connection.execute(query, (session,)).fetchone()
    return found[0] if found and isinstance(found[0], int) else 0


def _of_state(
    connection: sqlite3.Connection,
    sources: OpenClawSources,
    share: openclaw_share.OpenClawShare | None,
    own: list[RuntimeRow],
) -> Iterator[RuntimeRow]:
    """Yield the agent's share of the rows that all agents have in common. `own` are its own profiles."""
    yield from _tables(connection, "state", STATE_TABLES, sources.owner)
    common = list(_profiles(openclaw_auth_profiles.SHARED, _shared_store(connection, sources), share))
    yield from common
    yield from credential_stores.secret_store_rows(
        connection, share, credential_stores.names_referred_to([*own, *common])
    )


def _read(
    sources: OpenClawSources, path: Path, read: Callable[[sqlite3.Connection], Iterator[Found]]
) -> Iterator[Found]:
    return database_reading.read_database(path, read, fix="openclaw doctor", workspace=sources.grounds)


def secrets_in_openclaw_databases(installation: Installation) -> Iterator[FileSecret]:
    """Yield the secrets of files that are not captured, and of all entries of the stores, including those of other
    agents. Raises RuntimeDatabaseError."""
    sources = openclaw_sources_of(installation)
    if sources is None or installation.state_dir is None:
        return
    yield from openclaw_leftovers.secrets_in_openclaw_leftovers(installation.state_dir)
    yield from secrets_in_external_files(sources.outside)
    for row in read_stored_credentials(installation):
        yield from openclaw_secrets.find_openclaw_secrets(row.path, json_codec.encode_json(row.values)) or ()


def _profiles(
    name: str, store: credential_stores.OpenClawProfileStore | None, share: openclaw_share.OpenClawShare | None
) -> Iterator[RuntimeRow]:
    return iter(()) if store is None else credential_stores.store_rows(name, store, share)


def openclaw_sources_of(installation: Installation) -> OpenClawSources | None:
    """Return where the rows of an agent come from, None without a state directory. Raises RuntimeConfigError."""
    if installation.state_dir is None:
        return None
    folder = installation.state_dir
    whole = (
        config_includes.read_resolved_config(installation.config, folder)
        if installation.config
        else config_includes.ResolvedConfig({})
    )
    values = whole.values
    known = openclaw_config.find_openclaw_agent(values, installation.native_id)
    owner = known or openclaw_config.OpenClawAgent(
        installation.native_id, None, {}, installation.native_id == openclaw_config.MAIN
    )
    place = openclaw_folders.OpenClawStateFolder(folder, folder / openclaw_paths.CONFIG, folder.parent)
    database = place.database_of(owner)
    main = place.database_of(
        openclaw_config.find_openclaw_agent(values, openclaw_config.MAIN)
        or openclaw_config.OpenClawAgent(openclaw_config.MAIN, None, {}, True)
    )
    elsewhere = database.parent != folder / "agents" / owner.id / "agent"
    return OpenClawSources(
        state=folder / openclaw_folders.STATE_DATABASE,
        agent=database,
        legacy_jobs=folder / openclaw_folders.LEGACY_JOBS,
        main=main if main != database and _shares_through_main(installation.version) else None,
        profile_file=database.with_name("auth-profiles.json") if elsewhere else None,
        owner=owner,
        values=values,
        outside=find_external_files(installation, whole),
        grounds=installation.grounds,
    )


def _shares_through_main(version: str | None) -> bool:
    """Return whether a release may keep the shared credentials in the database of `main`. An unknown release may."""
    numbers = tuple(int(part) for part in re.findall(r"\d+", version or "")[:2])
    return numbers < SHARED_STORE_SINCE


def _tables(
    connection: sqlite3.Connection, name: str, tables: tuple[OpenClawTable, ...], owner: openclaw_config.OpenClawAgent
) -> Iterator[RuntimeRow]:
    jobs: set[str] = set()
    for table in tables:
        yield from _rows_of(connection, name, table, owner, jobs)


def _rows_of(
    connection: sqlite3.Connection,
    database: str,
    table: OpenClawTable,
    owner: openclaw_config.OpenClawAgent,
    jobs: set[str],
    chosen: tuple[str, tuple[str | None, ...]] = ("1", ()),
) -> Iterator[RuntimeRow]:
    """Yield the agent's rows of one table by key, none when the table does not exist. `jobs` collects the agent's cron
    jobs, which determine the owner of job notes. `chosen` is a condition with its parameters."""
    columns, keys = columns_of(connection, table.name)
    if not columns:
        return
    order = ", ".join(f'"{key}"' for key in keys) or "rowid"
    named = ", ".join(f'"{column}"' for column in columns)
    where, parameters = chosen
    query = f'SELECT {order}, {named} FROM "{table.name}" WHERE {where} ORDER BY {order}'
    for values in connection.execute(query, parameters):
        count = max(len(keys), 1)
        row = dict(zip(columns, values[count:], strict=True))
        if table.name == "cron_job_scratch" and row.get("job_id") not in jobs:
            continue
        if not _belongs(row, table, owner):
            continue
        if table.name == "cron_jobs":
            jobs.add(row.get("job_id", ""))
        path = f"{openclaw_paths.DATABASES}{database}/{table.name}.jsonl"
        conversation = str(row.get(table.session_column, ""))
        yield RuntimeRow(path, row_key_text(values[:count]), _durable(row, table), conversation)


def _belongs(row: JsonObject, table: OpenClawTable, owner: openclaw_config.OpenClawAgent) -> bool:
    """Return whether a row is this agent's. A row without an owner is the default agent's."""
    named = [row[column] for column in table.agent_columns if row.get(column)]
    if not table.agent_columns or not named:
        return not table.agent_columns or owner.default
    return bool(owner.id == named[0])


def _durable(row: JsonObject, table: OpenClawTable) -> JsonObject:
    kept = {name: value for name, value in row.items() if name not in table.left_out}
    if table.name == "transcript_events":
        kept = _unfolded(kept)
    if isinstance(kept.get("job_json"), str):
        kept["job_json"] = _without_run_state(kept["job_json"])
    return {name: as_json(value) for name, value in kept.items()}


def _unfolded(event: JsonObject) -> JsonObject:
    """Return a transcript event as text, decompressed if necessary. An event that does not decompress
    stays as it is."""
    packed = event.get("event_zstd")
    if not isinstance(packed, bytes):
        return {key: value for key, value in event.items() if key != "event_zstd"}
    unfolding = zstd.ZstdDecompressor()
    try:
        text = unfolding.decompress(packed, max_length=LARGEST_EVENT).decode()
    except (zstd.ZstdError, UnicodeDecodeError):
        return event
    if not unfolding.eof:
        return event
    return {key: value for key, value in {**event, "event_json": text}.items() if key != "event_zstd"}


def _without_run_state(text: str) -> str:
    """Return a job without the results of its last run."""
    try:
        job = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if not isinstance(job, dict) or not ("state" in job or "updatedAtMs" in job):
        return text
    return json.dumps({key: value for key, value in job.items() if key not in ("state", "updatedAtMs")})


def _legacy_jobs(sources: OpenClawSources) -> Iterator[RuntimeRow]:
    """Yield `cron/jobs.json` of 2026.2 as the rows that later releases make of it."""
    path, owner = sources.legacy_jobs, sources.owner
    try:
        jobs = openclaw_config.get_nested(json.loads(read_small(path, sources.grounds)), "jobs")
    except (OSError, ValueError, RecursionError) as error:
        raise RuntimeDatabaseError(f"{path}: {refusal_reason(error)}") from error
    if not isinstance(jobs, list | None):
        raise RuntimeDatabaseError(f"the jobs in {path} are not a list")
    mine = [job for job in jobs or [] if isinstance(job, dict) and _owns(job, owner)]
    for job in sorted(mine, key=lambda job: str(job.get("id"))):
        values = {
            "job_id": str(job.get("id")),
            "name": job.get("name"),
            "enabled": int(bool(job.get("enabled", True))),
            "agent_id": job.get("agentId"),
            "payload_kind": openclaw_config.get_nested_text(job, "payload", "kind"),
            "job_json": _without_run_state(json.dumps(job)),
        }
        yield RuntimeRow(openclaw_paths.CRON_JOBS, str(job.get("id")), values)


def _owns(job: JsonObject, owner: openclaw_config.OpenClawAgent) -> bool:
    return owner.default if not job.get("agentId") else bool(job["agentId"] == owner.id)


def find_external_files(installation: Installation, whole: config_includes.ResolvedConfig) -> dict[Path, str]:
    """Return the files, each with its name in the state directory."""
    folder = installation.state_dir
    if folder is None:
        return {}
    base = folder.resolve()
    parts = {part.file: openclaw_paths.CONFIG for part in whole.parts if not part.file.is_relative_to(base)}
    profiles = f"agents/{installation.native_id}/agent/auth-profiles.json"
    names = {folder / name: name for name in (".env", openclaw_paths.SECRETS, profiles)}
    names[installation.config or folder / openclaw_paths.CONFIG] = openclaw_paths.CONFIG
    return parts | {file: name for file, name in names.items() if file.is_file() and file.resolve() != base / name}


def secrets_in_external_files(found: dict[Path, str]) -> Iterator[FileSecret]:
    """Yield the secrets in all of these files."""
    for file, name in found.items():
        try:
            yield from openclaw_secrets.find_openclaw_secrets(f"{openclaw_paths.HOME}{name}", read_small(file)) or ()
        except (OSError, UnparsableSecrets):
            continue
