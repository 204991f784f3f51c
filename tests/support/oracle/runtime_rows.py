"""One round of the oracle over rows of a runtime's database: a random life with purges, then every kept sequence of the
vault and one remote, and the newest of each other remote, compared with a model that uses no code of the product."""

from __future__ import annotations

import contextlib
import json
import random
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from pytest import MonkeyPatch

from lifeboat_alf.memory.effective_view import visible_records
from lifeboat_alf.redaction.redactions import Redactions
from lifeboat_alf.states.agent_state import State
from lifeboat_core.agents import manage_agents
from lifeboat_core.agents.agent import Agent
from lifeboat_core.capture.capture_report import CaptureReport
from lifeboat_core.capture.capture_run import capture_agent
from lifeboat_core.home.context import Context
from lifeboat_core.purge import purge_run
from lifeboat_core.remotes import pulling, remote_registry
from lifeboat_core.remotes.agent_replication import replicate_agent
from lifeboat_core.remotes.contract import RemoteConfig
from lifeboat_core.remotes.remote_kinds import open_remote
from support.adapters.openclaw_workspaces import make_state_dir
from support.core import purged
from support.core.protected import SteadyClock
from support.core.replication_life import HOME, STICK, Places
from support.core.zeroclaw_protected import ProtectedClaw
from support.endpoint.shared_databases import SharedDatabase
from support.oracle.choosing import SEED, chosen_seeds
from support.oracle.postgres_endpoint import POSTGRES, PostgresEndpoint, engine_on

PLAIN = "plain"
REMOTES = (HOME, STICK, PLAIN)
"""An endpoint, a sealed folder and a plain folder."""
CRON = "raw/openclaw-home/db/state/cron_jobs.jsonl"
WORDS = ("harbour", "boat", "tea", "chart", "tide", "rope", "lamp", "quay")

Rows = dict[str, str]
"""Texts by the key of their row."""


class Kept(Protocol):
    """An agent with texts in a database of its runtime."""

    @property
    def context(self) -> Context: ...

    agent: Agent
    clock: SteadyClock

    def capture(self) -> CaptureReport: ...

    def write(self, key: str, text: str) -> None:
        """Write a row, replacing the one with this key."""

    def remove(self, key: str) -> None: ...

    def rows_of(self, state: State) -> Rows:
        """Return the rows in a state."""


class ClawRows(ProtectedClaw):
    """Memories in ZeroClaw's `brain.db`."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.add()

    def write(self, key: str, text: str) -> None:
        self.remove(key)
        moment = self.clock.now().isoformat()
        self.install.remember(key, text, created_at=moment, updated_at=moment)

    def remove(self, key: str) -> None:
        self.install.execute("delete from memories where key = ?", key)

    def rows_of(self, state: State) -> Rows:
        found = (one.record for one in visible_records(state))
        rows = [each for each in found if each["source"].get("origin_file") == "memory/brain.db"]
        return {each["raw_source_format"]["zeroclaw"]["row"]["key"]: each["content"] for each in rows}


class JobRows:
    """Scheduled jobs in OpenClaw's database."""

    def __init__(self, folder: Path) -> None:
        self.state = make_state_dir(folder / "user/.openclaw")
        around = {"LIFEBOAT_HOME": str(folder / "home"), "HOME": str(folder / "user"), "PATH": "/usr/bin:/bin"}
        self.clock = SteadyClock()
        self.context = Context.open(around, clock=self.clock)
        self._execute("delete from cron_jobs")
        self.agent, _ = manage_agents.protect_workspace(self.context, self.state.workspace, name="juniper")

    def capture(self) -> CaptureReport:
        self.clock.advance(minutes=1)
        return capture_agent(self.context, manage_agents.load_agent(self.context, self.agent.id))

    def write(self, key: str, text: str) -> None:
        self.remove(key)
        self._execute(
            "INSERT INTO cron_jobs (store_key, job_id, name, enabled, agent_id, payload_kind, job_json, updated_at)"
            " VALUES ('jobs', ?, ?, 1, 'main', 'agentTurn', '{}', 0)",
            *(key, text),
        )

    def remove(self, key: str) -> None:
        self._execute("delete from cron_jobs where job_id = ?", key)

    def rows_of(self, state: State) -> Rows:
        body = b"" if state.entry(CRON) is None else state.body(CRON)
        rows = map(json.loads, body.splitlines())
        return {each["job_id"]: each["name"] for each in rows}

    def _execute(self, statement: str, *values: object) -> None:
        with contextlib.closing(sqlite3.connect(self.state.state_database)) as connection, connection:
            connection.execute(statement, values)


KINDS: dict[str, Callable[[Path], Kept]] = {"openclaw": JobRows, "zeroclaw": ClawRows}


@dataclass
class RowsRound:
    """`states` has the rows of each sequence, `gone` every purged text, `story` what happened. With `postgres` an
    endpoint there is an additional remote, of which every sequence is compared."""

    seed: int
    kept: Kept
    folder: Path
    postgres: PostgresEndpoint | None = None
    live: Rows = field(default_factory=dict)
    states: dict[int, Rows] = field(default_factory=dict)
    gone: list[str] = field(default_factory=list)
    known: list[str] = field(default_factory=list)
    story: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        self.places = Places(self.folder / "places", self.kept.clock)
        self.remotes = REMOTES if self.postgres is None else (*REMOTES, POSTGRES)

    def run(self) -> None:
        """Play the round. Raises AssertionError with the story and the seed."""
        with MonkeyPatch.context() as patch:
            self.places.install(patch)
            if self.postgres is not None:
                self.postgres.install(patch)
            self._live()

    def _live(self) -> None:
        try:
            self._add_remotes()
            for _ in range(self.chance.randrange(1, 4)):
                self._change()
                self._capture()
                for remote in self.remotes:
                    if self.chance.random() < 0.3:
                        self._push(remote)
                if self.chance.random() < 0.7:
                    self._purge()
            for remote in self.remotes:
                self._push(remote)
            self._compare()
        except AssertionError as error:
            told = "\n  ".join(self.story)
            raise AssertionError(f"LIFEBOAT_ORACLE_SEED={self.seed} repeats this round:\n  {told}\n{error}") from error

    def _add_remotes(self) -> None:
        context, places = self.kept.context, self.places
        places.make()
        (places.folder / PLAIN).mkdir()
        for name in self.remotes:
            url = (places.folder / name).as_uri()
            config = RemoteConfig(name, url, sealed=name == STICK, added_at=context.now())
            with contextlib.closing(open_remote(context, config)) as remote:
                remote_registry.save_remote(context, replace(config, id=remote.about().id))

    def _change(self) -> None:
        for _ in range(self.chance.randrange(1, 5)):
            key = f"row-{self.chance.randrange(6)}"
            if key in self.live and any(text in self.live[key] for text in self.gone):
                continue  # a short text in a changing row counts as new, because it is not recognized
            if key in self.live and self.chance.random() < 0.3:
                self._tell("remove", key)
                self.kept.remove(key)
                del self.live[key]
            else:
                self._write(key, f"{self.chance.choice(WORDS)} {self.chance.randrange(10**6)} of the {len(self.story)}")
        if self.known and self.chance.random() < 0.6:
            self._write("again", f"He told me ({self.chance.choice(self.known)}), {len(self.story)} times.")

    def _write(self, key: str, text: str) -> None:
        self._tell("write", key, text)
        self.kept.write(key, text)
        self.live[key] = text

    def _capture(self) -> None:
        report = self.kept.capture()
        self._tell("capture", report.outcome, report.sequence, report.kept_out)
        assert report.complete, report.not_captured()
        assert report.sequence is not None
        wanted = {key: self._cut(text) for key, text in self.live.items()}
        if report.sequence in self.states:
            assert self.states[report.sequence] == wanted, f"{self.states[report.sequence]} is not {wanted}"
        self.states[report.sequence] = wanted

    def _cut(self, text: str) -> str:
        for each in self.gone:
            text = text.replace(each, "")
        return text

    def _purge(self) -> None:
        """Write a text to a row and purge it; the database keeps it."""
        number, is_long = self.chance.randrange(10**6), self.chance.random() < 0.6
        text = f"Quayside Lantern {number:06} of Boat {len(self.story)} Pier" if is_long else f"{number:06}"
        key = f"secret-{len(self.gone)}"
        self._write(key, f"The pass phrase of the boat is {text}, they say.")
        self._capture()
        request = purged.request(text=text, passage=True)
        context, agent = self.kept.context, manage_agents.load_agent(self.kept.context, self.kept.agent.id)
        found, warnings = purge_run.preview_purge(context, agent, request)
        assert warnings == [] and found
        purge_run.purge_content(context, agent, request, found, {})
        self._tell("purge", text)
        self.gone.append(text)
        self.known += [text] if is_long else []
        self.states = {
            number: {name: self._cut(one) for name, one in rows.items()} for number, rows in self.states.items()
        }
        self._capture()
        if self.chance.random() < 0.4:
            self._write(key, self._cut(self.live[key]))
            self._capture()

    def _push(self, name: str) -> None:
        context = self.kept.context
        outcome = replicate_agent(
            context, manage_agents.load_agent(context, self.kept.agent.id), remote_registry.find_remote(context, name)
        )
        self._tell("push", name, outcome.state, outcome.sequence)
        assert outcome.state == "ok", outcome

    def _compare(self) -> None:
        context, agent = self.kept.context, self.kept.agent
        with context.vault(agent.id) as vault:
            for row in vault.sequences():
                self._is(row.number, vault.state(row.number), "the vault")
            purges = Redactions(each.redaction for each in vault.redaction_rows())
        wholly = {self.chance.choice(REMOTES), POSTGRES}
        for name in self.remotes:
            with contextlib.closing(open_remote(context, remote_registry.find_remote(context, name))) as remote:
                numbers = [row.number for row in remote.sequences(agent.id)]
                assert numbers, "nothing was pushed"
                for number in numbers if name in wholly else numbers[-1:]:
                    with pulling.open_remote_state(remote, agent.id, number, purges) as state:
                        self._is(number, state, name)

    def _is(self, number: int, state: State, place: str) -> None:
        bodies = [*(state.body(entry.path) for entry in state.entries()), *(one.line for one in state.records())]
        left = [text for text in self.gone for body in bodies if text.encode() in body]
        assert not left, f"sequence {number} of {place} holds {left}"
        if number in self.states:
            found = self.kept.rows_of(state)
            assert found == self.states[number], f"sequence {number} of {place}: {found} is not {self.states[number]}"

    def _tell(self, *words: object) -> None:
        self.story.append(" ".join(map(str, words)))


def play_with_postgres(folder: Path, database: SharedDatabase, runtime: str, block: str, rounds: int) -> None:
    """Play rounds with an endpoint in PostgreSQL as a remote. Raises AssertionError."""
    for number, seed in enumerate(chosen_seeds(f"{block} {runtime} postgres", rounds)):
        print(f"{SEED}={seed}")
        place = folder / str(number)
        place.mkdir()
        kept = KINDS[runtime](place)
        with engine_on(database, kept.clock) as engine:
            RowsRound(seed, kept, place, PostgresEndpoint(engine, place / "places", kept.clock)).run()
