"""A real Codex CLI from npm, without any network. It is installed once into the cache of programs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.patience import patience
from support.real import real_openclaw

VERSION = "0.169.0"
KEY = "sk-obvious-fake-0123456789abcdef"
_CONFIG = f"""\
model = "mock-1"
model_provider = "mock"

[model_providers.mock]
name = "mock"
base_url = "http://127.0.0.1:{real_openclaw.PORT}/v1"
env_key = "MOCK_KEY"
wire_api = "responses"

[mcp_servers.search]
command = "search"

[mcp_servers.search.env]
SEARCH = "{KEY}-search"
"""


def require() -> Path:
    """Return the folder of an installed Codex. Installs it if it is missing, and skips the test if that is
    impossible."""
    if sys.platform != "linux" or shutil.which("npm") is None:
        pytest.skip("npm on Linux is needed")
    folder = real_openclaw.cache() / f"codex-{VERSION}"
    if not (folder / "complete").exists():
        folder.mkdir(parents=True, exist_ok=True)
        result = subprocess.run(
            ["npm", "install", "--no-audit", "--no-fund", "--silent", f"@openai/codex@{VERSION}"],
            cwd=folder,
            env=os.environ | {"HOME": str(folder)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        if result.returncode:
            pytest.skip(f"npm could not install codex: {result.stderr.strip()[-300:]}")
        (folder / "complete").touch()
    return folder


@dataclass(frozen=True)
class RealCodex:
    """A Codex with a separate user home, without any network."""

    installed: Path
    user_home: Path

    @property
    def home(self) -> Path:
        return self.user_home / ".codex"

    def configure(self) -> None:
        """Write the configuration that a user would write, and log in with a key as a user would."""
        self.home.mkdir(parents=True, mode=0o700)
        (self.home / "config.toml").write_text(_CONFIG)
        (self.home / "config.toml").chmod(0o600)
        self.run("login", "--with-api-key", input=KEY)

    def run(self, *arguments: str, input: str = "") -> subprocess.CompletedProcess[str]:
        """Run one command of the real program."""
        return subprocess.run(
            ["unshare", "--net", str(self.installed / "node_modules" / ".bin" / "codex"), *arguments],
            cwd=self.user_home,
            env={"HOME": str(self.user_home), "PATH": os.environ["PATH"], "MOCK_KEY": "x"},
            input=input,
            capture_output=True,
            text=True,
            timeout=patience(120),
        )

    def open_databases(self) -> None:
        """Begin a turn, which creates all databases, and end the program: it waits for a network that is not there."""
        command = ["timeout", "20", str(self.installed / "node_modules" / ".bin" / "codex")]
        subprocess.run(
            ["unshare", "--net", *command, "exec", "--skip-git-repo-check", "hello"],
            cwd=self.user_home,
            env={"HOME": str(self.user_home), "PATH": os.environ["PATH"], "MOCK_KEY": "x"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=patience(120),
        )
