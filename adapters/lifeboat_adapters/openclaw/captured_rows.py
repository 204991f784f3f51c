"""Compare captured rows with the databases that they came from: which sources are missing, and which current row
matches a captured one.

A database that is missing, empty or without a table says nothing about its rows, so they do not count as deleted.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from lifeboat_adapters.contract import Installation
from lifeboat_adapters.database_reading import problem_of_table
from lifeboat_adapters.openclaw import openclaw_databases, openclaw_paths, session_files
from lifeboat_adapters.openclaw.credentials import openclaw_auth_profiles
from lifeboat_adapters.openclaw.layers import heartbeat
from lifeboat_adapters.openclaw.openclaw_databases import OpenClawSources
from lifeboat_adapters.persona.derivation_files import iter_table_rows
from lifeboat_alf.common.json_types import JsonObject

DECLARED = "lifeboat:"
"""The beginning of the declaration key of a cron job that a restore scheduled. The former id of the job follows."""

_DECLARED_BY_OPENCLAW = ("heartbeat:", "memory-core:", "skill-collection-review:")
_IDS = {
    "session_nodes": "current_session_id",
    "session_windows": "session_id",
    "transcript_events": "session_id",
    "memory_entry_origins": "entry_key",
    "standing_intents": "id",
    "order": "provider",
    "secrets": "name",
}


def find_row_source_problem(installation: Installation, path: str, data: bytes) -> str:
    """Implement `DatabaseSupport.unreadable_rows`. Raises RuntimeDatabaseError for a damaged database."""
    sources = openclaw_databases.openclaw_sources_of(installation)
    if sources is None or path == openclaw_paths.HELPERS:
        return ""
    if path.startswith(openclaw_paths.SESSION_FILES) and installation.state_dir is not None:
        return session_files.find_session_folder_problem(installation.state_dir, sources.owner.id)
    if path in (openclaw_paths.AUTH_PROFILES, openclaw_paths.AUTH_ORDER):
        stores = sorted({str(row.get("store")) for row in iter_table_rows(data)})
        return next((said for store in stores if (said := _problem_of_store(sources, store))), "")
    if path == openclaw_paths.STORED_SECRETS:
        return problem_of_table(sources.state, None, sources.grounds)
    if path == openclaw_paths.CRON_JOBS and sources.legacy_jobs.is_file() and not sources.state.exists():
        return ""
    of_agent = path.startswith(f"{openclaw_paths.DATABASES}agent/")
    database = sources.agent if of_agent else sources.state
    return problem_of_table(database, PurePosixPath(path).stem, sources.grounds)


def _problem_of_store(sources: OpenClawSources, store: str) -> str:
    """Return why a store of credentials cannot be read. In later releases it is a database, before that a file or the
    database of the main agent."""
    shared = store == openclaw_auth_profiles.SHARED
    database, older = (sources.state, sources.main) if shared else (sources.agent, sources.profile_file)
    return "" if _is_there(older) else problem_of_table(database, None, sources.grounds)


def _is_there(path: Path | None) -> bool:
    return path is not None and path.is_file()


def openclaw_row_names(path: str, values: JsonObject) -> tuple[str, ...]:
    """Implement `DatabaseSupport.row_names`."""
    if path == openclaw_paths.CRON_JOBS:
        return _names_of_job(values)
    if path == openclaw_paths.AUTH_PROFILES:
        return (openclaw_auth_profiles.migrated_profile_id(str(values.get("id"))),)
    table = PurePosixPath(path).stem
    own = values.get(_IDS.get(table, "job_id"))
    if table == "standing_intents" and isinstance(values.get("description"), str):
        return str(own), values["description"]
    return (str(own),)


def is_of_runtime(values: JsonObject) -> bool:
    """Return whether OpenClaw itself made a cron job. Its gateway makes such a job again in each installation."""
    key, description = str(values.get("declaration_key") or ""), str(values.get("description") or "")
    named = key.startswith(_DECLARED_BY_OPENCLAW) or description.startswith("[managed-by=")
    return named or heartbeat.is_heartbeat(values)


def _names_of_job(values: JsonObject) -> tuple[str, ...]:
    """Return the names of a job. A restored job has another id; its declaration key holds the former one."""
    own, key = str(values.get("job_id")), values.get("declaration_key")
    named = (own, f"{DECLARED}{own}", *([key] if isinstance(key, str) and key else []))
    return (*named, "heartbeat") if heartbeat.is_heartbeat(values) else named
