"""Read the heartbeat checklist of 2026.9. It is the notes of a cron job; earlier it was HEARTBEAT.md."""

from __future__ import annotations

from lifeboat_adapters.contract import AgentFiles
from lifeboat_adapters.openclaw import openclaw_config, openclaw_paths
from lifeboat_adapters.persona.derivation_files import iter_table_rows
from lifeboat_alf.common.json_types import JsonObject


def heartbeat_checklist(files: AgentFiles) -> str:
    """Return the notes of the agent's heartbeat jobs, in the order of their ids."""
    jobs = {row.get("job_id") for row in iter_table_rows(files.read(openclaw_paths.CRON_JOBS)) if is_heartbeat(row)}
    notes = (
        row.get("content")
        for row in iter_table_rows(files.read(openclaw_paths.CRON_SCRATCH))
        if row.get("job_id") in jobs
    )
    return "\n".join(note for note in notes if isinstance(note, str) and note)


def is_heartbeat(row: JsonObject) -> bool:
    """Return whether a cron job is the heartbeat, by its payload or by its name."""
    return (
        row.get("payload_kind") == "heartbeat"
        or "heartbeat" in (openclaw_config.get_nested_text(row, "name") or "").lower()
    )
