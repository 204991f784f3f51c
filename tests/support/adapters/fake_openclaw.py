"""A program `openclaw` that keeps credentials as the real one does, and writes down how it was called.

fake = FakeOpenClaw.install(folder)      # then put fake.folder first on PATH
fake.calls()                             # [{"argv", "stdin", "environment"}]
fake.behave(doctor="fails")              # fails | hangs | dies | partly; config="fails"
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_PROGRAM = """#!{python}
import json, os, pathlib, sqlite3, sys, time
here = pathlib.Path(__file__).parent
argv = sys.argv[1:]
if argv == ["--version"]:
    print("OpenClaw {version} (0000000)")
    sys.exit()
given = "" if sys.stdin is None or sys.stdin.isatty() else sys.stdin.read()
with open(here / "calls.jsonl", "a") as log:
    log.write(json.dumps({{"argv": argv, "stdin": given, "environment": dict(os.environ)}}) + "\\n")
state = pathlib.Path(os.environ.get("OPENCLAW_STATE_DIR") or pathlib.Path(os.environ["HOME"], ".openclaw"))
behaviour = json.loads((here / "behaviour.json").read_text())
now = int(time.time() * 1000)

def database(path, *tables):
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path)
    for table in tables:
        connection.execute(f"CREATE TABLE IF NOT EXISTS {{table}}")
    return connection

def shared():
    return database(
        state / "state" / "openclaw.sqlite",
        "config_machine_state (state_key TEXT PRIMARY KEY, value_json TEXT, updated_at_ms INTEGER)",
        "secret_store_entries (scope_kind TEXT, scope_id TEXT, name TEXT, value TEXT, kind TEXT, created_at_ms INTEGER,"
        " updated_at_ms INTEGER, updated_by TEXT, deleted_at_ms INTEGER, allowed_hosts TEXT,"
        " PRIMARY KEY (scope_kind, scope_id, name))",
    )

def upsert(agent, profiles, replace=True):
    if agent == "main":
        connection, table, key, value = shared(), "config_machine_state", "state_key", "value_json"
        name = "authProfiles.store"
    else:
        connection = database(
            state / "agents" / agent / "agent" / "openclaw-agent.sqlite",
            "auth_profile_store (store_key TEXT PRIMARY KEY, store_json TEXT, updated_at_ms INTEGER)",
        )
        table, key, value, name = "auth_profile_store", "store_key", "store_json", "primary"
    row = connection.execute(f"SELECT {{value}} FROM {{table}} WHERE {{key}} = ?", (name,)).fetchone()
    store = json.loads(row[0]) if row else {{"version": 1, "profiles": {{}}}}
    store["profiles"] = {{**store["profiles"], **profiles}} if replace else {{**profiles, **store["profiles"]}}
    connection.execute(f"INSERT OR REPLACE INTO {{table}} VALUES (?, ?, ?)", (name, json.dumps(store), now))
    connection.commit()
    connection.close()

def option(name, default=None):
    return argv[argv.index(name) + 1] if name in argv else default

if argv[:2] == ["models", "auth"] and argv[2].startswith("paste-"):
    if behaviour.get("paste") == "hangs":
        time.sleep(600)
    if behaviour.get("paste") == "fails":
        print("not a key: " + given)
        sys.exit(1)
    kind = "api_key" if argv[2] == "paste-api-key" else "token"
    profile = {{"type": kind, "provider": option("--provider"), "key" if kind == "api_key" else "token": given.strip()}}
    if "--expires-in" in argv:
        profile["expires"] = now + int(option("--expires-in")[:-1]) * 1000
    upsert(option("--agent", "main"), {{option("--profile-id"): profile}})
    if behaviour.get("paste") == "rewrites":
        (state / "openclaw.json").write_text((state / "openclaw.json").read_text() + "\\n")
elif argv[:4] == ["models", "auth", "order", "set"]:
    connection = shared()
    order = {{option("--provider"): argv[argv.index("--agent") + 2:]}}
    row = ("authProfiles.state", json.dumps({{"version": 1, "order": order}}), now)
    connection.execute("INSERT OR REPLACE INTO config_machine_state VALUES (?, ?, ?)", row)
    connection.commit()
    connection.close()
elif argv[:1] == ["doctor"]:
    how = behaviour.get("doctor")
    if how == "hangs":
        time.sleep(600)
    for path in sorted(state.glob("agents/*/agent/auth-profiles.json")):
        found = json.loads(path.read_text())["profiles"]
        if how == "fails":
            sys.exit(1)
        upsert(path.parent.parent.name, found, replace=False)
        path.rename(path.with_name(path.name + ".migrated-2026-11-20T22-14-59.693Z-0000"))
        if how == "partly":
            sys.exit(1)
    for path in sorted(state.glob("agents/*/sessions/*.jsonl")):
        if how == "fails":
            sys.exit(1)
        agent = path.parent.parent.name
        connection = database(
            state / "agents" / agent / "agent" / "openclaw-agent.sqlite",
            "session_nodes (session_key TEXT PRIMARY KEY, current_session_id TEXT, entry_json TEXT)",
            "session_windows (session_id TEXT PRIMARY KEY)",
            "transcript_events (session_id TEXT, seq INTEGER, event_json TEXT, PRIMARY KEY (session_id, seq))",
        )
        connection.execute("INSERT INTO session_windows VALUES (?)", (path.stem,))
        for seq, line in enumerate(path.read_text().splitlines()):
            connection.execute("INSERT INTO transcript_events VALUES (?, ?, ?)", (path.stem, seq, line))
        connection.commit()
        connection.close()
        path.unlink()
elif argv[:3] == ["secrets", "store", "import"]:
    connection = shared()
    for line in given.splitlines():
        name, _, value = line.partition("=")
        row = ("team", "", name, value.strip("'`"), option("--kind", "secret"), now, now, "cli", None, None)
        connection.execute("INSERT OR REPLACE INTO secret_store_entries VALUES (?,?,?,?,?,?,?,?,?,?)", row)
    connection.commit()
    connection.close()
elif argv[:1] == ["config"]:
    if behaviour.get("config") == "fails":
        print("the configuration is not valid")
        sys.exit(1)
    config = state / "openclaw.json"
    import pyjson5
    found = pyjson5.decode(config.read_text()) if config.exists() else {{}}
    *above, last = argv[2].split(".")
    place = found
    for key in above:
        place = place.setdefault(key, {{}})
    if argv[1] == "set":
        place[last] = json.loads(argv[3])
    else:
        del place[last]
    config.write_text(json.dumps(found, indent=2))
"""


@dataclass(frozen=True)
class FakeOpenClaw:
    """A fake program in `folder`."""

    folder: Path

    @classmethod
    def install(cls, folder: Path, *, version: str = "2026.9.6") -> FakeOpenClaw:
        folder.mkdir(parents=True, exist_ok=True)
        program = folder / "openclaw"
        program.write_text(_PROGRAM.format(python=sys.executable, version=version))
        program.chmod(0o755)
        fake = cls(folder)
        fake.behave()
        return fake

    def behave(self, **how: str) -> None:
        (self.folder / "behaviour.json").write_text(json.dumps(how))

    def calls(self) -> list[dict[str, Any]]:
        log = self.folder / "calls.jsonl"
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []

    def commands(self) -> list[str]:
        """Return the commands that were called, without options."""
        return [" ".join(word for word in call["argv"][:3] if not word.startswith("-")) for call in self.calls()]
