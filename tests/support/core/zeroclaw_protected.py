"""A protected ZeroClaw agent for tests: an installation on disk, a home, and the way to look at both."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.memory.effective_view import visible_records
from lifeboat_core.agents import manage_agents
from lifeboat_core.capture.capture_report import CaptureReport
from lifeboat_core.capture.capture_run import capture_agent
from lifeboat_core.home.context import Context
from lifeboat_core.state.state_db import StateDb, delete_cache
from support.adapters.zeroclaw_installs import Install, make_install
from support.core.protected import SteadyClock


class ProtectedClaw:
    """The agent `alias` of an installation below `folder`."""

    def __init__(
        self,
        folder: Path,
        generation: str = "0.8.3",
        *,
        agents: tuple[str, ...] = ("default",),
        alias: str = "default",
        install: Install | None = None,
    ) -> None:
        self.folder, self.alias, self.clock = folder, alias, SteadyClock()
        self.install = install or make_install(folder / "zeroclaw", generation, agents=agents)
        self.age(self.install.home)

    @property
    def context(self) -> Context:
        around = {
            "LIFEBOAT_HOME": str(self.folder / "home"),
            "HOME": str(self.folder / "user"),
            "PATH": "/usr/bin:/bin",
        }
        return Context.open({**around, **self.install.environment}, clock=self.clock)

    def age(self, *folders: Path) -> None:
        """Nothing below is so young that it is read twice."""
        moment = int(self.clock.now().timestamp()) - 3600
        for folder in folders:
            for file in [one for one in folder.rglob("*") if one.is_file()]:
                os.utime(file, (moment, moment))

    def add(self, **options: Any) -> CaptureReport:
        self.agent, report = manage_agents.protect_workspace(
            self.context, self.install.workspace(self.alias), runtime="zeroclaw", **options
        )
        return report

    def capture(self, **options: Any) -> CaptureReport:
        """A minute later: capture."""
        self.clock.advance(minutes=1)
        return capture_agent(self.context, manage_agents.load_agent(self.context, self.agent.id), **options)

    def lose_caches(self) -> None:
        delete_cache(self.context.home.state_file(self.agent.id))

    # What is kept -----------------------------------------------------------------------------------------------

    def records(self, number: int | None = None) -> list[JsonObject]:
        """Every record, dead ones too, in order."""
        with self.context.vault(self.agent.id) as vault:
            return [json_codec.decode_json(record.line) for record in vault.state(number).records()]

    def memories(self, number: int | None = None) -> dict[str, JsonObject]:
        """What the agent remembers from rows, by text."""
        with self.context.vault(self.agent.id) as vault:
            found = (one.record for one in visible_records(vault.state(number)))
            return {one["content"]: one for one in found if one["source"].get("origin_file") == "memory/brain.db"}

    def statuses(self) -> dict[str, str]:
        """The status of each memory that ever was a row, by text."""
        return {
            one["content"]: one["status"] for one in self.records() if one["source"].get("origin") == "sqlite_store"
        }

    def shadow(self) -> list[tuple[Any, ...]]:
        with (
            self.context.vault(self.agent.id) as vault,
            StateDb.open(self.context.home.state_file(self.agent.id), vault.id) as db,
        ):
            return list(db.connection.execute("select * from shadow order by row"))

    def head(self) -> int:
        with self.context.vault(self.agent.id) as vault:
            row = vault.head()
            assert row is not None
            return row.number

    def listing(self) -> dict[str, int]:
        """Every file around the memory database with its time."""
        return {str(one): one.stat().st_mtime_ns for one in sorted(self.install.database.parent.iterdir())}


def files_with(folder: Path, texts: Iterable[str]) -> list[Path]:
    """Files below a folder in which one of the texts stands."""
    wanted = [text.encode() for text in texts]
    files = (one for one in folder.rglob("*") if one.is_file())
    return [one for one in files if any(text in one.read_bytes() for text in wanted)]
