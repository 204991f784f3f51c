"""Where OpenClaw's files stand in an archive, and their names."""

from __future__ import annotations

import re
from datetime import date

from lifeboat_alf import layout

RUNTIME = "openclaw"
RAW = layout.raw_prefix(RUNTIME)
HOME = layout.home_prefix(RUNTIME)
DATABASES = f"{HOME}db/"

SOUL, IDENTITY, AGENTS, USER = "SOUL.md", "IDENTITY.md", "AGENTS.md", "USER.md"
MEMORY, LEGACY_MEMORY = "MEMORY.md", "memory.md"
TOOLS, HEARTBEAT, BOOT = "TOOLS.md", "HEARTBEAT.md", "BOOT.md"
MEMORY_FOLDER = "memory/"
PREFERENCES = "memory/preferences.md"
"""What is known of the primary human beside USER.md."""
_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_CONTEXT = re.compile(rf"principal_context:({_UUID})")
_CONTEXT_FILE = re.compile(rf"memory/principals/({_UUID})\.md")

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
AUTH_PROFILES = f"{DATABASES}auth/profiles.jsonl"
AUTH_ORDER = f"{DATABASES}auth/order.jsonl"
STORED_SECRETS = f"{DATABASES}auth/secrets.jsonl"

_DAY = re.compile(r"(\d{4}-\d{2}-\d{2})(?:[-_. ].*)?\.md", re.DOTALL)


def in_workspace(path: str) -> str | None:
    """The workspace-relative path of an archive path (raw or artifact), None for anything else."""
    for prefix in (RAW, layout.ARTIFACTS):
        if path.startswith(prefix):
            return path[len(prefix) :]
    return None


def in_home(path: str) -> str | None:
    """The path in the state folder of an archive path, None for anything else."""
    return path[len(HOME) :] if path.startswith(HOME) else None


def file_of_principal(namespace: str) -> str | None:
    """The notes about a principal other than the primary human, from its namespace (ALF §3.3.2)."""
    match = _CONTEXT.fullmatch(namespace)
    return f"memory/principals/{match[1]}.md" if match else None


def namespace_of_principal(relative: str) -> str | None:
    """`file_of_principal`, backwards."""
    match = _CONTEXT_FILE.fullmatch(relative)
    return f"principal_context:{match[1]}" if match else None


def day_of(path: str) -> date | None:
    """The day in a name like `2026-02-10.md` or `2026-02-12-offer.md`."""
    match = _DAY.fullmatch(path.rpartition("/")[2])
    if match is None:
        return None
    try:
        return date.fromisoformat(match[1])
    except ValueError:
        return None
