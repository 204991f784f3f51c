"""Commands for scenarios: in a process of their own, or with the agreement of `sync` and `status` checked."""

from __future__ import annotations

import json
from pathlib import Path

from lifeboat_alf.common.json_types import JsonObject
from support import preloaded
from support.cli.cli_client import run
from support.patience import patience


def command(*arguments: str | Path) -> tuple[int, JsonObject]:
    """Run `lifeboat ARGUMENTS --json` in a process of its own with a time limit."""
    ended = preloaded.run([*arguments, "--json"], capture_output=True, timeout=patience())
    return ended.returncode, json.loads(ended.stdout or b"{}")


def synced(expect: int = 0) -> JsonObject:
    document: JsonObject = run("sync", expect=expect)["agents"][0]
    return document


def standing() -> JsonObject:
    """Return the agent in `status`, after checking that `--check` agrees."""
    document = run("status")
    needs = document["state"] not in ("ok", "waiting", "paused") or bool(document["problems"])
    run("status", "--check", expect=1 if needs else 0)
    agent: JsonObject = document["agents"][0]
    return agent
