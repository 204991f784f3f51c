"""A real Hermes Agent from PyPI, without any network but loopback. It is installed once into the cache of programs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from lifeboat_alf.common.json_types import JsonObject
from support.patience import patience
from support.real import real_openclaw

VERSION = "0.19.0"
KEY = "sk-obvious-fake-0123456789abcdef"


def require() -> Path:
    """Return the folder of an installed Hermes. Installs it if it is missing, and skips the test if that is
    impossible."""
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("a network namespace is needed, which takes root on Linux")
    if sys.version_info >= (3, 14):
        pytest.skip(f"hermes-agent {VERSION} does not install on Python 3.14")
    folder = real_openclaw.cache() / f"hermes-{VERSION}"
    if not (folder / "complete").exists():
        _install(folder)
    return folder


def _install(folder: Path) -> None:
    for command in (
        [sys.executable, "-m", "venv", str(folder)],
        [str(folder / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check", f"hermes-agent=={VERSION}"],
    ):
        result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if result.returncode:
            pytest.skip(f"hermes-agent could not be installed: {result.stderr.strip()[-300:]}")
    (folder / "complete").touch()


@dataclass(frozen=True)
class RealHermes:
    """A Hermes with a separate user home, inside of the namespace of process `namespace`. `log` is that of the
    model."""

    installed: Path
    user_home: Path
    namespace: int
    log: Path

    @property
    def home(self) -> Path:
        return self.user_home / ".hermes"

    def configure(self, more: JsonObject | None = None) -> None:
        """Write the configuration that a user would write: the mock model, with a key."""
        self.home.mkdir(parents=True, mode=0o700)
        url = f"http://127.0.0.1:{real_openclaw.PORT}/v1"
        model = {"default": "mock-1", "provider": "custom", "base_url": url, "api_key": KEY}
        config = self.home / "config.yaml"
        config.write_text(f"# The settings of this machine\n{yaml.safe_dump({'model': model, **(more or {})})}")
        config.chmod(0o600)

    def run(self, *arguments: str) -> str:
        """Run one command of the real program, and return its output. Fails the test if the command fails."""
        result = subprocess.run(
            [*real_openclaw.inside(self.namespace), str(self.installed / "bin" / "hermes"), *arguments],
            cwd=self.user_home,
            env={"HOME": str(self.user_home), "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=patience(240),
        )
        assert result.returncode == 0, f"hermes {' '.join(arguments)}: {result.stderr[-2000:]}{result.stdout[-2000:]}"
        return result.stdout

    def turn(self, message: str) -> None:
        """Run one turn of the agent."""
        self.run("-z", message)

    def search_sessions(self, words: str) -> list[str]:
        """Return the sessions that Hermes' own full-text search finds."""
        code = "import json, sys, hermes_state as h; f = h.SessionDB().search_messages(sys.argv[1]); "
        code += "print(json.dumps([m['session_id'] for m in f]))"
        result = subprocess.run(
            [str(self.installed / "bin" / "python"), "-c", code, words],
            cwd=self.user_home,
            env={"HOME": str(self.user_home), "PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            timeout=patience(120),
        )
        assert result.returncode == 0, result.stderr[-2000:]
        found: list[str] = json.loads(result.stdout.splitlines()[-1])
        return found

    def last_prompt(self) -> str:
        """Return all messages of the last request to the model, as JSON text."""
        bodies = [json.loads(line)["body"] for line in self.log.read_text().splitlines()]
        return json.dumps([body for body in bodies if body.get("messages")][-1]["messages"], ensure_ascii=False)
