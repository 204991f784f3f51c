"""Invented OpenClaw workspaces and state directories, as 2026.2 and 2026.9 lay them out.

`make_workspace` writes a single workspace, `make_state_dir` a whole state directory with two agents and their
workspaces. Every call writes the same contents, and every secret is an obvious fake.
"""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from backports import zstd

NEW = "2026.9"
OLD = "2026.2"

API_KEY = "sk-example-orchard-0000-not-a-real-key"
GATEWAY_TOKEN = "0123456789abcdef0123456789abcdef0123456789abcdef"
TELEGRAM_TOKEN = "1234567890:EXAMPLE-telegram-bot-token-not-real"
SEARCH_KEY = "pa-example-search-key-not-real-2026"
ENV_KEY = "gsk-example-env-key-not-a-real-one"
DEVICE_KEY = "-----BEGIN PRIVATE KEY----- example, not a key -----END PRIVATE KEY-----"
SECRETS = (API_KEY, GATEWAY_TOKEN, TELEGRAM_TOKEN, SEARCH_KEY, ENV_KEY)
"""The secrets of openclaw.json and .env, which must not be in plain text anywhere else."""

SOUL = """# Soul

You are Juniper. You keep a small surveying company on course, and you would rather be useful than impressive.

## Core truths

- Say what you know, say what you guess, and keep the two apart.
- Read before you ask. The answer is often in yesterday's notes.
- Private things stay private. Nothing about Mira's family leaves this machine.

## Tone

Plain and warm. Short sentences. No exclamation marks unless the house is on fire.
"""

IDENTITY = """# IDENTITY.md - Who am I?

- **Name:** Juniper
- **Nickname:** June
- **Creature:** a careful heron
- **Vibe:** calm, dry, exact
- **Emoji:** 🪶
- **Avatar:** avatars/juniper.png
- **Role:** Operations assistant of a surveying company

## Goals

- Keep the field schedule truthful
- Notice what is about to be forgotten
- Learn how Mira likes things done

## Voice

- **Formality:** 0.3
- **Verbosity:** 0.2
- **Humor:** 0.4
- **Language:** en
- **Catchphrases:** noted; tide waits for nobody
- **Avoid:** honestly, leverage

## Capabilities

- Writing: letters, offers and field reports
- Docker management: builds the tile server (requires: docker)
- Video clips: cuts drone footage (requires: ffmpeg)
"""

AGENTS = """# AGENTS.md - Your workspace

## Every session

1. Read `SOUL.md`, then `USER.md`.
2. Read `memory/` of today and yesterday.

```bash
# this is not a heading
openclaw memory search "tide tables"
```

## Rules

- Ask before anything leaves the machine.
- `trash` beats `rm`.

## Sub-agents

| Agent | Use for | Capabilities | Model |
|---|---|---|---|
| Scout | Research with sources, fact checks | web research, citations | orchard/oak-2 |
| Scribe | Field reports from voice notes | transcription | meadow/mini-1 |

## Tools

- The plotter answers on printer.example.com.
- `tiles` builds the map tiles; it takes ten minutes.
"""

USER = """# USER.md - About your human

- **Name:** Mira Lindqvist
- **What to call them:** Mira
- **Pronouns:** she/her
- **Timezone:** Europe/Stockholm
- **Locale:** sv-SE
- **Notes:** Sails on Thursdays; unreachable then.

## Communication

- Tone: casual
- Response length: concise
- Formatting: minimal markdown

## Work

- Role: Founder and lead surveyor
- Company: Tidewater Maps
- Projects: harbour chart, tile server

## Relationships

- Jonas (brother): keeps the boat
- Priya Raman (colleague): drone pilot

## Directives

<!-- observed: 2026-01-12 | status: active -->
Send the tide table every Sunday evening, never in the morning.

<!-- observed: 2026-02-03 | status: superseded -->
Invoices go out on the 25th. <!-- importance: 6 -->

<!-- observed: 2026-02-20 | status: active -->
Invoices go out on the last working day of the month. <!-- importance: 9 --> <!-- trigger: invoice, billing -->
"""

MEMORY = """# MEMORY.md

Curated facts. Newest on top of each section.

## Company

- Tidewater Maps has six people and two boats. <!-- importance: 7 -->
- The harbour chart is due on 15 March. [deadline|i=0.9] #harbour

## Preferences

- Mira reads mail at 07:30 and 16:00. #mail
- Bullet points beat paragraphs.

## Lessons

### The tile server

It needs 12 GB during a build. Twice now it ate the swap.

### Offers

Always name the datum (SWEREF 99 TM) on the first page.
"""

DAY_ONE = """# 2026-02-10

## Morning

Rewrote the API notes for Priya; she prefers bullet points. #api

## Afternoon

- Deployed the staging tile server with the custom Docker configuration.
- Mira said: *never* restart it between nine and five. [decision|i=0.8]
"""

DAY_TWO = """# 2026-02-11

## Survey of the inner harbour

The echo sounder drifted by 4 cm after lunch. Recalibrated at the reference mark.

## Evening

Invoices drafted, not sent.
"""

SLUGGED = """# Session: 2026-02-12 14:20 UTC

- **Source**: telegram

Talked through the offer for the lighthouse. Mira wants two variants.
"""

DREAM = """# Light phase 2026-02-12

The harbour and the invoices keep meeting each other.
"""

GATING = """# Gating policies

| ID | Trigger | Action |
|---|---|---|
| GP-001 | before any mail leaves | show the draft first |
| GP-002 | before a deploy | check the clock: not between nine and five |
"""

PROJECT = """# Project: harbour chart

## State

Soundings 80 % done. Missing: the basin behind the ferry quay.

## Next

- Book the small boat for two days.
"""

SKILL = """---
name: tide-tables
description: Fetches tide tables and draws them.
metadata: { "openclaw": { "requires": { "bins": ["curl", "gnuplot"] } } }
---

# Tide tables

Run `scripts/fetch.sh` with a station.
"""

MANAGED_SKILL = """---
name: invoices
description: Writes invoices as PDF.
requires:
  bins:
    - pandoc
---

# Invoices
"""

SCRIPT = """#!/bin/sh
exec curl -fsS "https://tides.example.com/$1.csv"
"""

TOOLS = """# TOOLS.md

## Printers

- The plotter answers on printer.example.com.
"""

HEARTBEAT = """# HEARTBEAT.md

- Look at the calendar for the next two hours.
- If the tile build failed, say so once.
"""

BOOT = """# BOOT.md

- Greet Mira only if there is something to say.
"""

DREAMS = """# Dreams

## 2026-02-12

A heron counts the waves and is content.
"""

_FILES = {
    "SOUL.md": SOUL,
    "IDENTITY.md": IDENTITY,
    "AGENTS.md": AGENTS,
    "USER.md": USER,
    "MEMORY.md": MEMORY,
    "BOOT.md": BOOT,
    "DREAMS.md": DREAMS,
    "memory/2026-02-10.md": DAY_ONE,
    "memory/2026-02-11.md": DAY_TWO,
    "memory/2026-02-12-offer-lighthouse.md": SLUGGED,
    "memory/dreaming/light/2026-02-12.md": DREAM,
    "memory/gating-policies.md": GATING,
    "memory/projects/harbour-chart.md": PROJECT,
    "skills/tide-tables/SKILL.md": SKILL,
    "data/soundings.csv": "east,north,depth\n"
    + "".join(f"{674000 + n},{6580000 + n},{n % 40}.{n % 10}\n" for n in range(150)),
    "reports/lighthouse offer.md": "# Offer\n\nTwo variants. See data/soundings.csv.\n",
}

_EXCLUDED_FILES = {
    ".DS_Store": b"\0\0\0\1Bud1",
    ".git/HEAD": b"ref: refs/heads/main\n",
    "tools/__pycache__/tiles.cpython-312.pyc": b"\0pyc",
    "web/node_modules/left/index.js": b"module.exports = 1\n",
    "memory/index.sqlite": b"SQLite format 3\0",
}

_OLD_FILES = {"TOOLS.md": TOOLS, "HEARTBEAT.md": HEARTBEAT}


@dataclass(frozen=True)
class StateFolder:
    """A state folder that was made: `workspaces` are the agents' by id (`main` and `rover`)."""

    folder: Path
    config: Path
    workspaces: dict[str, Path]

    @property
    def workspace(self) -> Path:
        return self.workspaces["main"]

    @property
    def state_database(self) -> Path:
        return self.folder / "state/openclaw.sqlite"

    def agent_database(self, agent: str = "main") -> Path:
        return self.folder / f"agents/{agent}/agent/openclaw-agent.sqlite"


def make_workspace(folder: Path, *, layout: str = NEW, large: bool = True) -> Path:
    """Write a workspace into `folder` and return it.

    It has memories, identity, skills, artifacts of both tiers (`large`: one of 300 KB), a script, a link, an empty
    folder, a private file, and files that must not be captured.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for path, text in (_FILES | (_OLD_FILES if layout == OLD else {})).items():
        _write(folder / path, text.encode())
    for path, data in _EXCLUDED_FILES.items():
        _write(folder / path, data)
    _write(folder / "avatars/juniper.png", b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8)
    _write(folder / "skills/tide-tables/scripts/fetch.sh", SCRIPT.encode(), 0o755)
    _write(folder / "notes/passport.txt", b"renew in May\n", 0o600)
    (folder / "inbox").mkdir(exist_ok=True)
    link = folder / "reports/latest.md"
    if not link.is_symlink():
        link.symlink_to("lighthouse offer.md")
    if large:
        _write(folder / "images/harbour.tif", b"II*\0" + bytes((n * n) % 251 for n in range(300_000)))
    if layout == OLD:
        _write(folder / ".openclaw/workspace-state.json", b'{"version":1,"bootstrapSeededAt":"2026-01-10T09:00:00Z"}\n')
    return folder


def make_state_dir(folder: Path, *, layout: str = NEW, large: bool = False) -> StateFolder:
    """Write a state directory (usually `<home>/.openclaw`) with agents `main` (in `workspace/`) and `rover`."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    workspaces = {"main": folder / "workspace", "rover": folder / "workspace-rover"}
    make_workspace(workspaces["main"], layout=layout, large=large)
    _make_rover(workspaces["rover"])
    config = folder / "openclaw.json"
    text = _config_new(workspaces) if layout == NEW else _config_old(workspaces)
    _write(config, text.encode(), 0o600)
    _write(folder / "openclaw.json.bak", text.encode(), 0o600)
    _write(folder / ".env", f"# provider keys\nGROQ_API_KEY={ENV_KEY}\nEDITOR=nano\n".encode(), 0o600)
    _write(folder / "skills/invoices/SKILL.md", MANAGED_SKILL.encode())
    _write(folder / "cache/control-ui-assets/app.js", b"// cache\n")
    made = StateFolder(folder, config, workspaces)
    if layout == NEW:
        make_state_database(made)
        for agent in workspaces:
            make_agent_database(made.agent_database(agent), agent)
    else:
        _make_old_state(folder)
    return made


def _make_rover(folder: Path) -> None:
    _write(folder / "SOUL.md", b"# Rover\n\nYou look things up and come back.\n")
    _write(folder / "IDENTITY.md", b"# IDENTITY.md\n\n- **Name:** Rover\n- **Role:** Researcher\n")
    _write(folder / "AGENTS.md", b"# AGENTS.md\n\nCite what you read.\n")
    _write(folder / "USER.md", b"# USER.md\n\n- **Name:** Mira Lindqvist\n")
    _write(folder / "MEMORY.md", b"# MEMORY.md\n\n## Sources\n\n- The harbour authority answers mail within a day.\n")


def _config_new(workspaces: dict[str, Path]) -> str:
    return f"""{{
  // written by hand, comments are allowed
  agents: {{
    ownership: "explicit",
    defaults: {{ model: {{ primary: "orchard/oak-4" }}, heartbeat: {{ agentId: "main" }} }},
    entries: {{
      main: {{ name: "Juniper", workspace: {json.dumps(str(workspaces["main"]))},
        identity: {{ name: "Juniper", emoji: "🪶" }}, subagents: {{ allowAgents: ["rover"] }} }},
      rover: {{ name: "Rover", workspace: {json.dumps(str(workspaces["rover"]))}, model: "meadow/mini-1",
        identity: {{ theme: "looks things up" }} }},
    }},
  }},
  models: {{ mode: "merge", providers: {{
    orchard: {{ baseUrl: "https://llm.example.com/v1", api: "openai-completions", apiKey: "{API_KEY}",
      models: [{{ id: "pip-1", contextWindow: 200000 }}] }},
    meadow: {{ baseUrl: "https://meadow.example.com",
      apiKey: {{ source: "env", provider: "default", id: "MEADOW_KEY" }} }},
  }} }},
  channels: {{ telegram: {{ enabled: true, botToken: '{TELEGRAM_TOKEN}' }} }},
  gateway: {{ mode: "local", port: 18789, bind: "loopback", auth: {{ mode: "token", token: "{GATEWAY_TOKEN}" }} }},
  memory: {{ search: {{ provider: "none", remote: {{ apiKey: "{SEARCH_KEY}" }} }} }},
  meta: {{ lastTouchedVersion: "2026.9.6" }},
}}
"""


def _config_old(workspaces: dict[str, Path]) -> str:
    return f"""{{
  // OpenClaw of February
  "agents": {{
    "defaults": {{ "workspace": {json.dumps(str(workspaces["main"]))},
      "model": {{ "primary": "orchard/oak-4" }} }},
    "list": [
      {{ "id": "main", "default": true, "identity": {{ "name": "Juniper", "emoji": "🪶" }},
        "subagents": {{ "allowAgents": ["rover"] }} }},
      {{ "id": "rover", "name": "Rover", "workspace": {json.dumps(str(workspaces["rover"]))},
        "model": {{ "primary": "meadow/mini-1" }} }},
    ],
  }},
  "models": {{ "providers": {{ "orchard": {{ "baseUrl": "https://llm.example.com/v1", "apiKey": "{API_KEY}" }} }} }},
  "channels": {{ "telegram": {{ "enabled": true, "botToken": "{TELEGRAM_TOKEN}" }} }},
  "gateway": {{ "mode": "local", "port": 18789, "auth": {{ "mode": "token", "token": "{GATEWAY_TOKEN}" }} }},
  "memorySearch": {{ "remote": {{ "apiKey": "{SEARCH_KEY}" }} }},
  "meta": {{ "lastTouchedVersion": "2026.2.26" }},
}}
"""


def cron_job(job_id: str, agent: str, name: str, expression: str, message: str) -> dict[str, object]:
    """Return a cron job as both generations spell it."""
    return {
        "id": job_id,
        "agentId": agent,
        "name": name,
        "enabled": True,
        "schedule": {"kind": "cron", "expr": expression, "tz": "Europe/Stockholm"},
        "sessionTarget": "isolated",
        "wakeMode": "next-heartbeat",
        "payload": {"kind": "agentTurn", "message": message},
    }


JOBS = (
    cron_job("job-tides", "main", "Tide table", "0 18 * * 0", "Send the tide table to Mira."),
    cron_job("job-sources", "rover", "Source check", "0 6 * * 1", "Check the sources of last week."),
)
HEARTBEAT_JOB = {
    "id": "job-heartbeat",
    "agentId": "main",
    "name": "Heartbeat",
    "enabled": True,
    "schedule": {"kind": "every", "everyMs": 1_800_000},
    "sessionTarget": "main",
    "payload": {"kind": "heartbeat"},
}

_STATE_SCHEMA = """
PRAGMA journal_mode = WAL;
CREATE TABLE cron_jobs (store_key TEXT NOT NULL, job_id TEXT NOT NULL, declaration_key TEXT, owner_agent_id TEXT,
  name TEXT NOT NULL, description TEXT, enabled INTEGER NOT NULL, agent_id TEXT, payload_kind TEXT NOT NULL,
  job_json TEXT NOT NULL, state_json TEXT NOT NULL DEFAULT '{}', sort_order INTEGER NOT NULL DEFAULT 0,
  updated_at INTEGER NOT NULL, PRIMARY KEY (store_key, job_id)) STRICT;
CREATE TABLE cron_job_scratch (store_key TEXT NOT NULL, job_id TEXT NOT NULL, content TEXT, revision INTEGER NOT NULL,
  source_sha256 TEXT, updated_at_ms INTEGER NOT NULL, PRIMARY KEY (store_key, job_id)) STRICT;
CREATE TABLE device_identities (device_id TEXT PRIMARY KEY, private_key_pem TEXT NOT NULL) STRICT;
PRAGMA user_version = 18;
"""

_AGENT_SCHEMA = """
PRAGMA journal_mode = WAL;
CREATE TABLE standing_intents (intent_key INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, description TEXT NOT NULL,
  trigger_keywords TEXT NOT NULL, trigger_embedding TEXT, status TEXT NOT NULL, expires_at INTEGER NOT NULL,
  max_fires INTEGER NOT NULL, fire_count INTEGER NOT NULL DEFAULT 0, cooldown_seconds INTEGER NOT NULL DEFAULT 86400,
  created_at INTEGER NOT NULL) STRICT;
CREATE TABLE memory_entry_origins (entry_key TEXT NOT NULL, agent_id TEXT NOT NULL, session_id TEXT NOT NULL,
  session_key TEXT, origin_class TEXT NOT NULL, observed_at INTEGER NOT NULL,
  PRIMARY KEY (entry_key, agent_id, session_id)) STRICT;
CREATE TABLE session_windows (session_id TEXT PRIMARY KEY) STRICT;
CREATE TABLE transcript_events (session_id TEXT NOT NULL, seq INTEGER NOT NULL, event_json TEXT,
  created_at INTEGER NOT NULL, event_zstd BLOB, event_utf8_bytes INTEGER, navigation_json TEXT,
  PRIMARY KEY (session_id, seq)) STRICT;
CREATE TABLE auth_profile_store (store_key TEXT PRIMARY KEY, store_json TEXT NOT NULL) STRICT;
PRAGMA user_version = 23;
"""


def make_state_database(state: StateFolder) -> Path:
    """Write the control plane database: three cron jobs, the heartbeat's scratch, and a device key that must not be
    captured."""
    path = state.state_database
    path.parent.mkdir(parents=True, exist_ok=True)
    store = str(state.folder / "cron/jobs.json")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(_STATE_SCHEMA)
        for order, job in enumerate((*JOBS, HEARTBEAT_JOB)):
            connection.execute(
                "INSERT INTO cron_jobs (store_key, job_id, name, enabled, agent_id, payload_kind, job_json, sort_order,"
                " updated_at) VALUES (?, ?, ?, 1, ?, ?, ?, ?, 1770000000000)",
                (store, job["id"], job["name"], job["agentId"], job["payload"]["kind"], json.dumps(job), order),  # type: ignore[index]
            )
        connection.execute(
            "INSERT INTO cron_job_scratch VALUES (?, 'job-heartbeat', ?, 1, NULL, 1770000000000)", (store, HEARTBEAT)
        )
        connection.execute("INSERT INTO device_identities VALUES ('device-1', ?)", (DEVICE_KEY,))
    return path


def make_agent_database(path: Path, agent: str) -> Path:
    """Write an agent's database: an intent, an origin, two transcript events (the long one compressed), credentials."""
    path.parent.mkdir(parents=True, exist_ok=True)
    long_event = json.dumps({"type": "message", "text": f"{agent}: " + "tide " * 400})
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(_AGENT_SCHEMA)
        connection.execute(
            "INSERT INTO standing_intents VALUES (1, ?, 'Remind Mira of the datum', '[\"offer\",\"datum\"]', NULL,"
            " 'armed', 1800000000000, 3, 0, 86400, 1770000000000)",
            (f"intent-{agent}",),
        )
        connection.execute(
            "INSERT INTO memory_entry_origins VALUES ('entry-1', ?, 'session-1', NULL, 'owner', 1770000000000)",
            (agent,),
        )
        connection.execute("INSERT INTO session_windows VALUES ('session-1')")
        connection.execute(
            "INSERT INTO transcript_events VALUES ('session-1', 1, '{\"type\":\"session\"}', 1770000000000, NULL,"
            " NULL, NULL)"
        )
        connection.execute(
            "INSERT INTO transcript_events VALUES ('session-1', 2, NULL, 1770000000001, ?, ?, '{\"version\":1}')",
            (zstd.compress(long_event.encode()), len(long_event.encode())),
        )
        connection.execute("INSERT INTO auth_profile_store VALUES ('primary', ?)", (json.dumps({"key": API_KEY}),))
    return path


def _make_old_state(folder: Path) -> None:
    _write(folder / "cron/jobs.json", json.dumps({"version": 1, "jobs": list(JOBS)}, indent=2).encode(), 0o600)
    profile = {
        "version": 1,
        "profiles": {"orchard:default": {"type": "api_key", "provider": "orchard", "key": API_KEY}},
    }
    _write(folder / "agents/main/agent/auth-profiles.json", json.dumps(profile).encode(), 0o600)


def _write(path: Path, data: bytes, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    os.chmod(path, mode)
