"""Archive paths and names of OpenClaw's files."""

from __future__ import annotations

from lifeboat_adapters.notes import note_names
from lifeboat_alf.archive import archive_layout

RUNTIME = "openclaw"
RAW = archive_layout.raw_prefix(RUNTIME)
HOME = archive_layout.home_prefix(RUNTIME)
DATABASES = f"{HOME}db/"

SOUL, IDENTITY, AGENTS = "SOUL.md", "IDENTITY.md", "AGENTS.md"
USER, MEMORY = note_names.USER, note_names.MEMORY
TOOLS, HEARTBEAT, BOOT = "TOOLS.md", "HEARTBEAT.md", "BOOT.md"

CONFIG = "openclaw.json"
SECRETS = "secrets.json"
CHANNEL_LOGINS = "credentials/"

CUSTOM_BLOCKS = {"tools_guidance": TOOLS, "heartbeat_checklist": HEARTBEAT, "boot_checklist": BOOT}
"""The file of each standard block of `identity.prose.custom_blocks` (ALF §3.2.2)."""

CRON_JOBS = f"{DATABASES}state/cron_jobs.jsonl"
CRON_SCRATCH = f"{DATABASES}state/cron_job_scratch.jsonl"
STANDING_INTENTS = f"{DATABASES}agent/standing_intents.jsonl"
HELPERS = f"{DATABASES}agent/helpers.jsonl"
"""The roster entries of agents that an agent may delegate to. Their own configuration is not in its archive."""
SESSION_FILES = f"{DATABASES}agent/sessions/"
AUTH_PROFILES = f"{DATABASES}auth/profiles.jsonl"
AUTH_ORDER = f"{DATABASES}auth/order.jsonl"
STORED_SECRETS = f"{DATABASES}auth/secrets.jsonl"


def in_workspace(path: str) -> str | None:
    """Return the workspace-relative path of an archive path (raw or artifact), None for any other path."""
    for prefix in (RAW, archive_layout.ARTIFACTS):
        if path.startswith(prefix):
            return path[len(prefix) :]
    return None


def in_home(path: str) -> str | None:
    """Return the path in the state directory of an archive path, None for any other path."""
    return path[len(HOME) :] if path.startswith(HOME) else None
