"""Plant canaries: write a state directory of OpenClaw, of one of two generations, with a secret in every
place for one."""

from __future__ import annotations

import base64
import json
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from support.adapters import openclaw_workspaces
from support.adapters.canaries import ONE_CHARACTER, PIN, canary
from support.adapters.openclaw_workspaces import NEW, OLD, StateFolder

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


def plant(folder: Path, generation: str) -> StateFolder:
    """Write a state directory of one generation with all its canaries, and copies of known ones in the workspace."""
    state = openclaw_workspaces.make_state_dir(folder, layout=generation)
    _plant_config(state, generation)
    _plant_files(state)
    _plant_workspace(state.workspace)
    if generation == OLD:
        _plant_old(folder)
    else:
        _plant_databases(state)
        _plant_leftovers(folder)
    return state


# openclaw.json and what lies beside it --------------------------------------------------------------------------


def _plant_config(state: StateFolder, generation: str) -> None:
    text = config_text(state, generation)
    _write(state.config, text)
    provider = canary("config: provider key")
    _write(state.folder / "openclaw.json.bak", text.replace(provider, canary("config backup: key of yesterday")))
    _write(state.folder / "openclaw.json.bak.1", text.replace(provider, canary("config backup 1: key of last week")))


def config_text(state: StateFolder, generation: str) -> str:
    """Return JSON5 with a comment and one secret that is spelled with an escape."""
    gateway = canary("config: gateway token")
    escaped = f"\\u{ord(gateway[0]):04x}{gateway[1:]}"
    document = json.dumps(_config(state, generation), indent=2, ensure_ascii=False)
    return document.replace(f'"{gateway}"', f'"{escaped}"').replace("{", "{\n  // kept by hand", 1) + "\n"


def _config(state: StateFolder, generation: str) -> dict[str, object]:
    main, rover = (str(state.workspaces[name]) for name in ("main", "rover"))
    if generation == NEW:
        entries = {"main": {"name": "Juniper", "workspace": main}, "rover": {"name": "Rover", "workspace": rover}}
        agents: dict[str, object] = {"ownership": "explicit", "entries": entries}
        search: dict[str, object] = {"memory": {"search": {"remote": {"apiKey": canary("config: memory search key")}}}}
    else:
        agents = {"list": [{"id": "main", "default": True, "workspace": main}, {"id": "rover", "workspace": rover}]}
        search = {"memorySearch": {"remote": {"apiKey": canary("config: memory search key")}}}
    return {
        "agents": agents,
        "models": {
            "providers": {
                "orchard": {
                    "baseUrl": "https://llm.example.com/v1",
                    "apiKey": canary("config: provider key"),
                    "headers": {"Authorization": f"Bearer {canary('config: provider header')}"},
                },
                "meadow": {"apiKey": {"source": "env", "provider": "default", "id": "MEADOW_KEY"}},
            }
        },
        "channels": {
            "telegram": {"enabled": True, "botToken": canary("config: telegram bot token")},
            "slack": {
                "appToken": canary("config: slack app token"),
                "signingSecret": canary("config: slack signing secret"),
            },
            "matrix": {"password": canary("config: matrix password"), "user": "@june:example.com"},
            "sms": {"pin": PIN},
            "irc": {"password": "", "passphrase": ONE_CHARACTER},
        },
        "gateway": {
            "port": 18789,
            "auth": {"mode": "token", "token": canary("config: gateway token")},
            "remote": {"password": canary("config: gateway password")},
        },
        **search,
        "mcp": {
            "servers": {
                "harbour": {
                    "command": "harbour-mcp",
                    "env": {"HARBOUR_API_KEY": canary("config: mcp environment")},
                    "headers": {"X-Api-Key": canary("config: mcp header")},
                    "url": f"https://june:{canary('config: mcp address')}@mcp.example.com/",
                }
            }
        },
        "skills": {
            "entries": {
                "tide-tables": {
                    "apiKey": canary("config: skill key"),
                    "env": {"TIDES_TOKEN": canary("config: skill environment")},
                }
            }
        },
        "hooks": {"token": canary("config: hook token")},
        "env": {"vars": {"GROQ_API_KEY": canary("config: environment")}},
        "meta": {"lastTouchedVersion": "2026.9.6" if generation == NEW else "2026.2.26"},
    }


def _plant_files(state: StateFolder) -> None:
    folder = state.folder
    double = canary(".env: double quotes")
    _write(
        folder / ".env",
        f"# keys\nBARE_API_KEY={canary('.env: bare')}\nSINGLE_API_KEY='{canary('.env: single quotes')}'\n"
        f'export DOUBLE_API_KEY="{double}"\nEMPTY_API_KEY=\nSHORT_PASSWORD={ONE_CHARACTER}\n',
    )
    _write_json(folder / "secrets.json", {"providers": {"orchard": {"apiKey": canary("secrets.json")}}})
    provider = {"baseUrl": "https://llm.example.com/v1", "apiKey": canary("models.json"), "models": []}
    _write_json(folder / "agents/main/agent/models.json", {"providers": {"orchard": provider}})
    _write_json(
        folder / "credentials/whatsapp/default/creds.json",
        {"noiseKey": {"private": {"type": "Buffer", "data": canary("channel login: whatsapp")}}, "me": {"id": "49"}},
    )
    _write_json(folder / "credentials/matrix/credentials.json", {"accessToken": canary("channel login: matrix")})
    _write_json(folder / "agents/main/agent/codex-home/auth.json", {"tokens": {"access_token": canary("codex login")}})


# The workspace --------------------------------------------------------------------------------------------------


def _plant_workspace(workspace: Path) -> None:
    """Write secrets of the workspace itself, and known ones (from .env and openclaw.json) in text of every kind."""
    bare, odd = canary(".env: bare"), canary("known secret with odd characters")
    _write(workspace / ".env", f"TIDE_API_KEY={canary('workspace .env')}\nODD_TOKEN={_double_quoted(odd)}\n")
    _append(workspace / "MEMORY.md", f"\n## Access\n\nThe tide service opens with {bare}, said Mira.\n")
    _append(workspace / "memory/2026-02-10.md", f"\n## Keys\n\n- Provider: `{canary('config: provider key')}`\n")
    _append(workspace / "memory/2026-02-11.md", f"\n## Encoded\n\n{_encoded_lines(bare)}\n")
    _write(workspace / "data/keys.csv", f"service,key\ntides,{bare}\n", 0o644)
    _write(workspace / "data/odd.json", json.dumps({"said": f"use {odd}"}) + "\n", 0o644)
    _write(workspace / "skills/tide-tables/scripts/login.sh", f"#!/bin/sh\nexport KEY={bare}\n", 0o755)
    _write(workspace / "skills/tide-tables/config.toml", f'api_key = """{canary("toml in a skill")}"""\n')
    escaped = "".join(f"\\u{ord(letter):04x}" for letter in bare)
    _write(workspace / "memory/escaped.json", f'{{"note": "{escaped}"}}\n')


def _encoded_lines(secret: str) -> str:
    data = secret.encode()
    basic = base64.b64encode(b"june:" + data).decode()
    return (
        f"- Authorization: Basic {basic}\n- {base64.b64encode(data).decode()}\n- {data.hex()}\n"
        f"- https://tides.example.com/?key={quote(secret, safe='')}"
    )


def _double_quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


# 2026.2: files ---------------------------------------------------------------------------------------------------


def _plant_old(folder: Path) -> None:
    profiles = {
        "orchard:default": {
            "type": "api_key",
            "provider": "orchard",
            "key": canary("auth-profiles.json: api key"),
        },
        "meadow:setup": {"type": "token", "provider": "meadow", "token": canary("auth-profiles.json: token")},
        "pine:june": {
            "type": "oauth",
            "provider": "pine",
            "access": canary("auth-profiles.json: access"),
            "refresh": canary("auth-profiles.json: refresh"),
            "expires": 1_900_000_000_000,
        },
        "reed:reference": {"type": "api_key", "provider": "reed", "keyRef": {"source": "env", "id": "REED_KEY"}},
    }
    _write_json(folder / "agents/main/agent/auth-profiles.json", {"version": 1, "profiles": profiles})
    other = {"type": "api_key", "provider": "orchard", "key": canary("auth-profiles.json of another agent")}
    _write_json(
        folder / "agents/rover/agent/auth-profiles.json", {"version": 1, "profiles": {"orchard:default": other}}
    )
    _write_json(folder / "identity/device.json", {"deviceId": "d1", "privateKeyPem": _pem(canary("device.json"))})
    _write_json(folder / "identity/device-auth.json", {"tokens": {"operator": {"token": canary("device-auth.json")}}})


# 2026.9: databases -----------------------------------------------------------------------------------------------

_STATE_TABLES = """
DROP TABLE IF EXISTS config_machine_state;
CREATE TABLE config_machine_state (state_key TEXT NOT NULL PRIMARY KEY, value_json TEXT NOT NULL,
  updated_at_ms INTEGER NOT NULL) STRICT;
DROP TABLE IF EXISTS secret_store_entries;
CREATE TABLE secret_store_entries (scope_kind TEXT NOT NULL, scope_id TEXT NOT NULL, name TEXT NOT NULL,
  value TEXT NOT NULL, kind TEXT NOT NULL, created_at_ms INTEGER NOT NULL, updated_at_ms INTEGER NOT NULL,
  updated_by TEXT, deleted_at_ms INTEGER, allowed_hosts TEXT, PRIMARY KEY (scope_kind, scope_id, name)) STRICT;
DROP TABLE IF EXISTS device_identities;
CREATE TABLE device_identities (identity_key TEXT NOT NULL PRIMARY KEY, device_id TEXT NOT NULL,
  public_key_pem TEXT NOT NULL, private_key_pem TEXT NOT NULL, created_at_ms INTEGER NOT NULL,
  updated_at_ms INTEGER NOT NULL) STRICT;
DROP TABLE IF EXISTS device_auth_tokens;
CREATE TABLE device_auth_tokens (device_id TEXT NOT NULL, role TEXT NOT NULL, token TEXT NOT NULL,
  scopes_json TEXT NOT NULL, updated_at_ms INTEGER NOT NULL, PRIMARY KEY (device_id, role)) STRICT;
"""
_AGENT_TABLES = """
DROP TABLE IF EXISTS auth_profile_store;
CREATE TABLE auth_profile_store (store_key TEXT NOT NULL PRIMARY KEY, store_json TEXT NOT NULL,
  updated_at INTEGER NOT NULL) STRICT;
DROP TABLE IF EXISTS auth_profile_state;
CREATE TABLE auth_profile_state (state_key TEXT NOT NULL PRIMARY KEY, state_json TEXT NOT NULL,
  updated_at INTEGER NOT NULL) STRICT;
"""
_TIME = 1_770_000_000_000


def _plant_databases(state: StateFolder) -> None:
    with closing(sqlite3.connect(state.state_database)) as connection, connection:
        connection.executescript(_STATE_TABLES)
        values = (
            ("authProfiles.store", _shared_store()),
            ("authProfiles.state", {"version": 1, "order": {"orchard": ["orchard:default"]}, "usageStats": {}}),
            ("auth.sharedStore", {"location": "state-db"}),
        )
        connection.executemany(
            "INSERT INTO config_machine_state VALUES (?, ?, ?)",
            [(key, json.dumps(value), _TIME) for key, value in values],
        )
        entries = (
            ("team", "", "ORCHARD_KEY", canary("secret store: team")),
            ("identity", "june", "MEADOW_KEY", canary("secret store: identity")),
        )
        connection.executemany(
            f"INSERT INTO secret_store_entries VALUES (?, ?, ?, ?, 'secret', {_TIME}, {_TIME}, NULL, NULL, NULL)",
            entries,
        )
        connection.execute(
            f"INSERT INTO device_identities VALUES ('default', 'd1', 'public', ?, {_TIME}, {_TIME})",
            (_pem(canary("device identity")),),
        )
        connection.execute(
            f"INSERT INTO device_auth_tokens VALUES ('d1', 'operator', ?, '[]', {_TIME})", (canary("device token"),)
        )
        _leave_in_a_free_page(connection)
    _plant_agent_store(state.agent_database(), "agent store: api key")
    _plant_agent_store(state.agent_database("rover"), "agent store of another agent")


def _leave_in_a_free_page(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA secure_delete = off")
    connection.execute("CREATE TABLE gone (value TEXT)")
    connection.execute("INSERT INTO gone VALUES (?)", (canary("free page of the state database") + "." * 3000,))
    connection.commit()
    connection.execute("DROP TABLE gone")


def _shared_store() -> dict[str, object]:
    return {
        "version": 1,
        "profiles": {
            "orchard:default": {"type": "api_key", "provider": "orchard", "key": canary("shared store: api key")},
            "meadow:setup": {"type": "token", "provider": "meadow", "token": canary("shared store: token")},
            "pine:june": {
                "type": "oauth",
                "provider": "pine",
                "access": canary("shared store: access"),
                "refresh": canary("shared store: refresh"),
                "expires": 1_900_000_000_000,
            },
            "reed:reference": {"type": "api_key", "provider": "reed", "keyRef": {"source": "env", "id": "REED_KEY"}},
        },
    }


def _plant_agent_store(path: Path, place: str) -> None:
    profile = {"type": "api_key", "provider": "orchard", "key": canary(place)}
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(_AGENT_TABLES)
        connection.execute(
            f"INSERT INTO auth_profile_store VALUES ('primary', ?, {_TIME})",
            (json.dumps({"version": 1, "profiles": {"orchard:own": profile}}),),
        )
        # What a transcript says, when transcripts are captured.
        said = json.dumps({"type": "message", "text": f"it is {canary('.env: bare')}"})
        connection.execute(
            f"INSERT INTO transcript_events VALUES ('session-1', 9, ?, {_TIME}, NULL, ?, NULL)", (said, len(said))
        )
        connection.execute(
            f"INSERT INTO transcript_events VALUES ('session-1', 10, NULL, {_TIME}, ?, ?, NULL)",
            (zstd.compress(said.encode()), len(said)),
        )


def _plant_leftovers(folder: Path) -> None:
    profile = {"type": "api_key", "provider": "orchard", "key": canary("leftover: auth-profiles.json.migrated")}
    _write_json(
        folder / "agents/main/agent/auth-profiles.json.migrated-1770000000000",
        {"version": 1, "profiles": {"orchard:default": profile}},
        0o644,
    )
    _write_json(
        folder / "agents/main/session-sqlite-import-archive/sessions.json.imported-1770000000000",
        {"authToken": canary("leftover: sessions.imported")},
    )


def _pem(value: str) -> str:
    return f"-----BEGIN PRIVATE KEY-----\n{value}\n-----END PRIVATE KEY-----\n"


def _append(path: Path, text: str) -> None:
    path.write_text(path.read_text() + text)


def _write_json(path: Path, document: object, mode: int = 0o600) -> None:
    _write(path, json.dumps(document, indent=2) + "\n", mode)


def _write(path: Path, text: str, mode: int = 0o600) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
