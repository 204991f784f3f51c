"""Read which files of a workspace are not in the newest sequence in their present version, as the last capture
found."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lifeboat_alf.errors import LifeboatError
from lifeboat_core.agents.agent import Agent
from lifeboat_core.capture.capture_report import FIX, KINDS, LAST_CAPTURE, NAMED, NOT_READ, OVER_LIMIT, PENDING
from lifeboat_core.home.context import Context
from lifeboat_core.home.folder_names import is_there
from lifeboat_core.state.state_db import StateDb
from lifeboat_core.system_refusals import convert_system_errors

FILES = "not_captured_files"
"""The fact of `state.db` with the reason for every file whose present version is not captured, by archive path."""


@dataclass(frozen=True, slots=True)
class NotCaptured:
    """Files whose present version is in no sequence. `named` has a sentence for each of the first ones, `count` their
    number. `over_limit` of them wait until the user raises a limit with the command `fix` (None when no command helps).
    `unread` of them could not be read. `kinds` counts them by reason code."""

    named: tuple[str, ...] = ()
    count: int = 0
    over_limit: int = 0
    fix: str | None = None
    unread: int = 0
    kinds: Mapping[str, int] = field(default_factory=dict)


def parse_not_captured(captured: Mapping[str, Any]) -> NotCaptured:
    """Read the fact of `state.db` about the last capture; empty before the first one."""
    return NotCaptured(
        tuple(captured.get(NAMED) or ()),
        int(captured.get(PENDING) or 0),
        int(captured.get(OVER_LIMIT) or 0),
        captured.get(FIX),
        int(captured.get(NOT_READ) or 0),
        dict(captured.get(KINDS) or {}),
    )


def list_not_captured_files(context: Context, agent: Agent) -> dict[str, str]:
    """Return the reason for each file whose present version is not captured, by archive path, as far as it is known."""
    path = context.home.state_file(agent.id)
    try:
        with convert_system_errors():
            if not is_there(context.files, path):
                return {}
            with context.vault(agent.id) as vault, StateDb.open(path, vault.id) as db:
                return db.get(FILES) or {}
    except (LifeboatError, sqlite3.Error):
        return {}


def read_not_captured(context: Context, agent: Agent) -> NotCaptured:
    """Return what the last capture of an agent left out. It is empty before the first capture, and says so when the
    caches cannot be read."""
    path = context.home.state_file(agent.id)
    unknown = NotCaptured((f"{path} cannot be read, so Lifeboat does not know which files the last capture left out",))
    try:
        with convert_system_errors():
            if not is_there(context.files, path):
                return NotCaptured()
            with context.vault(agent.id) as vault, StateDb.open(path, vault.id) as db:
                captured = db.get(LAST_CAPTURE)
                return parse_not_captured(captured or {}) if db.is_lasting or captured is not None else unknown
    except (LifeboatError, sqlite3.Error):
        return unknown
