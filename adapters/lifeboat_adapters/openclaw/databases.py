"""Durable rows of OpenClaw's databases: read in one transaction, nothing written, nothing copied.

The control plane database holds the schedule, each agent's own database its intentions, where its memories came from,
and its transcripts; both hold credentials (see `stores`). Tables that belong to this machine are never touched.
Columns are taken as they are found: the schema changes with almost every release.
"""

from __future__ import annotations

import json
import re
import sqlite3
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from lifeboat_adapters import database_reading
from lifeboat_adapters.contract import Installation, Row
from lifeboat_adapters.credentials import Secret
from lifeboat_adapters.database_reading import Found, as_json, columns_of, key_of
from lifeboat_adapters.errors import RuntimeDatabaseError
from lifeboat_adapters.held_files import Grounds
from lifeboat_adapters.openclaw import config, host, includes, paths, session_files
from lifeboat_adapters.openclaw.credentials import leftovers, outside, profiles, secrets, shares, stores
from lifeboat_adapters.openclaw.layers import subagents
from lifeboat_adapters.small_files import read_small
from lifeboat_alf import codec
from lifeboat_alf.json_types import JsonObject
from lifeboat_alf.system_texts import refusal_reason

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

LARGEST_EVENT = 64 * 1024 * 1024
"""Bytes that one compressed transcript event may unfold to."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table to read. `agent_columns` say whose a row is; `left_out` are columns that say what happened last, not
    what was meant (a job's last run), or that can be computed again."""

    name: str
    agent_columns: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


STATE_TABLES = (
    Table("cron_jobs", ("agent_id", "owner_agent_id"), ("state_json", "runtime_updated_at_ms", "updated_at")),
    Table("cron_job_scratch"),
)
AGENT_TABLES = (
    Table("standing_intents", left_out=("trigger_embedding",)),
    Table("memory_entry_origins", ("agent_id",)),
)
TRANSCRIPT_TABLES = (Table("session_windows"), Table("session_nodes"), Table("transcript_events"))


SHARED_STORE_SINCE = (2026, 8)
"""Releases before kept the store that all agents share in the database of `main`."""


@dataclass(frozen=True, slots=True)
class Sources:
    """`main` is the database in which an older release keeps the shared credentials, `profile_file` the credentials of
    an agent of 2026.2 whose folder lies elsewhere; None where there is no such thing. `outside` are files of the state
    folder that are kept elsewhere. In `grounds` no link to a database or a file is followed."""

    state: Path
    agent: Path
    legacy_jobs: Path
    main: Path | None
    profile_file: Path | None
    owner: config.ConfiguredAgent
    values: JsonObject
    outside: dict[Path, str]
    grounds: Grounds

    def files(self) -> list[Path]:
        every = (self.state, self.agent, self.legacy_jobs, self.main, self.profile_file)
        return [path for path in every if path is not None and path.is_file()]


def databases(installation: Installation) -> list[Path]:
    """The files that `rows` and `learned` read and that are there. A commit may change only the `-wal` file beside a
    database."""
    sources = sources_of(installation)
    if sources is None or installation.state_dir is None:
        return []
    transcripts = session_files.files(installation.state_dir, sources.owner.id)
    return [*sources.files(), *transcripts, *sources.outside, *leftovers.files(installation.state_dir)]


def rows(installation: Installation, *, transcripts: bool = False) -> Iterator[Row]:
    """Every durable row of one agent, by file and key. Raises RuntimeDatabaseError when one cannot be read whole now;
    what was captured before then stays."""
    sources = sources_of(installation)
    if sources is None:
        return
    share = shares.share_of(sources.values, sources.owner.id)
    own: list[Row] = []
    for row in _of_agent(sources, transcripts=transcripts):
        own += [row] * (row.path == paths.AUTH_PROFILES)
        yield row
    if share is not None:
        helpers = subagents.from_config(sources.values, sources.owner.id)
        yield from (Row(paths.HELPERS, id, {"id": id, "helper": helper}) for id, helper in helpers)
    if sources.state.is_file():
        yield from _read(sources, sources.state, lambda connection: _of_state(connection, sources, share, own))
    elif sources.legacy_jobs.is_file():
        yield from _legacy_jobs(sources)
    if transcripts and installation.state_dir is not None:
        yield from session_files.rows(installation.state_dir, sources.owner.id, sources.grounds)


def credentials(installation: Installation) -> Iterator[Row]:
    """Every credential in the stores that an agent may use, also those that are no share of it: what must not be
    replaced. Raises RuntimeDatabaseError when they cannot be read now."""
    sources = sources_of(installation)
    if sources is None:
        return
    if sources.agent.is_file():
        yield from _read(sources, sources.agent, lambda own: _profiles(profiles.AGENT, stores.of_agent(own), None))
    if sources.state.is_file():
        yield from _read(sources, sources.state, lambda state: _all_shared(state, sources))


def _all_shared(connection: sqlite3.Connection, sources: Sources) -> Iterator[Row]:
    yield from _profiles(profiles.SHARED, _shared_store(connection, sources), None)
    yield from stores.secrets(connection, None, set())


def _shared_store(connection: sqlite3.Connection, sources: Sources) -> stores.Store | None:
    found = stores.shared(connection)
    if found is None and sources.main is not None and sources.main.is_file():
        (found,) = _read(sources, sources.main, lambda main: iter([stores.of_agent(main)]))
    return found


def _of_agent(sources: Sources, *, transcripts: bool) -> Iterator[Row]:
    """What the agent has alone: its own database, or the credentials of an agent of 2026.2 that lie elsewhere."""

    def read(connection: sqlite3.Connection) -> Iterator[Row]:
        tables = AGENT_TABLES + (TRANSCRIPT_TABLES if transcripts else ())
        yield from _tables(connection, "agent", tables, sources.owner)
        yield from _profiles(profiles.AGENT, stores.of_agent(connection), None)

    if sources.agent.is_file():
        yield from _read(sources, sources.agent, read)
    elif sources.profile_file is not None and sources.profile_file.is_file():
        yield from _profiles(profiles.AGENT, stores.of_file(sources.profile_file, sources.grounds), None)


def _of_state(
    connection: sqlite3.Connection, sources: Sources, share: shares.Share | None, own: list[Row]
) -> Iterator[Row]:
    """What all agents have in common, as far as it is this agent's. `own` are its own profiles."""
    yield from _tables(connection, "state", STATE_TABLES, sources.owner)
    common = list(_profiles(profiles.SHARED, _shared_store(connection, sources), share))
    yield from common
    yield from stores.secrets(connection, share, stores.referred_by([*own, *common]))


def _read(sources: Sources, path: Path, read: Callable[[sqlite3.Connection], Iterator[Found]]) -> Iterator[Found]:
    return database_reading.read_database(path, read, fix="openclaw doctor", workspace=sources.grounds)


def learned(installation: Installation) -> Iterator[Secret]:
    """The secrets of files that are not captured, and of everything in the stores, whosever it is. Raises
    RuntimeDatabaseError."""
    sources = sources_of(installation)
    if sources is None or installation.state_dir is None:
        return
    yield from leftovers.learned(installation.state_dir)
    yield from outside.learned(sources.outside)
    for row in credentials(installation):
        yield from secrets.find(row.path, codec.encode(row.values)) or ()


def _profiles(name: str, store: stores.Store | None, share: shares.Share | None) -> Iterator[Row]:
    return iter(()) if store is None else stores.rows(name, store, share)


def sources_of(installation: Installation) -> Sources | None:
    """Where the rows of an agent come from; None without a state folder. Raises RuntimeConfigError."""
    if installation.state_dir is None:
        return None
    folder = installation.state_dir
    whole = includes.read_or_backup(installation.config, folder) if installation.config else includes.Whole({})
    values = whole.values
    known = config.agent(values, installation.native_id)
    owner = known or config.ConfiguredAgent(installation.native_id, None, {}, installation.native_id == config.MAIN)
    place = host.StateFolder(folder, folder / paths.CONFIG, folder.parent)
    database = place.database_of(owner)
    main = place.database_of(config.agent(values, config.MAIN) or config.ConfiguredAgent(config.MAIN, None, {}, True))
    elsewhere = database.parent != folder / "agents" / owner.id / "agent"
    return Sources(
        state=folder / host.STATE_DATABASE,
        agent=database,
        legacy_jobs=folder / host.LEGACY_JOBS,
        main=main if main != database and _shares_through_main(installation.version) else None,
        profile_file=database.with_name("auth-profiles.json") if elsewhere else None,
        owner=owner,
        values=values,
        outside=outside.files(installation, whole),
        grounds=installation.grounds,
    )


def _shares_through_main(version: str | None) -> bool:
    """Whether a release may keep the shared credentials in the database of `main`: also one nobody knows."""
    numbers = tuple(int(part) for part in re.findall(r"\d+", version or "")[:2])
    return numbers < SHARED_STORE_SINCE


def _tables(
    connection: sqlite3.Connection, name: str, tables: tuple[Table, ...], owner: config.ConfiguredAgent
) -> Iterator[Row]:
    jobs: set[str] = set()
    for table in tables:
        yield from _rows_of(connection, name, table, owner, jobs)


def _rows_of(
    connection: sqlite3.Connection, database: str, table: Table, owner: config.ConfiguredAgent, jobs: set[str]
) -> Iterator[Row]:
    """The agent's rows of one table, by key; none when the table is not there. `jobs` collects the agent's cron jobs,
    which say whose the notes of a job are."""
    columns, keys = columns_of(connection, table.name)
    if not columns:
        return
    order = ", ".join(f'"{key}"' for key in keys) or "rowid"
    named = ", ".join(f'"{column}"' for column in columns)
    for values in connection.execute(f'SELECT {order}, {named} FROM "{table.name}" ORDER BY {order}'):
        count = max(len(keys), 1)
        row = dict(zip(columns, values[count:], strict=True))
        if table.name == "cron_job_scratch" and row.get("job_id") not in jobs:
            continue
        if not _belongs(row, table, owner):
            continue
        if table.name == "cron_jobs":
            jobs.add(row.get("job_id", ""))
        path = f"{paths.DATABASES}{database}/{table.name}.jsonl"
        yield Row(path, key_of(values[:count]), _durable(row, table))


def _belongs(row: JsonObject, table: Table, owner: config.ConfiguredAgent) -> bool:
    """Whether a row is this agent's: one that names nobody is the default agent's."""
    named = [row[column] for column in table.agent_columns if row.get(column)]
    if not table.agent_columns or not named:
        return not table.agent_columns or owner.default
    return bool(owner.id == named[0])


def _durable(row: JsonObject, table: Table) -> JsonObject:
    kept = {name: value for name, value in row.items() if name not in table.left_out}
    if table.name == "transcript_events":
        kept = _unfolded(kept)
    if isinstance(kept.get("job_json"), str):
        kept["job_json"] = _without_run_state(kept["job_json"])
    return {name: as_json(value) for name, value in kept.items()}


def _unfolded(event: JsonObject) -> JsonObject:
    """A transcript event as text, however it was stored; one that does not unfold stays as it is."""
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
    """A job without what its last run left in it."""
    try:
        job = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if not isinstance(job, dict) or not ("state" in job or "updatedAtMs" in job):
        return text
    return json.dumps({key: value for key, value in job.items() if key not in ("state", "updatedAtMs")})


def _legacy_jobs(sources: Sources) -> Iterator[Row]:
    """`cron/jobs.json` of 2026.2 as the rows it becomes in later releases."""
    path, owner = sources.legacy_jobs, sources.owner
    try:
        jobs = config.get(json.loads(read_small(path, sources.grounds)), "jobs")
    except (OSError, ValueError, RecursionError) as error:
        raise RuntimeDatabaseError(f"{path}: {refusal_reason(error)}") from error
    if not isinstance(jobs, list | None):
        raise RuntimeDatabaseError(f"{path}: its jobs are not a list")
    mine = [job for job in jobs or [] if isinstance(job, dict) and _owns(job, owner)]
    for job in sorted(mine, key=lambda job: str(job.get("id"))):
        values = {
            "job_id": str(job.get("id")),
            "name": job.get("name"),
            "enabled": int(bool(job.get("enabled", True))),
            "agent_id": job.get("agentId"),
            "payload_kind": config.text(job, "payload", "kind"),
            "job_json": _without_run_state(json.dumps(job)),
        }
        yield Row(paths.CRON_JOBS, str(job.get("id")), values)


def _owns(job: JsonObject, owner: config.ConfiguredAgent) -> bool:
    return owner.default if not job.get("agentId") else bool(job["agentId"] == owner.id)
