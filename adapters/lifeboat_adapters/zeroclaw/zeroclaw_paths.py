"""Archive paths and names of ZeroClaw's files."""

from __future__ import annotations

from lifeboat_alf.archive import archive_layout

RUNTIME = "zeroclaw"
RAW = archive_layout.raw_prefix(RUNTIME)
HOME = archive_layout.home_prefix(RUNTIME)
DATABASES = f"{HOME}db/"

EARLY, CURRENT = "workspace", "agents"
"""The two layouts: one `workspace/` (until May 2026), or `data/` beside `agents/<alias>/workspace/` (since v0.8.0)."""

DEFAULT_ALIAS = "default"

CONFIG = "config.toml"
SECRET_KEY = ".secret_key"
AUTH_PROFILES = "auth-profiles.json"
BRAIN = "memory/brain.db"
"""Relative to the workspace in the early layout, to `data/` in the current one. It is also the `origin_file` of its
memories."""

BRAIN_ROWS = f"{DATABASES}brain/"
"""`agents.jsonl`, `memory_meta.jsonl`, `schema_version.jsonl`, and `memories.jsonl` for memories with secrets cut out.
All other memories are records."""
CRON_JOBS = f"{DATABASES}cron/cron_jobs.jsonl"
SESSIONS = f"{DATABASES}sessions/"
KNOWLEDGE = f"{DATABASES}knowledge/"

SOUL, IDENTITY, AGENTS, USER = "SOUL.md", "IDENTITY.md", "AGENTS.md", "USER.md"
MEMORY, TOOLS, HEARTBEAT, BOOTSTRAP = "MEMORY.md", "TOOLS.md", "HEARTBEAT.md", "BOOTSTRAP.md"
MEMORY_FOLDER = "memory/"
