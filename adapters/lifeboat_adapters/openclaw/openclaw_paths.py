"""Where OpenClaw's files stand in an archive, and their names."""

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
"""Which file is which standard block of `identity.prose.custom_blocks` (ALF §3.2.2)."""

CRON_JOBS = f"{DATABASES}state/cron_jobs.jsonl"
CRON_SCRATCH = f"{DATABASES}state/cron_job_scratch.jsonl"
STANDING_INTENTS = f"{DATABASES}agent/standing_intents.jsonl"
HELPERS = f"{DATABASES}agent/helpers.jsonl"
"""Of the agents that an agent may hand work to, what its roster says of them: their own part is not in its archive."""
SESSION_FILES = f"{DATABASES}agent/sessions/"
AUTH_PROFILES = f"{DATABASES}auth/profiles.jsonl"
AUTH_ORDER = f"{DATABASES}auth/order.jsonl"
STORED_SECRETS = f"{DATABASES}auth/secrets.jsonl"


def in_workspace(path: str) -> str | None:
    """The workspace-relative path of an archive path (raw or artifact), None for anything else."""
    for prefix in (RAW, archive_layout.ARTIFACTS):
        if path.startswith(prefix):
            return path[len(prefix) :]
    return None


def in_home(path: str) -> str | None:
    """The path in the state folder of an archive path, None for anything else."""
    return path[len(HOME) :] if path.startswith(HOME) else None
