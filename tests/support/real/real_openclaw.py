"""A real OpenClaw from npm, without any network but loopback.

It is installed once into a cache outside of the checkout (about a gigabyte, under a minute), and run in a separate
network namespace with a mock model that records what the agent sends.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.patience import patience
from support.waiting import until

VERSION = "2026.9.6"
FEBRUARY = "2026.2.26"
NODE = "24.21.0"
PORT = 11999
_CACHE = os.environ.get("LIFEBOAT_REAL_CACHE") or os.path.join(
    os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "agent-lifeboat"
)
_MOCK = Path(__file__).with_name("mock_model.py")

# One of its packages is a git repository, which no registry serves; the published version replaces it.
_FOR_FEBRUARY: tuple[tuple[str, ...], dict[str, str]] = (
    ("--ignore-scripts", "--legacy-peer-deps", "--omit=peer"),
    {"libsignal": "2.0.1", "linkedom": "0.18.12"},
)

# Loopback is down in a new namespace; without `ip` it can still be brought up this way.
_LOOPBACK_UP = """
import fcntl, socket, struct, time
control = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
fcntl.ioctl(control, 0x8914, struct.pack("16sH14s", b"lo", 0x1 | 0x40, b""))
print("up", flush=True)
time.sleep(86400)
"""

CONFIG = {
    "gateway": {"mode": "local"},
    "memory": {"search": {"provider": "none"}},  # full-text search only, so that answers are the same every time
    "agents": {
        "defaults": {"model": {"primary": "mockp/mock-1"}},
        "entries": {"main": {"workspace": "~/.openclaw/workspace"}},
    },
    "models": {
        "mode": "merge",
        "providers": {
            "mockp": {
                "baseUrl": f"http://127.0.0.1:{PORT}/v1",
                "api": "openai-completions",
                "apiKey": "sk-mock-0123456789abcdef",
                "models": [
                    {
                        "id": "mock-1",
                        "name": "mock",
                        "contextWindow": 128000,
                        "maxTokens": 4096,
                        "input": ["text"],
                        "reasoning": False,
                        "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0},
                    }
                ],
            }
        },
    },
}


def cache() -> Path:
    """Return the folder of programs that tests install once."""
    return Path(_CACHE)


def require(version: str = VERSION) -> Path:
    """Return the folder of an installed OpenClaw. Installs it if it is missing, and skips the test if that is
    impossible."""
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("a network namespace is needed, which takes root on Linux")
    for program in ("npm", "unshare", "nsenter"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    folder = cache() / f"openclaw-{version}"
    if not (folder / "complete").exists():
        _install(folder, version)
    return folder


def _install(folder: Path, version: str) -> None:
    node, app = folder / "node", folder / "app"
    for place, package in ((node, f"node@{NODE}"), (app, f"openclaw@{version}")):
        options, overrides = _FOR_FEBRUARY if package == f"openclaw@{FEBRUARY}" else ((), {})
        place.mkdir(parents=True, exist_ok=True)
        (place / "package.json").write_text(json.dumps({"private": True, "overrides": overrides}))
        path = f"{node}/node_modules/node/bin:{os.environ['PATH']}"
        result = subprocess.run(
            ["npm", "install", "--no-audit", "--no-fund", "--silent", "--fetch-retries=1", *options, package],
            cwd=place,
            env=os.environ | {"PATH": path, "HOME": str(folder)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        if result.returncode:
            pytest.skip(f"npm could not install {package}: {result.stderr.strip()[-300:]}")
    (folder / "complete").touch()


@dataclass(frozen=True)
class OpenClaw:
    """An OpenClaw with a separate home, inside of the namespace of process `namespace`."""

    installed: Path
    home: Path
    namespace: int
    log: Path

    @property
    def workspace(self) -> Path:
        return self.home / ".openclaw" / "workspace"

    def configure(self) -> None:
        """Write by hand what a user would write after a restore, because onboarding would rewrite the agent's name."""
        state = self.home / ".openclaw"
        self.workspace.mkdir(parents=True, exist_ok=True)
        state.chmod(0o700)
        config = state / "openclaw.json"
        config.write_text(json.dumps(CONFIG, indent=2))
        config.chmod(0o600)

    def onboard(self) -> None:
        """Create a new installation with OpenClaw's own bootstrap files."""
        provider = ["--custom-base-url", f"http://127.0.0.1:{PORT}/v1", "--custom-model-id", "mock-1"]
        provider += ["--custom-provider-id", "mockp", "--custom-api-key", "sk-mock-0123456789abcdef"]
        skipped = [f"--skip-{part}" for part in ("channels", "daemon", "health", "search", "skills", "hooks", "ui")]
        mode = ["--non-interactive", "--accept-risk", "--mode", "local", "--auth-choice", "custom-api-key"]
        self.run("onboard", *mode, *provider, *skipped)
        self.run("config", "set", "memory.search.provider", "none")

    def run(self, *arguments: str, timeout: float = 240) -> str:
        """Run one command of the real program, and return its output. Fails the test if the command fails."""
        program = self.installed / "app" / "node_modules" / "openclaw" / "openclaw.mjs"
        node = self.installed / "node" / "node_modules" / "node" / "bin" / "node"
        result = subprocess.run(
            [*inside(self.namespace), str(node), str(program), *arguments],
            cwd=self.home,
            env={"HOME": str(self.home), "PATH": f"{node.parent}:/usr/local/bin:/usr/bin:/bin"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=patience(timeout),
        )
        assert result.returncode == 0, f"openclaw {' '.join(arguments)}: {result.stderr[-2000:]}{result.stdout[-2000:]}"
        return result.stdout

    def turn(self, message: str) -> None:
        """Run one turn of the agent."""
        self.run("agent", "--local", "--agent", "main", "-m", message, "--json")

    def search(self, words: str) -> str:
        return self.run("memory", "search", words, "--json")

    def last_prompt(self) -> str:
        """Return all messages of the last request to the model, as JSON text."""
        bodies: list[dict[str, Any]] = [json.loads(line)["body"] for line in self.log.read_text().splitlines()]
        return json.dumps([body for body in bodies if "messages" in body][-1]["messages"], ensure_ascii=False)


def program(installed: Path, namespace: int, folder: Path) -> str:
    """Return a PATH on which `openclaw` runs the real program inside of the namespace of a process."""
    node = installed / "node" / "node_modules" / "node" / "bin"
    script = installed / "app" / "node_modules" / "openclaw" / "openclaw.mjs"
    folder.mkdir(parents=True, exist_ok=True)
    wrapper = folder / "openclaw"
    words = [*inside(namespace), str(node / "node"), str(script)]
    wrapper.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
    wrapper.chmod(0o755)
    return f"{folder}:{node}:/usr/local/bin:/usr/bin:/bin"


def inside(namespace: int) -> list[str]:
    """Return the beginning of a command that runs in the namespace of a process."""
    return ["nsenter", f"--net=/proc/{namespace}/ns/net"]


@contextlib.contextmanager
def network(folder: Path) -> Iterator[tuple[int, Path]]:
    """Create a network namespace with loopback and the mock model only. Yields its process id and the model's log."""
    log = folder / "model.jsonl"
    holder = subprocess.Popen(
        ["unshare", "--net", sys.executable, "-c", _LOOPBACK_UP], stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    if holder.stdout.readline().strip() != "up":
        holder.wait()
        pytest.skip("no network namespace can be made here")
    with _ended_at_exit(holder):
        mock = subprocess.Popen([*inside(holder.pid), sys.executable, str(_MOCK), str(PORT), str(log)])
        with _ended_at_exit(mock):
            _wait_for_port(holder.pid)
            yield holder.pid, log


@contextlib.contextmanager
def _ended_at_exit(process: subprocess.Popen[Any]) -> Iterator[None]:
    try:
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=patience())


def _wait_for_port(namespace: int) -> None:
    probe = f"import socket; socket.create_connection(('127.0.0.1', {PORT}), 1)"
    command = [*inside(namespace), sys.executable, "-c", probe]
    until(lambda: subprocess.run(command, capture_output=True).returncode == 0, "the mock model to answer")
