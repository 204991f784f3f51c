"""An agent of a real runtime that the daemon captures when its hook reports the end of a session."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from lifeboat_alf.common.json_types import JsonObject
from support.cli.cli_client import run
from support.waiting import until


@dataclass
class HookedAgent:
    """The agent, with a folder as remote. `said` is what commands printed, most of it by asking the daemon."""

    id: str
    lifeboat: Path
    remote: Path
    said: list[str] = field(default_factory=list)

    def run(self, *arguments: str | Path, expect: int = 0) -> JsonObject:
        """Run a command of Lifeboat, and remember what it printed."""
        document = run(*arguments, expect=expect)
        self.said.append(json.dumps(document))
        return document

    def captures(self, *reasons: str) -> int:
        """Return how many captures the daemon made, or how many of them for these reasons."""
        events = map(json.loads, (self.lifeboat / "logs" / "daemon.log").read_text().splitlines())
        return sum(event["kind"] == "captured" and (not reasons or event["reason"] in reasons) for event in events)

    @contextlib.contextmanager
    def captured(self) -> Iterator[None]:
        """Wait after a turn until the daemon captured the agent. With `after_session` and no hook it would wait for ten
        minutes, or until it scans the workspace again."""
        before = self.captures()
        yield
        until(lambda: self.captures() > before, "nothing was captured")

    def leaks(self, secret: str) -> list[str]:
        """Return where a secret is in clear: files of Lifeboat and of the remote, and what commands printed."""
        for command in (["status"], ["daemon", "log"], ["agents", "show", self.id], ["timeline", self.id], ["log"]):
            self.run(*command)
        files = (path for folder in (self.lifeboat, self.remote) for path in folder.rglob("*") if path.is_file())
        found = [str(path) for path in files if secret.encode() in path.read_bytes()]
        return [*found, *(said[:200] for said in self.said if secret in said)]


@contextlib.contextmanager
def capture_by_hook(workspace: Path, lifeboat: Path, remote: Path) -> Iterator[HookedAgent]:
    """Protect an agent as a user does who wants it captured when a session ends, with conversations, and run the
    daemon. The hook is removed at the end, without a trace."""
    remote.mkdir()
    agent = HookedAgent(run("agents", "add", workspace)["id"], lifeboat, remote)
    agent.run("config", "set", "cadence", "after_session")
    agent.run("config", "set", "transcripts", "true")
    agent.run("remote", "add", "stick", remote.as_uri())
    agent.run("agents", "hook", agent.id)
    agent.run("daemon", "start")
    try:
        agent.run("sync")  # so that the capture with which the daemon starts is no answer to the hook
        before = agent.captures("request")
        yield agent
        assert agent.captures("request") > before, "the hook asked for no capture"
    finally:
        agent.run("daemon", "stop")
        agent.run("agents", "hook", agent.id, "--remove")
