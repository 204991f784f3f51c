"""A real Claude Code from npm, without any network but loopback. It is installed once into the cache of programs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.patience import patience
from support.real import real_openclaw

VERSION = "2.1.197"
KEY = "sk-obvious-fake-0123456789abcdef"


def require() -> Path:
    """Return the folder of an installed Claude Code. Installs it if it is missing, and skips the test if that is
    impossible."""
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("a network namespace is needed, which takes root on Linux")
    for program in ("npm", "unshare", "nsenter"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    folder = real_openclaw.cache() / f"claude-code-{VERSION}"
    if not (folder / "complete").exists():
        _install(folder)
    return folder


def _install(folder: Path) -> None:
    app = folder / "app"
    app.mkdir(parents=True, exist_ok=True)
    (app / "package.json").write_text(json.dumps({"private": True}))
    command = ["npm", "install", "--no-audit", "--no-fund", "--silent", "--fetch-retries=1"]
    result = subprocess.run(
        [*command, f"@anthropic-ai/claude-code@{VERSION}"],
        cwd=app,
        env=os.environ | {"HOME": str(folder)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    if result.returncode:
        pytest.skip(f"npm could not install Claude Code: {result.stderr.strip()[-300:]}")
    (folder / "complete").touch()


@dataclass(frozen=True)
class RealClaudeCode:
    """A Claude Code with a separate user home, inside of the namespace of process `namespace`. `log` is that of the
    model."""

    installed: Path
    user_home: Path
    namespace: int
    log: Path

    @property
    def home(self) -> Path:
        return self.user_home / ".claude"

    def run(self, *arguments: str, project: Path) -> str:
        """Run one command of the real program in a project, and return its output. Fails the test if the command
        fails."""
        program = self.installed / "app" / "node_modules" / ".bin" / "claude"
        result = subprocess.run(
            [*real_openclaw.inside(self.namespace), str(program), *arguments],
            cwd=project,
            env={
                "HOME": str(self.user_home),
                "PATH": "/usr/local/bin:/usr/bin:/bin",
                "LANG": "C.UTF-8",
                "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{real_openclaw.PORT}",
                "ANTHROPIC_API_KEY": f"{KEY}-of-the-model",
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=patience(240),
        )
        assert result.returncode == 0, f"claude {' '.join(arguments)}: {result.stderr[-2000:]}{result.stdout[-2000:]}"
        return result.stdout

    def turn(self, message: str, project: Path, *options: str) -> None:
        """Run one turn of the agent in a project."""
        self.run("-p", message, *options, "--permission-mode", "acceptEdits", project=project)

    def last_prompt(self) -> str:
        """Return the last request to the model, as JSON text."""
        bodies = [json.loads(line)["body"] for line in self.log.read_text().splitlines()]
        return json.dumps([body for body in bodies if body.get("messages")][-1], ensure_ascii=False)
