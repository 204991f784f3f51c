"""Machines with an OpenClaw agent that has a secret in every place, and machines without one."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

from lifeboat_adapters.openclaw import openclaw_config
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.agents import manage_agents
from lifeboat_core.agents.agent import Agent
from lifeboat_core.home.context import Context
from lifeboat_core.processes import runtime_programs
from support.adapters.fake_openclaw import FakeOpenClaw

KEY = "sk-fake-orchard-0123456789abcdef"
CHANNEL = "1234567890:fake-telegram-bot-token-0123456789"
GATEWAY = "fake0123456789abcdef0123456789abcdef0123456789ab"
ENV_KEY = "hb_fake0123456789abcdef0123456789"
API_KEY = "sk-fake-openai-0123456789abcdef"
TOKEN = "fake-meadow-token-0123456789abcdef"
ACCESS, REFRESH = "fake-access-0123456789abcdef", "fake-refresh-0123456789abcdef"
SETUP_TOKEN = "sk-ant-oat01-" + "fake" * 24
STORED = "fake-stored-value-0123456789"
LATER = 4_000_000_000_000
SECRETS = (SETUP_TOKEN, KEY, CHANNEL, GATEWAY, ENV_KEY, API_KEY, TOKEN, ACCESS, REFRESH, STORED)

CONFIG = f"""{{
  // written by hand
  agents: {{ entries: {{ main: {{ name: "Ada" }} }} }},
  models: {{ providers: {{ orchard: {{ baseUrl: "https://llm.example.com/v1", apiKey: "{KEY}",
    api: "openai-completions", models: [{{ id: "pip-1", name: "Pip" }}] }} }} }},
  channels: {{ telegram: {{ enabled: true, botToken: "{CHANNEL}" }} }},
  gateway: {{ mode: "local", auth: {{ mode: "token", token: "{GATEWAY}" }} }},
}}
"""


class Machine:
    """A user's account with an OpenClaw (a fake program on PATH), and Lifeboat."""

    def __init__(self, folder: Path, *, version: str | None = "2026.9.6") -> None:
        self.home = folder / "user"
        self.state = self.home / ".openclaw"
        self.workspace = self.state / "workspace"
        self.home.mkdir(parents=True)
        self.fake = FakeOpenClaw.install(folder / "bin", version=version or "2026.9.6")
        self.folder = folder
        self.context = self.with_path(f"{folder / 'bin'}:/usr/bin:/bin" if version else "/usr/bin:/bin")

    def with_path(self, path: str) -> Context:
        return Context.open({"LIFEBOAT_HOME": str(self.folder / "home"), "HOME": str(self.home), "PATH": path})

    def openclaw(self, *arguments: str, given: str = "") -> None:
        program = (str(self.fake.folder / "openclaw"), *arguments)
        around = {"HOME": str(self.home), "PATH": "/usr/bin:/bin"}
        assert runtime_programs.run_program(program, environment=around, input=given.encode()).ok

    def profiles(self, agent: str = "main") -> JsonObject:
        """Return what the stores have, the shared one for `main`."""
        own = self.state / "agents" / agent / "agent/openclaw-agent.sqlite"
        path = self.state / "state/openclaw.sqlite" if agent == "main" else own
        query = (
            "SELECT value_json FROM config_machine_state WHERE state_key = 'authProfiles.store'"
            if agent == "main"
            else "SELECT store_json FROM auth_profile_store WHERE store_key = 'primary'"
        )
        if not path.exists():
            return {}
        with closing(sqlite3.connect(path)) as connection:
            row = connection.execute(query).fetchone()
        found: JsonObject = json.loads(row[0])["profiles"] if row else {}
        return found

    def config(self) -> JsonObject:
        return openclaw_config.parse_openclaw_config((self.state / "openclaw.json").read_bytes())

    def files(self) -> dict[str, bytes]:
        return {
            path.relative_to(self.home).as_posix(): path.read_bytes() for path in self.home.rglob("*") if path.is_file()
        }


def live(machine: Machine) -> Agent:
    """Capture an agent with a secret in every place."""
    machine.workspace.mkdir(parents=True)
    (machine.workspace / "SOUL.md").write_text("# Soul\n\nBe kind.\n")
    for name, text in (("openclaw.json", CONFIG), (".env", f"# mine\nHARBOUR_API_KEY={ENV_KEY}\nEDITOR=nano\n")):
        (machine.state / name).write_text(text)
        (machine.state / name).chmod(0o600)
    paste = ("models", "auth", "paste-api-key", "--provider", "openai", "--profile-id", "openai:default")
    machine.openclaw(*paste, given=API_KEY)
    paste = ("models", "auth", "paste-token", "--provider", "anthropic", "--profile-id", "anthropic:setup")
    machine.openclaw(*paste, given=SETUP_TOKEN)
    legacy = machine.state / "agents/main/agent/auth-profiles.json"
    legacy.parent.mkdir(parents=True)
    zai = {"type": "oauth", "provider": "zai", "access": ACCESS, "refresh": REFRESH, "expires": LATER}
    meadow = {"type": "token", "provider": "meadow", "token": TOKEN, "expires": LATER}
    reference = {
        "type": "api_key",
        "provider": "moss",
        "keyRef": {"source": "env", "provider": "default", "id": "MOSS"},
    }
    profiles = {"zai:me": zai, "meadow:me": meadow, "moss:env": reference}
    legacy.write_text(json.dumps({"version": 1, "profiles": profiles}))
    machine.openclaw("doctor", "--fix")
    for left in legacy.parent.glob("*.migrated-*"):
        left.unlink()
    machine.openclaw("secrets", "store", "import", "--kind", "secret", given=f"FAKE_STORED={STORED}\n")
    agent, _ = manage_agents.protect_workspace(machine.context, machine.workspace, name="Ada")
    return agent


def second_machine(folder: Path, first: Machine, *, version: str | None = "2026.9.6") -> Machine:
    """Return another machine with the user's key."""
    machine = Machine(folder, version=version)
    machine.context.keys().install(first.context.keys().user_key())
    return machine
