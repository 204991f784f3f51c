"""Small installations of the runtimes that the shipped profiles describe."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

from lifeboat_adapters.testing import SampleInstallation
from support.adapters.hermes_database import SESSION, TURN, make_database
from support.paths import ROOT

KEY = "sk-obvious-fake-0123456789abcdef"
_PERSONA = {
    "SOUL.md": "# Soul\n\nCurious and kind.\n",
    "AGENTS.md": "# Rules\n\nAsk before you send anything.\n",
    "USER.md": "# User\n\n- **Name:** Mira\n",
}


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


PEBBLE = (ROOT / "tests/support/adapters/pebble_profile.toml").read_text()
"""A profile for a runtime that does not exist. docs/folder-profiles.md shows it as an example."""


def make_pebble(home: Path, profiles: Path | None = None) -> Path:
    """Make an agent of the runtime in the example, and return its workspace. `profiles` gets the profile."""
    files = {
        "pebble.yaml": f"last_start: 1\ntools:\n  search:\n    env:\n      SEARCH: {KEY}-search\n",
        "data/WHO.md": "Curious and kind.\n",
        "data/facts.md": "Likes green tea.\n---\nThe red boat lies in the harbour.",
        "data/cache/x": "x",
    }
    write_files(home / ".pebble", files)
    if profiles is not None:
        profiles.mkdir(mode=0o700)
        (profiles / "pebble.toml").write_text(PEBBLE)
    return home / ".pebble" / "data"


def make_markdown(folder: Path) -> SampleInstallation:
    notes = folder / "notes"
    write_files(
        notes,
        {
            "Boats.md": "# Boats\n\n## The red one\n\nIt lies in the harbour.\n\n## The blue one\n\nSold in May.\n",
            "memories/tea.md": "---\ntags: [tea]\n---\nLikes green tea.\n",
            "SOUL.md": _PERSONA["SOUL.md"],
            ".trash/old.md": "gone\n",
        },
    )
    return SampleInstallation(notes, folder, {"MARKDOWN_NOTES": str(notes)})


def make_obsidian(folder: Path) -> SampleInstallation:
    vault = folder / "Vault"
    write_files(
        vault,
        {
            ".obsidian/app.json": "{}\n",
            ".obsidian/workspace.json": '{"main": {}}\n',
            ".obsidian/plugins/sync/data.json": json.dumps({"apiKey": KEY, "interval": 5}),
            "Boats.md": "# Boats\n\nThe red boat lies in the harbour. [[Harbour]]\n",
            "Memories/tea.md": "Likes green tea.\n",
        },
    )
    listed = {"vaults": {"0123456789abcdef": {"path": str(vault), "ts": 1}}}
    write_files(folder, {".config/obsidian/obsidian.json": json.dumps(listed)})
    return SampleInstallation(vault, folder)


def make_nanobot(folder: Path) -> SampleInstallation:
    config = {
        "agents": {"defaults": {"botName": "nanobot", "workspace": "~/.nanobot/workspace"}},
        "providers": {"openrouter": {"apiKey": KEY}},
        "channels": {"telegram": {"enabled": True, "token": f"{KEY}-bot"}},
    }
    write_files(
        folder / ".nanobot",
        {
            "config.json": json.dumps(config, indent=2),
            **{f"workspace/{name}": text for name, text in _PERSONA.items()},
            "workspace/HEARTBEAT.md": "- Check the weather.\n",
            "workspace/memory/MEMORY.md": "# Memory\n\n## Boats\n\nThe red boat lies in the harbour.\n",
            "workspace/memory/history.jsonl": '{"cursor": 1, "timestamp": "2026-11-20 08:00", "content": "hello"}\n',
            "sessions/cli.jsonl": "{}\n",
        },
    )
    (folder / ".nanobot" / "config.json").chmod(0o600)
    return SampleInstallation(folder / ".nanobot" / "workspace", folder)


def make_picoclaw(folder: Path) -> SampleInstallation:
    config = {"agents": {"defaults": {}}, "model_list": [{"model_name": "m", "api_key": KEY}]}
    write_files(
        folder / ".picoclaw",
        {
            "config.json": json.dumps(config, indent=2),
            **{f"workspace/{name}": text for name, text in _PERSONA.items()},
            "workspace/memory/MEMORY.md": "# Memory\n\nThe red boat lies in the harbour.\n",
            "workspace/memory/202611/20261120.md": "## Morning\n\nPlanted tulips.\n",
        },
    )
    (folder / ".picoclaw" / "config.json").chmod(0o600)
    return SampleInstallation(folder / ".picoclaw" / "workspace", folder)


def make_opencode(folder: Path) -> SampleInstallation:
    config = {
        "provider": {"mock": {"npm": "@ai-sdk/openai-compatible", "options": {"apiKey": KEY}}},
        "mcp": {"search": {"type": "local", "environment": {"SEARCH": f"{KEY}-search"}}},
    }
    write_files(
        folder / ".config/opencode",
        {
            "opencode.json": json.dumps(config, indent=2),
            "AGENTS.md": _PERSONA["AGENTS.md"],
            "memory/tea.md": "Likes green tea.\n",
            "skill/invoices/SKILL.md": "---\nname: invoices\ndescription: Write invoices\n---\n",
        },
    )
    return SampleInstallation(folder / ".config/opencode", folder)


def make_gemini(folder: Path) -> SampleInstallation:
    settings = {"mcpServers": {"search": {"env": {"SEARCH": f"{KEY}-search"}}}}
    write_files(
        folder / ".gemini",
        {
            "GEMINI.md": "## Gemini Added Memories\n- Likes green tea.\n- The red boat lies in the harbour.\n",
            "settings.json": json.dumps(settings, indent=2),
            "oauth_creds.json": json.dumps({"access_token": f"{KEY}-a", "refresh_token": f"{KEY}-r"}),
            "projects.json": json.dumps({"projects": {"/srv/ada/project": "project"}}),
            "tmp/project/.project_root": "/srv/ada/project",
            "tmp/project/memory/MEMORY.md": "- The blue boat was sold.\n",
            "tmp/project/chats/session-1.jsonl": "{}\n",
        },
    )
    return SampleInstallation(folder / ".gemini", folder)


def make_goose(folder: Path) -> SampleInstallation:
    write_files(
        folder / ".config/goose",
        {
            ".goosehints": "Ask before you send anything.\n",
            "config.yaml": f"GOOSE_MODEL: mock\nextensions:\n  search:\n    envs:\n      SEARCH: {KEY}-search\n",
            "secrets.yaml": f"OPENAI_API_KEY: {KEY}\n",
            "memory/home.txt": "# tea\nLikes green tea.\n\n# boats\nThe red boat lies in the harbour.\n\n",
        },
    )
    return SampleInstallation(folder / ".config/goose", folder)


def make_hermes(folder: Path) -> SampleInstallation:
    home = folder / ".hermes"
    pool = {"openrouter": [{"id": "484e90", "label": "main", "access_token": KEY, "request_count": 3}]}
    job = {"id": "0123456789ab", "name": "tides", "prompt": "Tell the tides.", "enabled": True, "next_run_at": "x"}
    job["repeat"] = {"times": None, "completed": 0}
    write_files(
        home,
        {
            "SOUL.md": _PERSONA["SOUL.md"],
            "memories/MEMORY.md": "Likes green tea.\n§\nThe red boat lies in the harbour.",
            "memories/USER.md": "Is called Mira.",
            "config.yaml": f"model:\n  default: mock-1\n  api_key: {KEY}\ntelegram:\n  bot_token: {KEY}-bot\n",
            ".env": f"OPENROUTER_API_KEY={KEY}\n",
            "auth.json": json.dumps({"version": 1, "credential_pool": pool, "updated_at": "x"}),
            "cron/jobs.json": json.dumps({"jobs": [job], "updated_at": "x"}),
            "logs/agent.log": "started\n",
            "memories/MEMORY.md.lock": "",
            "skills/boats/SKILL.md": "---\nname: boats\ndescription: Count boats\n---\n",
            "hooks/tides/HOOK.yaml": "name: tides\nevents: [agent:end]\n",
            "hooks/tides/handler.py": "def handle(event, context):\n    pass\n",
            "plugins/tides/plugin.yaml": "name: tides\n",
            "scripts/tides.sh": "#!/bin/sh\n",
        },
    )
    make_database(home / "state.db", [(SESSION, "Tides", TURN)])
    for name in ("auth.json", ".env", "config.yaml"):
        (home / name).chmod(0o600)
    return SampleInstallation(home, folder)


def make_codex(folder: Path) -> SampleInstallation:
    home = folder / ".codex"
    login = {"auth_mode": "chatgpt", "OPENAI_API_KEY": KEY, "tokens": {"access_token": f"{KEY}-a", "account_id": "x"}}
    server = f'[mcp_servers.search]\ncommand = "search"\n[mcp_servers.search.env]\nSEARCH = "{KEY}-search"\n'
    write_files(
        home,
        {
            "AGENTS.md": _PERSONA["AGENTS.md"],
            "config.toml": f'model = "mock"\n{server}',
            "auth.json": json.dumps(login),
            "memories/MEMORY.md": "# Task group: boats\n\nThe red boat lies in the harbour.\n",
            "memories/memory_summary.md": "v1\nboats\n",
            "skills/invoices/SKILL.md": "---\nname: invoices\ndescription: Write invoices\n---\n",
            "skills/.system/x/SKILL.md": "x\n",
            "sessions/2026/11/20/rollout-2026-11-20T08-00-00-x.jsonl": "{}\n",
            "installation_id": "x",
        },
    )
    with closing(sqlite3.connect(home / "goals_1.sqlite")) as connection, connection:
        connection.execute("create table thread_goals (thread_id text primary key, objective text not null)")
        connection.execute("insert into thread_goals values ('t1', 'Paint the boat.')")
    for name in ("auth.json", "config.toml"):
        (home / name).chmod(0o600)
    return SampleInstallation(home, folder)


def make_claude_code(folder: Path) -> SampleInstallation:
    home = folder / ".claude"
    matter = "---\nname: {}\ndescription: {}\nmetadata: \n  node_type: memory\n  type: {}\n---\n"
    project = "projects/-srv-ada-boats"
    servers = {"search": {"command": "search", "env": {"SEARCH": f"{KEY}-search"}}}
    line = {"type": "user", "cwd": "/srv/ada/boats", "message": {"role": "user", "content": "When is high tide?"}}
    write_files(
        folder,
        {
            ".claude.json": json.dumps(
                {"machineID": "x" * 64, "mcpServers": servers, "projects": {"/srv/ada/boats": {}}}
            ),
            ".claude/CLAUDE.md": _PERSONA["AGENTS.md"],
            ".claude/settings.json": json.dumps({"env": {"SERVICE_TOKEN": KEY}, "model": "opus"}, indent=2),
            ".claude/.credentials.json": json.dumps({"claudeAiOauth": {"accessToken": f"{KEY}-of-the-login"}}),
            ".claude/.last-cleanup": "x",
            ".claude/backups/.claude.json.backup.1": json.dumps({"mcpServers": servers}),
            ".claude/agents/pilot.md": "---\nname: pilot\n---\nSteer.\n",
            ".claude/skills/invoices/SKILL.md": "---\nname: invoices\ndescription: Write invoices\n---\n",
            f".claude/{project}/memory/MEMORY.md": "- [Boats](boats.md) — where they lie\n",
            f".claude/{project}/memory/boats.md": matter.format("boats", "where they lie", "project")
            + "\nThe red boat lies in the harbour.\n",
            f".claude/{project}/memory/tea.md": matter.format("tea", "drinks", "user") + "\nLikes green tea.\n",
            f".claude/{project}/0123.jsonl": json.dumps(line, separators=(",", ":")) + "\n",
        },
    )
    for name in (".claude.json", ".claude/.credentials.json", ".claude/settings.json"):
        (folder / name).chmod(0o600)
    return SampleInstallation(home, folder)


INSTALLS: Mapping[str, Callable[[Path], SampleInstallation]] = {
    "markdown": make_markdown,
    "obsidian": make_obsidian,
    "nanobot": make_nanobot,
    "picoclaw": make_picoclaw,
    "opencode": make_opencode,
    "gemini": make_gemini,
    "goose": make_goose,
    "hermes": make_hermes,
    "codex": make_codex,
    "claude-code": make_claude_code,
}
"""How a small installation is made, by the name of the profile."""

REMEMBERED: Mapping[str, tuple[str, str]] = {
    "markdown": ("Boats.md", "## New\n\n{}\n"),
    "obsidian": ("Memories/new.md", "{}\n"),
    "nanobot": ("memory/MEMORY.md", "\n## New\n\n{}\n"),
    "picoclaw": ("memory/202611/20261121.md", "{}\n"),
    "opencode": ("memory/new.md", "{}\n"),
    "gemini": ("GEMINI.md", "- {}\n"),
    "goose": ("memory/new.txt", "# new\n{}\n\n"),
    "hermes": ("memories/MEMORY.md", "\n§\n{}"),
    "codex": ("memories/MEMORY.md", "\n# Task group: new\n\n{}\n"),
    "claude-code": (
        "projects/-srv-ada-boats/memory/new.md",
        "---\nname: new\nmetadata: \n  type: project\n---\n\n{}\n",
    ),
}
"""Where the runtime writes a memory, and in which form, by the name of the profile."""
