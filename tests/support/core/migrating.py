"""A rich agent that moves between runtimes, for the stories of migration: what it is made from, and the ways to look
at it on either side."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest

from lifeboat_adapters.secrets import credential_payload
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.memory.effective_view import visible_records
from lifeboat_alf.snapshot import write_snapshot
from lifeboat_alf.testing.sample_states import AGENT_ID, MemoryState, make_identity, make_principals, make_record
from lifeboat_core.agents import agent as agents
from lifeboat_core.home.context import Context
from support.adapters import openclaw_workspaces, zeroclaw_installs
from support.aged_files import age_files
from support.cli.cli_client import run, run_accepting
from support.prepared_folders import PreparedFolders

Tree = dict[str, bytes]
T = TypeVar("T")

SECOND = "019a0000-0000-7000-8000-0000000000d2"
"""The second principal."""
TYPES = ("semantic", "episodic", "procedural", "preference", "summary")
MOORINGS = 120
LARGE = bytes((n * n) % 251 for n in range(200_000))
GOALS = ("keep the harbour clear", "learn how Robin likes things done")


def rich_state() -> MemoryState:
    """120 memories of every type on 60 days, with tags and links; two principals; an artifact."""
    state = MemoryState(raw_sources=[])
    state.put_document("identity.json", make_identity(role="Harbour pilot", goals=list(GOALS), **_structure()))
    document = make_principals()
    document["principals"].append(_second_principal())
    state.put_document("principals.json", document)
    lines: list[JsonObject] = []
    for number in range(MOORINGS):
        lines.append(_memory(number, lines))
    state.add_all(lines)
    state.put_artifact("charts/inner harbour.csv", b"east,north\n1,2\n")
    return state


def _structure() -> JsonObject:
    return {
        "psychology": {"traits": [{"trait": "openness", "value": 0.8, "framework": "OCEAN"}]},
        "linguistics": {"formality": 0.3, "catchphrases": ["noted"]},
        "capabilities": [
            {"name": "letters", "portability": "intrinsic"},
            {"name": "drone footage", "portability": "host_dependent", "host_requirements": "no-such-program-here"},
        ],
    }


def _second_principal() -> JsonObject:
    profile = {
        "id": "019a0000-0000-7000-8000-0000000000c2",
        "agent_id": AGENT_ID,
        "principal_id": SECOND,
        "version": 1,
        "updated_at": "2026-11-20T12:00:00.000Z",
        "structured": {"name": "Jonas", "principal_type": "human"},
    }
    return {"id": SECOND, "principal_type": "human", "agent_id": None, "profile": profile}


def _memory(number: int, before: list[JsonObject]) -> JsonObject:
    day = f"2026-{10 + number // 60:02}-{1 + number // 2 % 30:02}"
    fields: JsonObject = {"memory_type": TYPES[number % 5], "tags": [f"berth-{number % 7}"]}
    if number % 10 == 3:
        fields["related_records"] = [{"id": before[-1]["id"], "relation": "caused_by"}]
    if number % 20 == 7:
        fields["namespace"] = f"principal_context:{SECOND}"
    if number % 5 == 1:
        fields["category"] = "daily_log"
        fields["temporal"] = {"created_at": f"{day}T08:00:00.000Z", "observed_at": f"{day}T00:00:00Z"}
    return make_record(f"Boat {number} lies at berth {number % 7}.", created_at=f"{day}T08:00:00.000Z", **fields)


@dataclass
class Traveller:
    """The agent Ada of this home, wherever she lives."""

    name: str = "Ada"

    @property
    def agent(self) -> agents.Agent:
        return agents.find_agent(Context.open(), self.name)

    @property
    def head(self) -> int:
        with Context.open().vault(self.agent.id) as vault:
            row = vault.head()
        assert row is not None
        return row.number

    def memories(self) -> dict[str, JsonObject]:
        """The effective view by the first id of each chain: what a memory is, whoever holds it."""
        with Context.open().vault(self.agent.id) as vault:
            found = list(visible_records(vault.state()))
        return {item.chain_ids[0]: _essence(item.record) for item in found}

    def document(self, path: str) -> JsonObject:
        from lifeboat_alf.common import json_codec

        with Context.open().vault(self.agent.id) as vault:
            found: JsonObject = json_codec.decode_json(vault.state().body(path))
        return found

    def paths(self, prefix: str) -> set[str]:
        with Context.open().vault(self.agent.id) as vault:
            return {entry.path for entry in vault.state().entries(prefix)}

    def sync(self) -> JsonObject:
        found: JsonObject = run("sync", self.name)["agents"][0]
        return found

    def adopt(self, runtime: str, to: Path, *options: str) -> JsonObject:
        """She lives there from now on."""
        return run(
            "restore", self.name, "--runtime", runtime, "--to", to, "--adopt", "--with-credentials", "--yes", *options
        )

    def secrets(self) -> dict[str, str]:
        """What her credentials say to the key of this home, by label."""
        keys = Context.open().keys()
        found = self.document("credentials.json")["credentials"]
        return {one["label"]: credential_payload.decode_payload(keys.open(one)).value for one in found}


def _essence(line: JsonObject) -> JsonObject:
    names = ("content", "memory_type", "category", "tags", "related_records", "namespace", "temporal", "status")
    return {name: line.get(name) for name in names}


def ada_in_openclaw(home: Path, folder: Path) -> tuple[Traveller, Path]:
    """Ada as an agent of OpenClaw: the archive is imported into an installation with more than five credentials, and
    captured there. Also her workspace."""
    made = openclaw_workspaces.make_state_dir(home / ".openclaw", layout=openclaw_workspaces.OLD)
    shutil.rmtree(made.workspace)
    archive = folder / "rich.alf"
    with archive.open("wb") as out:
        write_snapshot(rich_state(), out)
    run_accepting("alf", "import", archive, "--runtime", "openclaw", "--to", made.workspace)
    (made.workspace / "charts/large.tif").write_bytes(LARGE)
    skill = made.workspace / "skills/tides/SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: tides\ndescription: Fetches tide tables.\n---\n\n# Tides\n")
    run("agents", "resume", "Ada")
    age_files(home / ".openclaw")
    ada = Traveller()
    ada.sync()
    return ada, made.workspace


def prepared_home(
    prepared: PreparedFolders, patch: pytest.MonkeyPatch, name: str, build: Callable[[Path, Path], T]
) -> T:
    """Return what `build` made of a user's home and the folder around it, and let commands find both homes there.

    `build` runs once per process, and its folder is restored for each test.
    """

    def build_there(folder: Path) -> T:
        (folder / "user").mkdir(mode=0o700)
        with pytest.MonkeyPatch.context() as own:
            _find_homes_in(folder, own)
            return build(folder / "user", folder)

    value = prepared.restore(name, build_there)
    _find_homes_in(prepared.base / name, patch)
    return value


def _find_homes_in(folder: Path, patch: pytest.MonkeyPatch) -> None:
    for name, place in (("HOME", "user"), ("USERPROFILE", "user"), ("LIFEBOAT_HOME", "user/lifeboat")):
        patch.setenv(name, str(folder / place))


def tree_of(folder: Path) -> Tree:
    """Every file below a folder, but for what a restore keeps to be taken back."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and ".lifeboat-" not in path.relative_to(folder).as_posix()
    }


def rows_of(database: Path) -> list[JsonObject]:
    """The memories in a database, without their vectors. An empty column that only a newer database has is no
    difference."""
    with closing(sqlite3.connect(database)) as connection:
        connection.row_factory = sqlite3.Row
        found = [dict(row) for row in connection.execute("SELECT * FROM memories ORDER BY id")]
    left_out = [("principal_id", None)]
    return [
        {name: value for name, value in row.items() if name != "embedding" and (name, value) not in left_out}
        for row in found
    ]


def found_by(database: Path, words: str) -> list[str]:
    """What the runtime's own full text finds."""
    query = "SELECT m.content FROM memories m JOIN memories_fts f ON m.rowid = f.rowid WHERE memories_fts MATCH ?"
    with closing(sqlite3.connect(database)) as connection:
        return sorted(row[0] for row in connection.execute(query, (words,)))


def change(database: Path, *statements: tuple[str, tuple[Any, ...]]) -> None:
    """Changes as the runtime makes them: its triggers run, in one transaction."""
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("PRAGMA foreign_keys=ON")
        for statement, parameters in statements:
            connection.execute(statement, parameters)


ZEROCLAW_KEYS = {
    "orchard": "sk-fake-orchard-0123456789abcdef",
    "meadow": "sk-fake-meadow-0123456789abcdef",
    "telegram": "1234567890:fake-telegram-bot-token-0123456789",
    "discord": "fake-discord-bot-token-0123456789abcdef",
    "search": "fake-search-key-0123456789abcdef",
}
_CURRENT_SECRETS = """
[providers.models.openai.orchard]
model = "pip-1"
api_key = "{orchard}"

[providers.models.anthropic.meadow]
model = "claude-example-1"
api_key = "{meadow}"

[channels.telegram.default]
enabled = true
bot_token = "{telegram}"
allowed_users = ["1"]

[channels.discord.default]
enabled = true
bot_token = "{discord}"

[web_search]
provider = "brave"
brave_api_key = "{search}"
"""
_EARLY_SECRETS = """
[model_providers.orchard]
name = "openai"
api_key = "{orchard}"

[model_providers.meadow]
name = "anthropic"
api_key = "{meadow}"

[channels_config]
cli = true

[channels_config.telegram]
bot_token = "{telegram}"
allowed_users = ["1"]

[channels_config.discord]
bot_token = "{discord}"

[web_search]
provider = "brave"
brave_api_key = "{search}"
"""
AIEOS = {
    "identity": {"names": {"first": "Ada", "nickname": "Adie"}, "bio": {"gender": "none"}},
    "psychology": {"traits": {"mbti": "INTJ", "ocean": {"openness": 0.9}}, "moral_compass": {"alignment": "NG"}},
    "motivations": {"core_drive": "keep boats afloat", "goals": {"short_term": ["chart the basin"], "long_term": []}},
}
KINDS = ('"episodic"', '"procedural"', *(f'{{"semantic":"{kind}"}}' for kind in ("preference", "fact", "decision")))
CATEGORIES = ("core", "daily", "conversation", "harbour")


def ada_in_zeroclaw(folder: Path, generation: str) -> tuple[Traveller, zeroclaw_installs.Install]:
    """Ada as an agent of ZeroClaw: memories as its releases wrote them, and those of `rich_state`."""
    alias = "default" if generation in zeroclaw_installs.EARLY_GENERATIONS else "ada"
    made = zeroclaw_installs.make_install(folder / "claw", generation, agents=(alias,))
    workspace = made.workspace(alias)
    config = made.home / "config.toml"
    secrets = (_EARLY_SECRETS if made.is_early else _CURRENT_SECRETS).format(**ZEROCLAW_KEYS)
    aieos = json.dumps(AIEOS)
    section = "identity" if made.is_early else f"agents.{alias}.identity"
    pointer = f'\n[{section}]\nformat = "aieos"\naieos_path = "identity.json"\n'
    config.write_text(config.read_text() + secrets + pointer)
    (workspace / "identity.json").write_text(aieos)
    for name in ("SOUL.md", "IDENTITY.md"):
        (workspace / name).unlink()
    (workspace / "charts").mkdir()
    (workspace / "charts/large.tif").write_bytes(LARGE)
    _native_memories(made, alias)
    age_files(made.home)
    run("agents", "add", workspace, "--name", "Ada")
    return Traveller(), made


def _native_memories(made: zeroclaw_installs.Install, alias: str) -> None:
    for number in range(110):
        made.remember(
            f"mooring_{number}",
            f"Mooring {number} is held by buoy {number % 9}.",
            alias,
            category=CATEGORIES[number % len(CATEGORIES)],
            kind=KINDS[number % len(KINDS)] if number % 2 else None,
            session_id=f"session-{number % 4}" if number % 3 == 0 else None,
            importance=number % 10 / 10,
            pinned=int(number % 25 == 0),
            namespace="default" if number % 11 else "harbour",
            superseded_by=zeroclaw_installs.stable(alias, "mooring_9") if number == 8 else None,
        )
